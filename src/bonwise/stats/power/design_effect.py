"""What labels of one cluster are worth when they resemble each other: how many more are needed.

Legend: ``n0`` independent labels needed, ``n`` labels needed, ``rho`` the intra-cluster correlation, ``c`` labels a
cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["MOST_SHARED", "Clusters", "Dependence", "OneCluster"]

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
