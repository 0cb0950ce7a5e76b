"""Calibrated scores."""

from typing import TYPE_CHECKING

from bonwise.declared import lazily

if TYPE_CHECKING:
    from bonwise.studies.calibration.result import CalibrationStudy as CalibrationStudy
else:
    __getattr__, __dir__ = lazily(__name__, RESULTS := {"result": ("CalibrationStudy",)})

PUBLIC = {"front": ("study_calibration",)}
