"""What the audit benchmark measures: bonwise and the bootstraps a user would write, one a process.

Each contender starts from the same long DataFrame and has two steps, so that a bootstrap too slow for
all its resamples can be scaled: `prepare` is paid once, `run` is paid per resample.
"""

from __future__ import annotations

import inspect
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

import bonwise
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimand import Estimate
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate

Floats = npt.NDArray[np.float64]
Intervals = dict[str, tuple[float, float]]

CANDIDATES = 4
METRICS = ("within_r", "recovery")
TAILS = (0.025, 0.975)

WARM_UP_PROMPTS = 50
ENOUGH_SECONDS = 1.0  # of CPU; repeating stops there
SCIPY_BATCH_PROMPTS = 250_000  # what fits the cache; larger batches are slower


@dataclass(frozen=True)
class Contender:
    """One way from a DataFrame to intervals.

    Parameters
    ----------
    prepare : callable
        The DataFrame to whatever `run` resamples.
    run : callable
        That, the number of resamples and a seed, to the intervals.
    """

    prepare: Callable[[pd.DataFrame], Any]
    run: Callable[[Any, int, int], Intervals]


def bonwise_audit(kind: Literal["default", "bootstrap"]) -> Contender:
    """Return ``bonwise.audit(frame)``, all metrics and the verdict."""

    def run(frame: pd.DataFrame, resamples: int, seed: int) -> Intervals:
        found = bonwise.audit(frame, interval=kind, resamples=resamples, seed=seed)
        return {name: ends(found[name]) for name in METRICS}

    return Contender(lambda frame: frame, run)


def ends(found: Estimate) -> tuple[float, float]:
    """Return the interval of an estimate that must have one."""
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@dataclass(frozen=True)
class PandasPools:
    """Two numeric columns, and the rows of each prompt."""

    cells: pd.DataFrame
    rows: npt.NDArray[np.int64]  # shape (prompts, candidates)


def pandas_prepare(frame: pd.DataFrame) -> PandasPools:
    """Find the rows of each prompt; the pools being of one size, as an array."""
    codes, prompts = pd.factorize(frame["prompt_id"])
    rows = np.argsort(codes, kind="stable").reshape(len(prompts), -1)
    return PandasPools(frame[["judge_score", "oracle_label"]], rows)


def pandas_run(pools: PandasPools, resamples: int, seed: int) -> Intervals:
    """Take the rows of the prompts drawn, number the draws afresh, group by that number."""
    rng = np.random.default_rng(seed)
    prompts, candidates = pools.rows.shape
    clusters = np.repeat(np.arange(prompts), candidates)
    replicates = np.empty((resamples, len(METRICS)))
    for resample in range(resamples):
        drawn = pools.rows[rng.integers(0, prompts, size=prompts)]
        replicates[resample] = within_r_and_recovery(pools.cells.take(drawn.ravel()), clusters)
    low, high = np.quantile(replicates, TAILS, axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(METRICS)}


def within_r_and_recovery(cells: pd.DataFrame, clusters: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Compute both metrics from cells, ties in expectation."""
    pools = cells.groupby(clusters)
    apart = cells - pools.transform("mean")
    scores, labels = apart["judge_score"], apart["oracle_label"]
    within_r = (scores * labels).sum() / np.sqrt((scores**2).sum() * (labels**2).sum())
    random, judge, best = values_of_picks(cells, clusters)
    return float(within_r), float((judge.mean() - random.mean()) / (best.mean() - random.mean()))


def values_of_picks(
    cells: pd.DataFrame, clusters: npt.NDArray[np.int64]
) -> tuple[pd.Series[float], pd.Series[float], pd.Series[float]]:
    """Return each prompt's mean label, expected label of the judge's pick, and best label."""
    top = cells["judge_score"] == cells["judge_score"].groupby(clusters).transform("max")
    labels = cells["oracle_label"].groupby(clusters)
    return labels.mean(), cells["oracle_label"].where(top).groupby(clusters).mean(), labels.max()


def scipy_prepare(frame: pd.DataFrame) -> dict[str, tuple[Floats, ...]]:
    """Reduce each prompt to the sums that the two metrics are made of."""
    codes, _ = pd.factorize(frame["prompt_id"])
    cells = frame[["judge_score", "oracle_label"]]
    apart = cells - cells.groupby(codes).transform("mean")
    scores, labels = apart["judge_score"], apart["oracle_label"]
    products = pd.DataFrame({"SO": scores * labels, "SS": scores**2, "OO": labels**2}).groupby(codes).sum()
    random, judge, best = values_of_picks(cells, codes)
    return {
        "within_r": tuple(products[name].to_numpy() for name in ("SO", "SS", "OO")),
        "recovery": ((judge - random).to_numpy(), (best - random).to_numpy()),
    }


def within_r_of_sums(products: Floats, squares: Floats, others: Floats, axis: int) -> Floats:
    """Within-prompt correlation from sums of products of deviations."""
    found: Floats = products.sum(axis) / np.sqrt(squares.sum(axis) * others.sum(axis))
    return found


def recovery_of_sums(gained: Floats, possible: Floats, axis: int) -> Floats:
    """Recovery from what the picks gain and what they could gain."""
    found: Floats = gained.sum(axis) / possible.sum(axis)
    return found


def scipy_bootstrap(batch_prompts: int | None) -> Contender:
    """Return ``scipy.stats.bootstrap``, called once a metric.

    Parameters
    ----------
    batch_prompts : int or None
        Resampled prompts held at a time; None is scipy's own default, all of them.
    """

    def run(sums: dict[str, tuple[Floats, ...]], resamples: int, seed: int) -> Intervals:
        found = {}
        for name, statistic in (("within_r", within_r_of_sums), ("recovery", recovery_of_sums)):
            low, high = scipy_interval(sums[name], statistic, batch_prompts, resamples, seed)
            found[name] = (float(low), float(high))
        return found

    return Contender(scipy_prepare, run)


def scipy_interval(
    sums: Sequence[Floats], statistic: Callable[..., Floats], batch_prompts: int | None, resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """Call the vectorised paired percentile bootstrap."""
    # scipy before 1.15 names it random_state.
    stream = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
    interval = stats.bootstrap(
        sums,
        statistic,
        n_resamples=resamples,
        batch=None if batch_prompts is None else max(1, batch_prompts // len(sums[0])),
        vectorized=True,
        paired=True,
        method="percentile",
        **{stream: np.random.default_rng(seed)},
    ).confidence_interval
    return np.asarray(interval.low), np.asarray(interval.high)


def all_metrics_prepare(frame: pd.DataFrame) -> tuple[Floats, ...]:
    """Reduce each prompt to the sums that all the metrics are made of, by bonwise's own function."""
    codes, _ = pd.factorize(frame["prompt_id"])
    ordered = frame.iloc[np.argsort(codes, kind="stable")]
    scores, labels = ordered["judge_score"].to_numpy(), ordered["oracle_label"].to_numpy()
    return tuple(prompt_sums(scores, labels, np.bincount(codes)))


def all_metrics_run(sums: tuple[Floats, ...], resamples: int, seed: int) -> Intervals:
    """Bootstrap, by scipy and in one call, every metric whose interval bonwise bootstraps."""

    def metrics(*resampled: Floats, axis: int) -> Floats:
        totals = Sums(*(each.sum(axis) for each in resampled))
        return np.stack([estimand.of(totals) for estimand in ESTIMANDS])

    low, high = scipy_interval(sums, metrics, SCIPY_BATCH_PROMPTS, resamples, seed)
    places = {estimand.name: place for place, estimand in enumerate(ESTIMANDS)}
    return {name: (float(low[places[name]]), float(high[places[name]])) for name in METRICS}


CONTENDERS = {
    "bonwise, default": bonwise_audit("default"),
    "bonwise, bootstrap": bonwise_audit("bootstrap"),
    "pandas bootstrap": Contender(pandas_prepare, pandas_run),
    "scipy bootstrap": scipy_bootstrap(None),
    "scipy bootstrap in batches": scipy_bootstrap(SCIPY_BATCH_PROMPTS),
    "scipy bootstrap of all metrics": Contender(all_metrics_prepare, all_metrics_run),
}


def measure(name: str, *, prompts: int, resamples: int, repeats: int, seed: int, data_seed: int) -> dict[str, Any]:
    """Measure one contender in this process.

    Parameters
    ----------
    name : str
        A key of `CONTENDERS`.
    prompts, resamples : int
    repeats : int
        A time is the median of so many at most.
    seed : int
        Of the resamples.
    data_seed : int
        Of the simulated data.

    Returns
    -------
    dict
        CPU seconds of the two steps, the peak memory before and after the first call, the intervals.
    """
    contender = CONTENDERS[name]
    warm_up = simulate("arena", n=WARM_UP_PROMPTS, seed=data_seed).frame()
    contender.run(contender.prepare(warm_up), 2, seed)  # whatever is imported late is imported now
    frame = simulate("arena", n=prompts, seed=data_seed, candidates=CANDIDATES).frame()
    base_mb = peak_mb()
    times: list[tuple[float, float]] = []
    found: dict[str, Any] = {}
    while len(times) < repeats and sum(sum(steps) for steps in times) < ENOUGH_SECONDS:
        start = cpu_seconds()
        prepared = contender.prepare(frame)
        between = cpu_seconds()
        intervals = contender.run(prepared, resamples, seed)
        times.append((between - start, cpu_seconds() - between))
        # The memory of one call: what later repeats leave behind is no part of it.
        found = found or {"base_mb": base_mb, "peak_mb": peak_mb(), "intervals": intervals}
    prepare, run = (statistics.median(step) for step in zip(*times, strict=True))
    return {"prepare_seconds": prepare, "run_seconds": run, "repeats": len(times), **found}


def cpu_seconds() -> float:
    """Return CPU seconds of this process, all its threads and the children it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_mb() -> float:
    """Return the most memory this process ever held, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
