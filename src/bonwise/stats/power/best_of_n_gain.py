"""What a judge's pick of n is worth when score and label of a candidate are jointly normal within a prompt.

Legend: ``n`` candidates per prompt, ``r`` the within-prompt correlation of score and label (which then is the
recovery), ``e`` and ``v`` mean and variance of the largest of n standard normal values. Labels have the same
within-prompt standard deviation in every prompt, which is the unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from bonwise.stats.power.two_picks import two_picks

__all__ = ["Contrast", "complete_contrast", "largest_of_normals", "recovery_residual", "two_label_contrast"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH = 9.0
"""Standard deviations beyond which a normal density adds nothing to a double."""


class Contrast(NamedTuple):
    """Mean and variance over prompts of a difference of labels."""

    mean: float
    """In within-prompt standard deviations of the label, and their square."""
    variance: float
    """In within-prompt standard deviations of the label, and their square."""

    @property
    def standardised(self) -> float:
        """Mean over standard deviation: what decides how many prompts are enough."""
        return self.mean / float(np.sqrt(self.variance))


def largest_of_normals(n: int) -> tuple[float, float]:
    """Return mean and variance of the largest of n independent standard normal values.

    Examples
    --------
    >>> [round(x, 4) for x in largest_of_normals(4)]
    [1.0294, 0.4917]
    """
    x, weight = _REACH * _NODES, _REACH * _WEIGHTS
    density = n * np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * ndtr(x) ** (n - 1) * weight
    mean = float(density @ x)
    return mean, float(density @ (x * x)) - mean**2


def complete_contrast(n: int, r: float) -> Contrast:
    """Describe the pick's label less the mean label, all n candidates labelled.

    ``E d = r e``, ``Var d = r^2 v + 1 - r^2 - 1 / n``.

    Parameters
    ----------
    n : int
        Candidates per prompt, 2 or more.
    r : float
        Within-prompt correlation, in [-1, 1].

    Examples
    --------
    >>> found = complete_contrast(4, 0.2)
    >>> round(found.mean, 4), round(found.variance, 4)
    (0.2059, 0.7297)
    """
    e, v = largest_of_normals(n)
    return Contrast(r * e, r * r * v + 1 - r * r - 1 / n)


def two_label_contrast(n: int, r: float) -> Contrast:
    """Describe the pick's label less that of one of the others, drawn with equal chances.

    ``E d = r e n / (n - 1)``; the variance follows from that of the pick, of a random other candidate, and their
    covariance. The labels of a prompt's candidates sum to what they sum to, which ties the others to the pick.

    Parameters
    ----------
    n : int
        Candidates per prompt, 2 or more.
    r : float
        Within-prompt correlation, in [-1, 1].

    Examples
    --------
    >>> round(two_label_contrast(4, 0.2).mean, 4)
    0.2745
    """
    e, v = largest_of_normals(n)
    pick, mean = r * r * v + 1 - r * r, r * e
    square = pick + mean**2
    other = (n - square) / (n - 1) - (mean / (n - 1)) ** 2
    together = (1 - square) / (n - 1) + mean**2 / (n - 1)
    return Contrast(mean * n / (n - 1), pick + other - 2 * together)


def recovery_residual(n: int, r: float) -> float:
    """Return the variance over prompts of ``(Y1 - r Y2) / E Y2``, the influence of one prompt on the recovery.

    Y1 is the pick's label less the mean label and Y2 the best label less the mean label: the standard error of the
    recovery from P complete prompts is the square root of this over P.

    Parameters
    ----------
    n : int
        Candidates per prompt, 2 or more.
    r : float
        Within-prompt correlation, in (-1, 1).

    Examples
    --------
    >>> round(recovery_residual(4, 0.3), 4)
    0.6223
    """
    e, v = largest_of_normals(n)
    best = v - 1 / n
    # The label is a judge that errs in nothing: its pick is the best candidate.
    product = two_picks(n, r, 1.0, 0.0).product
    shared = product - r * e * e - 1 / n
    pick = complete_contrast(n, r).variance
    return (pick - 2 * r * shared + r * r * best) / e**2
