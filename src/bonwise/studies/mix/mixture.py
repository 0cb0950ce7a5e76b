"""How metrics move as easy candidates enter the pools while the choice among the others stays as it is.

Every metric is a function of per-prompt sums, so a benchmark in which a share of the prompts shows its easy
candidates has a figure that is calculated, not simulated: that of the mixed sums (Landesberg 2026,
arXiv:2603.12520, section 6, Table 7 and Figure 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate, under_method
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.studies.mix.result import CurveAt

__all__ = ["OF_PAIRS", "SHARES", "MixSums", "mix_change", "mix_curve", "mix_sums"]

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


def mix_curve(sums: MixSums, rule: IntervalRule, method: str = "complete") -> list[CurveAt]:
    """Estimate the metrics along both legs of the curve: on the second those of `OF_PAIRS` alone.

    First leg: a share m of the prompts shows its controls, sums ``(1 - m) without + m whole``. Second leg, from where
    the first ends: ``(1 - u) whole + u easy``, for what exists on pairs alone.

    Parameters
    ----------
    sums : MixSums
    rule : IntervalRule
        Intervals have the prompt as their unit, and take the share as given.
    method : str
        Of the estimates: which prompts they are of.

    Returns
    -------
    list of CurveAt
        In the order of `easy_pairs`.
    """
    of_pairs = tuple(e for e in ESTIMANDS if e.name in OF_PAIRS)
    easy = Sums(*sums.easy).pairs
    points = []
    for share in SHARES:
        mixed = (1 - share) * sums.without + share * sums.whole
        metrics = _records(estimate(ESTIMANDS, mixed, rule), method)
        points.append(CurveAt(share=share, towards=0.0, easy_pairs=_share(share * easy, mixed), metrics=metrics))
    for towards in SHARES[1:]:
        mixed = (1 - towards) * sums.whole + towards * sums.easy
        # At the end a prompt without a control holds no pair, and counts for nothing.
        held = mixed[:, Sums(*mixed).pairs > 0]
        metrics = _records(estimate(of_pairs, held, rule), method)
        points.append(CurveAt(share=1.0, towards=towards, easy_pairs=_share(easy, mixed), metrics=metrics))
    return points


def _records(estimates: Mapping[str, Estimate], method: str) -> dict[str, EstimateRecord]:
    return estimate_records(under_method(estimates, method))


def _share(easy: Floats, mixed: Floats) -> float:
    return float(easy.sum() / Sums(*mixed).pairs.sum())


def mix_change(sums: MixSums, rule: IntervalRule, method: str = "complete") -> dict[str, EstimateRecord]:
    """Estimate by how much each metric differs with the controls from without, paired by prompt.

    Parameters
    ----------
    sums : MixSums
    rule : IntervalRule
    method : str
        Of the estimates: which prompts they are of.
    """
    # The controls change what could be gained too, so the two recoveries share no denominator for Fieller's interval.
    estimands = [replace(e, parts=None) for e in ESTIMANDS]
    changes = difference(estimands, sums.whole, sums.without, rule)
    for ends in (estimate(ESTIMANDS, pools, rule) for pools in (sums.whole, sums.without)):
        for name, end in ends.items():
            if end.estimate is None and changes[name].estimate is not None:
                changes[name] = Estimate.undefined(end.reason or "", end.n)
    return _records(changes, method)
