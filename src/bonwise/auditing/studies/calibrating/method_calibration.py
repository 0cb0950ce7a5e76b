"""What one way of calibrating does to a judge, and how its intervals were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bonwise.stats.calibration.pick_changes import PickChanges
from bonwise.stats.estimate import Estimate

__all__ = ["FIXED", "REFITTED", "MethodCalibration", "documents", "under"]

REFITTED, FIXED = "refitted", "maps taken as fixed"
"""How intervals are made: the maps learned again without each group of prompts, or taken as they are."""


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
    intervals : {"refitted", "maps taken as fixed"}
        Whether the intervals of metrics, changes, relative changes and tie breaks hold what learning the maps on
        other prompts would change; those of the level take the maps as fixed always, as the audit does.
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
    intervals: str

    @property
    def rises(self) -> bool:
        """Whether no map ever fell as the score rose."""
        return self.rising_folds == self.folds

    def to_dict(self) -> dict[str, Any]:
        """Return this method's part of the document."""
        return {
            "intervals": self.intervals,
            "metrics": documents(self.metrics),
            "changes": documents(self.changes),
            "relative": documents(self.relative),
            "level": {"intervals": FIXED, "bias": self.level.to_dict(), "change": self.level_change.to_dict()},
            "tie_breaks": self.tie_breaks.to_dict(),
            "picks": {"all": self.picks.to_dict(), "without_ties": self.picks_untied.to_dict()},
            "rising_folds": self.rising_folds,
        }

    def with_method(self, method: str) -> MethodCalibration:
        """Return the same estimates under another method name."""
        return replace(
            self,
            metrics=under(method, self.metrics),
            changes=under(method, self.changes),
            relative=under(method, self.relative),
            level=self.level.with_method(method),
            level_change=self.level_change.with_method(method),
            tie_breaks=self.tie_breaks.with_method(method),
        )


def documents(found: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return each estimate's part of the document."""
    return {name: one.to_dict() for name, one in found.items()}


def under(method: str, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return the estimates under another method name."""
    return {name: one.with_method(method) for name, one in found.items()}
