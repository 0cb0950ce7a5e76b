"""Intervals and tests that may be looked at after every label."""
