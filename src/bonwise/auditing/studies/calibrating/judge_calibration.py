"""One judge calibrated in every way: its metrics, their changes, the level and the picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.calibrating.calibrators import COVARIATE_METHODS, METHODS
from bonwise.auditing.studies.calibrating.method_calibration import MethodCalibration
from bonwise.auditing.studies.calibrating.raw_scores import RawScores
from bonwise.data.panel import Panel
from bonwise.documents.estimate import EstimateRecord, estimate_records
from bonwise.documents.judge_counts import JudgeCounts
from bonwise.documents.studies.calibration import CalibrationJudge, RawFigures
from bonwise.stats.estimate import Estimate, under_method
from bonwise.stats.sums import Floats

__all__ = ["JudgeCalibration", "calibrate_judge"]

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
