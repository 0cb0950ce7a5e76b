"""How much CPU and memory an audit costs, against the bootstraps a user would write instead.

Run ``python benchmarks/audit.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

CONTENDERS_FILE = Path(__file__).with_name("contenders.py")
DEFAULT, BOOTSTRAP, PANDAS = "bonwise, default", "bonwise, bootstrap", "pandas bootstrap"
SCIPY, SCIPY_BATCHED, SCIPY_ALL = "scipy bootstrap", "scipy bootstrap in batches", "scipy bootstrap of all metrics"
CONTENDERS = (DEFAULT, BOOTSTRAP, PANDAS, SCIPY, SCIPY_BATCHED, SCIPY_ALL)

SIZES = (5_000, 100_000, 1_000_000)
REPEATS = 7  # at most; a time is the median of the repeats
QUICK_SIZES, QUICK_RESAMPLES, QUICK_REPEATS = (4_000,), 200, 1
AFFORDABLE = {PANDAS: 5_000_000, SCIPY_BATCHED: 10_000_000, SCIPY_ALL: 5_000_000}  # prompts drawn in all
FEWEST = 5
LARGEST = {SCIPY: 10_000, SCIPY_BATCHED: 200_000, SCIPY_ALL: 200_000}  # prompts; beyond it left out
TOLERANCE = 0.01
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Job:
    """One measurement: a contender at a size.

    Parameters
    ----------
    prompts : int
    contender : str
    resamples : int
        Resamples that are run.
    wanted : int
        Resamples that the time is stated for.
    seed : int
        Of the resamples; a contender has its own, so that intervals agree by statistics, not by chance.
    """

    prompts: int
    contender: str
    resamples: int
    wanted: int
    seed: int

    @property
    def scale(self) -> float:
        """What the seconds per resample are multiplied by."""
        return self.wanted / self.resamples


@dataclass(frozen=True)
class Row:
    """What was measured of a job; the seconds are for all the resamples wanted."""

    job: Job
    seconds: float
    base_mb: float
    peak_mb: float
    intervals: dict[str, tuple[float, float]]


def plan(sizes: Sequence[int], resamples: int, seed: int) -> Iterator[Job]:
    """List the measurements, a contender that would take too long with fewer resamples, or left out."""
    for prompts in sizes:
        for number, contender in enumerate(CONTENDERS):
            if prompts > LARGEST.get(contender, prompts):
                continue
            run = min(resamples, max(FEWEST, AFFORDABLE.get(contender, resamples * prompts) // prompts))
            yield Job(prompts, contender, run, resamples, seed + number)


def measure(job: Job, *, repeats: int, data_seed: int, threads: int) -> Row:
    """Measure in a fresh process, with as many threads for linear algebra as said."""
    asked = {
        "name": job.contender,
        "prompts": job.prompts,
        "resamples": job.resamples,
        "repeats": repeats,
        "seed": job.seed,
        "data_seed": data_seed,
    }
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    done = subprocess.run(
        [sys.executable, str(CONTENDERS_FILE), json.dumps(asked)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    intervals = {name: (low, high) for name, (low, high) in found["intervals"].items()}
    seconds = found["prepare_seconds"] + found["run_seconds"] * job.scale
    return Row(job, seconds, found["base_mb"], found["peak_mb"], intervals)


HEADER = ("size", "what", "CPU s", "x bonwise, same interval", "x bonwise, default", "base MB", "peak RSS MB")


def table(rows: Sequence[Row]) -> str:
    """Lay the measurements out as a Markdown table."""
    seconds = {(row.job.prompts, row.job.contender): row.seconds for row in rows}
    lines = [HEADER, ("---",) * len(HEADER), *(cells(row, seconds) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines[1] = tuple("-" * width for width in widths)
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def cells(row: Row, seconds: dict[tuple[int, str], float]) -> tuple[str, ...]:
    """Write one line of the table."""
    job = row.job
    same = seconds[job.prompts, DEFAULT if job.contender == DEFAULT else BOOTSTRAP]
    return (
        f"{job.prompts:,} x 4",
        label(job),
        f"{row.seconds:.3f}" if row.seconds < 1 else f"{row.seconds:.1f}",
        f"{row.seconds / same:.1f}",
        f"{row.seconds / seconds[job.prompts, DEFAULT]:.1f}",
        f"{row.base_mb:.0f}",
        f"{row.peak_mb:.0f}",
    )


def label(job: Job) -> str:
    """Name what was run, with its resamples and whether its time is scaled."""
    if job.contender == DEFAULT:
        return job.contender
    scaled = f", scaled from {job.resamples:,}" if job.resamples < job.wanted else ""
    return f"{job.contender}, {job.wanted:,} resamples{scaled}"


def agreement(rows: Sequence[Row]) -> dict[str, Any]:
    """Compare the bootstrap intervals at the smallest size, whose resamples were all run."""
    smallest = min(row.job.prompts for row in rows)
    intervals = {
        label(row.job): row.intervals for row in rows if row.job.prompts == smallest and row.job.contender != DEFAULT
    }
    furthest = max(
        abs(a - b)
        for one, other in combinations(intervals.values(), 2)
        for metric in one
        for a, b in zip(one[metric], other[metric], strict=True)
    )
    return {"prompts": smallest, "intervals": intervals, "furthest": furthest, "agree": furthest <= TOLERANCE}


def agreement_text(found: dict[str, Any]) -> str:
    """Say whether the intervals agree."""
    lines = [f"95 % intervals at {found['prompts']:,} prompts:"]
    for name, intervals in found["intervals"].items():
        ends = ", ".join(f"{metric} [{low:.4f}, {high:.4f}]" for metric, (low, high) in intervals.items())
        lines.append(f"  {name}: {ends}")
    verdict = "agree" if found["agree"] else "DISAGREE"
    lines.append(f"They {verdict}: ends lie at most {found['furthest']:.4f} apart (tolerance {TOLERANCE}).")
    return "\n".join(lines)


def machine(threads: int) -> dict[str, Any]:
    """Describe what the numbers were made on."""
    versions = {name: version(name) for name in ("bonwise", "numpy", "scipy", "pandas")}
    return {
        "python": platform.python_version(),
        **versions,
        "system": platform.system(),
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "threads": threads,
    }


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="prompts, separated by commas")
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--threads", type=int, default=1, help="for linear algebra; more than 1 needs a quiet machine"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    parser.add_argument("--quick", action="store_true", help="a smoke run: one small size, few resamples, each once")
    return parser.parse_args(argv)


def numbers(text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas."""
    return tuple(int(part) for part in text.split(","))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure everything, print the table and the agreement."""
    asked = arguments(argv)
    settings = (asked.sizes, asked.resamples, REPEATS)
    sizes, resamples, repeats = (QUICK_SIZES, QUICK_RESAMPLES, QUICK_REPEATS) if asked.quick else settings
    rows = []
    for job in plan(sizes, resamples, asked.seed):
        print(f"measuring {job.prompts:,} x 4: {label(job)}", file=sys.stderr, flush=True)
        rows.append(measure(job, repeats=repeats, data_seed=asked.seed, threads=asked.threads))
    described, agreed = machine(asked.threads), agreement(rows)
    print(", ".join(f"{name} {value}" for name, value in described.items()), end="\n\n")
    print(table(rows), agreement_text(agreed), sep="\n\n")
    if asked.json is not None:
        document = {"machine": described, "rows": [asdict(row) for row in rows], "agreement": agreed}
        asked.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
