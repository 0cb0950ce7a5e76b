"""What one way of calibrating does to a judge, and how its intervals were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from bonwise.documents.estimate import EstimateRecord, estimate_records
from bonwise.documents.studies.calibration import (
    FIXED,
    CalibratedMethod,
    Intervals,
    LevelChange,
    PickCounts,
    PickOutcomes,
)
from bonwise.stats.calibration.pick_changes import PickChanges
from bonwise.stats.estimate import Estimate, under_method

__all__ = ["MethodCalibration"]


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
