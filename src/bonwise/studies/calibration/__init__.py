"""Calibrated scores."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.calibration.result import CalibrationStudy as CalibrationStudy
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("CalibrationStudy",)})

PUBLIC = {"front": ("study_calibration",)}
