"""Where a pilot is, and how it is to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.data.checks import names_of
from bonwise.data.reading_options import ReadingOptions
from bonwise.data.votes import TIES, Ties
from bonwise.data.wording import listed, quoted
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.data.opening import ScoreSource

__all__ = ["OF_SCORES", "OF_VOTES", "PilotSource"]

OF_SCORES = ("judge", "exclude", "columns")
OF_VOTES = ("verdict_col", "pair_col", "ties")
"""Arguments that say how a pilot of scores, and one of votes, is read."""


@dataclass(frozen=True, slots=True)
class PilotSource:
    """Where a pilot is, and how it is to be read."""

    source: ScoreSource
    judge: tuple[str, ...] = ()
    """Which judges of the table; all of them where empty."""
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    verdict_col: str | None = None
    """Column of votes."""
    pair_col: tuple[str, ...] = ()
    """The two columns that name the models of a vote."""
    ties: Ties | None = None
    """How ties count."""

    @classmethod
    def of(
        cls,
        source: ScoreSource | None,
        *,
        judge: str | Sequence[str] | None = None,
        reading: ReadingOptions,
        verdict_col: str | None = None,
        pair_col: str | Sequence[str] = (),
        ties: Ties | None = None,
    ) -> PilotSource | None:
        """Take what a caller gave, None where there is no pilot.

        Raises
        ------
        bonwise.errors.UsageError
            Something said about a pilot that there is not, or a way to count ties that does not exist.
        """
        if ties is not None and ties not in TIES:
            raise UsageError(f"ties cannot count as {quoted(ties)}", hint=f"choose of {listed(TIES)}")
        judges, pair = names_of("judge", judge), names_of("pair_col", pair_col)
        found = cls("" if source is None else source, judges, reading, verdict_col, pair, ties)
        if source is not None:
            return found
        for name in found.given():
            raise UsageError(
                f"{name} has no meaning for a plan without a pilot",
                hint=f"give the pilot too, or leave {name} out",
            )
        return None

    @property
    def exclude(self) -> tuple[str, ...]:
        """Candidate names to leave out."""
        return self.reading.exclude

    @property
    def columns(self) -> Mapping[str, str]:
        """Role to column."""
        return self.reading.named_columns

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return str(self.source) if isinstance(self.source, str | Path) else "table"

    def given(self) -> dict[str, Any]:
        """Return what was said about reading it."""
        return {name: value for name in (*OF_SCORES, *OF_VOTES) if (value := getattr(self, name))}

    def settings(self) -> dict[str, Any]:
        """Return its part of the settings that a plan repeats."""
        said = {name: list(value) if isinstance(value, tuple) else value for name, value in self.given().items()}
        columns = {"columns": dict(self.columns)} if self.columns else {}
        return {"pilot": self.name, **said, **columns}
