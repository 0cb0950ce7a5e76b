"""What the labelled cells of a table say: figures with intervals, and two judges on the same cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing import cell_maxima, cell_models, cell_table, result_labels
from bonwise.stats import catalog, clusters, estimation, jackknife, laws, level_bias
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, NOTHING_LOST, Estimand, Estimate, Metric
from bonwise.stats.sums import Sums, prompt_sums


class PairTotals(NamedTuple):
    """What each prompt adds to totals, labelled cells for the others; ``eSO`` is ``(1 / K) sum_{i<j} dS dO``."""

    cells: Floats
    S: Floats
    O: Floats
    SS: Floats
    OO: Floats
    SO: Floats
    eSS: Floats
    eOO: Floats
    eSO: Floats
    pairs: Floats
    apart_O: Floats
    apart_both: Floats
    concordant: Floats
    all_cells: Floats  # of all labelled cells, scored or not, as in `bonwise.stats.sums.Sums`; so all that follow
    all_O: Floats
    all_OO: Floats
    all_eOO: Floats
    all_pairs: Floats
    all_apart_O: Floats
    decided: Floats
    decided_right: Floats


def pair_totals(blocks: list[cell_models.ModelledBlock], prompts: int, centre: float) -> PairTotals:
    """Add up labelled cells, 1 / pi, and pairs, at one rate by the labelled share; `centre` comes off scores."""
    found = np.zeros((len(PairTotals._fields), prompts))
    for block in blocks:
        found[:, block.block.prompts] = _of_block(block, centre)
    return PairTotals(*found)


_OF_ALL = tuple(PairTotals._fields.index(name) for name in ("cells", "O", "OO", "eOO", "pairs", "apart_O"))
_ORDER = (PairTotals._fields.index("apart_both"), PairTotals._fields.index("concordant"))


def _of_block(one: cell_models.ModelledBlock, centre: float) -> Floats:
    block = one.block
    of_all = _of_cells(one, centre, np.ones_like(block.scored))
    of_scored = of_all if block.scored.all() else _of_cells(one, centre, block.scored)
    return np.concatenate((of_scored, of_all[[*_OF_ALL, *_ORDER]]))


def _of_cells(one: cell_models.ModelledBlock, centre: float, counted: Mask) -> Floats:
    """Return the totals over some cells, of which the labelled ones stand for the others."""
    block = one.block
    L, K = block.L & counted, counted.sum(axis=1)
    w = np.where(counted, one.weights, 0.0)
    S, O = np.where(L, block.S - centre, 0.0), one.O
    per_cell, per_pair = 1.0, 1.0
    if one.pi is None:
        l = L.sum(axis=1)
        per_cell = int(K.sum()) / max(int(l.sum()), 1)
        per_pair = int(np.sum(K * (K - 1))) / max(int(np.sum(l * (l - 1))), 1)
    total, first = w.sum(axis=1), (w * S).sum(axis=1)
    of_O, of_SO = (w * O).sum(axis=1), (w * S * O).sum(axis=1)
    of_SS, of_OO = (w * S * S).sum(axis=1), (w * O * O).sum(axis=1)
    cells = per_cell * np.stack((total, first, of_O, of_SS, of_OO, of_SO))
    deviations = _deviations(block, L, w) * per_pair / np.maximum(K, 1)
    return np.concatenate((cells, deviations, per_pair * _signs(block, w)))


def _deviations(block: cell_table.PoolBlock, L: Mask, w: Floats) -> Floats:
    """Return ``sum_{i<j} w_i w_j`` times dS^2, dO^2 and dS dO; exactly 0 where all values seen are equal."""
    total = w.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1.0)
    around = []
    for values in (block.S, block.O):
        seen = np.where(L, values, np.nan)
        # Centring at a value of the prompt leaves equal values exactly 0.
        one_of_them = np.take_along_axis(seen, L.argmax(axis=1)[:, None], axis=1)
        centred = np.where(L, values - np.nan_to_num(one_of_them), 0.0)
        around.append(np.where(L, centred - (w * centred).sum(axis=1, keepdims=True) / safe, 0.0))
    dS, dO = around
    weight = w * total
    totals = np.stack([(weight * x * y).sum(axis=1) for x, y in ((dS, dS), (dO, dO), (dS, dO))])
    totals[:, L.sum(axis=1) < 2] = 0.0
    return totals


def _signs(block: cell_table.PoolBlock, w: Floats) -> Floats:
    """Return weighted counts of pairs: all, with different labels, with both different, in the same order."""
    R, O = block.R, block.O
    counts = np.zeros((4, len(R)))
    for step in range(1, block.K):
        weight = w[:, step:] * w[:, :-step]
        right, below = R[:, step:] - R[:, :-step], O[:, step:] - O[:, :-step]
        apart: Mask = below != 0
        both = apart & (right != 0)
        same = both & ((right > 0) == (below > 0))
        for row, some in enumerate((None, apart, both, same)):
            counts[row] += (weight if some is None else weight * some).sum(axis=1)
    return counts


OVER_CELLS = ("global_r",)
OVER_PAIRS = (
    "within_r",
    "attenuation",
    "oracle_between_share",
    "oracle_tie_rate",
    "sign_agreement",
    "effective_agreement",
    "effective_agreement_decided",
)


class PairInfluence(NamedTuple):
    """A figure, and what each prompt contributes to it: their mean is the figure."""

    value: float
    contributions: Floats


def pair_influences(t: PairTotals) -> dict[str, PairInfluence | None]:
    """Return figures that are functions of totals, linearised in what prompts contribute; None where undefined."""
    return {
        "global_r": _correlation(*_over_cells(t), (t.SS, t.OO)),
        "within_r": _correlation(t.eSO, t.eSS, t.eOO, (t.SS, t.OO)),
        "attenuation": _ratio(t.eSO, t.eOO, t.OO),
        "oracle_between_share": _map(
            _ratio(t.all_eOO, around(t.all_O, t.all_OO, t.all_cells), t.all_OO), lambda share: 1 - share, -1.0
        ),
        "oracle_tie_rate": _map(_ratio(t.all_apart_O, t.all_pairs, t.all_pairs), lambda share: 1 - share, -1.0),
        "sign_agreement": _ratio(t.concordant, t.apart_both, t.pairs),
        "effective_agreement": _map(_ratio(_excess(t), t.all_pairs, t.all_pairs), lambda share: share + 0.5, 1.0),
        "effective_agreement_decided": _map(
            _ratio(_excess(t), t.all_apart_O, t.all_pairs), lambda share: share + 0.5, 1.0
        ),
    }


def _excess(t: PairTotals) -> Floats:
    return t.decided_right - t.decided / 2


def around(values: Floats, squares: Floats, cells: Floats) -> Floats:
    """Return contributions to the total sum of squares about the mean over cells."""
    if cells.sum() <= 0:
        return squares
    mean = values.sum() / cells.sum()
    around: Floats = squares - 2 * mean * values + mean * mean * cells
    return around


def _over_cells(t: PairTotals) -> tuple[Floats, Floats, Floats]:
    """Return contributions to the total sums of products SO, SS, OO about the means over cells."""
    cells = t.cells.sum()
    if cells <= 0:
        return t.SO, t.SS, t.OO
    S, O = t.S.sum() / cells, t.O.sum() / cells
    products = t.SO - S * t.O - O * t.S + S * O * t.cells
    return products, around(t.S, t.SS, t.cells), around(t.O, t.OO, t.cells)


def spread(t: PairTotals, *, over_cells: bool) -> Floats:
    """Return how far the labels of each prompt lie apart, or from the mean of all cells."""
    return np.sqrt(np.maximum(_over_cells(t)[2] if over_cells else t.eOO, 0.0))


def _correlation(SO: Floats, SS: Floats, OO: Floats, scales: tuple[Floats, Floats]) -> PairInfluence | None:
    mean_SO, mean_SS, mean_OO = SO.mean(), SS.mean(), OO.mean()
    if not (mean_SS > 1e-12 * scales[0].mean() and mean_OO > 1e-12 * scales[1].mean()):
        return None
    reach = float(np.sqrt(mean_SS) * np.sqrt(mean_OO))
    r = float(mean_SO) / reach
    pull = (SO - mean_SO) / reach - r * ((SS - mean_SS) / (2 * mean_SS) + (OO - mean_OO) / (2 * mean_OO))
    return PairInfluence(r, r + pull)


def _ratio(numerator: Floats, denominator: Floats, scale: Floats) -> PairInfluence | None:
    below = float(denominator.mean())
    if not below > 1e-12 * float(scale.mean()):
        return None
    value = float(numerator.mean()) / below
    return PairInfluence(value, value + (numerator - value * denominator) / below)


def _map(found: PairInfluence | None, of: Callable[[float], float], slope: float) -> PairInfluence | None:
    if found is None:
        return None
    value = of(found.value)
    return PairInfluence(value, value + slope * (found.contributions - found.value))


def tau_influence(blocks: list[cell_models.ModelledBlock], prompts: int) -> PairInfluence | None:
    """Return mean tau-b over complete pools where it is defined, weighted by 1 / their chance to be complete."""
    tau, defined = np.zeros(prompts), np.zeros(prompts)
    for block in blocks:
        some = np.flatnonzero(block.block.complete)
        if not some.size:
            continue
        S, O = np.where(block.block.scored, block.block.S, np.nan)[some], block.block.O[some]
        sums = Sums(*prompt_sums(S.ravel(), O.ravel(), np.full(len(some), block.block.K)))
        weights = 1 / cell_maxima.complete_chance(block)[some]
        tau[block.block.prompts[some]] = weights * sums.tau
        defined[block.block.prompts[some]] = weights * sums.tau_defined
    total = float(defined.mean())
    if total <= 0:
        return None
    value = float(tau.mean()) / total
    return PairInfluence(value, value + (tau - value * defined) / total)


_SAME = 1e-12
_ANYWHERE = (-np.inf, np.inf)


def limits_of(e: Metric, rule: estimation.IntervalRule) -> tuple[float, float]:
    """Return the range of a metric."""
    limits: tuple[float, float] | None = getattr(e, "limits", None)
    low, high = limits if limits is not None else rule.label_range
    return (low - high, high - low) if getattr(e, "contrast", False) else (low, high)


@dataclass(frozen=True, eq=False)
class ContributedIntervals:
    """Makes estimates of contributions of prompts, whose mean is the estimate."""

    units: Ints
    """Code of the unit of each prompt, from 0 without gaps."""
    rule: estimation.IntervalRule

    def mean(
        self,
        contributions: Floats,
        n: int,
        limits: tuple[float, float],
        *,
        bounded: bool = False,
        alike: bool = True,
        size: float = 1.0,
        most: float = np.inf,
    ) -> Estimate:
        """Return the mean of contributions, cut to `limits`; a `bounded` one is worth at most `most` draws."""
        value, confidence = float(contributions.mean()), self.rule.confidence
        se, df = self.scatter(contributions)
        shown = min(max(value, limits[0]), limits[1])
        finite = bool(np.isfinite(limits).all())
        at_end = bounded and finite and not limits[0] < value < limits[1]
        still = se <= _SAME * max(size, abs(value)) or at_end
        reason = "leaving out any prompt changes nothing" if still and not alike else ""
        if reason := self._too_few(n, of_products=not alike and not bounded) or reason:
            return Estimate(shown, None, None, None, n, None, reason=f"no interval: {reason}")
        if still:
            return estimation.under(
                laws.Exact(shown, n, limits), confidence, estimate=shown, se=se if at_end else 0.0, n=n
            )
        skew = jackknife.skewness(self.by_unit(contributions)) if alike else 0.0
        law: laws.Law = laws.Student(shown, se, df, limits, skew=skew)
        if bounded and finite:
            law = laws.EffectiveShare(shown, se, df, limits, most=most)
        elif not alike and limits == (-1.0, 1.0) and abs(shown) < 1:
            law = laws.FisherZ(shown, se, df)
        return estimation.under(law, confidence, estimate=shown, se=se, n=n)

    def ratio(self, above: Floats, below: Floats, n: int, *, recovery: bool) -> Estimate:
        """Return the ratio of two means with Fieller's interval; a `recovery` is at most 1."""
        law = self._fieller(above, below, (-np.inf, 1.0) if recovery else _ANYWHERE)
        reason = self._too_few(n, of_products=False)
        if law is None or (not reason and law.at(self.rule.confidence) is None):
            return Estimate.undefined(NOT_DISTINGUISHABLE, n)
        value = min(law.a / law.b, law.limits[1])
        if reason:
            return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
        if law.se <= _SAME * max(1.0, abs(value)):
            return Estimate(value, None, None, None, n, None, reason="no interval: all prompts are alike")
        shown = laws.RecoveryNearOne.over(law, value, law.se, law.df) if recovery else law
        return estimation.under(shown, self.rule.confidence, estimate=value, se=law.se, n=n)

    def lost(self, above: Floats, below: Floats, n: int) -> Estimate:
        """Return 1 less the ratio of two means, with no value where nothing is lost or its interval is unbounded."""
        if above.mean() >= below.mean():
            return Estimate.undefined(NOTHING_LOST, n)
        law = self._fieller(above, below, _ANYWHERE)
        if law is None or law.at(self.rule.confidence) is None:
            return Estimate.undefined(f"unbounded: {NOT_DISTINGUISHABLE}", n)
        value = 1 - law.a / law.b
        reason = self._too_few(n, of_products=True)
        if reason:
            return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
        return estimation.under(laws.Turned(law, 1.0), self.rule.confidence, estimate=value, se=law.se, n=n)

    def by_unit(self, contributions: Floats) -> Floats:
        """Return contributions of units, with the same mean: ``mean + (G / n) sum_{x in g} (psi_x - mean)``."""
        mean, count = contributions.mean(), int(self.units.max()) + 1
        if count == len(self.units):
            return contributions
        sums = np.bincount(self.units, weights=contributions - mean, minlength=count)
        found: Floats = mean + count / len(self.units) * sums
        return found

    def scatter(self, contributions: Floats) -> tuple[float, float]:
        """Return standard error and degrees of freedom of a mean."""
        values = self.by_unit(contributions)
        if len(values) < 2:
            return 0.0, 1.0
        return float(values.std(ddof=1) / np.sqrt(len(values))), self._df(values)

    def _fieller(self, above: Floats, below: Floats, limits: tuple[float, float]) -> laws.Fieller | None:
        first, second = self.by_unit(above), self.by_unit(below)
        a, b, count = float(first.mean()), float(second.mean()), len(first)
        if b == 0 or count < 2:
            return None
        (caa, cab), (_, cbb) = (np.cov(first, second, ddof=1) / count).tolist()
        return laws.Fieller(a, b, caa, cab, cbb, self._df(first - a / b * second), limits)

    def _df(self, contributions: Floats) -> float:
        """Return the degrees of freedom that tails and the sizes of clusters leave."""
        return min(jackknife.kurtosis_df(contributions), max(clusters.most_df(self.units), 1.0))

    def _too_few(self, n: int, *, of_products: bool) -> str:
        """Why no interval can be given; empty where one can."""
        if int(self.units.max()) + 1 == len(self.units):
            return "it rests on a single prompt" if n < 2 else ""
        few = clusters.too_few_clusters(self.units)
        return few or (clusters.too_few_kinds(self.units) if of_products else "")


@dataclass(frozen=True, eq=False)
class LabelledCellFigures:
    """Figures of one judge from every labelled cell."""

    metrics: Mapping[str, Estimate]
    """Every metric of the catalogue, in its order; one that is refused carries the reason."""
    counts: Mapping[str, result_labels.CellCounts]
    """Behind each metric."""
    gain_parts: Floats | None
    oracle_parts: Floats | None
    """Both: what each prompt contributes to the mean of J - R and of M - R; None where the figure is refused."""
    ess: float
    """Complete pools of equal chance to be complete that would say as much as those there are."""
    notes: tuple[str, ...]
    """Plain sentences on what the figures can bear."""
    contributions: Mapping[str, Floats] = field(repr=False)
    """Of the metrics that are means of them: what each prompt contributes."""
    units: Ints = field(repr=False)
    """Code of the prompt or cluster that is the unit of the intervals."""
    score_sums: Floats = field(repr=False)
    """Of the scores; rows that need labels say nothing."""


def compare_cells(
    first: LabelledCellFigures, second: LabelledCellFigures, rule: estimation.IntervalRule
) -> dict[str, Estimate]:
    """Estimate metric differences, first judge minus second, paired by prompt, recoveries by one denominator."""
    clustered = int(first.units.max()) + 1 < len(first.units)
    rule = replace(rule, kind="default", clusters=first.units if clustered else None)
    on_scores = [e for e in catalog.ESTIMANDS if not e.on_labels]
    found = estimation.difference(on_scores, first.score_sums, second.score_sums, rule)
    intervals = ContributedIntervals(first.units, rule)
    out = {}
    for e in catalog.ESTIMANDS:
        one = found[e.name] if e.name in found else _difference(e, first, second, intervals).with_method("cells")
        out[e.name] = one
    level = level_bias.level_bias_difference(
        first.metrics["level_bias"], second.metrics["level_bias"], rule.confidence
    )
    return {**out, "level_bias": level.with_method("cells")}


def _difference(
    e: Estimand, first: LabelledCellFigures, second: LabelledCellFigures, intervals: ContributedIntervals
) -> Estimate:
    one, other = first.metrics[e.name], second.metrics[e.name]
    n = min(one.n, other.n)
    if one.estimate is None or other.estimate is None:
        return Estimate.undefined((one if one.estimate is None else other).reason or "undefined", n)
    if e.name == "recovery":
        above = first.contributions["gain"] - second.contributions["gain"]
        below = (first.contributions["oracle_gain"] + second.contributions["oracle_gain"]) / 2
        return intervals.ratio(above, below, n, recovery=False)
    if e.name == "inflation":
        parts = _inflation(first) - _inflation(second)
        return intervals.mean(parts, n, (-np.inf, np.inf), alike=False)
    low, high = limits_of(e, intervals.rule)
    if not e.on_scores:
        parts = np.zeros(len(first.units))
    else:
        name = "gain" if e.name == "value_judge" else e.name
        parts = first.contributions[name] - second.contributions[name]
    return intervals.mean(parts, n, (low - high, high - low), alike=e.average_over is not None)


def _inflation(figures: LabelledCellFigures) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Linearise 1 - within_r / global_r in what prompts contribute."""
    within, overall = figures.contributions["within_r"], figures.contributions["global_r"]
    r, g = float(within.mean()), float(overall.mean())
    return 1 - r / g - (within - r) / g + r * (overall - g) / g**2
