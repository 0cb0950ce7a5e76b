"""Several judges on the same prompts: the differences of every two, and intervals that hold together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import numpy as np

from bonwise.auditing.result import ChoiceConfidences
from bonwise.stats import estimand, jackknife
from bonwise.stats.clusters import cluster_sums
from bonwise.stats.estimation import IntervalRule, JudgeSums, difference, estimate, one_estimate, without_wild
from bonwise.stats.sums import Floats, Sums

__all__ = ["JudgeDifferences", "UnitInfluences", "aligned", "joint_confidence", "pick_influences"]

_DRAWS = 20_000
_SAME = 1e-9  # a difference of influences below this share of them is rounding: the estimates vary alike


@dataclass(frozen=True, slots=True, eq=False)
class UnitInfluences:
    """How much every prompt, or cluster of prompts, adds to the estimates of one judge."""

    units: np.typing.NDArray[np.object_] | np.typing.NDArray[np.int64]
    """Names of the prompts or codes of the clusters, each once."""
    by_metric: Mapping[str, Floats] = field(repr=False)
    """Their sum of squares is about the variance of the estimate."""


def pick_influences(
    gains: Floats,
    possible: Floats,
    clusters: np.typing.NDArray[np.int64] | None = None,
    weights: Floats | None = None,
) -> dict[str, Floats]:
    """Return the influence of each prompt, or cluster by code, on gain and recovery, of J - R and M - R.

    Examples
    --------
    >>> found = pick_influences(np.array([0.2, 0.0, 0.4]), np.array([0.4, 0.4, 0.4]))
    >>> (found["gain"].round(3) + 0.0).tolist(), (found["recovery"].round(3) + 0.0).tolist()
    ([0.0, -0.067, 0.067], [0.0, -0.167, 0.167])
    """
    w = np.ones(len(gains)) if weights is None else weights
    mean, room = float(w @ gains / w.sum()), float(w @ possible / w.sum())
    w = w / w.sum()
    found = {"gain": w * (gains - mean)}
    if room > 0:
        found["recovery"] = w * (gains - mean / room * possible) / room
    return {name: cluster_sums(values, clusters) for name, values in found.items()}


def aligned(judges: Sequence[UnitInfluences], metric: str) -> Floats:
    """Return the influences of judges on all units, shape (judges, units), 0 where a judge lacks the unit.

    Examples
    --------
    >>> judges = [UnitInfluences(np.array(units), {"gain": np.array(found)})
    ...           for units, found in (([3, 5], [1.0, -1.0]), ([5, 7], [2.0, -2.0]))]
    >>> aligned(judges, "gain").tolist()
    [[1.0, -1.0, 0.0], [0.0, 2.0, -2.0]]
    """
    first = judges[0].units
    if all(judge.units is first or np.array_equal(judge.units, first) for judge in judges):
        return np.stack([judge.by_metric[metric] for judge in judges])
    known, places = np.unique(np.concatenate([judge.units for judge in judges]), return_inverse=True)
    ends = np.cumsum([len(judge.units) for judge in judges])[:-1]
    found = np.zeros((len(judges), len(known)))
    for row, judge, columns in zip(found, judges, np.split(places.reshape(-1), ends), strict=True):
        row[columns] = judge.by_metric[metric]
    return found


def joint_confidence(influences: Floats, confidence: float, *, seed: int = 0) -> ChoiceConfidences:
    """Return the confidences at which intervals of single estimates hold together.

    Z is drawn from the normal law with the correlation of the influences. With c the quantile of max |Z_k| at the
    confidence wanted, intervals at ``2 Phi(c) - 1`` hold together; likewise with max Z_k for lower ends, and with the
    standardised differences of every two. `influences` is (estimates, units), with two estimates or more; one that
    nothing moves is taken to be independent of the others. `confidence` is two-sided, that of one interval alone.

    Examples
    --------
    >>> alike = np.tile(np.random.default_rng(1).standard_normal(100), (5, 1))
    >>> round(joint_confidence(alike, 0.95).simultaneous, 2)  # five estimates that vary alike are one
    0.95
    >>> apart = np.random.default_rng(1).standard_normal((5, 100_000))
    >>> round(joint_confidence(apart, 0.95).simultaneous, 3), round(0.95 ** (1 / 5), 3)  # independent ones
    (0.99, 0.99)
    """
    from scipy import special  # noqa: PLC0415 - what reads no table has no use for scipy

    rng, tail = np.random.default_rng(seed), (1 - confidence) / 2
    size = np.sqrt(np.einsum("ku,ku->k", influences, influences))
    errors = _drawn(influences, rng)
    largest = _largest_difference(errors, influences, size)
    moved = size > 0
    Z = rng.standard_normal(errors.shape) if not moved.all() else errors
    Z[moved] = errors[moved] / size[moved, None]
    lower = float(np.quantile(Z.max(axis=0), 1 - tail))
    each = float(np.quantile(np.abs(Z, out=Z).max(axis=0), confidence))
    apart = float(np.quantile(largest, confidence)) if len(influences) > 2 else 0.0  # a single pair is pointwise
    # A critical value below that of one estimate alone is an accident of the draws.
    after, simultaneous, differences = (
        max(float(1 - 2 * special.ndtr(-c)), confidence) for c in (lower, each, apart)
    )
    return ChoiceConfidences(after=after, simultaneous=simultaneous, differences=differences)


def _drawn(influences: Floats, rng: np.random.Generator) -> Floats:
    """Return draws of the estimates' errors, shape (estimates, draws)."""
    # The triangular factor of the covariance, without the covariance: estimates may vary exactly alike.
    _, factor = np.linalg.qr(influences.T)
    # The signs are LAPACK's choice, and would show in the draws.
    factor *= np.where(np.diagonal(factor) < 0, -1.0, 1.0)[:, None]
    errors: Floats = factor.T @ rng.standard_normal((len(factor), _DRAWS))
    return errors


def _largest_difference(errors: Floats, influences: Floats, size: Floats) -> Floats:
    """Return the largest standardised difference between two estimates in each draw."""
    product = influences @ influences.T
    squares = np.diagonal(product)
    found = np.zeros(errors.shape[1])
    for k in range(len(errors) - 1):
        variance = squares[k] + squares[k + 1 :] - 2 * product[k, k + 1 :]
        for row, square in enumerate(variance, start=k + 1):
            spread = float(np.sqrt(max(square, 0.0)))
            if spread > _SAME * (size[k] + size[row]):
                np.maximum(found, np.abs(errors[k] - errors[row]) / spread, out=found)
    return found


_Found = TypeVar("_Found")


class JudgeDifferences:
    """Judges on the same prompts, by their sums: one matrix each, (len(Sums._fields), prompts), in the same order."""

    def __init__(
        self, estimands: Sequence[estimand.Estimand], matrices: Sequence[Floats], rule: IntervalRule
    ) -> None:
        self._estimands, self._rule = estimands, rule
        self._judges = [_OneJudge(matrix, rule) for matrix in matrices]

    def difference(self, first: int, second: int) -> dict[str, estimand.Estimate]:
        """Estimate as `bonwise.stats.estimation.difference` does, to the last bit; judges are ``first < second``."""
        one, other = self._judges[first], self._judges[second]
        if self._rule.kind == "bootstrap":
            return difference(self._estimands, one.matrix, other.matrix, self._rule)
        values = self._jackknives[first, second]
        sample = _PairOfJudges([one.matrix, other.matrix], self._rule, (one, other))
        rows = zip(self._estimands, *values, strict=True)
        found = {
            e.name: one_estimate(e, sample, float(value), jackknife.Scatter(float(se), float(df), skew=float(skew)))
            for e, value, se, df, skew in rows
        }
        return without_wild(self._estimands, found, lambda below: [one.estimate(below), other.estimate(below)])

    @cached_property
    def _jackknives(self) -> dict[tuple[int, int], jackknife.Jackknife]:
        pairs = list(combinations(range(len(self._judges)), 2))
        found = jackknife.paired_jackknives(self._values, [judge.unit for judge in self._judges], pairs)
        return dict(zip(pairs, found, strict=True))

    def _values(self, totals: Sums) -> Floats:
        return np.stack([e.of(totals) for e in self._estimands])


@dataclass(frozen=True, slots=True)
class _OneJudge:
    """What follows from the sums of one judge, remembered."""

    matrix: Floats
    rule: IntervalRule
    _known: dict[object, object] = field(default_factory=dict)

    def count(self, e: estimand.Estimand) -> int:
        return self._once(("count", e.name), lambda: self._alone.count(e))

    def stretch(self, e: estimand.Estimand) -> float:
        return self._once(("stretch", e.name), lambda: self._alone.stretch(e))

    def parts(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        return self._once(("parts", of), lambda: of(Sums(*self.unit)))

    def estimate(self, e: estimand.Estimand) -> estimand.Estimate:
        rule = replace(self.rule, kind="default")
        return self._once(("estimate", e.name), lambda: estimate([e], self.matrix, rule)[e.name])

    @property
    def unit(self) -> Floats:
        return self._once("unit", lambda: cluster_sums(self.matrix, self.rule.clusters))

    @property
    def _alone(self) -> JudgeSums:
        return JudgeSums([self.matrix], self.rule)

    def _once(self, key: object, compute: Callable[[], _Found]) -> _Found:
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]  # type: ignore[return-value]  # what `compute` returned for this key


@dataclass(frozen=True, slots=True)
class _PairOfJudges(JudgeSums):
    """The sums of two judges, each of which remembers what follows from it alone."""

    judges: tuple[_OneJudge, _OneJudge]

    @property
    def units(self) -> list[Floats]:
        """Sums of what is left out at a time: prompts, or clusters of them."""
        return [judge.unit for judge in self.judges]

    def parts(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """Return numerator and denominator a prompt; the two ratios share the denominator."""
        (numerator, denominator), (other, _) = (judge.parts(of) for judge in self.judges)
        return numerator - other, denominator

    def stretch(self, e: estimand.Estimand) -> float:
        """Return how many times the mean weight a prompt may weigh, counting prompts that contribute."""
        return max(judge.stretch(e) for judge in self.judges)

    def count(self, e: estimand.Estimand) -> int:
        """Return the number of prompts that contribute."""
        return min(judge.count(e) for judge in self.judges)
