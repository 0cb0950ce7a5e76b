"""Logged picks: what a policy kept of each pool, as the scores of a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

NOTHING = "nothing picked"
"""Begins the reason of a prompt that lacks a pick."""

OWED = f"{NOTHING}: owed"
"""Why a prompt whose pick still waits for answers is in no figure."""


PickRows = list[dict[str, Any]]
"""A row per candidate, with its prompt, a judge's score and that judge."""


@dataclass(frozen=True, slots=True)
class Pick:
    """What was kept of one pool."""

    prompt_id: str
    ids: tuple[str, ...]
    """The candidates of the pool."""
    kept: tuple[str, ...]
    """Of which the pick is one, each with the same chance: one id, or those among which a seed decided; empty where
    nothing was picked.
    """
    decided_by: str = ""
    """As the line says it; empty where it says nothing."""
    answers: int | None = None
    """Answers of a model that were used, from a ledger or not; None where the line does not say."""
    tokens: int | None = None
    """What all of them took; None where the line does not say, also of those that came from a ledger."""
    scores: tuple[float | None, ...] | None = None
    """By candidate, None where one has no score; None where the line holds none, or those of two judges."""
    text: str | None = None
    """What was picked; None where the line does not say."""


@dataclass(frozen=True, eq=False)
class Picks:
    """The picks of one policy, one a prompt."""

    source: str
    picks: tuple[Pick, ...] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """What the first line says of the policy."""
    as_picked: bool = False
    """Whether a pick among equals is the drawn one, and not taken in expectation over the draw."""

    def __getstate__(self) -> dict[str, Any]:
        # What only shows a mapping cannot be pickled.
        return {**vars(self), "settings": dict(self.settings)}

    @property
    def name(self) -> str:
        """Who picked, as far as the file says so."""
        parts = [str(self.settings[key]) for key in ("strategy", "judge") if self.settings.get(key)]
        return " of ".join(parts) or "picks"

    @property
    def decided_by(self) -> dict[str, int]:
        """Prompts by what decided them, the most frequent first."""
        return dict(Counter(pick.decided_by or "not said" for pick in self.picks).most_common())

    @property
    def reasons(self) -> dict[str, str]:
        """Why a prompt has no pick to audit, by prompt."""
        reasons = {}
        for pick in self.picks:
            if not pick.kept:
                reasons[pick.prompt_id] = NOTHING + (f": {pick.decided_by}" if pick.decided_by else "")
            elif len(pick.ids) < 2:
                reasons[pick.prompt_id] = "one candidate"
        return reasons

    def rows(self, judge: str | None = None) -> PickRows:
        """Return the picks as scores, 1 for what was kept, else 0: the expected pick is the logged one."""
        cells = [
            (pick.prompt_id, name, float(name in pick.kept) if pick.kept else None)
            for pick in self.picks
            for name in pick.ids
        ]
        return self._rows(cells, judge)

    def scored_rows(self, judge: str | None = None) -> PickRows | None:
        """Return the scores that were picked by; None where a line with a pick holds none."""
        if any(pick.scores is None for pick in self.picks if pick.kept):
            return None
        cells = [
            (pick.prompt_id, candidate, score)
            for pick in self.picks
            for candidate, score in zip(pick.ids, pick.scores or (None,) * len(pick.ids), strict=True)
        ]
        return self._rows(cells, judge)

    def _rows(self, cells: Sequence[tuple[str, str, float | None]], judge: str | None) -> PickRows:
        names = ("prompt_id", "candidate", "judge_score", "judge")
        whose = self.name if judge is None else judge
        return [dict(zip(names, (*cell, whose), strict=True)) for cell in cells]
