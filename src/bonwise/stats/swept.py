"""Estimates of more prompts than memory holds: what they need of the sums of prompts, gathered chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.stats import catalog, estimation, jackknife, laws, no_gain, support
from bonwise.stats.estimand import Estimand, Estimate
from bonwise.stats.sums import Sums

FIELDS = len(Sums._fields)
ROWS = FIELDS + 3  # sums of a prompt, of a judge: `Sums`, the lowest label, and both moments of dealt labels
HELD = 100_000  # prompts up to which their sums are held, so that all is computed as it is in memory

Chunks = Callable[[], Iterable[Floats]]
"""Yields the sums of some prompts at a time, (judges * ROWS, prompts)."""

_LOWEST, _VARIANCE, _THIRD = range(FIELDS, ROWS)
J, R, M = (Sums._fields.index(name) for name in "JRM")
_STEP = 0.01  # of a numerical derivative, in units of the scatter of a total

_WEIGHTS = tuple(dict.fromkeys(e.weight for e in catalog.ESTIMANDS if e.weight is not None))
_EVERY = (*catalog.ESTIMANDS, *catalog.LOSSES)
_PLACE = {e.name: at for at, e in enumerate(_EVERY)}


class Facts(NamedTuple):
    """What estimates need of the sums of prompts, of one judge or of two; those of two parts of a table add up."""

    prompts: float
    totals: Floats  # (judges * ROWS,)
    products: Floats  # sums of products of deviations from the mean, (judges * ROWS, judges * ROWS)
    counts: Floats  # by judge and metric: prompts that contribute; their weights in an average, and how many have one
    marks: Floats  # by judge and metric: 1 where a value is not at an end, and where a prompt weighs above 1
    spans: Floats  # by judge: largest mean label of a prompt, its smallest turned, and the most pairs
    vary: Floats  # by judge: prompts whose labels differ
    worth: Floats  # by judge and weight of metrics: the sum, and that of squares
    extremes: Floats  # prompts that lose or win most, or could, in their order, (judges * ROWS, few); of two: differ

    def sums(self, judge: int = 0) -> Sums:
        """Return the totals of a judge."""
        return Sums(*self.totals[judge * ROWS :][:FIELDS])

    def alone(self, judge: int) -> Facts:
        """Return those of one of two judges, on the same prompts."""
        rows = slice(judge * ROWS, (judge + 1) * ROWS)
        by_judge = (of[[judge]] for of in (self.counts, self.marks, self.spans, self.vary, self.worth))
        return Facts._make(
            (self.prompts, self.totals[rows], self.products[rows, rows], *by_judge, self.extremes[rows])
        )

    def influences(self) -> list[tuple[Floats, float]]:
        """Return how much a prompt moves gain and recovery: a line of its sums less a number."""
        t, lines = self.sums(), np.zeros((2, ROWS))
        gain, room = float(t.J - t.R), float(t.M - t.R) or np.inf
        lines[:, [J, R]] = 1.0, -1.0
        lines[1, [M, R]] += -gain / room, gain / room
        return [(lines[0] / self.prompts, gain / self.prompts**2), (lines[1] / room, 0.0)]


def facts_of(chunk: Floats, label_range: tuple[float, float]) -> Facts:
    """Return the facts of some prompts; labels are centred so that their mean over all prompts is 0."""
    prompts, totals = chunk.shape[1], chunk.sum(axis=1)
    around = chunk - (totals / prompts)[:, None]
    by_judge = [Sums(*part[:FIELDS]) for part in np.split(chunk, len(chunk) // ROWS)]
    means = [t.R / t.prompts for t in by_judge]
    counted = (
        [[_counts(e, t) for e in _EVERY] for t in by_judge],
        [[_marks(e, t, e.limits or label_range) for e in _EVERY] for t in by_judge],
        [(mean.max(), -mean.min(), t.all_pairs.max()) for mean, t in zip(means, by_judge, strict=True)],
        [np.count_nonzero(t.all_apart_O) for t in by_judge],
        [[(w.sum(), w @ w) for w in _weights(t)] for t in by_judge],
    )
    parts = (np.array(of, dtype=float) for of in counted)
    return Facts._make((float(prompts), totals, around @ around.T, *parts, _extremes(chunk)))


def merged(parts: Sequence[Facts]) -> Facts:
    """Return the facts of all prompts from those of parts, in their order (Chan, Golub and LeVeque)."""
    whole = parts[0]
    for part in parts[1:]:
        n, m = whole.prompts, part.prompts
        shift = part.totals / m - whole.totals / n
        whole = Facts(
            n + m,
            whole.totals + part.totals,
            whole.products + part.products + np.outer(shift, shift) * (n * m / (n + m)),
            whole.counts + part.counts,
            np.maximum(whole.marks, part.marks),
            np.maximum(whole.spans, part.spans),
            whole.vary + part.vary,
            whole.worth + part.worth,
            _extremes(np.hstack([whole.extremes, part.extremes])),
        )
    return whole


def _counts(e: Estimand, t: Sums) -> tuple[float, float, float]:
    counted = len(t.prompts) if e.counted is None else np.count_nonzero(e.counted(t))
    weights = np.zeros(0) if e.average_over is None else e.average_over(t)
    return float(counted), float(weights.sum()), float(np.count_nonzero(weights > 0))


def _marks(e: Estimand, t: Sums, limits: tuple[float, float]) -> tuple[bool, bool]:
    if e.average_over is None:
        return False, False
    weights = e.average_over(t)
    values = e.of(t)[weights > 0]
    return bool(((values != limits[0]) & (values != limits[1])).any()), bool((weights > t.prompts).any())


def _weights(t: Sums) -> Iterator[Floats]:
    """Yield what prompts weigh by each rule; one more prompt brings the mean of all labels to 0."""
    more = Sums(*(np.append(values, -values.sum() if name == "O" else 0.0) for name, values in t._asdict().items()))
    yield from (weight(more)[:-1] for weight in _WEIGHTS)


def _extremes(chunk: Floats) -> Floats:
    first = Sums(*chunk[:FIELDS])
    if len(chunk) > ROWS:
        return chunk[:, np.unique([np.abs(first.J - chunk[ROWS + J]).argmax(), (first.M - chunk[_LOWEST]).argmax()])]
    lowest = chunk[_LOWEST]
    return chunk[:, np.unique([of.argmax() for of in (first.M - first.J, first.J - lowest, first.M - lowest)])]


@dataclass(frozen=True, eq=False)
class HeldSums(estimation.JudgeSums):
    """The sums of prompts of one judge or of two, all rows of them."""

    rows: Floats
    places: Ints
    """Which prompts of the table they are of."""

    @classmethod
    def of(cls, rows: Floats, rule: estimation.IntervalRule, places: Ints) -> HeldSums:
        """Return the sums of the judges whose rows are there."""
        return cls([own[:FIELDS] for own in np.split(rows, len(rows) // ROWS)], rule, rows, places)

    @property
    def prompts(self) -> int:
        """How many prompts they are of."""
        return len(self.places)

    @property
    def paired(self) -> tuple[Floats, Sums, Floats]:
        """The differences of the labels of the picks of two judges, the sums of the first, and the lowest labels."""
        return self.rows[J] - self.rows[ROWS + J], Sums(*self.matrices[0]), self.rows[_LOWEST]

    def with_support(self, metrics: dict[str, Estimate]) -> dict[str, Estimate]:
        """Return the metrics of a judge with tests of no gain, and with what they rest on."""
        rule, t, tested = self.rule, Sums(*self.matrices[0]), dict(metrics)
        if metrics["gain"].law is not None:
            low, high = rule.label_range
            of = no_gain.no_gain_laws(t.J - t.R, t.M - t.R, rule.clusters, (low - high, high - low))
            z = no_gain.z_of_dealt(no_gain.Dealt(t.J - t.R, *self.rows[_VARIANCE:ROWS]), rule.clusters)
            tested |= estimation.with_no_gain_tests(metrics, of, partial(no_gain.DealtBefore, z))
        return tested | support.of_whole_prompts(tested, t, self.rows[_LOWEST], rule)


@dataclass(frozen=True, eq=False)
class SweptSums(estimation.JudgeSums):
    """The sums of prompts of one judge or of two that are not held: `matrices` are the means as of one prompt."""

    facts: Facts
    chunks: Chunks | None
    """None where nobody holds them: standard errors follow from the products, with no skewness."""

    @classmethod
    def of(cls, facts: Facts, rule: estimation.IntervalRule, chunks: Chunks | None) -> SweptSums:
        """Return the sums that are known by facts, and swept again for what depends on each prompt."""
        means = np.split(facts.totals / facts.prompts, len(facts.vary))
        return cls([own[:FIELDS, None] for own in means], rule, facts, chunks)

    @property
    def prompts(self) -> int:
        """How many prompts they are of."""
        return int(self.facts.prompts)

    @property
    def paired(self) -> tuple[Floats, Sums, Floats]:
        """As of sums that are held, of the prompts that differ most, or could, and of all others as one."""
        most = self.facts.extremes
        columns = np.hstack([most, self.facts.totals[:, None] - most.sum(axis=1, keepdims=True)])
        apart, lowest = np.append(most[J] - most[ROWS + J], 0.0), np.append(most[_LOWEST], columns[M, -1])
        return apart, Sums(*columns[:FIELDS]), lowest

    @property
    def alone(self) -> list[estimation.JudgeSums]:
        """Each of two judges."""
        return [self._alone(judge) for judge in (0, 1)]

    def _alone(self, judge: int) -> SweptSums:
        rows, chunks = slice(judge * ROWS, (judge + 1) * ROWS), self.chunks
        own = None if chunks is None else lambda: (chunk[rows] for chunk in chunks())
        return SweptSums.of(self.facts.alone(judge), self.rule, own)

    def scatter(self, estimands: Sequence[Estimand]) -> jackknife.Jackknife:
        """Return estimates, and how they vary with prompts left out."""
        functional = catalog.functional_of(estimands)
        return self._left_out(lambda totals: functional(*(Sums(*own[:FIELDS]) for own in self._split(totals))))

    def _split(self, totals: Floats) -> list[Floats]:
        return np.split(totals, len(self.matrices))

    def _left_out(self, of: Callable[[Floats], Floats]) -> jackknife.Jackknife:
        """Return values of totals, and how they vary: without `chunks` by their derivatives, as of normal values."""
        facts, n, value = self.facts, self.facts.prompts, of(self.facts.totals)
        if self.chunks is None:
            steps = _STEP * np.sqrt(np.diagonal(facts.products))
            shifts, at = np.diag(steps)[:, steps > 0], facts.totals[:, None] * ((n - 1) / n)
            slopes = np.zeros((len(value), len(steps)))
            slopes[:, steps > 0] = (of(at + shifts) - of(at - shifts)) / (2 * steps[steps > 0])
            se = np.sqrt(np.maximum(np.einsum("mi,ij,mj->m", slopes, facts.products, slopes), 0) * ((n - 1) / n))
            return jackknife.Jackknife(value, se, np.full(len(value), n - 1), np.zeros(len(value)))
        seen = jackknife.SpreadSoFar(len(value))
        for chunk in self.chunks():
            seen.add(of(facts.totals[:, None] - chunk))
        return seen.jackknife(value)

    def df_of(self, lines: Floats) -> Floats:
        """Return the degrees of freedom of sums that are linear in those of prompts, (sums, judges * ROWS)."""
        sizes = np.sqrt(np.einsum("mi,ij,mj->m", lines, self.facts.products, lines))
        units = np.array(list(map(laws.power_of_two, sizes.tolist())))
        return self._left_out(lambda totals: lines / units[:, None] @ totals).df

    @property
    def same_pools(self) -> bool:
        """Whether every prompt has the same mean label although labels differ within prompts."""
        most, least = self.facts.spans[0][0], -self.facts.spans[0][1]
        return estimation.same_means(least, most, self.rule.label_width) and bool(self.facts.sums().apart_O > 0)

    def most_draws(self, e: Estimand) -> float:
        """Return the draws that a share is worth at most."""
        if e.at_most_prompts:
            return self.facts.prompts
        if e.share_of is None or self.facts.vary[0] > estimation.HALF_VARY * self.facts.prompts:
            return np.inf
        added = np.concatenate([e.share_of(Sums(*np.eye(FIELDS))), np.zeros(ROWS - FIELDS)])
        total = float(added @ self.facts.totals)
        return _effective(total, float(added @ self.facts.products @ added) + total**2 / self.facts.prompts)

    def only_ends(self, e: Estimand) -> bool:
        """Tell whether the values that a bounded metric is a mean of are its two ends alone."""
        return e.average_over is not None and self.bounded(e) and not self.facts.marks[0, _PLACE[e.name], 0]

    def stretch(self, e: Estimand) -> float:
        """Return how many times the mean weight a prompt may weigh, counting prompts that contribute."""
        if e.average_over is None:
            return 1.0
        counts, marks = (of[:, _PLACE[e.name]] for of in (self.facts.counts, self.facts.marks))
        heaviest = np.where(marks[:, 1] > 0, self.facts.spans[:, 2], 1.0)
        return float((heaviest / (counts[:, 1] / counts[:, 2])).max())

    def count(self, e: Estimand) -> int:
        """Return the number of prompts that contribute."""
        return int(self.facts.counts[:, _PLACE[e.name], 0].min())

    def means(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
        """Return the means of numerator and denominator, their covariance matrix, and both as lines of the sums."""
        lines, n = np.zeros((2, len(self.facts.totals))), self.facts.prompts
        lines[:, :FIELDS] = of(Sums(*np.eye(FIELDS)))
        if len(self.matrices) > 1:
            lines[0, ROWS : ROWS + FIELDS] = -lines[0, :FIELDS]
        return lines @ self.facts.totals / n, lines @ self.facts.products @ lines.T / ((n - 1) * n), lines

    def fieller(self, of: Callable[[Sums], tuple[Floats, Floats]], limits: tuple[float, float]) -> laws.Fieller:
        """Return the law of a ratio of means."""
        (a, b), covariance, lines = self.means(of)
        df = self.df_of(lines[:1] - a / b * lines[1:])[0] if b else self.facts.prompts - 1
        (caa, cab), (_, cbb) = covariance.tolist()
        return laws.Fieller(float(a), float(b), caa, cab, cbb, float(df), limits)

    def fieller_of_influence(self, of: Sequence[Callable[[Sums], Floats]]) -> laws.Fieller:
        """Return the law of a ratio of two metrics."""
        a, b = (float(metric(self.facts.sums())) for metric in of)

        def parts(totals: Floats) -> Floats:
            above, below = (metric(Sums(*totals[:FIELDS])) for metric in of)
            return np.stack([above, below, above + below, above - a / (b or 1.0) * below])

        left_out = self._left_out(parts)
        caa, cbb, both, _ = np.square(left_out.se).tolist()
        return laws.Fieller(a, b, caa, (both - caa - cbb) / 2, cbb, float(left_out.df[3]))

    def with_support(self, metrics: dict[str, Estimate]) -> dict[str, Estimate]:
        """Return the metrics of a judge with tests of no gain, and with what they rest on."""
        facts, tested, (low, high) = self.facts, dict(metrics), self.rule.label_range
        t, n, some = facts.sums(), facts.prompts, Sums(*facts.extremes[:FIELDS])
        if metrics["gain"].law is not None:
            means, covariance, _ = self.means(lambda sums: (sums.J - sums.R, sums.M - sums.R))
            of = no_gain.laws_of_means(means.tolist(), covariance, int(n), (low - high, high - low))
            dealt = no_gain.Dealt(np.atleast_1d(t.J - t.R), facts.totals[[_VARIANCE]], facts.totals[[_THIRD]])
            tested |= estimation.with_no_gain_tests(
                metrics, of, partial(no_gain.DealtBefore, no_gain.z_of_dealt(dealt))
            )
        counts = {weight: _effective(*own) for weight, own in zip(_WEIGHTS, facts.worth[0].tolist(), strict=True)}
        weighed = {e.name: counts[e.weight] for e in catalog.ESTIMANDS if e.weight is not None}
        worth = {name: support.Worth(count, int(n), float(t.M - t.R)) for name, count in weighed.items()}
        lowest = facts.extremes[_LOWEST]
        further = support.FurtherPick.beyond(some.J - some.R, some.M - some.R, some.R, lowest, some.prompts)
        if not np.isfinite(high - low):
            tails = np.zeros((2, ROWS))  # of labels below and above the mean of their prompt
            tails[[0, 0, 1, 1], [R, _LOWEST, M, R]] = 1.0, -1.0, 1.0, -1.0
            further = [pick._replace(df=float(df)) for pick, df in zip(further, self.df_of(tails), strict=True)]
        return tested | support.with_support(tested, worth, further, self.rule)


def _effective(total: float, square: float) -> float:
    return round(total**2 / square, 9) if square > 0 else 0.0
