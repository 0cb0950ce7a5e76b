"""One score per candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bonwise.judges.protocol import Judge
from bonwise.judges.wrapping import calls_of
from bonwise.selection.draws import OWED, Draws
from bonwise.selection.protocol import Draw, Entrants, Heard, Question, Standing

__all__ = ["Greedy"]


@dataclass(frozen=True)
class Greedy:
    """Score every candidate once and keep the highest.

    Examples
    --------
    >>> contest = Greedy().contest(Entrants(2, order=(1, 0)))
    >>> contest.next()
    (Draw(candidate=0, number=0, temperature=None), Draw(candidate=1, number=0, temperature=None))
    """

    name: ClassVar[str] = "greedy"
    compares: ClassVar[bool] = False

    def contest(self, entrants: Entrants) -> _GreedyContest:
        """Open the contest of one pool."""
        return _GreedyContest(entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls."""
        return calls_of(judge, candidates)


class _GreedyContest:
    def __init__(self, entrants: Entrants) -> None:
        self._draws = Draws(entrants.count)

    def next(self) -> tuple[Draw, ...]:
        """Ask for the score of every candidate."""
        return tuple(Draw(candidate) for candidate in self._draws.missing(0))

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a score."""
        self._draws.hear(question, answer)

    def standing(self) -> Standing:
        """Return the scores as they came."""
        stopped = OWED if self._draws.owed else "every candidate was scored once"
        return Standing(self._draws.firsts(), stopped="" if self._draws.missing(0) else stopped)
