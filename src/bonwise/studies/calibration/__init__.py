"""Calibrated scores."""

PUBLIC = {
    "front": ("CalibrationStudy", "study_calibration"),
}
