"""Estimands and their intervals: arrays in, frozen results out."""
