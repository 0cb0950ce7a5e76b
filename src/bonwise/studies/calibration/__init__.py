"""Calibrated scores."""

PUBLIC = {"front": ("study_calibration",), "result": ("CalibrationStudy",)}
