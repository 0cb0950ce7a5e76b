"""What an estimate from some of the labels costs and how wide it is, beside what a user would take instead.

Run ``python benchmarks/labels.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CONTENDERS_FILE = Path(__file__).with_name("label_contenders.py")
REPOSITORY = Path(__file__).resolve().parent.parent
OURS = ("labels alone", "bonwise")
OTHERS = (
    "ppi-python, tuned, highest score",
    "ppi-python, tuned, ridge",
    "ppi-python, not tuned, ridge",
    "doubleml, APO, linear",
)
REQUIREMENTS = ("ppi-python==0.2.*", "doubleml==0.11.*")

PROMPTS, LABELS, REPLICATIONS = 1000, 250, 400
SIZES, ROUNDS, SHARE = (5_000, 100_000), 7, 0.25
QUICK_REPLICATIONS, QUICK_SIZES, QUICK_ROUNDS = 3, (1_000,), 1
SEED = 20261205
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def environment(folder: Path) -> str:
    """Return the interpreter of an environment that holds bonwise and its peers; it is made where there is none."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS, "-e", str(REPOSITORY)], check=True)
    return str(python)


def measure(python: str, threads: int | None, **asked: object) -> Any:
    """Measure in a fresh process; without a number of threads every library takes as many as it likes."""
    fixed = {} if threads is None else dict.fromkeys(THREADS, str(threads))
    command = [python, str(CONTENDERS_FILE), json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | fixed)
    return json.loads(done.stdout.splitlines()[-1])


def value_rows(found: Any) -> list[tuple[str, ...]]:
    """Write the lines of the value of the picks, each against labels alone and against bonwise."""
    widths = {name: [high - low for low, high in one["intervals"]] for name, one in found["contenders"].items()}
    rows = []
    for name, one in found["contenders"].items():
        held = [low <= found["truth"] <= high for low, high in one["intervals"]]
        mean, alone, ours = (statistics.fmean(widths[which]) for which in (name, *OURS))
        cost, our_cost = (statistics.median(found["contenders"][which]["cpu"]) for which in (name, "bonwise"))
        rows.append(
            (
                name,
                f"{mean / 2:.5f}",
                f"{mean / alone:.3f}",
                f"{mean / ours:.3f}",
                f"{statistics.fmean(held):.2f}",
                f"{1e3 * cost:.1f}",
                f"{cost / our_cost:.2f}",
            )
        )
    return rows


VALUE = ("what", "half-width", "x labels alone", "x bonwise", "coverage", "CPU ms", "x bonwise's CPU")
COST = ("prompts", "labels", "all labels, CPU ms", "some labels, CPU ms", "x all labels")


def cost_row(prompts: int, labels: int, cpu: dict[str, list[float]]) -> tuple[str, ...]:
    """Write one line of costs, the ratio as the median of those of the rounds."""
    complete, partial = (statistics.median(cpu[name]) for name in ("complete", "partial"))
    times = statistics.median(some / whole for some, whole in zip(cpu["partial"], cpu["complete"], strict=True))
    return f"{prompts:,}", f"{labels:,}", f"{1e3 * complete:.1f}", f"{1e3 * partial:.1f}", f"{times:.2f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay lines out as a Markdown table."""
    lines = [tuple(header), ("---",) * len(header), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines[1] = tuple("-" * width for width in widths)
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=REPLICATIONS, help="simulated tables for the widths")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, help="of every library; without it as many as each likes")
    parser.add_argument(
        "--others", type=Path, metavar="FOLDER", help="measure ppi-python and doubleml in an environment made there"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    parser.add_argument("--quick", action="store_true", help="a smoke run: few tables, small ones")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure everything and print the tables."""
    asked = arguments(argv)
    python = sys.executable if asked.others is None else environment(asked.others)
    replications = QUICK_REPLICATIONS if asked.quick else asked.replications
    sizes, rounds = (QUICK_SIZES, QUICK_ROUNDS) if asked.quick else (SIZES, ROUNDS)
    names = OURS if asked.others is None else (*OURS, *OTHERS)
    setting = {"prompts": PROMPTS, "labels": LABELS, "replications": replications, "seed": asked.seed}
    value = measure(python, asked.threads, measure="value", contenders=names, **setting)
    costs = {
        prompts: measure(
            python,
            asked.threads,
            measure="complete",
            prompts=prompts,
            labels=int(SHARE * prompts),
            rounds=rounds,
            seed=asked.seed,
        )
        for prompts in sizes
    }
    machine = {"python": platform.python_version(), **value["versions"], "cpus": os.cpu_count()}
    described = machine | {"threads": asked.threads or "not set"} | setting
    print(", ".join(f"{name} {found}" for name, found in described.items()), end="\n\n")
    print(table(VALUE, value_rows(value)), end="\n\n")
    print(table(COST, [cost_row(prompts, int(SHARE * prompts), cpu) for prompts, cpu in costs.items()]))
    if asked.json is not None:
        document = {"machine": described, "value": value, "costs": costs}
        asked.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
