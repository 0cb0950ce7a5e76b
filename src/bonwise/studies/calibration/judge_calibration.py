"""One judge calibrated in every way: its raw scores, its metrics, their changes, the level and the picks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate, under_method
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.level_bias import largest_bias, level_bias_difference
from bonwise.stats.sums import TIE_DECIMALS, Floats, Sums, prompt_sums
from bonwise.studies.calibration.calibrators import (
    COVARIATE_METHODS,
    METHODS,
    TOO_DEAR_TO_REFIT,
    cross_fitted,
    folds_of_prompts,
)
from bonwise.studies.calibration.maps import exchange_training_means
from bonwise.studies.calibration.pick_changes import (
    pick_changes,
    rising_groups,
    tie_break_agreement,
    tie_break_sums,
)
from bonwise.studies.calibration.refits import (
    Refits,
    deal_groups,
    refits,
    refitted_difference,
    refitted_estimate,
    refitted_relative,
    refitted_tie_breaks,
    relative_change,
)
from bonwise.studies.calibration.result import (
    FIXED,
    REFITTED,
    CalibratedMethod,
    CalibrationJudge,
    LevelChange,
    PickOutcomes,
    RawFigures,
)
from bonwise.studies.calibration.sentences import calibration_sentences
from bonwise.table.facts import JudgeCounts
from bonwise.table.panel import Panel

__all__ = ["RawScores", "calibrate_judge"]


_CHANGING = tuple(e for e in ESTIMANDS if e.on_scores)
"""Metrics that calibrating the scores can change."""

_CORRELATIONS = tuple(e for e in ESTIMANDS if e.name in ("global_r", "within_r"))
"""Metrics whose change is also told as a share of the raw one."""

_SUMS, _TIES = slice(0, len(Sums._fields)), slice(len(Sums._fields), None)


_Estimates = tuple[Mapping[str, Estimate], Mapping[str, Estimate], Mapping[str, Estimate], Estimate]
"""Metrics, changes, relative changes and tie breaks."""


class RawScores:
    """The raw scores of a judge with what follows from them.

    Parameters
    ----------
    panel : Panel
        Labelled completely.
    covariates : mapping of str to ndarray of float64, shape (cells,)
    settings : Settings
    folds : int
    method : str
        Of the estimates: which prompts they are of.
    """

    def __init__(
        self,
        panel: Panel,
        covariates: Mapping[str, Floats],
        settings: Settings,
        folds: int,
        method: Literal["complete", "labelled_only"] = "complete",
    ) -> None:
        self.panel, self.settings, self.method = panel, settings, method
        self.rule: IntervalRule = settings.rule(panel.labels)
        self.scores = np.round(panel.scores, TIE_DECIMALS)
        self.rows = np.column_stack([self.scores, *covariates.values()])
        fold_of = folds_of_prompts(len(panel.sizes), folds, settings.seed)
        self.owner = np.repeat(fold_of, panel.sizes)
        self.groups = deal_groups(fold_of, settings.seed)
        sums = prompt_sums(self.scores, panel.labels, panel.sizes)
        self.refits: Refits = refits(lambda kept: sums[:, kept], self.groups)
        self.metrics = estimate(ESTIMANDS, sums, self.rule)
        self.level = self._level(self.scores)

    def calibrated(self, method: str) -> CalibratedMethod:
        """Calibrate in one way, of `METHODS`."""
        calibrated = self._cross_fitted(method, np.ones(len(self.scores), dtype=bool))
        fixed = method in TOO_DEAR_TO_REFIT
        metrics, changes, relative, tie_breaks = (
            self._with_fixed_maps(calibrated) if fixed else self._refitted(method)
        )
        whole, untied = pick_changes(self.scores, calibrated, self.panel.sizes)
        level = self._level(calibrated)
        change = level_bias_difference(level, self.level, self.settings.confidence)
        return CalibratedMethod(
            intervals=FIXED if fixed else REFITTED,
            metrics=self._records(metrics),
            changes=self._records(changes),
            relative=self._records(relative),
            level=LevelChange(intervals=FIXED, bias=self._record(level), change=self._record(change)),
            tie_breaks=self._record(tie_breaks),
            picks=PickOutcomes(all=whole, without_ties=untied),
            rising_folds=rising_groups(self.scores, calibrated, self.owner),
        )

    def raw(self) -> RawFigures:
        """Return what is known of the raw scores."""
        return RawFigures(metrics=self._records(self.metrics), level=self._record(self.level))

    def _records(self, estimates: Mapping[str, Estimate]) -> dict[str, EstimateRecord]:
        return estimate_records(under_method(estimates, self.method))

    def _record(self, estimate: Estimate) -> EstimateRecord:
        return EstimateRecord.of(estimate.with_method(self.method))

    def _refitted(self, method: str) -> _Estimates:
        """Estimate with intervals that learn the maps again without each group of prompts."""

        def sums_of(kept: np.ndarray) -> Floats:
            cells, sizes = np.repeat(kept, self.panel.sizes), self.panel.sizes[kept]
            calibrated, labels = self._cross_fitted(method, cells), self.panel.labels[cells]
            level = exchange_training_means(calibrated, labels, self.owner[cells])
            ties = tie_break_sums(self.scores[cells], calibrated, labels, sizes)
            return np.concatenate([prompt_sums(level, labels, sizes), ties])

        sums = refits(sums_of, self.groups)
        after, before, rule = sums.rows(_SUMS), self.refits, self.rule
        estimates = refitted_estimate(_CHANGING, after, rule)
        return (
            {name: estimates.get(name, raw) for name, raw in self.metrics.items()},
            refitted_difference(_CHANGING, after, before, (estimates, self.metrics), rule),
            refitted_relative(_CORRELATIONS, after, before, self.metrics, rule),
            refitted_tie_breaks(sums.rows(_TIES), rule.confidence),
        )

    def _with_fixed_maps(self, calibrated: Floats) -> _Estimates:
        panel, before, rule = self.panel, self.refits.whole, self.rule
        level = exchange_training_means(calibrated, panel.labels, self.owner)
        after = prompt_sums(level, panel.labels, panel.sizes)
        return (
            estimate(ESTIMANDS, after, rule),
            difference(_CHANGING, after, before, rule),
            relative_change(_CORRELATIONS, after, before, rule),
            tie_break_agreement(self.scores, calibrated, panel.labels, panel.sizes, confidence=rule.confidence),
        )

    def _cross_fitted(self, method: str, cells: np.ndarray) -> Floats:
        labels, owner = self.panel.labels[cells], self.owner[cells]
        return cross_fitted(method, self.rows[cells], labels, owner, self.settings.seed)

    def _level(self, scores: Floats) -> Estimate:
        """Return the largest bias of a candidate's mean; cross-fitted maps keep the level that they give it."""
        panel = self.panel
        return largest_bias(
            scores - panel.labels, panel.labels, panel.sizes, panel.names, confidence=self.settings.confidence
        )


_NO_COVARIATE = "it needs a covariate: name a column of numbers, or give the texts for their length"


def calibrate_judge(
    panel: Panel,
    covariates: Mapping[str, Floats],
    settings: Settings,
    *,
    data: JudgeCounts,
    folds: int,
    prompts: int,
) -> CalibrationJudge:
    """Calibrate a judge in every way that its covariates allow.

    Parameters
    ----------
    panel : Panel
        Labelled completely.
    covariates : mapping of str to ndarray of float64, shape (cells,)
        By name; no NaN.
    settings : Settings
        The seed deals the prompts to folds and to groups.
    data : JudgeCounts
    folds : int
        At most half of the prompts.
    prompts : int
        That the judge scored completely, labelled or not.
    """
    used = [name for name in METHODS if covariates or name not in COVARIATE_METHODS]
    raw = RawScores(panel, covariates, settings, folds, data.method)
    figures, methods = raw.raw(), {name: raw.calibrated(name) for name in used}
    left_out = {name: _NO_COVARIATE for name in METHODS if name not in used}
    return CalibrationJudge(
        data=data,
        covariates=list(covariates),
        raw=figures,
        methods=methods,
        groups=int(raw.refits.groups),
        left_out=left_out,
        sentences=calibration_sentences(data, figures, methods, left_out, folds=folds, prompts=prompts),
    )
