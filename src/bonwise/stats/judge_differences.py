"""Differences between every two of some judges on the same prompts: what follows from one judge is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import numpy as np

from bonwise.stats.clusters import cluster_sums
from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, JudgeSums, difference, estimate, one_estimate, without_wild
from bonwise.stats.jackknife import Jackknife, Scatter, paired_jackknives
from bonwise.stats.sums import Floats, Sums

__all__ = ["JudgeDifferences"]

_Found = TypeVar("_Found")


class JudgeDifferences:
    """Judges on the same prompts.

    Parameters
    ----------
    estimands : sequence of Estimand
    matrices : sequence of ndarray of float64, shape (len(Sums._fields), prompts)
        The sums of each judge, prompts in the same order.
    rule : IntervalRule
    """

    def __init__(self, estimands: Sequence[Estimand], matrices: Sequence[Floats], rule: IntervalRule) -> None:
        self._estimands, self._rule = estimands, rule
        self._judges = [_OneJudge(matrix, rule) for matrix in matrices]

    def difference(self, first: int, second: int) -> dict[str, Estimate]:
        """Estimate metric differences as `bonwise.stats.estimation.difference` does, to the last bit.

        Parameters
        ----------
        first, second : int
            Positions of two judges, ``first < second``.
        """
        one, other = self._judges[first], self._judges[second]
        if self._rule.kind == "bootstrap":
            return difference(self._estimands, one.matrix, other.matrix, self._rule)
        values = self._jackknives[first, second]
        sample = _PairOfJudges([one.matrix, other.matrix], self._rule, (one, other))
        rows = zip(self._estimands, *values, strict=True)
        found = {
            e.name: one_estimate(e, sample, float(value), Scatter(float(se), float(df))) for e, value, se, df in rows
        }
        return without_wild(self._estimands, found, lambda below: [one.estimate(below), other.estimate(below)])

    @cached_property
    def _jackknives(self) -> dict[tuple[int, int], Jackknife]:
        pairs = list(combinations(range(len(self._judges)), 2))
        found = paired_jackknives(self._values, [one.unit for one in self._judges], pairs)
        return dict(zip(pairs, found, strict=True))

    def _values(self, totals: Sums) -> Floats:
        return np.stack([e.of(totals) for e in self._estimands])


@dataclass(frozen=True, slots=True)
class _OneJudge:
    """What follows from the sums of one judge, remembered."""

    matrix: Floats
    rule: IntervalRule
    _known: dict[object, object] = field(default_factory=dict)

    def count(self, e: Estimand) -> int:
        return self._once(("count", e.name), lambda: self._alone.count(e))

    def stretch(self, e: Estimand) -> float:
        return self._once(("stretch", e.name), lambda: self._alone.stretch(e))

    def parts(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        return self._once(("parts", of), lambda: of(Sums(*self.unit)))

    def estimate(self, e: Estimand) -> Estimate:
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
        return [one.unit for one in self.judges]

    def parts(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """Return numerator and denominator a prompt; the two ratios share the denominator."""
        (numerator, denominator), (other, _) = (one.parts(of) for one in self.judges)
        return numerator - other, denominator

    def stretch(self, e: Estimand) -> float:
        """Return how many times the mean weight a prompt may weigh, counting prompts that contribute."""
        return max(one.stretch(e) for one in self.judges)

    def count(self, e: Estimand) -> int:
        """Return the number of prompts that contribute."""
        return min(one.count(e) for one in self.judges)
