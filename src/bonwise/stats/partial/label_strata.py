"""Strata of a label sample as variances need them: two labelled prompts in each, and a weight for every one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Floats

__all__ = ["LabelStrata", "label_strata"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LabelStrata:
    """Strata joined until each holds two labelled prompts, where there are two at all."""

    weights: Floats
    """1 / pi of the labelled prompts, scaled to mean 1: every metric is a ratio, so that their unit is free."""
    owner: _Ints
    """h: stratum of each, from 0."""
    counts: Floats
    """n_h, labelled prompts."""
    prompts: Floats
    """N_h, prompts that they stand for: the sum of their 1 / pi."""
    of_prompts: _Ints
    """Stratum of every prompt, labelled or not."""

    @property
    def independent(self) -> Floats:
        """Degrees of freedom of the variance within each stratum, 1 or more.

        n_h - 1 where the weights of a stratum are equal, otherwise ``(sum w^2)^2 / sum w^4 - 1``: that of a sum of
        squares of which each counts with w^2.
        """
        squares = self.within(self.weights[None] ** 2)[0]
        fourth = self.within(self.weights[None] ** 4)[0]
        degrees: Floats = np.maximum(squares**2 / fourth - 1, 1.0)
        return degrees

    def within(self, rows: Floats) -> Floats:
        """Sum the labelled prompts of each stratum, shape (rows, labelled) to (rows, strata)."""
        return np.stack([np.bincount(self.owner, row, len(self.counts)) for row in rows])


def label_strata(sample: LabelSample) -> LabelStrata:
    """Return the strata of a sample.

    A stratum with one labelled prompt says nothing of its own scatter: it is joined to the next one in the order of
    their numbers (neighbours are alike: rules number strata by size), the last to the one before. Joining touches
    variances only, and errs on the large side: what lies between the joined strata counts as scatter within them.
    Prompts that were drawn independently of each other are one stratum.

    Parameters
    ----------
    sample : LabelSample

    Raises
    ------
    bonwise.errors.UsageError
        No prompt is labelled.

    Examples
    --------
    >>> mask = np.array([True, True, True, False, True, True])
    >>> found = label_strata(LabelSample.realised(mask, np.array([5, 7, 7, 7, 8, 8])))
    >>> found.of_prompts.tolist(), found.counts.tolist(), found.prompts.tolist()
    ([0, 0, 0, 0, 1, 1], [3.0, 2.0], [4.0, 2.0])
    """
    owner, counts = sample.grouped()
    of_prompts = _joined(counts)[owner]
    mine = of_prompts[sample.labelled]
    weights: Floats = sample.weights[sample.labelled]
    return LabelStrata(
        weights / weights.mean(),
        mine,
        np.bincount(mine).astype(float),
        np.bincount(mine, weights=weights).astype(float),
        of_prompts,
    )


def _joined(counts: _Ints) -> _Ints:
    """Number strata anew so that each new one holds two labelled prompts."""
    new, found, held = 0, [], 0
    for count in counts.tolist():
        found.append(new)
        held += count
        if held >= 2:
            new, held = new + 1, 0
    last = max(new - 1, 0) if held < 2 else new
    joined: _Ints = np.minimum(np.array(found, dtype=np.int64), last)
    return joined
