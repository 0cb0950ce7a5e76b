"""A pilot of votes: a count such as 28/50, or a file with one verdict per row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bonwise.data.opening import HoldsScores
from bonwise.data.rows import RowSource, open_rows
from bonwise.data.table import ScoreTable
from bonwise.data.vote_columns import NamedVoteColumns
from bonwise.data.vote_rows import VoteRows, one_verdict
from bonwise.data.vote_sides import pair_of
from bonwise.data.votes import Ties, VoteTable
from bonwise.data.wording import listed
from bonwise.documents.plan import PilotOfVotes
from bonwise.documents.record import given
from bonwise.errors import InputError, UsageError
from bonwise.planning.plans.pilot_source import PilotSource
from bonwise.stats.power.pilot_effect import wilson
from bonwise.stats.sums import Floats

__all__ = ["VotePilot", "vote_pilot"]

_COUNT = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*")

_WORTH: Mapping[Ties, float] = {"drop": np.nan, "half": 0.5, "pessimistic": 0.0}
"""Of a tie, for the first side."""


@dataclass(frozen=True, slots=True)
class VotePilot:
    """Votes for the first and for the second side."""

    source: str
    wins: float
    """Of the votes that count, those for the first side, and all."""
    votes: float
    """Of the votes that count, those for the first side, and all."""
    tie_rate: float = 0.0
    """Share of all votes that do not count: ties that decide nothing."""
    ties: float = 0.0
    """Ties among the votes, however they count."""

    def __post_init__(self) -> None:
        if not 0 <= self.wins <= self.votes or self.votes < 1:
            raise UsageError(
                f"{self.wins:g} of {self.votes:g} votes is not a pilot",
                hint="write wins/decisive votes, such as 28/50",
            )

    @property
    def margin(self) -> float:
        """Share of wins less one half."""
        return self.wins / self.votes - 0.5

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval of the margin."""
        low, high = wilson(self.wins, self.votes, confidence)
        return low - 0.5, high - 0.5

    def describe(
        self, confidence: float, judges: Sequence[str] | None = None, prompts: int | None = None
    ) -> PilotOfVotes:
        """Return the pilot's part of the document; judges and prompts where picks were turned into votes."""
        low, high = self.ends(confidence)
        return PilotOfVotes(
            source=self.source,
            votes=self.votes,
            wins=self.wins,
            ties=self.ties,
            of="preference margin",
            estimate=self.margin,
            low=float(low),
            high=float(high),
            **given(judges=None if judges is None else list(judges), prompts=prompts),
        )


def vote_pilot(source: PilotSource) -> VotePilot:
    """Read a pilot of votes.

    Raises
    ------
    bonwise.errors.InputError
        No count and no file of votes, a word that is not a verdict, votes on several pairs of models, or ties that
        nothing was said about.
    """
    found = source.source
    if isinstance(found, str) and (counted := _COUNT.fullmatch(found)):
        for name in source.given():
            raise UsageError(f"{name} has no meaning for votes that are counted already", hint=f"leave {name} out")
        return VotePilot(found.strip(), float(counted[1]), float(counted[2]))
    if isinstance(found, HoldsScores | ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give a file of votes, or wins/votes such as 28/50")
    return _counted(_values(found, source), source)


def _counted(values: Floats, source: PilotSource) -> VotePilot:
    tied = values == 0.5
    if tied.any() and source.ties is None:
        raise UsageError(
            f"{source.name}: {int(tied.sum()):,} of {len(values):,} votes are ties, and how they count was not said",
            hint="give ties (--ties): drop, half, or pessimistic (against the first side)",
        )
    worth = np.where(tied, _WORTH[source.ties or "drop"], values)
    kept = worth[~np.isnan(worth)]
    if not len(values):
        raise InputError(f"{source.name}: no row holds a vote", hint="check the columns that were named")
    if not len(kept):
        raise InputError(
            f"{source.name}: every vote is a tie", hint="a margin needs votes that decide, or another way with ties"
        )
    left_out = float(len(values) - len(kept))
    return VotePilot(
        source.name, float(kept.sum()), float(len(kept)), left_out / len(values), ties=float(np.sum(tied))
    )


def _values(given: RowSource, source: PilotSource) -> Floats:
    """Return the votes: 1 for the first side, 0 for the second, 1/2 for a tie; rows without one are none."""
    raw, _ = open_rows(given)
    named = NamedVoteColumns(
        verdicts=None if source.verdict_col is None else (source.verdict_col,),
        pair=source.pair_col or pair_of(raw, texts=False),
        prompt=(),
        judge=(),
    )
    rows = VoteRows.of(raw, source.name, named, needed=("verdicts",))
    if not rows.columns.pair:
        values = one_verdict(rows.worth)
        return values[~np.isnan(values)]
    table = VoteTable.of(rows)
    pairs = len(np.unique(table.first * len(table.models) + table.second))
    if pairs > 1:
        raise InputError(
            f"{source.name}: votes on {pairs} pairs of models, and a margin is that of one pair",
            hint=f"keep the rows of one pair of {listed(table.models)}; pair_col (--pair-col) names its columns",
        )
    return 1 - table.preferred
