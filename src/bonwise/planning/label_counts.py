"""How many more labels it takes where those of a cluster resemble each other.

Or where every label is looked at as it comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from bonwise.stats.repeated_looks import EARLIEST, squared_critical
from bonwise.stats.sums import Floats

__all__ = ["MOST_SHARED", "Clusters", "Dependence", "OneCluster", "Stopping", "gain_stopping"]

MOST_SHARED = 0.95
"""n0 rho from which on no number of labels of one cluster is called enough (the paper's rule)."""


class Dependence(Protocol):
    """How labels depend on each other."""

    def inflated(self, independent: float) -> float | None:
        """Return how many labels are worth so many independent ones, None where no number is."""
        ...

    def effective(self, labels: float) -> float:
        """Return how many independent labels so many are worth."""
        ...


@dataclass(frozen=True, slots=True)
class Clusters:
    """Many clusters of one size, such as c raters per prompt: ``n = n0 (1 + (c - 1) rho)``.

    Examples
    --------
    >>> round(Clusters(3, 0.25).inflated(100.0), 9)
    150.0
    """

    size: int = 1
    """c, 1 or more."""
    correlation: float = 0.0
    """rho, in [0, 1]."""

    @property
    def factor(self) -> float:
        """The design effect."""
        return 1 + (self.size - 1) * self.correlation

    def inflated(self, independent: float) -> float:
        """Return how many labels are worth so many independent ones."""
        return independent * self.factor

    def effective(self, labels: float) -> float:
        """Return how many independent labels so many are worth."""
        return labels / self.factor


@dataclass(frozen=True, slots=True)
class OneCluster:
    """All labels exchangeable in one cluster: ``n = n0 (1 - rho) / (1 - n0 rho)``, equation 10.

    However many labels there are, they are never worth more than 1 / rho independent ones. Where ``n0 rho`` reaches
    `MOST_SHARED` the paper writes "> 10000"; here there is no number.

    Examples
    --------
    >>> round(OneCluster(0.01).inflated(25.51), 1), OneCluster(0.001).inflated(1050.7)
    (33.9, None)
    """

    correlation: float
    """rho, in [0, 1]."""

    def inflated(self, independent: float) -> float | None:
        """Return how many labels are worth so many independent ones, None where no number is."""
        shared = independent * self.correlation
        return None if shared >= MOST_SHARED else independent * (1 - self.correlation) / (1 - shared)

    def effective(self, labels: float) -> float:
        """Return how many independent labels so many are worth."""
        return labels / (1 + max(labels - 1, 0.0) * self.correlation)


_PATHS, _LOOKS, _SEED = 2000, 500, 20261122
_FARTHEST = 60.0
"""m theta^2 by which all but one path in thousands has stopped."""
_LATE = 0.9


class Stopping(NamedTuple):
    """Prompts at which a study stops."""

    mean: tuple[float, float]
    """Two standard errors of the simulated mean below and above it."""
    late: float
    """What one study in ten exceeds."""


def gain_stopping(standardised: float, target: float, confidence: float) -> Stopping:
    """Simulate after how many prompts the confidence sequence of ``bonwise monitor`` tells a gain from 0.

    Parameters
    ----------
    standardised : float
        theta, above 0.
    target : float
        Prompts planned, at which the sequence is narrowest.
    confidence : float

    Returns
    -------
    Stopping
        No look is earlier than `EARLIEST`.

    Examples
    --------
    >>> gain_stopping(0.5, 34, 0.95)
    Stopping(mean=(200.0, 200.0), late=200.0)
    """
    last = max(EARLIEST + 1.0, _FARTHEST / standardised**2)
    looks = np.linspace(EARLIEST, last, _LOOKS)
    bound = np.sqrt(squared_critical(looks, target, confidence))
    steps = np.sqrt(np.diff(looks, prepend=0.0))
    chance = np.random.default_rng(_SEED)
    stopped: Floats = np.empty(_PATHS)
    for path in range(_PATHS):  # one at a time: all of them together would be as large as they are many
        z = standardised * np.sqrt(looks) + np.cumsum(chance.standard_normal(_LOOKS) * steps) / np.sqrt(looks)
        over = np.abs(z) > bound
        stopped[path] = looks[over.argmax()] if over.any() else last
    mean, error = float(stopped.mean()), 2 * float(stopped.std()) / np.sqrt(_PATHS)
    return Stopping((float(mean - error), float(mean + error)), float(np.quantile(stopped, _LATE)))
