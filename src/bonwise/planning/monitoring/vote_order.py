"""Votes between two answers, in the order in which they were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bonwise.data.identifiers import as_categories
from bonwise.data.joined_names import require_columns
from bonwise.data.numbers import distinct
from bonwise.data.rows import RowSource, open_rows
from bonwise.data.vote_readings import read_votes
from bonwise.data.votes import Ties, VoteTable
from bonwise.data.wording import listed
from bonwise.errors import InputError
from bonwise.stats.sums import Floats

__all__ = ["OrderedVotes", "votes_in_order"]

_MODELS = ("model_a", "model_b")
"""Columns that name the models in public files of votes."""


@dataclass(frozen=True, eq=False)
class OrderedVotes:
    """Votes that count, first given first."""

    worth: Floats = field(repr=False)
    """1 for the first answer, 0 for the second, 1/2 for a tie that counts half."""
    source: str
    sides: tuple[str, str]
    """Names of the first and of the second answer."""
    blank: int
    """Rows without a vote."""
    tied: int
    """Ties among the votes, however they count."""


def votes_in_order(
    source: RowSource,
    *,
    verdict_col: str,
    ties: Ties | None = None,
    pair: Sequence[str] = (),
    prompt: str | None = None,
) -> OrderedVotes:
    """Read the votes of one pair.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
    verdict_col : str
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
    >>> import pandas as pd
    >>> votes_in_order(pd.DataFrame({"winner": ["a", "b", "tie"]}), verdict_col="winner", ties="half").worth.tolist()
    [1.0, 0.0, 0.5]
    """
    prompts = [] if prompt is None else [prompt]
    if pair:
        table = VoteTable.read(source, verdict=verdict_col, pair=pair, prompt=prompts)
    else:
        table = _of_column(source, verdict_col, prompt)
    _refuse_several(table)
    if prompt is not None:
        _refuse_repeated(table)
    tied = table.ties
    # Nothing is known of a vote to come: where so far all were ties there is nothing to refuse.
    worth = np.zeros(0) if ties == "drop" and tied.all() else 1 - table.under(ties).preferred
    sides = (table.models[0], table.models[1])
    return OrderedVotes(worth, table.source, sides, sum(table.dropped.values()), int(tied.sum()))


def _of_column(source: RowSource, verdict_col: str, prompt: str | None) -> VoteTable:
    """Read votes on two answers that never change places."""
    raw, name = open_rows(source)
    require_columns(raw, [verdict_col, *([] if prompt is None else [prompt])], name)
    if all(column in raw.columns for column in _MODELS) and any(np.ptp(distinct(raw[one])[0]) for one in _MODELS):
        raise InputError(
            f"{name}: {_MODELS[0]} and {_MODELS[1]} hold several models, and one sequence of looks is for one pair",
            hint=f"keep the rows of one pair, and name the columns with --pair-col {','.join(_MODELS)}",
        )
    first_wins = read_votes(raw[verdict_col], name).worth
    given = ~np.isnan(first_wins)
    prompts = np.arange(len(raw))
    if prompt is not None:
        prompts = as_categories(raw[prompt], role="prompt_id", source=name).codes.astype(np.int64)
    votes = int(given.sum())
    return VoteTable(
        name,
        ("first", "second"),
        np.zeros(votes, dtype=np.int64),
        np.ones(votes, dtype=np.int64),
        prompts[given],
        prompt is not None,
        1 - first_wins[given],
        {"no verdict": len(raw) - votes},
    )


def _refuse_several(table: VoteTable) -> None:
    if len(table.models) > 2:
        raise InputError(
            f"{table.source}: {len(table.models)} models, and one sequence of looks is for one pair",
            hint=f"keep the rows of one pair of {listed(table.models)}",
        )


def _refuse_repeated(table: VoteTable) -> None:
    votes, prompts = len(table.prompt), len(np.unique(table.prompt))
    if prompts < votes:
        raise InputError(
            f"{table.source}: {votes:,} votes on {prompts:,} prompts",
            hint="votes on one prompt are not independent: keep the first vote of each prompt",
        )
