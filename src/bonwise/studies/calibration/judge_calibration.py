"""One judge calibrated in every way: its raw scores, its metrics, their changes, the level and the picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

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
    PickChanges,
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
    Intervals,
    LevelChange,
    PickCounts,
    PickOutcomes,
    RawFigures,
)
from bonwise.table.facts import JudgeCounts
from bonwise.table.panel import Panel

__all__ = ["JudgeCalibration", "MethodCalibration", "RawScores", "calibrate_judge"]


@dataclass(frozen=True, eq=False)
class MethodCalibration:
    """What one way of calibrating does to a judge."""

    metrics: Mapping[str, Estimate]
    """Of the calibrated scores."""
    changes: Mapping[str, Estimate]
    """Calibrated minus raw, paired by prompt; metrics that depend on the labels alone have none."""
    relative: Mapping[str, Estimate]
    """``calibrated / raw - 1`` of the two correlations."""
    level: Estimate
    """Largest bias of a candidate's mean, in the unit of the labels, and how it changed."""
    level_change: Estimate
    """Largest bias of a candidate's mean, in the unit of the labels, and how it changed."""
    tie_breaks: Estimate
    """Of the pairs that the raw scores tie, the share that is ordered as the labels are; 0.5 is guessing."""
    picks: PickChanges
    """On all prompts, and on those without a tie at the top."""
    picks_untied: PickChanges
    """On all prompts, and on those without a tie at the top."""
    rising_folds: int
    """Folds in which the map never fell as the score rose, and all of them."""
    folds: int
    """Folds in which the map never fell as the score rose, and all of them."""
    intervals: Intervals
    """Whether the intervals of metrics, changes, relative changes and tie breaks hold what learning the maps on other
    prompts would change; those of the level take the maps as fixed always, as the audit does.
    """

    @property
    def rises(self) -> bool:
        """Whether no map ever fell as the score rose."""
        return self.rising_folds == self.folds

    def document(self) -> CalibratedMethod:
        """Return this method's part of the document."""
        level = LevelChange(
            intervals=FIXED, bias=EstimateRecord.of(self.level), change=EstimateRecord.of(self.level_change)
        )
        return CalibratedMethod(
            intervals=self.intervals,
            metrics=estimate_records(self.metrics),
            changes=estimate_records(self.changes),
            relative=estimate_records(self.relative),
            level=level,
            tie_breaks=EstimateRecord.of(self.tie_breaks),
            picks=PickOutcomes(all=_counts(self.picks), without_ties=_counts(self.picks_untied)),
            rising_folds=self.rising_folds,
        )

    def with_method(self, method: str) -> MethodCalibration:
        """Return the same estimates under another method name."""
        return replace(
            self,
            metrics=under_method(self.metrics, method),
            changes=under_method(self.changes, method),
            relative=under_method(self.relative, method),
            level=self.level.with_method(method),
            level_change=self.level_change.with_method(method),
            tie_breaks=self.tie_breaks.with_method(method),
        )


def _counts(found: PickChanges) -> PickCounts:
    return PickCounts(**asdict(found))


_CHANGING = tuple(e for e in ESTIMANDS if e.on_scores)
"""Metrics that calibrating the scores can change."""

_CORRELATIONS = tuple(e for e in ESTIMANDS if e.name in ("global_r", "within_r"))
"""Metrics whose change is also told as a share of the raw one."""

_SUMS, _TIES = slice(0, len(Sums._fields)), slice(len(Sums._fields), None)


class _Estimates(NamedTuple):
    metrics: Mapping[str, Estimate]
    changes: Mapping[str, Estimate]
    relative: Mapping[str, Estimate]
    tie_breaks: Estimate


class RawScores:
    """The raw scores of a judge with what follows from them.

    Parameters
    ----------
    panel : Panel
        Labelled completely.
    covariates : mapping of str to ndarray of float64, shape (cells,)
    settings : Settings
    folds : int
    """

    def __init__(self, panel: Panel, covariates: Mapping[str, Floats], settings: Settings, folds: int) -> None:
        self.panel, self.settings = panel, settings
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

    def calibrated(self, method: str) -> MethodCalibration:
        """Calibrate in one way, of `METHODS`."""
        panel = self.panel
        calibrated = self._cross_fitted(method, np.ones(len(self.scores), dtype=bool))
        fixed = method in TOO_DEAR_TO_REFIT
        found = self._with_fixed_maps(calibrated) if fixed else self._refitted(method)
        whole, untied = pick_changes(self.scores, calibrated, panel.sizes)
        level = self._level(calibrated)
        return MethodCalibration(
            found.metrics,
            found.changes,
            found.relative,
            level,
            level_bias_difference(level, self.level, self.settings.confidence),
            found.tie_breaks,
            whole,
            untied,
            rising_groups(self.scores, calibrated, self.owner),
            len(np.unique(self.owner)),
            FIXED if fixed else REFITTED,
        )

    def _refitted(self, method: str) -> _Estimates:
        """Estimate with intervals that learn the maps again without each group of prompts."""

        def sums_of(kept: np.ndarray) -> Floats:
            cells, sizes = np.repeat(kept, self.panel.sizes), self.panel.sizes[kept]
            calibrated, labels = self._cross_fitted(method, cells), self.panel.labels[cells]
            level = exchange_training_means(calibrated, labels, self.owner[cells])
            ties = tie_break_sums(self.scores[cells], calibrated, labels, sizes)
            return np.concatenate([prompt_sums(level, labels, sizes), ties])

        found = refits(sums_of, self.groups)
        after, before, rule = found.rows(_SUMS), self.refits, self.rule
        estimates = refitted_estimate(_CHANGING, after, rule)
        return _Estimates(
            {name: estimates.get(name, one) for name, one in self.metrics.items()},
            refitted_difference(_CHANGING, after, before, (estimates, self.metrics), rule),
            refitted_relative(_CORRELATIONS, after, before, self.metrics, rule),
            refitted_tie_breaks(found.rows(_TIES), rule.confidence),
        )

    def _with_fixed_maps(self, calibrated: Floats) -> _Estimates:
        panel, before, rule = self.panel, self.refits.whole, self.rule
        level = exchange_training_means(calibrated, panel.labels, self.owner)
        after = prompt_sums(level, panel.labels, panel.sizes)
        return _Estimates(
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


@dataclass(frozen=True, eq=False)
class JudgeCalibration:
    """What calibrating does to a judge."""

    judge: str
    data: JudgeCounts
    covariates: tuple[str, ...]
    raw: Mapping[str, Estimate] = field(repr=False)
    """Metrics of the raw scores."""
    raw_level: Estimate = field(repr=False)
    """Largest bias of a candidate's raw mean score."""
    methods: Mapping[str, MethodCalibration] = field(repr=False)
    groups: int
    """Groups of prompts that were left out in turn, where intervals are refitted."""
    left_out: Mapping[str, str] = field(repr=False)
    """The methods that could not be used, and why."""
    sentences: tuple[str, ...] = field(default=(), repr=False)

    def document(self) -> CalibrationJudge:
        """Return this judge's part of the document."""
        return CalibrationJudge(
            data=self.data,
            covariates=list(self.covariates),
            raw=RawFigures(metrics=estimate_records(self.raw), level=EstimateRecord.of(self.raw_level)),
            methods={name: found.document() for name, found in self.methods.items()},
            groups=self.groups,
            left_out=dict(self.left_out),
            sentences=list(self.sentences),
        )


def calibrate_judge(
    panel: Panel,
    covariates: Mapping[str, Floats],
    settings: Settings,
    *,
    data: JudgeCounts,
    folds: int,
) -> JudgeCalibration:
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
    """
    used = [name for name in METHODS if covariates or name not in COVARIATE_METHODS]
    raw = RawScores(panel, covariates, settings, folds)
    method = data.method
    return JudgeCalibration(
        panel.judge,
        data,
        tuple(covariates),
        under_method(raw.metrics, method),
        raw.level.with_method(method),
        {name: raw.calibrated(name).with_method(method) for name in used},
        int(raw.refits.groups),
        {name: _NO_COVARIATE for name in METHODS if name not in used},
    )
