"""Figures that several features draw."""
