"""What an installation of bonwise weighs, and what its commands cost before they do anything.

This command builds the wheel of this checkout and installs it with uv into two fresh environments: ``bonwise`` and
``bonwise[audit]``. It measures the size of each site-packages by ``du -sm``, and the CPU seconds of whole processes.
It prints a Markdown table. It needs uv and a Unix system. The exit code is 2 if a command fails.

Run ``python benchmarks/installing.py``; how to read the table: ``docs/install.md``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from marked_page import MarkerError, markdown_table, write_between
from uv_commands import Uv, UvError, Wheel, add_uv_option, uv_of

MARKER = "sizes"
TIERS = ("bonwise", "bonwise[audit]")
PROMPTS, CANDIDATES = 100, 4
TASKS = {
    "`python -c pass`": ("python", "-c", "pass"),
    "`import bonwise`": ("python", "-c", "import bonwise"),
    "`bonwise --help`": ("bonwise", "--help"),
    f"`bonwise select` of {PROMPTS} pools, `local:length`": (
        "bonwise",
        "select",
        "pools.jsonl",
        "--judge",
        "local:length",
    ),
    f"`bonwise audit` of {PROMPTS * CANDIDATES} rows": ("bonwise", "audit", "scores.csv"),
}
OF_AUDIT = "audit"
"""The command that only ``bonwise[audit]`` can do."""
LARGE = 20
"""MB of a package that is named."""
NAMED = ("anthropic", "numpy", "openai", "pandas", "scipy")


class MeasurementError(RuntimeError):
    """A command that failed where its time should have been taken."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One installation.

    Parameters
    ----------
    packages : dict of str to str
        The version of each package in it.
    megabytes : int
        site-packages as uv leaves it, by ``du -sm``.
    compiled : int
        The same with all modules compiled, as pip leaves it.
    largest : dict of str to int
        MB of each package of at least `LARGE` MB among them, with the libraries that its wheel puts beside it.
    seconds : dict of str to float
        CPU seconds of each task that this installation can do.
    """

    packages: dict[str, str]
    megabytes: int
    compiled: int
    largest: dict[str, int]
    seconds: dict[str, float]


def write_data(folder: Path) -> None:
    """Write the table that is audited and the pools that are selected from, the same on every machine."""
    draw = random.Random(20261121)  # noqa: S311 - data, not secrets
    rows = [
        (f"p{prompt}", f"c{candidate}", round(draw.random(), 2), round(draw.random(), 3))
        for prompt in range(PROMPTS)
        for candidate in range(CANDIDATES)
    ]
    with (folder / "scores.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("prompt_id", "candidate", "judge_score", "oracle_label"), *rows])
    with (folder / "pools.jsonl").open("w", encoding="utf-8") as file:
        for prompt in range(PROMPTS):
            texts = ["word " * draw.randint(1, 40) for _ in range(CANDIDATES)]
            file.write(json.dumps({"prompt_id": f"p{prompt}", "prompt": "Say something", "candidates": texts}) + "\n")


def cpu_seconds(command: Sequence[str], folder: Path, repeats: int) -> float:
    """Return the median CPU seconds of a whole process, its threads and children included.

    Raises
    ------
    MeasurementError
        The command failed.
    """
    taken = []
    for _ in range(repeats + 1):  # the first run finds its files in no cache
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise MeasurementError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken[1:])


def megabytes(folder: Path) -> int:
    """Return the size of a folder as ``du -sm`` gives it."""
    done = subprocess.run(["du", "-sm", str(folder)], capture_output=True, text=True, check=True)  # noqa: S607
    return int(done.stdout.split()[0])


def largest(packages: Path) -> dict[str, int]:
    """Return the packages of at least `LARGE` MB, the largest first."""
    sizes = Counter[str]()
    for folder in filter(Path.is_dir, packages.iterdir()):
        sizes[folder.name.removesuffix(".libs")] += megabytes(folder)
    return {name: size for name, size in sizes.most_common() if size >= LARGE}


def measured(uv: Uv, wheel: Wheel, tier: str, work: Path, asked: argparse.Namespace) -> Measured:
    """Install one tier and measure it."""
    interpreter = uv.install(work / tier, tier, asked.python, wheel)
    (packages,) = (work / tier).glob("lib/python*/site-packages")
    plain = megabytes(packages)
    subprocess.run([str(interpreter), "-m", "compileall", "-q", str(packages)], check=False, capture_output=True)
    seconds = {
        name: cpu_seconds([str(interpreter.parent / command), *words], work, asked.repeats)
        for name, (command, *words) in TASKS.items()
        if tier != TIERS[0] or OF_AUDIT not in words
    }
    return Measured(uv.installed(interpreter), plain, megabytes(packages), largest(packages), seconds)


def table(found: Sequence[Measured]) -> str:
    """Return the Markdown table, one column per tier."""
    rows = [
        ("packages", *(str(len(one.packages)) for one in found)),
        ("site-packages, installed with uv", *(f"{one.megabytes} MB" for one in found)),
        ("site-packages, installed with pip", *(f"{one.compiled} MB" for one in found)),
    ]
    for name in TASKS:
        times = (f"{one.seconds[name]:.2f} s" if name in one.seconds else "-" for one in found)
        rows.append((f"{name}, CPU", *times))
    return markdown_table(["what", *(f"`{tier}`" for tier in TIERS)], rows)


def made(uv: Uv, found: Sequence[Measured], python: str) -> str:
    """Return the sentence that says where and with what the table was made."""
    versions = ", ".join(f"{name} {found[-1].packages[name]}" for name in NAMED)
    machine = f"{platform.system()}, {_processor()}, {os.cpu_count()} cores"
    return f"Measured on {datetime.now(UTC).date()} with uv {uv.version()}, Python {python}; {machine}; {versions}."


def largest_of(found: Measured) -> str:
    """Return the sentence that says which packages take most."""
    named = ", ".join(f"{name} {size} MB" for name, size in found.largest.items())
    rest = found.compiled - sum(found.largest.values())
    return f"Of the {found.compiled} MB: {named}, all others {rest} MB."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure both tiers, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_uv_option(parser)
    parser.add_argument("--python", default="3.11", help="the Python to install for (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each command, of which the median is shown")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help=f"replace what PAGE holds between its two '{MARKER}' markers"
    )
    asked = parser.parse_args(argv)
    uv = uv_of(parser, asked.uv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            write_data(work)
            wheel = uv.wheel(work / "wheel")
            found = [measured(uv, wheel, tier, work, asked) for tier in TIERS]
        content = f"{made(uv, found, asked.python)}\n\n{table(found)}\n\n{largest_of(found[-1])}"
        print(content)
        if asked.write:
            write_between(asked.write, MARKER, content)
    except (UvError, MarkerError, MeasurementError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
