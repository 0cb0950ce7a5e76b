"""Auditing: a table of scores and labels to figures, intervals and a verdict."""
