"""The raw scores of a judge, and what becomes of them under each way of calibrating."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.calibrating.calibrators import TOO_DEAR_TO_REFIT, cross_fitted, folds_of_prompts
from bonwise.auditing.studies.calibrating.method_calibration import MethodCalibration
from bonwise.data.panel import Panel
from bonwise.documents.studies.calibration import FIXED, REFITTED
from bonwise.stats.calibration.pick_changes import pick_changes, rising_groups
from bonwise.stats.calibration.refits import Refits, deal_groups, refits
from bonwise.stats.calibration.refitted import (
    refitted_difference,
    refitted_estimate,
    refitted_relative,
    refitted_tie_breaks,
)
from bonwise.stats.calibration.relative_change import relative_change
from bonwise.stats.calibration.tie_breaks import tie_break_agreement, tie_break_sums
from bonwise.stats.calibration.training_means import exchange_training_means
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.largest_bias import largest_bias
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.sums import TIE_DECIMALS, Floats, Sums, prompt_sums

__all__ = ["RawScores"]

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
