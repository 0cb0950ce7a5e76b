"""Judges: what they ask, and what they make of the answers."""
