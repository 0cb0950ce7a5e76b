"""What is measured of a stack.

Figures out of fold, calibration, what each judge is worth, other rules; and its document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.release import release
from bonwise.results import given
from bonwise.stacks.chances import ChanceCalibration, calibrated, coefficient_covariance, quality_out_of_fold
from bonwise.stacks.fitted_stack import DRAWS, FeatureScaling, JudgeStack
from bonwise.stacks.out_of_fold import (
    COMPARED,
    KEEPS,
    METRICS,
    JudgeWorth,
    Smaller,
    StackFigures,
    stack_figures,
    worth_of_judges,
)
from bonwise.stacks.procedure import FOLDS, Deal, Paths, StackPools, Trained
from bonwise.stacks.result import (
    CalibrationTenth,
    JudgeWorthRecord,
    SmallerStack,
    StackBaseline,
    StackCalibration,
    StackDocument,
    StackModelRecord,
    StackSettings,
    prompt_digest,
)
from bonwise.stacks.stack_table import FEWEST_PROMPTS, StackTable
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.ordinal_ratings import fit_ordinal
from bonwise.stats.sums import TIE_DECIMALS, Floats, prompt_sums
from bonwise.table.cell_scores import cell_repeats
from bonwise.table.panel import lay_out

if TYPE_CHECKING:
    from bonwise.stacks.front import StackFit

__all__ = ["BASELINES", "Baseline", "StackMeasures", "baselines", "stack_document"]

_MOST_CLASSES, _CLASSES = 10, 5


@dataclass(frozen=True, eq=False)
class Baseline:
    """Picks by another rule."""

    metrics: Mapping[str, Estimate] = field(repr=False)
    """Gain and recovery, out of fold where the rule is fitted."""
    difference: Mapping[str, Estimate] = field(repr=False)
    """Of gain and recovery: the stack less this rule, paired by prompt."""


def mean_of_z_scores(pools: StackPools, _: Deal) -> Floats:
    """Return the mean of the judges' scores, centred within prompts and on one scale, gaps filled."""
    found: Floats = pools.features[:, list(pools.own)].mean(axis=1)
    return found


def majority_of_picks(pools: StackPools, _: Deal) -> Floats:
    """Return the share of judges that pick each candidate; a judge with several at the top votes for each in part."""
    starts = np.cumsum(pools.sizes) - pools.sizes
    known = np.where(np.isnan(pools.judges), -np.inf, np.round(pools.judges, TIE_DECIMALS))
    top = known == np.repeat(np.maximum.reduceat(known, starts, axis=0), pools.sizes, axis=0)
    votes = top / np.repeat(np.add.reduceat(top, starts, axis=0, dtype=np.float64), pools.sizes, axis=0)
    found: Floats = votes.mean(axis=1)
    return found


def ordinal_logit(pools: StackPools, deal: Deal) -> Floats:
    """Return what a proportional odds model of the labels on all scores says, out of fold.

    Labels with many values are put into five classes of equal size. Scores are not centred within prompts: the model
    is one of how good an answer is, whatever its prompt.
    """
    scores, labels = _over_all_cells(pools.judges), _classes(pools.labels)
    count = int(labels.max()) + 1
    folds = np.repeat(deal.folds[0][deal.parts], pools.sizes)
    out = np.zeros(len(labels))
    for fold in np.unique(folds).tolist():
        held = folds == fold
        out[held] = scores[held] @ fit_ordinal(scores[~held], labels[~held], count, ridge=1.0).coefficients
    return out


def _over_all_cells(judges: Floats) -> Floats:
    """Return the scores of each judge less their mean, divided by their standard deviation, 0 where there is none."""
    spread = np.nanstd(judges, axis=0)
    scaled = (judges - np.nanmean(judges, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.nan_to_num(scaled))


def _classes(labels: Floats) -> npt.NDArray[np.int64]:
    values, codes = np.unique(np.round(labels, TIE_DECIMALS), return_inverse=True)
    if len(values) <= _MOST_CLASSES:
        return codes.reshape(-1).astype(np.int64)
    ends = np.unique(np.quantile(labels, np.arange(1, _CLASSES) / _CLASSES))
    return np.unique(np.searchsorted(ends, labels, side="left"), return_inverse=True)[1].reshape(-1).astype(np.int64)


BASELINES: Mapping[str, Callable[[StackPools, Deal], Floats]] = {
    "mean of z-scores": mean_of_z_scores,
    "majority of picks": majority_of_picks,
    "ordinal logit": ordinal_logit,
}
"""Rules by name."""


def baselines(pools: StackPools, deal: Deal, whole: Floats, rule: IntervalRule) -> dict[str, Baseline]:
    """Compare the stack with every rule, on the same prompts.

    Parameters
    ----------
    pools : StackPools
    deal : Deal
        Prompts that a fitted rule holds out together.
    whole : ndarray of float64, shape (len(Sums._fields), prompts)
        Sums of the stack, out of fold.
    rule : IntervalRule
    """
    compared = [one for one in METRICS if one.name in COMPARED]
    found = {}
    for name, scores_of in BASELINES.items():
        sums = prompt_sums(scores_of(pools, deal), pools.labels, pools.sizes)
        found[name] = Baseline(estimate(compared, sums, rule), difference(compared, whole, sums, rule))
    return found


_MOST_CALIBRATED = 2_000
"""Prompts that calibrate P(best), at most."""


class StackMeasures:
    """The figures of a stack.

    Parameters
    ----------
    laid : StackTable
    pools : StackPools
    paths : Paths
    deal : Deal
    trained : Trained
        On all labelled prompts.
    settings : Settings
    """

    def __init__(
        self, laid: StackTable, pools: StackPools, paths: Paths, deal: Deal, trained: Trained, settings: Settings
    ) -> None:
        self._laid, self._pools, self._paths, self._deal = laid, pools, paths, deal
        self._trained, self._settings = trained, settings
        self.figures = stack_figures(pools, paths, deal, self._counted, self._rule)
        if self.too_few:
            self.figures = _without_figures(self.figures, self.too_few)
        self.calibration = self._calibrated()

    @property
    def _counted(self) -> npt.NDArray[np.bool_]:
        """The prompts behind the figures; all, where too few are labelled whole for any figure."""
        return np.ones_like(self._laid.whole) if self.too_few else self._laid.whole

    @property
    def too_few(self) -> str:
        """Why there are no figures; empty where there are some."""
        count = int(self._laid.whole.sum())
        if count >= FEWEST_PROMPTS:
            return ""
        return (
            f"{count} prompts are labelled whole, and a figure needs {FEWEST_PROMPTS}: write the scores with "
            "--scores, and audit them with --design cells"
        )

    @property
    def _rule(self) -> IntervalRule:
        cells = np.repeat(self._counted, self._pools.sizes)
        clusters = None if self._pools.clusters is None else self._pools.clusters[self._counted]
        return self._settings.rule(self._pools.labels[cells], clusters)

    def _calibrated(self) -> ChanceCalibration:
        kept = np.flatnonzero(self._counted)
        rng = np.random.default_rng(self._settings.seed)
        some = np.zeros(len(self._counted), dtype=bool)
        some[rng.permutation(kept)[:_MOST_CALIBRATED]] = True
        pools, deal = self._pools.keep(some), replace(self._deal, parts=self._deal.parts[some])
        trained = self.figures.whole.trained
        quality = quality_out_of_fold(pools, self._paths, deal, trained, draws=DRAWS, seed=self._settings.seed)
        return calibrated(quality, pools.labels, pools.sizes)

    def baselines(self) -> dict[str, Baseline]:
        """Compare the stack with other rules, on the prompts that are labelled whole."""
        if self.too_few:
            return {}
        pools = self._pools.keep(self._counted)
        deal = replace(self._deal, parts=self._deal.parts[self._counted])
        return baselines(pools, deal, self.figures.whole.sums(self._pools)[:, self._counted], self._rule)

    def worth(self) -> tuple[dict[str, JudgeWorth], tuple[Smaller, ...]]:
        """Leave judges out; nothing where the stack takes one judge alone anyway."""
        if self.too_few or self._trained.falls_back[0]:
            return {}, ()
        singles, smaller = worth_of_judges(
            self._pools,
            self._paths,
            self._deal,
            self.figures.whole.sums(self._pools)[:, self._counted],
            self._counted,
            self._rule,
            self._laid.owners,
        )
        return dict(zip(self._laid.judges, singles, strict=True)), tuple(smaller)

    def stack(self) -> JudgeStack:
        """Return what applies the fit to all labelled prompts."""
        scaling, trained = self._laid.scaling, self._trained
        coefficients = trained.coefficients[0]
        covariance = coefficient_covariance(self._pools, self._paths, trained, 0)
        fallback = None
        if trained.falls_back[0]:
            judge = int(trained.best_alone[0])
            fallback, own = self._laid.judges[judge], [self._pools.own[judge]]
            scaling = FeatureScaling(
                (scaling.features[own[0]],), scaling.scales[own], scaling.covariance[np.ix_(own, own)]
            )
            coefficients, covariance = coefficients[own], covariance[np.ix_(own, own)]
        found = self.calibration
        return JudgeStack(
            scaling, coefficients, covariance, found.temperature, found.unit, self._settings.seed, fallback
        )


def _without_figures(figures: StackFigures, reason: str) -> StackFigures:
    nothing = Estimate.undefined(reason, 0)

    def none_of(found: Mapping[str, Estimate]) -> dict[str, Estimate]:
        return dict.fromkeys(found, nothing)

    return StackFigures(none_of(figures.metrics), none_of(figures.best), none_of(figures.difference), figures.whole)


def stack_document(fit: StackFit) -> StackDocument:
    """Return the document of schema ``bonwise.stack/1``."""
    laid, figures, calls = fit.laid, fit.figures, _calls(fit)
    smaller = [_smaller(fit, calls, one) for one in fit.smaller]
    judges = {} if fit.audit is None else fit.audit.judges
    not_audited = {} if fit.audit is None else fit.audit.not_audited
    choice = {} if fit.audit is None else dict(fit.audit.choice)
    return StackDocument(
        source=laid.table.source,
        prompts=int(laid.whole.sum()),
        fitted_prompts=int(laid.prompts.sum()),
        fitted_labels=int(laid.labelled.sum()),
        metrics=estimate_records(figures.metrics),
        judges={name: judge.metrics for name, judge in judges.items()},
        best_judge=choice["recovery"].best[0] if "recovery" in choice else None,
        best_out_of_fold=estimate_records(figures.best),
        difference=estimate_records(figures.difference),
        fallback=fit.stack.fallback,
        baselines={
            name: StackBaseline(metrics=estimate_records(one.metrics), difference=estimate_records(one.difference))
            for name, one in fit.baselines.items()
        },
        worth=_worth(fit, calls),
        smaller=smaller,
        smallest=_smallest(smaller),
        left_out={**laid.left_out, **not_audited},
        missing=dict(laid.missing),
        calibration=_calibration(fit),
        fitted_to=sorted(prompt_digest(str(one)) for one in laid.panel.prompt_ids[laid.prompts]),
        model=StackModelRecord.of(fit.stack),
        settings=_settings(fit),
        **given(choice=choice or None, specs=dict(fit.specs) or None),
    )


def _settings(fit: StackFit) -> StackSettings:
    laid = fit.laid
    return StackSettings(
        confidence=fit.confidence,
        seed=fit.seed,
        further_features=list(dict.fromkeys(one.kind for one in laid.scaling.features if one.kind != "score")),
        folds=min(FOLDS, fit.deal.count),
        partitions=len(fit.deal.folds),
        groups=int(fit.deal.groups.max()) + 1,
        ridge=float(fit.ridge),
        exclude=list(fit.exclude),
        shape=laid.panel.shape,
        version=release(),
    )


def _calibration(fit: StackFit) -> StackCalibration:
    gap = fit.calibration.largest_gap
    tenths = [
        CalibrationTenth(
            low=one.low, high=one.high, predicted=one.predicted, observed=one.observed, candidates=one.candidates
        )
        for one in fit.calibration.bins
    ]
    return StackCalibration(tenths=tenths, largest_gap=gap if math.isfinite(gap) else None)


def _calls(fit: StackFit) -> dict[str, float]:
    """Return how many scores each judge gave a candidate on average: several where it was asked again."""
    laid, table = fit.laid, fit.laid.table
    panels = {one.judge: one for one in lay_out(table, complete=False)}
    found = {}
    for judge in laid.judges:
        draws = cell_repeats(table, panels[judge]).draws
        found[judge] = 1.0 if draws is None else float(np.mean((~np.isnan(draws)).sum(axis=1)))
    return found


def _shares(fit: StackFit, calls: Mapping[str, float], judges: Sequence[str]) -> dict[str, float]:
    """Return which part of the calls, and of the cost where prices are known, some judges take."""
    found = {"calls": sum(calls[one] for one in judges) / sum(calls.values())}
    costs = {judge: calls[judge] * fit.prices[judge] for judge in calls} if fit.prices else {}
    if sum(costs.values()) > 0:
        found["cost"] = sum(costs[one] for one in judges) / sum(costs.values())
    return {name: min(value, 1.0) for name, value in found.items()}


def _worth(fit: StackFit, calls: Mapping[str, float]) -> dict[str, JudgeWorthRecord]:
    return {
        judge: JudgeWorthRecord(
            loss=EstimateRecord.of(one.loss), recovery=_number(one.recovery), **_shares(fit, calls, [judge])
        )
        for judge, one in fit.worth.items()
    }


def _smaller(fit: StackFit, calls: Mapping[str, float], one: Smaller) -> SmallerStack:
    names = [fit.laid.judges[at] for at in one.judges]
    return SmallerStack(judges=names, recovery=_number(one.recovery), **_shares(fit, calls, names))


def _smallest(smaller: Sequence[SmallerStack]) -> SmallerStack | None:
    """Return the stack of the fewest judges that keeps most of the recovery of all of them."""
    if not smaller or smaller[0].recovery is None or smaller[0].recovery <= 0:
        return None
    enough = [one for one in smaller if one.recovery is not None and one.recovery >= KEEPS * smaller[0].recovery]
    return min(enough, key=lambda one: len(one.judges))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
