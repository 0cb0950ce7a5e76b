"""One judge calibrated in every way: its metrics, their changes, the level and the picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.calibrating.calibrators import (
    COVARIATE_METHODS,
    METHODS,
    cross_fitted,
    folds_of_prompts,
)
from bonwise.data.panel import Panel
from bonwise.stats.calibration.largest_bias import largest_bias
from bonwise.stats.calibration.pick_changes import PickChanges, pick_changes, rising_groups
from bonwise.stats.calibration.relative_change import relative_change
from bonwise.stats.calibration.tie_breaks import tie_break_agreement
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.sums import TIE_DECIMALS, Floats, prompt_sums

__all__ = ["JudgeCalibration", "MethodCalibration", "calibrate_judge"]

RELATIVE = ("global_r", "within_r")
"""Metrics whose change is also told as a share of the raw one."""

_OF_LABELS = frozenset({"oracle_between_share", "oracle_tie_rate", "value_random", "value_oracle"})
"""Metrics that no calibration of the scores can change."""

_CHANGING = tuple(e for e in ESTIMANDS if e.name not in _OF_LABELS)

_NO_COVARIATE = "it needs a covariate: name a column of numbers, or give the texts for their length"


@dataclass(frozen=True, eq=False)
class MethodCalibration:
    """What one way of calibrating does to a judge.

    Parameters
    ----------
    metrics : mapping of str to Estimate
        Of the calibrated scores.
    changes : mapping of str to Estimate
        Calibrated minus raw, paired by prompt; metrics that depend on the labels alone have none.
    relative : mapping of str to Estimate
        ``calibrated / raw - 1`` of the two correlations.
    level, level_change : Estimate
        Largest bias of a candidate's mean, in the unit of the labels, and how it changed.
    tie_breaks : Estimate
        Of the pairs that the raw scores tie, the share that is ordered as the labels are; 0.5 is guessing.
    picks, picks_untied : PickChanges
        On all prompts, and on those without a tie at the top.
    rising_folds, folds : int
        Folds in which the map never fell as the score rose, and all of them.
    """

    metrics: Mapping[str, Estimate]
    changes: Mapping[str, Estimate]
    relative: Mapping[str, Estimate]
    level: Estimate
    level_change: Estimate
    tie_breaks: Estimate
    picks: PickChanges
    picks_untied: PickChanges
    rising_folds: int
    folds: int

    @property
    def rises(self) -> bool:
        """Whether no map ever fell as the score rose."""
        return self.rising_folds == self.folds

    def to_dict(self) -> dict[str, Any]:
        """Return this method's part of the document."""
        return {
            "metrics": _documents(self.metrics),
            "changes": _documents(self.changes),
            "relative": _documents(self.relative),
            "level": {"bias": self.level.to_dict(), "change": self.level_change.to_dict()},
            "tie_breaks": self.tie_breaks.to_dict(),
            "picks": {"all": self.picks.to_dict(), "without_ties": self.picks_untied.to_dict()},
            "rising_folds": self.rising_folds,
        }


@dataclass(frozen=True, eq=False)
class JudgeCalibration:
    """What calibrating does to a judge.

    Parameters
    ----------
    judge : str
    data : mapping of str to object
        Counts.
    covariates : tuple of str
    raw : mapping of str to Estimate
        Metrics of the raw scores.
    raw_level : Estimate
        Largest bias of a candidate's raw mean score.
    methods : mapping of str to MethodCalibration
    left_out : mapping of str to str
        The methods that could not be used, and why.
    sentences : tuple of str
    """

    judge: str
    data: Mapping[str, Any]
    covariates: tuple[str, ...]
    raw: Mapping[str, Estimate] = field(repr=False)
    raw_level: Estimate = field(repr=False)
    methods: Mapping[str, MethodCalibration] = field(repr=False)
    left_out: Mapping[str, str] = field(repr=False)
    sentences: tuple[str, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return this judge's part of the document."""
        return {
            "data": dict(self.data),
            "covariates": list(self.covariates),
            "raw": {"metrics": _documents(self.raw), "level": self.raw_level.to_dict()},
            "methods": {name: found.to_dict() for name, found in self.methods.items()},
            "left_out": dict(self.left_out),
            "sentences": list(self.sentences),
        }


def _documents(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: one.to_dict() for name, one in found.items()}


def calibrate_judge(
    panel: Panel,
    covariates: Mapping[str, Floats],
    settings: Settings,
    *,
    data: Mapping[str, Any],
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
        The seed deals the prompts to folds.
    data : mapping of str to object
        Counts, ``method`` among them.
    folds : int
        At most half of the prompts.
    """
    scores = np.round(panel.scores, TIE_DECIMALS)
    owner = np.repeat(folds_of_prompts(len(panel.sizes), folds, settings.seed), panel.sizes)
    rows = np.column_stack([scores, *covariates.values()])
    used = [name for name in METHODS if covariates or name not in COVARIATE_METHODS]
    before = _Scored(panel, scores, settings)
    methods = {
        name: _compared(before, cross_fitted(name, rows, panel.labels, owner, settings.seed), owner) for name in used
    }
    method = data["method"]
    return JudgeCalibration(
        panel.judge,
        data,
        tuple(covariates),
        _under(method, before.metrics),
        before.level.with_method(method),
        {name: _method_under(method, found) for name, found in methods.items()},
        {name: _NO_COVARIATE for name in METHODS if name not in used},
    )


class _Scored:
    """Scores of a panel, raw or calibrated, with what follows from them."""

    def __init__(self, panel: Panel, scores: Floats, settings: Settings) -> None:
        self.panel, self.scores, self.settings = panel, scores, settings
        self.rule: IntervalRule = settings.rule(panel.labels)
        self.sums = prompt_sums(scores, panel.labels, panel.sizes)
        self.metrics = estimate(ESTIMANDS, self.sums, self.rule)
        self.level = largest_bias(
            scores - panel.labels, panel.labels, panel.sizes, panel.names, confidence=settings.confidence
        )


def _compared(before: _Scored, calibrated: Floats, owner: np.ndarray) -> MethodCalibration:
    panel, settings = before.panel, before.settings
    after = _Scored(panel, calibrated, settings)
    whole, untied = pick_changes(before.scores, calibrated, panel.sizes)
    correlations = [e for e in ESTIMANDS if e.name in RELATIVE]
    return MethodCalibration(
        after.metrics,
        difference(_CHANGING, after.sums, before.sums, before.rule),
        relative_change(correlations, after.sums, before.sums, before.rule),
        after.level,
        level_bias_difference(after.level, before.level, settings.confidence),
        tie_break_agreement(before.scores, calibrated, panel.labels, panel.sizes, confidence=settings.confidence),
        whole,
        untied,
        rising_groups(before.scores, calibrated, owner),
        len(np.unique(owner)),
    )


def _under(method: str, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {name: one.with_method(method) for name, one in found.items()}


def _method_under(method: str, found: MethodCalibration) -> MethodCalibration:
    return replace(
        found,
        metrics=_under(method, found.metrics),
        changes=_under(method, found.changes),
        relative=_under(method, found.relative),
        level=found.level.with_method(method),
        level_change=found.level_change.with_method(method),
        tie_breaks=found.tie_breaks.with_method(method),
    )
