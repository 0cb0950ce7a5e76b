"""From per-prompt sums to estimates with intervals: one rule at every size, and the bootstrap over prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.extras import limited_threads
from bonwise.progress import counting
from bonwise.stats import catalog, clusters, jackknife, laws, no_gain, support
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, NOTHING_LOST, Estimand, Estimate
from bonwise.stats.sums import Sums

_CHUNK_CELLS = 1 << 18  # counts held at a time: 2 MB, which fits the cache
_FEWEST = 8  # resamples in a chunk however large n is: a product with fewer columns wastes the processor


def bootstrap(functional: Callable[..., Floats], matrices: Sequence[Floats], *, resamples: int, seed: int) -> Floats:
    """Draw replicates of metrics by resampling whole prompts with replacement.

    Counts of the prompts are multinomial(n; 1/n, ..., 1/n) and totals are counts times sums (the paper's appendix F).
    `functional` takes totals to (metrics, ...), matrices are (len(Sums._fields), prompts), one a judge, replicates
    (metrics, resamples); the same seed, prompts and number of resamples give the same ones, bit for bit.
    """
    totals, matrices = [np.empty((len(matrix), resamples)) for matrix in matrices], list(map(np.asarray, matrices))
    # One BLAS thread: sums in one order, hence the same bits on any number of cores, and less CPU time.
    with limited_threads(1), counting("resample", resamples) as step:
        for some, counts in _counts(matrices[0].shape[1], resamples, seed):
            for total, matrix in zip(totals, matrices, strict=True):
                np.matmul(matrix, counts.T, out=total[:, some])
            step(len(counts))
    return functional(*(Sums(*total) for total in totals))


def _counts(n: int, resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield some resamples at a time, and how often each draws each prompt, shape (resamples, n)."""
    rng = np.random.default_rng(seed)
    step = min(resamples, max(_FEWEST, _CHUNK_CELLS // n))
    counts = np.empty((step, n))
    for start in range(0, resamples, step):
        # 32 bits hold a prompt's number and cost less to draw than 64.
        drawn = rng.integers(0, n, size=(min(step, resamples - start), n), dtype=np.uint32)
        for resample, prompts in enumerate(drawn):
            counts[resample] = np.bincount(prompts, minlength=n)
        yield slice(start, start + len(drawn)), counts[: len(drawn)]


_FEW = 64
SAME_MEAN = 1e-8  # mean labels that differ by less differ by rounding: labels are compared by 9 digits
HALF_VARY = 0.5  # share of pools with different labels up to which labels count as mostly alike
SAME = 1e-12  # a standard error below this share of the values is rounding, not variation
NEAR_0 = 1e-9

SET_BY_POOLS = "every prompt has the same mean label, so the pools fix it by construction"
SINGLE = "it rests on a single prompt"
INDISPENSABLE = "the metric loses its meaning when some prompt is left out"
ALL_ALIKE = "leaving out any prompt changes nothing"


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """How intervals are made."""

    kind: Literal["default", "bootstrap"] = "default"
    """Default: jackknife with Student's t, Fieller for ratios of means. The bootstrap takes the place of both; a mean
    of values with a known range has its interval by `bonwise.stats.laws.EffectiveShare` either way.
    """
    confidence: float = 0.95
    """Two-sided, in (0, 1)."""
    resamples: int = 1000
    seed: int = 0
    """Of the bootstrap."""
    label_range: tuple[float, float] = (0.0, 1.0)
    """Range of the labels, which bounds the values; infinite where their scale is unknown."""
    label_width: float = 1.0
    """Width of that range, or of what the labels span where it is unknown."""
    clusters: Ints | None = field(default=None, compare=False)
    """Codes of the clusters of prompts: the unit that is left out, drawn and summed over. Each prompt is one where
    they are not given.
    """

    def keep(self, prompts: Mask) -> IntervalRule:
        """Return the rule for some of the prompts."""
        return self if self.clusters is None else replace(self, clusters=self.clusters[prompts])


def estimate(estimands: Sequence[Estimand], sums: Floats, rule: IntervalRule) -> dict[str, Estimate]:
    """Estimate metrics from per-prompt sums, (len(Sums._fields), prompts), in the order of the estimands."""
    return estimated(estimands, JudgeSums([sums], rule))


def estimated(estimands: Sequence[Estimand], sample: JudgeSums) -> dict[str, Estimate]:
    """Estimate metrics of one judge from its sums, or differences of two."""
    found = _estimate(estimands, sample)
    if len(sample.matrices) == 1:
        return {e.name: _lost(e, found[e.name], sample) for e in estimands}
    return without_wild(estimands, found, lambda e: [estimated([e], own)[e.name] for own in sample.alone])


def _lost(e: Estimand, found: Estimate, sample: JudgeSums) -> Estimate:
    """Give a metric that is 1 less a ratio Fieller's interval, and no value where that is unbounded."""
    if e.lost_of is None or found.estimate is None or found.n < 2 or sample.too_few:
        return found
    if found.reason is not None:
        return found
    law = laws.Turned(sample.fieller_of_influence(e.lost_of), 1.0)
    if law.at(sample.rule.confidence) is None:
        return Estimate.undefined(f"unbounded: {NOT_DISTINGUISHABLE}", found.n)
    if found.interval != "jackknife":
        return found
    return under(law, sample.rule.confidence, estimate=found.estimate, se=found.se or np.nan, n=found.n)


def with_no_gain_tests(
    found: Mapping[str, Estimate],
    of: Mapping[str, laws.Law],
    test: Callable[[laws.Law], no_gain.DealtLabels | no_gain.DealtBefore],
) -> dict[str, Estimate]:
    """Return gain and recovery with tests that there is none, where they have intervals."""
    out: dict[str, Estimate] = {}
    for name in ("gain", "recovery"):
        own = found[name]
        if own.law is not None:
            # Where all prompts are alike their scatter is 0, and the bound for that case holds.
            out[name] = replace(own, no_gain=test(own.law if own.interval == "exact" else of[name]))
    return out


def may_be_0(found: Estimate) -> bool:
    """Tell whether an estimate cannot be told from 0: nothing should be divided by it."""
    if found.low is None or found.high is None:
        return found.estimate is None or abs(found.estimate) < NEAR_0
    return found.low <= 0 <= found.high


def difference(
    estimands: Sequence[Estimand], first: Floats, second: Floats, rule: IntervalRule
) -> dict[str, Estimate]:
    """Estimate differences of metrics, first less second judge, from sums of the same prompts in the same order."""
    return estimated(estimands, JudgeSums([first, second], rule))


def without_wild(
    estimands: Sequence[Estimand], found: dict[str, Estimate], alone: Callable[[Estimand], Sequence[Estimate]]
) -> dict[str, Estimate]:
    """Undefine estimates divided by what cannot be told from 0, or that a judge lacks; `alone` gives each judge's."""
    by_name = {e.name: e for e in estimands}
    out = dict(found)
    for e in estimands:
        if e.over is None or found[e.name].estimate is None:
            continue
        if any(map(may_be_0, alone(by_name[e.over]))):
            out[e.name] = Estimate.undefined(NOT_DISTINGUISHABLE, found[e.name].n)
        elif lacking := [own for own in alone(e) if own.estimate is None]:
            out[e.name] = Estimate.undefined(lacking[0].reason or NOT_DISTINGUISHABLE, found[e.name].n)
    return out


@dataclass(frozen=True, eq=False)
class JudgeSums:
    """Per-prompt sums of one judge, or of two judges whose metrics are subtracted."""

    matrices: list[Floats]
    rule: IntervalRule

    @property
    def alone(self) -> Sequence[JudgeSums]:
        """Each of two judges."""
        return [JudgeSums([sums], replace(self.rule, kind="default")) for sums in self.matrices]

    def scatter(self, estimands: Sequence[Estimand]) -> jackknife.Jackknife:
        """Return estimates, and how they vary with units left out."""
        return jackknife.jackknife(catalog.functional_of(estimands), self.units)

    def limits(self, e: Estimand) -> tuple[float, float]:
        """Return the range of a metric, or of the difference of two."""
        low, high = e.limits if e.limits is not None else self.rule.label_range
        if e.contrast:
            low, high = low - high, high - low
        return (low, high) if len(self.matrices) == 1 else (low - high, high - low)

    @cached_property
    def too_few(self) -> str:
        """Why no interval can rest on the clusters, or on the weights of the prompts; empty where one can."""
        few, prompts = clusters.too_few_clusters(self.rule.clusters), self.of_prompts[0].prompts
        if few or len(prompts) < 2:
            return few
        return support.too_light(support.effective_count(prompts), "prompts of equal weight")

    @cached_property
    def most_df(self) -> float:
        """The degrees of freedom that the sizes of the clusters leave."""
        return math.inf if self.rule.clusters is None else clusters.most_df(self.rule.clusters)

    @cached_property
    def units(self) -> list[Floats]:
        """Sums of what is left out at a time: prompts, or clusters of them."""
        return [clusters.cluster_sums(matrix, self.rule.clusters) for matrix in self.matrices]

    @cached_property
    def first_units(self) -> Sums:
        """The sums of a few units."""
        return Sums(*self.units[0][:, :_FEW])

    @cached_property
    def of_units(self) -> list[Sums]:
        """The sums of all units, by judge."""
        return [Sums(*unit) for unit in self.units]

    @property
    def same_pools(self) -> bool:
        """Whether every prompt has the same mean label although labels differ within prompts."""
        sums = self.of_prompts[0]
        means = sums.R / sums.prompts
        alike = same_means(float(means.min()), float(means.max()), self.rule.label_width)
        return alike and bool(sums.apart_O.any())

    def size(self, e: Estimand) -> float:
        """Return the size of a metric, of which a part is rounding: that of the labels, or of shares."""
        if e.name == "attenuation":
            squares = self.of_units[0]
            return float(catalog.ratio(np.sqrt(squares.eSS.sum()), np.sqrt(squares.eOO.sum()), 0.0))
        return 1.0 if e.limits is not None else self.rule.label_width

    @cached_property
    def of_prompts(self) -> list[Sums]:
        """The sums of all prompts, by judge."""
        return self.of_units if self.rule.clusters is None else [Sums(*matrix) for matrix in self.matrices]

    def parts(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """Return numerator and denominator a unit; the difference of two ratios shares its denominator."""
        (numerator, denominator), *others = map(of, self.of_units)
        for other, _ in others:
            numerator = numerator - other
        return numerator, denominator

    def bounded(self, e: Estimand) -> bool:
        """Tell whether a metric is a mean of values between two known ends, of one judge."""
        alone = len(self.matrices) == 1 and not e.contrast
        mean = e.average_over is not None or e.share_of is not None
        return alone and mean and all(map(math.isfinite, self.limits(e)))

    @property
    def weights(self) -> Floats:
        """What each prompt weighs."""
        return np.ones(self.matrices[0].shape[1])

    def most_draws(self, e: Estimand) -> float:
        """Return the draws a share is worth at most, as rare ones vary too little; infinite by its variance."""
        sums = self.of_prompts[0]
        if e.at_most_prompts:
            return support.effective_count(self.weights * sums.prompts)
        if e.share_of is not None and mostly_alike(sums.all_apart_O > 0):
            return support.effective_count(self.weights * e.share_of(sums))
        return math.inf

    def only_ends(self, e: Estimand) -> bool:
        """Tell whether the values that a bounded metric is a mean of are its two ends alone, as of yes and no."""
        if e.average_over is None or not self.bounded(e):
            return False
        low, high = self.limits(e)
        # A few units tell nearly always that there are other values.
        for sums in (self.first_units, self.of_units[0]):
            values = e.of(sums)[e.average_over(sums) > 0]
            if not bool(((values == low) | (values == high)).all()):
                return False
        return True

    def stretch(self, e: Estimand) -> float:
        """Return how many times the mean weight a prompt may weigh, counting prompts that contribute."""
        heaviest = float(self.of_prompts[0].prompts.max())
        if e.average_over is None:
            return heaviest
        found = []
        for sums in self.of_prompts:
            weights = e.average_over(sums)
            most = float(sums.all_pairs.max()) if (weights > sums.prompts).any() else heaviest
            found.append(most / float(weights[weights > 0].mean()))
        return max(found)

    def count(self, e: Estimand) -> int:
        """Return the number of prompts that contribute."""
        return min(_count(e, sums) for sums in self.of_prompts)

    def count_units(self, e: Estimand) -> int:
        """Return the number of prompts, or of clusters, that contribute."""
        return self.count(e) if self.rule.clusters is None else min(_count(e, Sums(*unit)) for unit in self.units)

    def fieller(self, of: Callable[[Sums], tuple[Floats, Floats]], limits: tuple[float, float]) -> laws.Fieller:
        """Return the law of a ratio of means."""
        return _fieller(*self.parts(of), limits)

    def fieller_of_influence(self, of: Sequence[Callable[[Sums], Floats]]) -> laws.Fieller:
        """Return the law of a ratio of two metrics, each with its influence values in the place of contributions."""
        unit = self.units[0]
        totals, n = unit.sum(axis=1), unit.shape[1]
        rests = (Sums(*(totals[:, None] - unit[:, some])) for some in jackknife.chunks(n))
        left_out = np.concatenate([[metric(rest) for metric in of] for rest in rests], axis=1)
        numerator, denominator = (
            metric(Sums(*totals)) + (n - 1) * (left.mean() - left) for metric, left in zip(of, left_out, strict=True)
        )
        return _fieller(numerator, denominator, (-np.inf, np.inf))

    def bets(self, e: Estimand) -> laws.BoundedMeans:
        """Return the bets on a mean or a ratio of means over prompts; a cluster is worth its largest number."""
        t, codes = self.of_prompts[0], self.rule.clusters
        above, below = e.parts(t) if e.parts is not None else (e.of(t), t.prompts)
        ends = (-self.rule.label_width, self.rule.label_width) if e.parts is not None else self.limits(e)
        largest = 1 if codes is None else int(np.unique(codes, return_counts=True)[1].max())
        above, below = (clusters.cluster_sums(part, codes) / largest for part in (above, below))
        return laws.BoundedMeans(above, below, ends, self.limits(e), ratio=e.parts is not None)

    def exact(self, e: Estimand, value: float) -> laws.Exact:
        """Return the bound where all prompts are alike."""
        return laws.Exact(value, self.count_units(e), self.exact_limits(e, value), self.stretch(e))

    def mean_denominator(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> float:
        """Return the mean of the denominator of a ratio of means."""
        return float(np.mean(of(self.of_prompts[0])[1]))

    def exact_limits(self, e: Estimand, value: float) -> tuple[float, float]:
        """Return the range for the bound of prompts all alike: that of the labels over the mean denominator."""
        low, high = self.limits(e)
        if e.parts is None:
            return low, high
        reach = self.rule.label_width / self.mean_denominator(e.parts)
        return max(value - reach, low), min(value + reach, high)


def same_means(least: float, most: float, label_width: float) -> bool:
    """Tell whether mean labels of prompts, the least and the most, differ by rounding alone."""
    return most - least <= max(SAME_MEAN * label_width, float(np.spacing(abs(most) * 16)))


def mostly_alike(vary: Mask) -> bool:
    """Tell whether labels vary in so few pools that a share of their squares is worth those alone."""
    return bool(vary.mean() <= HALF_VARY)


def _estimate(estimands: Sequence[Estimand], sample: JudgeSums) -> dict[str, Estimate]:
    rule, values = sample.rule, sample.scatter(estimands)
    drawn: Sequence[Floats | None] = [None] * len(estimands)
    if rule.kind == "bootstrap":
        functional = catalog.functional_of(estimands)
        drawn = list(bootstrap(functional, sample.units, resamples=rule.resamples, seed=rule.seed))
    rows = zip(estimands, *values, drawn, strict=True)
    return {
        e.name: one_estimate(
            e,
            sample,
            float(value),
            jackknife.Scatter(float(se), float(df), skew=float(skew)),
            None if found is None else laws.Percentile(found),
        )
        for e, value, se, df, skew, found in rows
    }


def one_estimate(
    e: Estimand, sample: JudgeSums, value: float, scatter: jackknife.Scatter, law: laws.Law | None = None
) -> Estimate:
    """Give a metric the interval that its sample allows, by `law` where given, or the reason why there is none."""
    n, limits, confidence = sample.count(e), sample.limits(e), sample.rule.confidence
    units = n if sample.rule.clusters is None else sample.count_units(e)
    se, most = scatter.se, max(min(units - 1.0, sample.most_df), 1.0)
    df = min(scatter.most if sample.only_ends(e) else scatter.df, most)
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", n)
    if e.lost_of is not None and len(sample.matrices) == 1 and value <= SAME:
        return Estimate.undefined(NOTHING_LOST, n)
    # Only rounding can carry an estimate beyond the range of its metric.
    value = min(max(value, limits[0]), limits[1])
    if e.set_by_pools and n > 1 and sample.same_pools:
        return _without_interval(value, n, SET_BY_POOLS)
    codes = sample.rule.clusters if e.of_products else None
    if reason := sample.too_few or ("" if codes is None else clusters.too_few_kinds(codes)):
        return _without_interval(value, n, reason)
    if e.parts is not None and n > 1:
        fieller = sample.fieller(e.parts, limits)
        if fieller.at(confidence) is None:
            # The ratio itself would be wild, whichever interval was asked for.
            return Estimate.undefined(NOT_DISTINGUISHABLE, n)
        if law is None and len(sample.matrices) == 1 and limits[1] == 1:
            law = laws.RecoveryNearOne.over(fieller, value, fieller.se, fieller.df)
        law = law or fieller
    elif sample.bounded(e) and limits[0] < value < limits[1] and np.isfinite(se) and se > 0:
        law = laws.EffectiveShare(value, se, df, limits, most=sample.most_draws(e))
    elif law is None and e.of_products and limits == (-1.0, 1.0) and abs(value) < 1:
        law = laws.FisherZ(value, se, df)
    average = e.average_over is not None or e.parts is not None
    exact = (lambda: sample.exact(e, value)) if average else None
    scatter = jackknife.Scatter(se, df, size=sample.size(e), skew=scatter.skew if average else 0.0)
    return from_jackknife(value, scatter, n, limits, confidence, exact=exact, law=law)


def from_jackknife(
    value: float,
    scatter: jackknife.Scatter,
    n: int,
    limits: tuple[float, float],
    confidence: float,
    *,
    exact: Callable[[], laws.Exact] | None,
    law: laws.Law | None = None,
) -> Estimate:
    """Give an estimate the interval that its leave-one-out standard error allows.

    `n` counts the prompts that contribute; `limits` is the range of the metric. `exact` makes the bound where prompts
    do not vary, which is rare; it is None for what is no average over prompts. A `law` replaces Student's t.
    """
    se, df = scatter.se, scatter.df
    if n < 2:
        return _without_interval(value, n, SINGLE)
    if not np.isfinite(se):
        return _without_interval(value, n, INDISPENSABLE)
    if se <= SAME * max(scatter.size, abs(value)):
        if exact is None:
            return _without_interval(value, n, ALL_ALIKE)
        return under(exact(), confidence, estimate=value, se=0.0, n=n)
    if isinstance(law, laws.Percentile):
        se = float(law.replicates.std(ddof=1))
    return under(
        law or laws.Student(value, se, df, limits, skew=scatter.skew), confidence, estimate=value, se=se, n=n
    )


NO_INTERVAL = {
    "bootstrap": "no interval: undefined in some of the resamples",
    "exact": "no interval: all prompts are alike and the metric has no finite range",
}


def under(law: laws.Law, confidence: float, *, estimate: float, se: float, n: int) -> Estimate:
    """Return an estimate with the interval its law gives, or the reason why it gives none."""
    se_or_none = se if math.isfinite(se) else None
    ends = law.at(confidence)
    if ends is None:
        return Estimate(estimate, None, None, se_or_none, n, None, reason=NO_INTERVAL[law.kind])
    return Estimate(estimate, *ends, se_or_none, n, law.kind, law=law)


def _count(e: Estimand, sums: Sums) -> int:
    return len(sums.prompts) if e.counted is None else int(np.count_nonzero(e.counted(sums)))


def _without_interval(value: float, n: int, reason: str) -> Estimate:
    return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")


def _fieller(numerator: Floats, denominator: Floats, limits: tuple[float, float]) -> laws.Fieller:
    n = len(numerator)
    covariance = np.cov(numerator, denominator, ddof=1) / n
    a, b = float(numerator.mean()), float(denominator.mean())
    return laws.Fieller(
        a,
        b,
        float(covariance[0, 0]),
        float(covariance[0, 1]),
        float(covariance[1, 1]),
        jackknife.kurtosis_df(numerator - a / b * denominator) if b else n - 1.0,
        limits,
    )
