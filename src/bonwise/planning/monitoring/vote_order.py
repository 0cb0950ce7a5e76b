"""Votes between two answers, in the order in which they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.reading import read_raw
from bonwise.data.table import counted_rows
from bonwise.data.verdict_words import preferences_of, require_columns
from bonwise.data.votes import TIES, Ties, VoteTable
from bonwise.data.wording import listed, shown
from bonwise.errors import InputError, UsageError
from bonwise.stats.sums import Floats

__all__ = ["Votes", "votes_in_order"]

_TIE_COUNTS: Mapping[str, float] = {"drop": np.nan, "half": 0.5, "pessimistic": 0.0}
"""For the first answer."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes that count, first given first.

    Parameters
    ----------
    worth : ndarray of float64, shape (votes,)
        1 for the first answer, 0 for the second, 1/2 for a tie that counts half.
    source : str
    sides : tuple of str
        Names of the first and of the second answer.
    blank : int
        Rows without a vote.
    tied : int
        Ties among the votes, however they count.
    """

    worth: Floats = field(repr=False)
    source: str
    sides: tuple[str, str]
    blank: int
    tied: int


def votes_in_order(
    source: str | Path | pd.DataFrame,
    *,
    verdict: str,
    ties: Ties | None = None,
    pair: Sequence[str] = (),
    prompt: str | None = None,
) -> Votes:
    """Read the votes of one pair.

    Parameters
    ----------
    source : str, pathlib.Path or pandas.DataFrame
    verdict : str
        Column of the votes: 1 or 2, a or b, model_a or model_b, tie; a blank is none.
    ties : {"drop", "half", "pessimistic"}, optional
        Left out, half a vote for each, or a vote against the first answer; needed where there are any.
    pair : sequence of str
        The two columns that name the models, where they change places; the alphabetically first one is the first.
    prompt : str, optional
        Column of the prompt: each may then have one vote only.

    Raises
    ------
    bonwise.errors.InputError
        An absent column, a vote that is none, ties that nothing was said about, more than two models, or a prompt
        that is voted on twice.

    Examples
    --------
    >>> votes_in_order(pd.DataFrame({"winner": ["a", "b", "tie"]}), verdict="winner", ties="half").worth.tolist()
    [1.0, 0.0, 0.5]
    """
    if ties is not None and ties not in TIES:
        raise UsageError(f"ties cannot count as {shown(ties)}", hint=f"choose of {listed(TIES)}")
    read = _of_pair(source, verdict, pair, prompt) if pair else _of_column(source, verdict, prompt)
    values, prompts, name, sides, blank = read
    if prompt is not None and len(np.unique(prompts)) < len(values):
        raise InputError(
            f"{name}: {len(values):,} votes on {len(np.unique(prompts)):,} prompts",
            hint="votes on one prompt are not independent: keep the first vote of each prompt",
        )
    tied = values == 0.5
    if tied.any() and ties is None:
        raise UsageError(
            f"{name}: {int(tied.sum()):,} of {len(values):,} votes are ties, and how they count was not said",
            hint="give --ties drop, --ties half, or --ties pessimistic (against the first answer)",
        )
    counted = np.where(tied, _TIE_COUNTS[ties or "drop"], values)
    return Votes(counted[~np.isnan(counted)], name, sides, blank, int(tied.sum()))


_Read = tuple[Floats, npt.NDArray[np.int64], str, tuple[str, str], int]


def _of_column(source: str | Path | pd.DataFrame, verdict: str, prompt: str | None) -> _Read:
    name = "table" if isinstance(source, pd.DataFrame) else str(source)
    raw = counted_rows(source, name) if isinstance(source, pd.DataFrame) else read_raw(Path(source))
    require_columns(raw, [verdict, *([prompt] if prompt is not None else [])], name)
    values = preferences_of(raw[verdict], name)
    given = ~np.isnan(values)
    prompts = np.arange(len(raw))
    if prompt is not None:
        prompts = as_categories(raw[prompt], role="prompt_id", source=name).codes.astype(np.int64)
    return values[given], prompts[given], name, ("first", "second"), int(np.count_nonzero(~given))


def _of_pair(source: str | Path | pd.DataFrame, verdict: str, pair: Sequence[str], prompt: str | None) -> _Read:
    table = VoteTable.read(source, verdict=verdict, pair=pair, prompt=[prompt] if prompt is not None else [])
    if len(table.models) > 2:
        raise InputError(
            f"{table.source}: {len(table.models)} models, and one sequence of looks is for one pair",
            hint=f"keep the rows of one pair of {listed(table.models)}",
        )
    sides = (table.models[0], table.models[1])
    return 1 - table.preferred, table.prompt, table.source, sides, sum(table.dropped.values())
