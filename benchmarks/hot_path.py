"""How many calls the engine with a ledger on the disk makes for the CPU that the SDK's ``create`` takes.

Run ``python benchmarks/hot_path.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy import stats

from call_contenders import CONTENDERS, KEY, Call
from scripted_model import served

BASELINE = "create"
NAMES = (BASELINE, "bonwise", "bonwise by aiohttp")
CALLS = {1: 150, 64: 1_500, 256: 1_500}
"""Measured calls of one contender in one round, by the calls at once."""

ROUNDS, LATENCY = 15, 0.02


@dataclass
class Taken:
    """Seconds of CPU of one call of a contender, a figure a round."""

    by_contender: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, seconds: float) -> None:
        """Note one round."""
        self.by_contender.setdefault(name, []).append(seconds)

    def ratios(self, name: str) -> list[float]:
        """Return how many times the calls of `create` a contender made for the same CPU, round by round."""
        pairs = zip(self.by_contender[BASELINE], self.by_contender[name], strict=True)
        return [base / own for base, own in pairs]


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return the ends of the interval of a median between two order statistics, which needs no distribution."""
    ordered, n = sorted(values), len(values)
    below = int(stats.binom.ppf((1 - confidence) / 2, n, 0.5))
    # One step out where the step itself would cover less.
    if below and stats.binom.cdf(below - 1, n, 0.5) > (1 - confidence) / 2:
        below -= 1
    at = max(below - 1, 0)
    return ordered[at], ordered[n - 1 - at]


async def ask_all(call: Call, numbers: range, at_once: int) -> None:
    """Ask all questions, so many at once."""
    left = iter(numbers)

    async def worker() -> None:
        for number in left:
            await call(number)

    await asyncio.gather(*(worker() for _ in range(at_once)))


def cpu() -> float:
    """Return the seconds of CPU of this process and its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(name: str, url: str, at_once: int, calls: int) -> float:
    """Return the seconds of CPU of one call, after a warm-up that also connects."""
    with tempfile.TemporaryDirectory() as folder:
        async with CONTENDERS[name](url, Path(folder)) as call:
            await ask_all(call, range(-2 * at_once - 20, 0), at_once)
            before = cpu()
            await ask_all(call, range(calls), at_once)
            return (cpu() - before) / calls


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the contenders take turns in each")
    parser.add_argument("--at-once", type=int, nargs="+", default=list(CALLS), help="calls under way")
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds, of the server on this machine")
    parser.add_argument("--quick", action="store_true", help="a smoke run: one round of few calls")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure everything and print the table."""
    asked = arguments(argv)
    os.environ["OPENAI_API_KEY"] = KEY
    taken = {at_once: Taken() for at_once in asked.at_once}
    with served(asked.latency) as url:
        for number in range(1 if asked.quick else asked.rounds):
            for at_once, found in taken.items():
                calls = 2 * at_once if asked.quick else CALLS.get(at_once, 1_500)
                for name in NAMES if number % 2 else NAMES[::-1]:
                    found.add(name, asyncio.run(measure(name, f"{url}/v1", at_once, calls)))
            print(f"round {number + 1}", file=sys.stderr, flush=True)
    print("| at once | what | CPU ms a call | times the calls | 95 % interval |")
    print("| ------- | ---- | ------------- | --------------- | ------------- |")
    for at_once, found in taken.items():
        for name in NAMES:
            ratios = found.ratios(name)
            low, high = median_interval(ratios)
            cost = statistics.median(found.by_contender[name]) * 1e3
            print(f"| {at_once} | {name} | {cost:.3f} | {statistics.median(ratios):.2f} | {low:.2f} to {high:.2f} |")


if __name__ == "__main__":
    main()
