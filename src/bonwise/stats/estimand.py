"""What a metric is: a smooth function of totals, with its range and the prompts that count for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bonwise.stats.sums import Floats, Sums

__all__ = ["Estimand", "ratio"]


@dataclass(frozen=True)
class Estimand:
    """A metric as a function of totals.

    Parameters
    ----------
    name : str
        Key of the metric.
    of : callable
        Totals to value; works on arrays of totals of any shape, NaN where undefined.
    needs : str
        What must be there for it to be defined, in plain words.
    limits : tuple of float, optional
        Range of the metric; None stands for the range of the labels.
    counted : callable, optional
        Per-prompt sums to a mask of the prompts that contribute; None means all.
    on_labels : bool
        Whether it needs oracle labels.
    average_over : callable, optional
        Per-prompt sums to the weights that make it a weighted average over prompts; None where it is none.
    parts : callable, optional
        Per-prompt sums to numerator and denominator a prompt, for a ratio of means: Fieller's interval.
    contrast : bool
        Whether it is a difference of two mean labels, which lies within the width of their range on either side of 0.
    over : str, optional
        Metric it is divided by: where that cannot be told from 0, the number would be wild.
    """

    name: str
    of: Callable[[Sums], Floats]
    needs: str
    limits: tuple[float, float] | None = (0.0, 1.0)
    counted: Callable[[Sums], Floats] | None = None
    on_labels: bool = True
    average_over: Callable[[Sums], Floats] | None = None
    parts: Callable[[Sums], tuple[Floats, Floats]] | None = None
    contrast: bool = False
    over: str | None = None


def ratio(numerator: Floats, denominator: Floats, scale: Floats | float = 1.0) -> Floats:
    """Divide, NaN where the denominator is 0 but for rounding.

    Parameters
    ----------
    numerator, denominator : ndarray
    scale : ndarray or float
        Size of the terms the denominator was summed from: below 1e-12 of it is rounding error.
    """
    usable = denominator > 1e-12 * scale
    out = np.full(np.broadcast(numerator, usable).shape, np.nan)
    quotient: Floats = np.divide(numerator, denominator, out=out, where=usable)
    return quotient
