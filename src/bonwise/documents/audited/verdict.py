"""What the figures of an audit mean, as its document holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["DECIDES", "Check", "CheckState", "Level", "Target", "Verdict"]

Target = Literal["best-of-n", "system"]
"""The decision that a verdict is about."""

DECIDES: Mapping[Target, str] = {"best-of-n": "recovery", "system": "global_r"}
"""The metric that answers for a target."""

Level = Literal["useful", "weak", "harmful", "random", "inconclusive"]

Check = Literal["correlation", "level", "directional", "decision"]

CheckState = Literal["pass", "fail", "inconclusive", "undefined"]

_CHECKS: Sequence[Check] = get_args(Check)

_TOGETHER = 2
"""Sentences on the checks where the first three have one together."""

_MOST_OPENING = 2
"""Sentences before those on the checks: the answer, and what the figures describe."""


class Verdict(Record):
    """What the figures mean for the decision at hand."""

    target: Target
    """The decision."""
    level: Level
    """``useful``, ``weak``, ``harmful``, ``random`` or ``inconclusive``, for the target."""
    checks: dict[Check, CheckState]
    """``correlation``, ``level``, ``directional``, ``decision`` to ``pass``, ``fail``, ``inconclusive`` or
    ``undefined``.
    """
    sentences: Annotated[list[str], Field(min_length=2)]
    """The verdict in words. The first is the answer; a second says what the figures describe, where that is not every
    prompt. The last four say what each check rests on; where scores or whole pools are missing the last but one is
    about the first three checks.
    """
    deciding: Count
    """Which of the sentences, counted from 0, holds the figures that the level rests on; never the first, which is
    the answer.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not 1 <= self.deciding < len(self.sentences):
            raise ValueError(f"deciding must be one of 1 to {len(self.sentences) - 1}, the sentences but the first")
        return self

    @property
    def opening(self) -> list[str]:
        """The sentences before those on the checks."""
        return self.sentences[: len(self.sentences) - self._on_checks]

    def of_checks(self) -> Mapping[Check, str]:
        """Return what each check rests on; empty where the sentences are none that an audit writes.

        Examples
        --------
        >>> checks = dict.fromkeys(("correlation", "level", "directional", "decision"), "undefined")
        >>> said = ["What picked is weak.", "No scores.", "Recovery is 10%."]
        >>> picks = Verdict(target="best-of-n", level="weak", checks=checks, sentences=said, deciding=2)
        >>> picks.of_checks()["level"], picks.of_checks()["decision"], picks.opening
        ('No scores.', 'Recovery is 10%.', ['What picked is weak.'])
        """
        last = self.sentences[len(self.opening) :]
        if len(last) == _TOGETHER:
            first, decision = last
            last = [first, first, first, decision]
        return dict(zip(_CHECKS, last, strict=True)) if last else {}

    @property
    def _on_checks(self) -> int:
        """How many of the sentences are on the checks: each has its own, or the first three have one together."""
        for many in (len(_CHECKS), _TOGETHER):
            if 1 <= len(self.sentences) - many <= _MOST_OPENING:
                return many
        return 0
