"""Ordered categories: their likelihood, and proportional odds regression."""
