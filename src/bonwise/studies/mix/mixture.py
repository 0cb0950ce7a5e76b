"""How metrics move as easy candidates enter the pools while the choice among the others stays as it is.

Every metric is a function of per-prompt sums, so a benchmark in which a share of the prompts shows its easy
candidates has a figure that is calculated, not simulated: that of the mixed sums (Landesberg 2026,
arXiv:2603.12520, section 6, Table 7 and Figure 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.sums import Floats, Sums, prompt_sums

__all__ = ["OF_PAIRS", "SHARES", "MixPoint", "MixSums", "mix_change", "mix_curve", "mix_sums"]

SHARES = tuple(step / 10 for step in range(11))
"""At which the curve is calculated."""

OF_PAIRS = ("global_r", "sign_agreement", "effective_agreement")
"""Metrics of cells and pairs: they exist on easy pairs alone, of which no pool is made."""

_OF_CELLS = ("S", "O", "SS", "OO", "SO")
_COUNTS = ("apart_S", "apart_O", "apart_both", "concordant")


class MixSums(NamedTuple):
    """Sums of the same prompts, each of shape (len(Sums._fields), prompts), centred at one value."""

    without: Floats  # pools without their control candidates
    whole: Floats  # pools with them
    easy: Floats  # pairs of a control and another candidate as pools of two; NaN but for cells and pairs


@dataclass(frozen=True, slots=True)
class MixPoint:
    """A point of the curve."""

    share: float
    """Share of the prompts whose pool shows its controls, in [0, 1]; 1 on the second leg."""
    towards: float
    """On the second leg: how far the whole pools have given way to easy pairs alone, in [0, 1]; 0 on the first."""
    easy_pairs: float
    """Share of the pairs that compare a control with another candidate, in [0, 1]."""
    metrics: Mapping[str, Estimate] = field(repr=False)
    """All metrics of totals on the first leg, those of `OF_PAIRS` on the second."""


def mix_sums(scores: Floats, labels: Floats, sizes: npt.NDArray[np.int64], control: npt.NDArray[np.bool_]) -> MixSums:
    """Compute the sums of every prompt without its controls, with them, and of its easy pairs.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Of the pools with their controls; grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    control : ndarray of bool, shape (cells,)
        Which cells are controls; every prompt holds two other candidates or more.

    Examples
    --------
    >>> sums = mix_sums(np.array([.5, .7, 0.]), np.array([1., 0., 0.]), np.array([3]), np.array([False, False, True]))
    >>> [float(Sums(*one).pairs[0]) for one in sums]
    [1.0, 3.0, 2.0]
    """
    controls = np.add.reduceat(control.astype(np.int64), np.cumsum(sizes) - sizes)
    several = controls > 1
    among = control & np.repeat(several, sizes)
    # One call, so that all are centred at one value.
    pieces = [(~control, sizes - controls), (np.ones_like(control), sizes), (among, controls[several])]
    found = prompt_sums(
        np.concatenate([scores[cells] for cells, _ in pieces]),
        np.concatenate([labels[cells] for cells, _ in pieces]),
        np.concatenate([counts for _, counts in pieces]),
    )
    without, whole, of_controls = np.split(found, [len(sizes), 2 * len(sizes)], axis=1)
    same = np.zeros_like(without)
    same[:, several] = of_controls
    return MixSums(without, whole, _easy_pairs(Sums(*without), Sums(*whole), Sums(*same)))


def _easy_pairs(without: Sums, whole: Sums, same: Sums) -> Floats:
    """Sum the pairs of a control and another candidate: each stands in as many pairs as there are of the others."""
    others, controls = without.cells, whole.cells - without.cells
    unknown = np.full_like(others, np.nan)
    found = Sums(*(unknown for _ in Sums._fields))._replace(
        prompts=without.prompts, cells=2 * controls * others, pairs=controls * others
    )
    cells = {
        name: others * (getattr(whole, name) - getattr(without, name)) + controls * getattr(without, name)
        for name in _OF_CELLS
    }
    pairs = {name: getattr(whole, name) - getattr(without, name) - getattr(same, name) for name in _COUNTS}
    return np.array(found._replace(**cells, **pairs))


def mix_curve(sums: MixSums, rule: IntervalRule) -> tuple[MixPoint, ...]:
    """Estimate the metrics along both legs of the curve.

    First leg: a share m of the prompts shows its controls, sums ``(1 - m) without + m whole``. Second leg, from where
    the first ends: ``(1 - u) whole + u easy``, for what exists on pairs alone.

    Parameters
    ----------
    sums : MixSums
    rule : IntervalRule
        Intervals have the prompt as their unit, and take the share as given.

    Returns
    -------
    tuple of MixPoint
        In the order of `easy_pairs`.
    """
    of_pairs = tuple(e for e in ESTIMANDS if e.name in OF_PAIRS)
    easy = Sums(*sums.easy).pairs
    first = []
    for share in SHARES:
        mixed = (1 - share) * sums.without + share * sums.whole
        first.append(MixPoint(share, 0.0, _share(share * easy, mixed), estimate(ESTIMANDS, mixed, rule)))
    second = []
    for towards in SHARES[1:]:
        mixed = (1 - towards) * sums.whole + towards * sums.easy
        # At the end a prompt without a control holds no pair, and counts for nothing.
        held = mixed[:, Sums(*mixed).pairs > 0]
        second.append(MixPoint(1.0, towards, _share(easy, mixed), estimate(of_pairs, held, rule)))
    return (*first, *second)


def _share(easy: Floats, mixed: Floats) -> float:
    return float(easy.sum() / Sums(*mixed).pairs.sum())


def mix_change(sums: MixSums, rule: IntervalRule) -> dict[str, Estimate]:
    """Estimate by how much each metric differs with the controls from without, paired by prompt.

    Parameters
    ----------
    sums : MixSums
    rule : IntervalRule
    """
    # The controls change what could be gained too, so the two recoveries share no denominator for Fieller's interval.
    estimands = [replace(e, parts=None) for e in ESTIMANDS]
    found = difference(estimands, sums.whole, sums.without, rule)
    for ends in (estimate(ESTIMANDS, one, rule) for one in (sums.whole, sums.without)):
        for name, end in ends.items():
            if end.estimate is None and found[name].estimate is not None:
                found[name] = Estimate.undefined(end.reason or "", end.n)
    return found
