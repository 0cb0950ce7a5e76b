"""A pilot of votes: a count such as 28/50, or a file with one verdict a row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bonwise.data.preferences import PreferenceTable
from bonwise.data.reading import read_raw
from bonwise.data.wording import listed
from bonwise.errors import ColumnError, UsageError
from bonwise.stats.power.pilot_effect import wilson

if TYPE_CHECKING:
    from bonwise.planning.plans.pilot import PilotSource

__all__ = ["VotePilot", "vote_pilot"]

_COUNT = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*")
_COLUMNS = ("verdict", "winner", "vote", "preference", "preferred")
_ROW = "bonwise row"


@dataclass(frozen=True, slots=True)
class VotePilot:
    """Votes for the first and for the second side; ties decide nothing.

    Parameters
    ----------
    source : str
    wins, votes : float
        Of decisive votes, those for the first side, and all.
    ties : float
    """

    source: str
    wins: float
    votes: float
    ties: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.wins <= self.votes or self.votes < 1:
            raise UsageError(
                f"{self.wins:g} of {self.votes:g} votes is no pilot",
                hint="write wins/decisive votes, such as 28/50",
            )

    @property
    def margin(self) -> float:
        """Share of wins less one half."""
        return self.wins / self.votes - 0.5

    @property
    def tie_rate(self) -> float:
        """Share of votes that decide nothing."""
        return self.ties / (self.ties + self.votes)

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval of the margin."""
        low, high = wilson(self.wins, self.votes, confidence)
        return low - 0.5, high - 0.5

    def describe(self, confidence: float, **more: Any) -> dict[str, Any]:
        """Return the pilot's part of the document."""
        low, high = self.ends(confidence)
        return {
            "source": self.source,
            "votes": self.votes,
            "wins": self.wins,
            "ties": self.ties,
            "of": "preference margin",
            "estimate": self.margin,
            "low": low,
            "high": high,
            **more,
        }


def vote_pilot(source: PilotSource) -> VotePilot:
    """Read a pilot of votes.

    Raises
    ------
    bonwise.errors.InputError
        No count and no file of votes, or a word that is no verdict.
    """
    given = source.source
    if isinstance(given, str) and (counted := _COUNT.fullmatch(given)):
        return VotePilot(given.strip(), float(counted[1]), float(counted[2]))
    if isinstance(given, str | Path):
        frame = read_raw(Path(given))
    elif isinstance(given, pd.DataFrame):
        frame = given
    else:
        raise UsageError("a table of scores holds no votes", hint="give a file of votes, or wins/votes such as 28/50")
    column = _column(frame, source)
    # One vote a row: rows are what the table tells apart.
    rows = pd.DataFrame({column: frame[column], _ROW: np.arange(len(frame))}, index=frame.index)
    verdicts = PreferenceTable.read(rows, verdicts=[column], oracle=column, prompt=[_ROW]).verdicts[:, 0]
    wins, losses = float(np.sum(verdicts == 1)), float(np.sum(verdicts == 0))
    if not wins + losses:
        raise UsageError(f"{source.name}: every vote is a tie", hint="a margin needs votes that decide something")
    return VotePilot(source.name, wins, wins + losses, float(len(verdicts) - wins - losses))


def _column(frame: pd.DataFrame, source: PilotSource) -> str:
    names: Mapping[str, str] = {str(name).strip().lower(): str(name) for name in frame.columns}
    if source.verdict is not None:
        if source.verdict not in frame.columns:
            raise ColumnError(
                f"{source.name}: no column named {source.verdict!r}", hint=f"the columns are {listed(frame.columns)}"
            )
        return source.verdict
    found = [names[word] for word in _COLUMNS if word in names]
    if len(found) != 1:
        raise ColumnError(
            f"{source.name}: {'no column' if not found else 'more than one column'} that holds votes",
            hint="name it with verdict_col; it holds 1 or 2, a or b, model_a or model_b, or tie",
        )
    return found[0]
