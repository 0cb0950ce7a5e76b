"""Calibrated scores."""
