"""Agreement over all cells, split into what lies between prompts and what lies within them."""

from __future__ import annotations

import numpy as np

from bonwise.stats.estimand import Estimand, ratio
from bonwise.stats.sums import Floats, Sums

__all__ = ["ESTIMANDS", "between_r"]


def global_r(t: Sums) -> Floats:
    """Pearson correlation of scores and labels over all cells (the paper's global r)."""
    return _root_ratio(_total(t.SO, t.S, t.O, t.cells), _total_SS(t), _total_OO(t), t.SS, t.OO)


def within_r(t: Sums) -> Floats:
    """Correlation of the deviations from prompt means, from pooled sums.

    ``sum eS eO / sqrt(sum eS^2 sum eO^2)``; pooling keeps prompts the judge ties entirely, for
    which a per-prompt correlation does not exist.
    """
    return _root_ratio(t.eSO, t.eSS, t.eOO, t.SS, t.OO)


def inflation(t: Sums) -> Floats:
    """Share of the global correlation that is gone within prompts: 1 - within_r / global_r."""
    overall = global_r(t)
    return np.where(np.abs(overall) > 1e-12, 1 - within_r(t) / np.where(overall == 0, np.nan, overall), np.nan)


def attenuation(t: Sums) -> Floats:
    """Slope of the judge's deviations on the oracle's (the paper's alpha)."""
    return ratio(t.eSO, t.eOO, t.OO)


def judge_between_share(t: Sums) -> Floats:
    """Share of the sum of squares of scores that lies between prompt means."""
    return 1 - ratio(t.eSS, _total_SS(t), t.SS)


def oracle_between_share(t: Sums) -> Floats:
    """Share of the sum of squares of labels that lies between prompt means."""
    return 1 - ratio(t.eOO, _total_OO(t), t.OO)


def between_r(t: Sums) -> Floats:
    """Correlation of prompt means, weighted by pool size."""
    total, SS, OO = _total(t.SO, t.S, t.O, t.cells), _total_SS(t), _total_OO(t)
    return _root_ratio(total - t.eSO, SS - t.eSS, OO - t.eOO, t.SS, t.OO)


def _total(products: Floats, left: Floats, right: Floats, cells: Floats) -> Floats:
    return products - left * right / cells


def _total_SS(t: Sums) -> Floats:  # noqa: N802 - S squared, as in the paper
    return _total(t.SS, t.S, t.S, t.cells)


def _total_OO(t: Sums) -> Floats:  # noqa: N802
    return _total(t.OO, t.O, t.O, t.cells)


def _root_ratio(product: Floats, left: Floats, right: Floats, scale_left: Floats, scale_right: Floats) -> Floats:
    usable = (left > 1e-12 * scale_left) & (right > 1e-12 * scale_right)
    reach = np.sqrt(np.where(usable, left, 1.0)) * np.sqrt(np.where(usable, right, 1.0))
    return np.where(usable, product / reach, np.nan)


_BOTH_VARY = "scores and labels that vary"
_BOTH_VARY_WITHIN = "a prompt where scores differ and one where labels differ"
_CORRELATION = (-1.0, 1.0)
_ANY = (-np.inf, np.inf)

ESTIMANDS = (
    Estimand(
        "global_r",
        global_r,
        _BOTH_VARY,
        _CORRELATION,
        group="Over all cells",
        meaning="correlation over all cells",
        unit="number",
        headline=True,
    ),
    Estimand(
        "within_r",
        within_r,
        _BOTH_VARY_WITHIN,
        _CORRELATION,
        group="Within prompts",
        meaning="correlation within prompts",
        unit="number",
        headline=True,
    ),
    Estimand(
        "inflation",
        inflation,
        "a global_r other than 0 and a defined within_r",
        _ANY,
        over="global_r",
        lost_of=(within_r, global_r),
        group="Over all cells",
        meaning="share of global_r lost within prompts",
        unit="share",
    ),
    Estimand(
        "attenuation",
        attenuation,
        "a prompt where labels differ",
        _ANY,
        group="Within prompts",
        meaning="slope of score on label deviations",
        unit="number",
    ),
    Estimand(
        "judge_between_share",
        judge_between_share,
        "scores that vary",
        on_labels=False,
        group="Over all cells",
        meaning="variance of scores between prompts",
        unit="share",
    ),
    Estimand(
        "oracle_between_share",
        oracle_between_share,
        "labels that vary",
        on_scores=False,
        group="Over all cells",
        meaning="variance of labels between prompts",
        unit="share",
    ),
)
