"""Metrics for all prompts from a labelled sample: totals weighted by 1 / pi, strata, a stratified jackknife."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.label_interval import where_labels_carry
from bonwise.stats import catalog, clusters, estimand, jackknife, laws
from bonwise.stats.estimation import IntervalRule, JudgeSums, difference, estimate, one_estimate, without_wild
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Sums


@dataclass(frozen=True, slots=True, eq=False)
class LabelStrata:
    """Strata joined until each holds two labelled prompts, where there are two at all."""

    weights: Floats
    """1 / pi of the labelled prompts, scaled to mean 1: every metric is a ratio, so that their unit is free."""
    owner: Ints
    """h: stratum of each, from 0."""
    counts: Floats
    """n_h, labelled prompts."""
    prompts: Floats
    """N_h, prompts that they stand for: the sum of their 1 / pi."""
    of_prompts: Ints
    """Stratum of every prompt, labelled or not."""

    @property
    def independent(self) -> Floats:
        """Degrees of freedom in each stratum, 1 or more: ``(sum w^2)^2 / sum w^4 - 1``, n_h - 1 at equal weights."""
        squares = self.within(self.weights[None] ** 2)[0]
        fourth = self.within(self.weights[None] ** 4)[0]
        degrees: Floats = np.maximum(squares**2 / fourth - 1, 1.0)
        return degrees

    def within(self, rows: Floats) -> Floats:
        """Sum the labelled prompts of each stratum, shape (rows, labelled) to (rows, strata)."""
        return np.stack([np.bincount(self.owner, row, len(self.counts)) for row in rows])


def label_strata(sample: LabelSample) -> LabelStrata:
    """Return the strata of a sample, independent draws one; one labelled prompt joins the next stratum."""
    owner, counts = sample.grouped()
    of_prompts = _joined(counts)[owner]
    mine = of_prompts[sample.labelled]
    weights: Floats = sample.weights[sample.labelled]
    return LabelStrata(
        weights / weights.mean(),
        mine,
        np.bincount(mine).astype(float),
        np.bincount(mine, weights=weights).astype(float),
        of_prompts,
    )


def _joined(counts: Ints) -> Ints:
    """Number strata anew so that each new one holds two labelled prompts."""
    new, found, held = 0, [], 0
    for count in counts.tolist():
        found.append(new)
        held += count
        if held >= 2:
            new, held = new + 1, 0
    last = max(new - 1, 0) if held < 2 else new
    return np.minimum(np.array(found, dtype=np.int64), last)


_CHUNK = 1 << 15


def weighted_estimates(
    estimands: Sequence[estimand.Estimand], sums: Floats, sample: LabelSample, rule: IntervalRule
) -> dict[str, estimand.Estimate]:
    """Estimate metrics for all prompts from the `sums` of the labelled ones, (len(Sums._fields), labelled prompts).

    ``method`` is "weighted", with the effective number of labelled prompts and, as ``labelled_only``, what these say
    of themselves. Intervals are by jackknife and Fieller also where `rule` asks for a bootstrap, which resamples
    prompts as if all were labelled. Raises `bonwise.errors.UsageError` where no prompt is labelled.

    The target is the population that the prompts of the table were drawn from. A total over the table has two errors:
    the labelled prompts of a stratum are n_h of N_h, and the N prompts are themselves a draw. With W_h = N_h / N and
    S_h^2 the variance within a stratum, their sum for a mean is::

        sum_h W_h^2 S_h^2 / n_h  +  sum_h W_h (mean_h - mean)^2 / N

    The factor 1 - n_h / N_h of a finite population is gone from the first term because the second error restores it
    (W_h S_h^2 / N is W_h^2 S_h^2 / n_h times n_h / N_h); what is left of that error lies between strata. For a metric
    of any shape both terms are jackknives. The first leaves out one labelled prompt, and the n_h - 1 others stand for
    the stratum: ``sum_h (n_h - 1) / n_h sum_x (theta_(-x) - mean_h)^2``. The second leaves out one prompt of the
    table, for which the mean of its stratum's labelled ones stands: ``(N - 1) / N sum_h N_h (theta_(-h) - mean)^2``.
    With one stratum the second is 0 and the first the plain jackknife; Student's t takes n - 1 degrees of freedom
    there and Satterthwaite's otherwise.
    """
    matched = _weighted([sums], sample, rule)
    found = _estimate(estimands, matched)
    found = without_wild(estimands, found, lambda below: [found[below.name]])
    return _beside(found, estimate(estimands, sums, rule), sample)


def weighted_difference(
    estimands: Sequence[estimand.Estimand], first: Floats, second: Floats, sample: LabelSample, rule: IntervalRule
) -> dict[str, estimand.Estimate]:
    """Estimate metric differences, first judge minus second, from the sums of the same labelled prompts."""
    found = _estimate(estimands, _weighted([first, second], sample, rule))

    def alone(below: estimand.Estimand) -> list[estimand.Estimate]:
        return [_estimate([below], _weighted([one], sample, rule))[below.name] for one in (first, second)]

    found = without_wild(estimands, found, alone)
    return _beside(found, difference(estimands, first, second, rule), sample)


def _beside(
    found: dict[str, estimand.Estimate], alone: dict[str, estimand.Estimate], sample: LabelSample
) -> dict[str, estimand.Estimate]:
    ess = sample.ess
    return {
        name: replace(
            where_labels_carry(one, ess),
            method="weighted",
            ess=ess,
            labelled_only=alone[name].with_method("labelled_only"),
        )
        for name, one in found.items()
    }


@dataclass(frozen=True, slots=True)
class _WeightedSums(JudgeSums):
    """Sums of labelled prompts that stand for others as well."""

    strata: LabelStrata

    @property
    def units(self) -> list[Floats]:
        """Weighted sums of clusters; without clusters, sums of prompts before weights."""
        if self.rule.clusters is None:
            return self.matrices
        return [clusters.cluster_sums(matrix * self.strata.weights, self.rule.clusters) for matrix in self.matrices]

    @property
    def weights(self) -> Floats:
        """1 / pi."""
        return self.strata.weights

    def fieller(self, of: Callable[[Sums], tuple[Floats, Floats]], limits: tuple[float, float]) -> laws.Fieller:
        """Return the law of a ratio of weighted means."""
        if self.rule.clusters is not None:
            return JudgeSums.fieller(self, of, limits)
        rows = np.stack(self.parts(of))
        means, within, between = _means(rows, self.strata)
        toward = np.array([1.0, -means[0] / means[1]]) if means[1] else np.array([1.0, 0.0])
        scatter = np.einsum("i,hij,j->h", toward, within, toward)
        tails = jackknife.kurtosis_df(self.strata.weights * (toward @ (rows - means[:, None])))
        df = min(_degrees(scatter, float(toward @ between @ toward), self.strata, rows.shape[1]), tails)
        C = within.sum(axis=0) + between
        (caa, cab), (_, cbb) = C.tolist()
        return laws.Fieller(float(means[0]), float(means[1]), caa, cab, cbb, df, limits)

    def exact(self, e: estimand.Estimand, value: float) -> laws.Exact:
        """Return the bound where all are alike: a share q unlike them would stay unseen by ``(1 - q)^n`` at most."""
        n, stretch = np.inf, 1.0
        for matrix in self.matrices:
            sums = Sums(*matrix)
            counts = np.ones(matrix.shape[1]) if e.average_over is None else e.average_over(sums)
            w = self.strata.weights[counts > 0]
            units = w if self.rule.clusters is None else clusters.cluster_sums(w, self.rule.clusters[counts > 0])
            n = min(n, units.sum() / units.max())
            most = float(sums.pairs.max()) if counts.max() > 1 else 1.0
            stretch = max(stretch, most / float(np.average(counts[counts > 0], weights=w)))
        return laws.Exact(value, max(int(n + 1e-9), 1), self.exact_limits(e, value), stretch)

    def mean_denominator(self, of: Callable[[Sums], tuple[Floats, Floats]]) -> float:
        """Return the weighted mean of the denominator of a ratio of means."""
        return float(np.average(of(Sums(*self.matrices[0]))[1], weights=self.strata.weights))


def _weighted(matrices: list[Floats], sample: LabelSample, rule: IntervalRule) -> _WeightedSums:
    return _WeightedSums(matrices, rule, label_strata(sample))


def _estimate(estimands: Sequence[estimand.Estimand], matched: _WeightedSums) -> dict[str, estimand.Estimate]:
    functional = catalog.functional_of(estimands)
    if matched.rule.clusters is not None:
        rows = zip(estimands, *jackknife.jackknife(functional, matched.units), strict=True)
        return {
            e.name: one_estimate(e, matched, float(value), jackknife.Scatter(float(se), float(df), skew=float(skew)))
            for e, value, se, df, skew in rows
        }
    values, within, between, tails, skews = _jackknife(functional, matched.matrices, matched.strata)
    found = {}
    for k, e in enumerate(estimands):
        value, se = float(values[k]), float(np.sqrt(within[k].sum() + between[k]))
        most = _degrees(within[k], float(between[k]), matched.strata, matched.count(e))
        scatter = jackknife.Scatter(se, min(most, float(tails[k])), most, skew=float(skews[k]))
        found[e.name] = one_estimate(e, matched, value, scatter)
    return found


def _jackknife(
    functional: Callable[..., Floats], matrices: Sequence[Floats], strata: LabelStrata
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return estimates, variances within (metrics, strata) and between strata, tail df and skewness."""
    weighted = [matrix * strata.weights for matrix in matrices]
    by_stratum = [strata.within(matrix) for matrix in weighted]
    # Summed, not taken from the total: where nothing else counts, what is left is 0 to the last bit.
    others = [sums @ (1 - np.eye(sums.shape[1])) for sums in by_stratum]
    values = functional(*(Sums(*sums.sum(axis=1)) for sums in by_stratum))
    if strata.weights.size < 2:
        none = np.zeros(len(values))
        return values, np.full((len(values), 1), np.nan), none, np.ones(len(values)), none
    left = np.empty((len(values), strata.weights.size))
    for start in range(0, left.shape[1], _CHUNK):
        some = slice(start, start + _CHUNK)
        h = strata.owner[some]
        scale = strata.counts[h] / (strata.counts[h] - 1)
        rest = [
            other[:, h] + scale * (sums[:, h] - matrix[:, some])
            for other, sums, matrix in zip(others, by_stratum, weighted, strict=True)
        ]
        left[:, some] = functional(*(Sums(*one) for one in rest))
    around = left - (strata.within(left) / strata.counts)[:, strata.owner]
    square = around**2
    tails = jackknife.moments_df(square.sum(axis=1), np.einsum("mx,mx->m", square, square), left.shape[1])
    skews = -jackknife.moments_skew(square.sum(axis=1), np.einsum("mx,mx->m", square, around))
    within = strata.within(square) * (strata.counts - 1) / strata.counts
    without = functional(
        *(Sums(*(o + s * (1 - 1 / strata.prompts))) for o, s in zip(others, by_stratum, strict=True))
    )
    return values, within, _between(without, strata), tails, skews


def _between(without: Floats, strata: LabelStrata) -> Floats:
    """Return the variance from metrics without one prompt of a stratum, shape (metrics, strata)."""
    N = float(strata.prompts.sum())
    if without.shape[1] == 1:
        return np.zeros(len(without))
    around = without - (without @ strata.prompts / N)[:, None]
    return (N - 1) / N * (around**2 @ strata.prompts)


def _means(rows: Floats, strata: LabelStrata) -> tuple[Floats, Floats, Floats]:
    """Return weighted means, their covariances within each stratum (strata, rows, rows), and between strata."""
    w, h, total = strata.weights, strata.owner, float(strata.weights.sum())
    means = rows @ w / total
    pulls = w * (rows - means[:, None]) / total
    pulls -= (strata.within(pulls) / strata.counts)[:, h]
    scale = strata.counts / (strata.counts - 1)
    products = strata.within((pulls[:, None] * pulls[None]).reshape(-1, rows.shape[1])) * scale
    within = products.reshape(len(rows), len(rows), -1).transpose(2, 0, 1)
    N = float(strata.prompts.sum())
    apart = strata.within(w * rows) / strata.within(w[None]) - means[:, None]
    between = (apart * strata.prompts) @ apart.T / (N * max(N - 1, 1))
    return means, within, between


def _degrees(within: Floats, between: float, strata: LabelStrata, n: int) -> float:
    """Return Satterthwaite's degrees of freedom of a sum of variances, at most n - 1."""
    N = float(strata.prompts.sum())
    pieces = float(np.sum(within**2 / strata.independent)) + between**2 / max(N - 1, 1)
    total = float(within.sum()) + between
    return float(np.clip(total**2 / pieces, 1, max(n - 1, 1))) if pieces > 0 else float(max(n - 1, 1))
