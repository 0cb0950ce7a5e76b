"""How often `bonwise watch` raises a false alarm in a year, and how soon it sees a shift, beside weekly tests.

    python benchmarks/watch.py                   # the tables of docs/watch.md: more than half an hour on two cores
    python benchmarks/watch.py --replications 20
    python benchmarks/watch.py --quiet --replications 200

Six signals for 365 days after the baseline. A false alarm is any alarm of any signal within the year. The weekly
tests compare the seven days of each full week with the baseline: by picks (Welch's t test on all picks), and by days
(the same test on the ratios of days). Both are Bonferroni-corrected for 52 weeks and 6 signals.
Then the six signals by weeks, recovery by ranks, and recovery and tie rates against an audit. Each of the seven
signals has a seventh of .05.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from auditing.watching.labelled_laws import LAWS, bound_alarm, recovery_alarm, tie_alarm
from stats.drift.laws import SIX, YEAR, Law, alarm_day, picks_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WEEKS = 52
SHARE = 0.05 / 7
"""Of each of the seven signals of `watch`, whether it is watched or not."""

ONE_TEST = 0.05 / (WEEKS * len(SIX))

STILL = {
    "as they are": {},
    "no day effects": {"effect": 0.0},
    "weekends with a fifth of the traffic": {"traffic": "weekly"},
    "traffic grows tenfold": {"traffic": "growing"},
    "traffic falls to a tenth": {"traffic": "shrinking"},
    "20 picks a day": {"picks": 20},
    "levels 1.5 times as high at weekends": {"weekend": 1.5},
    "days correlated .3 with the day before": {"memory": 0.3},
    "days correlated .6 with the day before": {"memory": 0.6},
}

MEMORIES = (0.0, 0.3, 0.6)
BASELINES = (7, 14, 30)
AUDITED = (50, 200)
TIES = (0.02, 0.2)

RARE = Law("share", 0.04, 0.2)
MOVED = {
    "tie rate 4 % -> 6 %": (RARE, 1.5),
    "tie rate 4 % -> 8 %": (RARE, 2.0),
    "tie rate 4 % -> 12 %": (RARE, 3.0),
    "margin .30 -> .27": (SIX["margin"], 0.9),
    "margin .30 -> .21": (SIX["margin"], 0.7),
    "unscored .5 % -> 5 %": (SIX["unscored share"], 10.0),
    "unscored .5 % -> 50 %": (SIX["unscored share"], 100.0),
    "cost x 1.5, heavy tails": (SIX["cost per pick"], 1.5),
    "cost x 3, heavy tails": (SIX["cost per pick"], 3.0),
    "length x 1.2": (SIX["length"], 1.2),
    "length x 1.5": (SIX["length"], 1.5),
}
SHIFT_AFTER, PATIENCE = 60, 90


def weekly_alarms(law: Law, baseline: int, days: int, seed: tuple[int, ...]) -> list[int | None]:
    """Return the day of the first alarm of the weekly tests by picks and by days, None where there is none."""
    u, v, day = picks_of(law, days, np.random.default_rng(seed))
    found = []
    for unit in (np.arange(len(day)), day):
        numerator, denominator = (np.bincount(unit, weights=values) for values in (u, v))
        of_day = day if len(numerator) == len(day) else np.arange(days)
        found.append(_first_week(numerator, denominator, of_day, baseline, days))
    return found


def _first_week(u: Floats, v: Floats, of_day: Ints, baseline: int, days: int) -> int | None:
    before = _level(u[of_day < baseline], v[of_day < baseline])
    for start in range(baseline, days - 6, 7):
        mine = (of_day >= start) & (of_day < start + 7)
        after = _level(u[mine], v[mine])
        spread = before[1] + after[1]
        if spread <= 0:
            continue
        df = spread**2 / sum(part**2 / (count - 1) for _, part, count in (before, after) if part > 0)
        if 2 * special.stdtr(df, -abs(after[0] - before[0]) / np.sqrt(spread)) < ONE_TEST:
            return start + 6
    return None


def _level(u: Floats, v: Floats) -> tuple[float, float, int]:
    level = u.sum() / v.sum()
    return level, ((u - level * v) ** 2).sum() / (len(u) - 1) * len(u) / v.sum() ** 2, len(u)


def false_alarms(task: tuple[int, dict[str, Any], int]) -> npt.NDArray[np.bool_]:
    """Return whether `watch` and the two weekly tests raised any false alarm in one simulated year."""
    baseline, changes, replication = task
    found = np.zeros(3, dtype=bool)
    for at, law in enumerate(SIX.values()):
        mine, seed = replace(law, **changes), (baseline, replication, at)
        days = baseline + YEAR
        found[0] |= alarm_day(mine, days, baseline, seed, SHARE) is not None
        found[1:] |= [one is not None for one in weekly_alarms(mine, baseline, days, seed)]
    return found


def weeks_alarm(task: tuple[float, int, int, int]) -> bool:
    """Return whether any of six signals alarmed in as many weeks after a baseline of some, the year as long."""
    memory, baseline, weeks, replication = task
    return any(
        alarm_day(
            replace(law, memory=memory),
            baseline + weeks,
            baseline,
            (11, baseline, replication, at),
            SHARE,
            weeks,
            every=7,
        )
        is not None
        for at, law in enumerate(SIX.values())
    )


def recovery_task(task: tuple[str, int, int]) -> bool:
    """Return whether recovery by ranks alarmed in a year, after a baseline of some days."""
    law, baseline, replication = task
    return recovery_alarm(LAWS[law], baseline, YEAR, (13, baseline, replication))


def audited_task(task: tuple[str, int, int]) -> bool:
    """Return whether recovery alarmed in a year against an audit of some prompts."""
    law, prompts, replication = task
    return bound_alarm(LAWS[law], prompts, YEAR, (17, prompts, replication))


def tied_task(task: tuple[float, int, int]) -> bool:
    """Return whether a tie rate alarmed in a year against an audit of some prompts."""
    level, prompts, replication = task
    return tie_alarm(level, prompts, YEAR, (19, prompts, replication))


def quiet_tables(pool: ProcessPoolExecutor, replications: int) -> None:
    """Print the shares of years with a false alarm of weeks, of recovery, and against an audit."""
    times = range(replications)
    print("\n| correlation of days | baseline | years | watch, --by week --year 52 |\n|---|---|---|---|")
    for memory in MEMORIES:
        for baseline in (8, 14):
            found = list(pool.map(weeks_alarm, [(memory, baseline, WEEKS, one) for one in times], chunksize=4))
            print(f"| {memory:g} | {baseline} weeks | {replications} | {np.mean(found):.3f} |", flush=True)
    print("\n| signal | baseline | years | false alarms |\n|---|---|---|---|")
    rows = [(f"recovery, {law}", recovery_task, law, size, "days") for law in LAWS for size in BASELINES]
    rows += [(f"recovery, {law}", audited_task, law, size, "audited prompts") for law in LAWS for size in AUDITED]
    rows += [
        (f"tie rate {level:.0%}", tied_task, level, size, "audited prompts") for level in TIES for size in AUDITED
    ]
    for title, function, law, size, unit in rows:
        found = list(pool.map(function, [(law, size, one) for one in times], chunksize=4))
        print(f"| {title} | {size} {unit} | {replications} | {np.mean(found):.4f} |", flush=True)


def delays(task: tuple[int, Law, float, int]) -> list[float]:
    """Return the days until each rule sees a shift, infinity where it does not within the patience."""
    baseline, law, after, replication = task
    shift = baseline + SHIFT_AFTER + replication % 7
    moved = replace(law, after=after, at=shift)
    seed, days = (7, baseline, replication), shift + PATIENCE
    alarms = [alarm_day(moved, days, baseline, seed, SHARE), *weekly_alarms(moved, baseline, days, seed)]
    # An alarm before the shift is a false one, and no detection.
    return [np.inf if one is None or one < shift else one - shift + 1 for one in alarms]


def main() -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quiet", action="store_true", help="weeks, recovery and audits alone")
    given = parser.parse_args()
    times = range(given.replications)
    with ProcessPoolExecutor(given.processes) as pool:
        if given.quiet:
            quiet_tables(pool, given.replications)
            return
        print("| days | baseline | watch | weekly, by picks | weekly, by days |\n|---|---|---|---|---|")
        for words, changes in STILL.items():
            for baseline in (7, 14, 30) if not changes else (14,):
                found = list(pool.map(false_alarms, [(baseline, changes, one) for one in times], chunksize=4))
                shares = " | ".join(f"{share:.3f}" for share in np.mean(found, axis=0))
                print(f"| {words} | {baseline} | {shares} |", flush=True)
        print("\n| shift | watch | weekly, by picks | weekly, by days |\n|---|---|---|---|")
        for words, (law, after) in MOVED.items():
            found = np.array(list(pool.map(delays, [(30, law, after, one) for one in times], chunksize=4)))
            cells = " | ".join(f"{np.median(one):g} ({np.isfinite(one).mean():.2f})" for one in found.T)
            print(f"| {words} | {cells} |", flush=True)
        quiet_tables(pool, given.replications)


if __name__ == "__main__":
    main()
