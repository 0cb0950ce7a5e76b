"""How much CPU a call costs, through bonwise and through what a user would call a model with instead.

Run ``python benchmarks/calls.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openai

from bonwise.calls.providers.protocol import http_library
from scripted_model import served

CONTENDERS_FILE = Path(__file__).with_name("call_contenders.py")
IN_MEMORY, LOOPBACK = "in memory", "loopback"
BASELINES = {IN_MEMORY: "raw post", LOOPBACK: "create"}
BONWISE = "bonwise"
STORED = ("bonwise, answers stored", "bonwise, judgments stored")
CONTENDERS = {
    IN_MEMORY: ("raw post", "create", "bonwise without a ledger", BONWISE, *STORED),
    LOOPBACK: ("create", BONWISE),
}
OTHERS = {"langchain-openai": "langchain-openai==1.*", "litellm": "litellm==1.*"}
"""Each has an environment of its own: litellm needs an older openai than the newest."""

CALLS, ROUNDS, LATENCY = 3_000, 5, 0.05
QUICK_CALLS, QUICK_ROUNDS, QUICK_LATENCY = 64, 1, 0.0


@dataclass(frozen=True)
class Job:
    """One contender at one place.

    Parameters
    ----------
    place : str
        Where the answers come from: the same process, or a server on this machine.
    name : str
    python : str
        The interpreter of its environment.
    """

    place: str
    name: str
    python: str = sys.executable


@dataclass(frozen=True)
class Cost:
    """Seconds of one call: user and system time of the process with all its threads, and of the clock."""

    user: float
    system: float
    wall: float

    @property
    def cpu(self) -> float:
        """Seconds of CPU."""
        return self.user + self.system


@dataclass(frozen=True)
class Row:
    """What was measured of a job, a cost for each round."""

    job: Job
    costs: list[Cost]


def plan(others: Path | None) -> list[Job]:
    """List the measurements of one round."""
    jobs = [Job(place, name) for place, names in CONTENDERS.items() for name in names]
    if others is not None:
        jobs += [Job(LOOPBACK, name, environment(others / name, what)) for name, what in OTHERS.items()]
    return jobs


def environment(folder: Path, requirement: str) -> str:
    """Return the interpreter of an environment that holds a requirement; it is made where there is none."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
    return str(python)


def measure(job: Job, calls: int, url: str) -> Cost:
    """Measure in a fresh process, with a ledger of its own where there is one."""
    with tempfile.TemporaryDirectory() as folder:
        base_url = f"{url}/v1" if job.place == LOOPBACK else None
        asked = {"name": job.name, "base_url": base_url, "calls": calls, "folder": folder}
        command = [job.python, str(CONTENDERS_FILE), json.dumps(asked)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def median_ratio(row: Row, baseline: Row) -> float:
    """Return the median over the rounds of what a call costs at the baseline, for what it costs here."""
    return statistics.median(base.cpu / one.cpu for one, base in zip(row.costs, baseline.costs, strict=True))


def median_difference(row: Row, baseline: Row) -> float:
    """Return the median over the rounds of the seconds on top of the baseline."""
    return statistics.median(one.cpu - base.cpu for one, base in zip(row.costs, baseline.costs, strict=True))


HEADER = (
    "where",
    "what",
    "CPU ms a call",
    "of it system",
    "calls per CPU s",
    "calls per second",
    "against the first row",
)


def table(rows: Sequence[Row]) -> str:
    """Lay the medians out as a Markdown table."""
    firsts = {row.job.place: row for row in rows if row.job.name == BASELINES[row.job.place]}
    lines = [HEADER, ("---",) * len(HEADER), *(cells(row, firsts[row.job.place]) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines[1] = tuple("-" * width for width in widths)
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def cells(row: Row, first: Row) -> tuple[str, ...]:
    """Write one line of the table."""
    cpu, system, wall = (statistics.median(getattr(cost, name) for cost in row.costs) for name in FIGURES)
    return (
        row.job.place,
        row.job.name,
        f"{cpu * 1e3:.3f}",
        f"{system * 1e3:.3f}",
        f"{1 / cpu:,.0f}",
        f"{1 / wall:,.0f}",
        against(row, first),
    )


FIGURES = ("cpu", "system", "wall")


def against(row: Row, first: Row) -> str:
    """Compare with the first row of the same place, round by round."""
    if row is first:
        return "-"
    if row.job.place == IN_MEMORY and row.job.name not in STORED:
        return f"{median_difference(row, first) * 1e3:+.3f} ms"
    return f"{median_ratio(row, first):.2f} x the calls"


def machine(calls: int, rounds: int, latency: float) -> dict[str, Any]:
    """Describe what the numbers were made on."""
    versions = {name: version(name) for name in ("bonwise", "openai", http_library(openai).__name__)}
    settings = {"calls": calls, "rounds": rounds, "latency": latency}
    return {
        "python": platform.python_version(),
        **versions,
        "system": platform.system(),
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        **settings,
    }


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=CALLS, help="of each contender in each round")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the contenders take turns in each")
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds, of the server on this machine")
    parser.add_argument(
        "--others", type=Path, metavar="FOLDER", help="measure other clients too, in environments made there"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    parser.add_argument("--quick", action="store_true", help="a smoke run: few calls, one round, no latency")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure everything and print the table."""
    asked = arguments(argv)
    settings = (asked.calls, asked.rounds, asked.latency)
    calls, rounds, latency = (QUICK_CALLS, QUICK_ROUNDS, QUICK_LATENCY) if asked.quick else settings
    rows = [Row(job, []) for job in plan(asked.others)]
    with served(latency) as url:
        for number in range(1, rounds + 1):
            for row in rows:
                print(f"round {number}: {row.job.place}, {row.job.name}", file=sys.stderr, flush=True)
                row.costs.append(measure(row.job, calls, url))
    described = machine(calls, rounds, latency)
    print(", ".join(f"{name} {value}" for name, value in described.items()), table(rows), sep="\n\n")
    if asked.json is not None:
        document = {"machine": described, "rows": [asdict(row) for row in rows]}
        asked.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
