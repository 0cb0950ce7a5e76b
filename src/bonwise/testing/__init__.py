"""Public doubles and simulated data with a known answer."""

from __future__ import annotations

from bonwise.testing.simulate import Simulation, simulate

__all__ = ["Simulation", "simulate"]
