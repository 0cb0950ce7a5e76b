"""Strategies of selection."""
