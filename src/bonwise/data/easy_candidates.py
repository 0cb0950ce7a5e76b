"""Candidates that are worst almost everywhere: any judge can reject them, so they raise every figure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.data.panel import Panel
from bonwise.data.ties import TIE_DECIMALS

__all__ = ["EasyCandidate", "easy_candidates", "easy_of_panel"]

_Floats = npt.NDArray[np.float64]

ALONE = 0.9
"""A candidate is easy that alone has the lowest value in this share of prompts, ..."""

LOWEST = 0.95
"""... or that has the lowest value, alone or tied, in this share of the prompts whose values differ, ..."""

OTHERS = 0.5
"""... while none of the others has it in more than this share."""

FEWEST = 3
"""Of two candidates one is always the lower."""


class EasyCandidate(NamedTuple):
    """A candidate that is worst almost everywhere."""

    name: str
    lowest: float
    """Share of prompts in which no other candidate has a lower value."""
    by_labels: bool
    """Whether the values are labels; otherwise the judge's scores."""


def easy_of_panel(panel: Panel) -> tuple[EasyCandidate, ...]:
    """Return the easy candidates of a panel, by the prompts that are labelled whole, or by scores where none is."""
    complete = panel.keep(panel.labelled_cells == panel.sizes)
    by_labels = bool(len(complete.sizes))
    judged = complete if by_labels else panel
    return easy_candidates(judged, judged.labels if by_labels else judged.scores, by_labels=by_labels)


def easy_candidates(panel: Panel, values: _Floats, *, by_labels: bool = True) -> tuple[EasyCandidate, ...]:
    """Return the candidates that are worst almost everywhere.

    Parameters
    ----------
    panel : Panel
    values : ndarray of float64, shape (cells,)
        Labels or scores of its cells, no NaN.
    by_labels : bool
        Which of the two they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from bonwise.data.panel import lay_out
    >>> from bonwise.data.table import ScoreTable
    >>> names, labels = ["a", "b", "bad"] * 4, [0.9, 0.5, 0.1, 0.4, 0.8, 0.0] * 2
    >>> prompts = [f"p{i}" for i in range(4) for _ in "abc"]
    >>> rows = {"prompt_id": prompts, "candidate": names, "judge_score": labels, "oracle_label": labels}
    >>> (panel,) = lay_out(ScoreTable.from_frame(pd.DataFrame(rows)))
    >>> [(one.name, one.lowest) for one in easy_candidates(panel, panel.labels)]
    [('bad', 1.0)]
    """
    sizes, prompts = panel.sizes, len(panel.sizes)
    if not prompts or sizes.max() < FEWEST:
        return ()
    starts = np.cumsum(sizes) - sizes
    exact = np.round(values, TIE_DECIMALS)
    lowest = exact == np.repeat(np.minimum.reduceat(exact, starts), sizes)
    tied = np.add.reduceat(lowest.astype(np.int64), starts)
    alone = _count(panel, lowest & np.repeat(tied == 1, sizes)) / prompts
    among = _count(panel, lowest) / prompts
    decided = np.repeat(tied < sizes, sizes)
    share = _count(panel, lowest & decided) / max(int((tied < sizes).sum()), 1)
    often = share >= LOWEST
    others = share[~often & (_count(panel, np.ones(len(values), dtype=bool)) > 0)]
    if len(others) < FEWEST - 1 or others.max() > OTHERS:
        often[:] = False
    easy = np.flatnonzero(often | (alone >= ALONE))
    names = panel.candidates.to_numpy()
    return tuple(EasyCandidate(str(names[code]), float(among[code]), by_labels) for code in easy)


def _count(panel: Panel, cells: npt.NDArray[np.bool_]) -> _Floats:
    """Count cells by candidate name."""
    return np.bincount(panel.names[cells], minlength=len(panel.candidates)).astype(np.float64)
