"""Data: pools, verdicts, and the one validated long table."""
