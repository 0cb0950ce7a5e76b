"""How the CPU of a study grows with prompts, and that of an audit with judges.

Run ``python benchmarks/growth.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import bonwise as bw
from bonwise.testing import simulate

ROUTE, COMPARE, AUDIT, HOLES = "route", "labels compare", "audit", "audit with holes"
CALIBRATION, STACK = "study calibration", "stack fit"
LACKING = 0.05
"""Share of the prompts that a judge with holes lacks."""
FEWER = (2_000, 8_000, 20_000)
"""Prompts of the slower studies."""
SIZES = tuple(int(one) for one in np.linspace(10_000, 400_000, 20).round())
JUDGES, PROMPTS = (2, 5, 10, 20, 40, 60), 2_000
DRAWS = 200


@dataclass(frozen=True)
class Growth:
    """One measurement.

    Parameters
    ----------
    what : str
    size : int
        Prompts, or judges.
    seconds : float
        Of CPU, all threads together; making the data is not counted.
    ratio : float
        Per prompt over that of the smallest size; of an audit, over the audits of its judges one by one.
    """

    what: str
    size: int
    seconds: float
    ratio: float


def judged(prompts: int, judges: int, seed: int, lacking: float = 0.0) -> pd.DataFrame:
    """Return a labelled table with 4 candidates a prompt, every judge with noise of its own, and prompts it lacks."""
    first, rng = simulate("arena", n=prompts, seed=seed).frame(), np.random.default_rng(seed)
    tables = []
    for at in range(judges):
        score = (0.5 * first["judge_score"] + 0.5 * rng.random(len(first))).round(2)
        table = first.assign(judge=f"judge{at}", judge_score=score if at else first["judge_score"])
        tables.append(table[~np.repeat(rng.random(prompts) < lacking, len(first) // prompts)] if lacking else table)
    return pd.concat(tables, ignore_index=True)


def by_prompts(
    what: str, sizes: Sequence[int], seed: int, judges: int, run: Callable[[pd.DataFrame], object]
) -> Iterator[Growth]:
    """Measure a study at several numbers of prompts."""
    run(judged(1_000, judges, seed))  # imports are not counted
    base = None
    for size in sizes:
        seconds = cpu(run, judged(size, judges, seed))
        base = base or seconds / size
        yield Growth(what, size, seconds, seconds / size / base)


def by_judges(what: str, numbers: Sequence[int], prompts: int, seed: int, lacking: float = 0.0) -> Iterator[Growth]:
    """Measure audits of several judges, which compare every two of them, beside audits of each judge alone."""
    bw.audit(judged(100, 2, seed))
    for number in numbers:
        frame = judged(prompts, number, seed, lacking)
        alone = sum(cpu(bw.audit, one) for _, one in frame.groupby("judge"))
        seconds = cpu(bw.audit, frame)
        yield Growth(what, number, seconds, seconds / alone)


def cpu(run: Callable[[pd.DataFrame], object], frame: pd.DataFrame) -> float:
    """Return the CPU seconds of a run."""
    start = time.process_time()
    run(frame)
    return time.process_time() - start


def numbers(text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas."""
    return tuple(int(one) for one in text.split(","))


def main() -> None:
    """Measure what was asked for, and print each line as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", choices=(ROUTE, COMPARE, CALIBRATION, STACK, AUDIT, HOLES), action="append", help="may be repeated"
    )
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="prompts, separated by commas")
    parser.add_argument("--fewer", type=numbers, default=FEWER, help="prompts of the slower studies")
    parser.add_argument("--judges", type=numbers, default=JUDGES, help="judges, separated by commas")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help="prompts of the audits")
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each design")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    asked = parser.parse_args()
    compare = lambda frame: bw.compare_designs(frame, draws=asked.draws)  # noqa: E731 - one line, used once
    measured = {
        ROUTE: by_prompts(ROUTE, asked.sizes, asked.seed, 2, bw.route),
        COMPARE: by_prompts(COMPARE, asked.sizes, asked.seed, 1, compare),
        CALIBRATION: by_prompts(CALIBRATION, asked.fewer, asked.seed, 1, bw.study_calibration),
        STACK: by_prompts(STACK, asked.fewer, asked.seed, 3, bw.fit_stack),
        AUDIT: by_judges(AUDIT, asked.judges, asked.prompts, asked.seed),
        HOLES: by_judges(HOLES, asked.judges, asked.prompts, asked.seed, LACKING),
    }
    found = []
    print(f"{'what':<18}{'size':>18}{'CPU s':>10}   ratio")
    for what in asked.only or measured:
        for one in measured[what]:
            size = f"{one.size:,} {'judges' if what in (AUDIT, HOLES) else 'prompts'}"
            print(f"{what:<18}{size:>18}{one.seconds:10.2f}{one.ratio:8.2f}", flush=True)
            found.append(asdict(one))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
