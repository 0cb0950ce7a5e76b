"""Scores first, comparisons only among those that share the top."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from bonwise.data.verdicts import Preference, Score, Unscored
from bonwise.errors import UsageError
from bonwise.judges.asking import options_text, owed_among
from bonwise.judges.calling import as_judge
from bonwise.judges.protocol import Judge
from bonwise.judges.wrapping import calls_of
from bonwise.selection.draws import OWED, Draws
from bonwise.selection.protocol import Contest, Draw, Entrants, Heard, Match, Question, Standing
from bonwise.selection.ranking import ranked
from bonwise.selection.spec import StrategySpec
from bonwise.selection.strategies.knockout import Knockout
from bonwise.selection.strategies.round_robin import RoundRobin

__all__ = ["TieBreak"]


@dataclass(frozen=True)
class TieBreak:
    """Score every candidate once; where several share the top score, compare these with one another.

    Scores are rounded to 9 decimals before they are compared. What the comparisons give is `Standing.second`: it
    orders the candidates that share the top score and changes no score.

    Parameters
    ----------
    pairwise : Judge or callable
        Compares; a judge that only scores prefers the higher score.
    knockout : bool
        Whether they meet in a tournament rather than each with every other.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.
    bonwise.errors.JudgeError
        What is given as the judge is none.

    Examples
    --------
    >>> from bonwise.judges.pairwise import Pairwise
    >>> rule = TieBreak(Pairwise("openai/gpt-5-mini"))
    >>> rule.name, rule.most_calls(Pairwise("openai/gpt-5-mini"), candidates=3)
    ('tie_break:of=pairwise:openai/gpt-5-mini', 12)
    >>> contest = rule.contest(Entrants(3, order=(2, 1, 0)))
    >>> for question, value in zip(contest.next(), [0.7, 0.6, 0.7], strict=True):
    ...     contest.hear(question, Score(value))
    >>> [(match.a, match.b) for match in contest.next()]
    [(0, 2)]
    """

    pairwise: Judge
    knockout: bool = False

    kind: ClassVar[str] = "tie_break"
    compares: ClassVar[bool] = False

    def __init__(self, pairwise: Judge | Callable[[str, str], Any], *, knockout: bool = False) -> None:
        if not isinstance(knockout, bool):
            raise UsageError(f"knockout is {knockout!r}", hint="give true or false")
        object.__setattr__(self, "pairwise", as_judge(pairwise))
        object.__setattr__(self, "knockout", knockout)

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(StrategySpec(self.kind, options_text(self, never=("pairwise",)), of=self.pairwise.name))

    @property
    def among(self) -> RoundRobin | Knockout:
        """The strategy among those that share the top score."""
        return Knockout() if self.knockout else RoundRobin()

    def contest(self, entrants: Entrants) -> _TieBreakContest:
        """Open the contest of one pool."""
        return _TieBreakContest(self, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the calls of a pool whose candidates all have the same score."""
        return calls_of(judge, candidates) + self.among.most_calls(self.pairwise, candidates)


class _TieBreakContest:
    def __init__(self, rule: TieBreak, entrants: Entrants) -> None:
        self._rule, self._entrants = rule, entrants
        self._draws = Draws(entrants.count)
        self._tied: tuple[int, ...] = ()
        self._among: Contest | None = None
        self._owed: dict[int, Unscored] = {}

    def next(self) -> tuple[Question, ...]:
        """Ask for the scores, then for comparisons of those that share the top."""
        unheard = self._draws.missing(0)
        if unheard or self._draws.owed:
            return tuple(Draw(candidate) for candidate in unheard)
        among = self._opened()
        if among is None:
            return ()
        asked = (one for one in among.next() if isinstance(one, Match))
        return tuple(Match(self._tied[one.a], self._tied[one.b], self._rule.pairwise) for one in asked)

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a score or a comparison."""
        if isinstance(question, Draw) or self._among is None:
            self._draws.hear(question, answer)
            return
        a, b = self._tied.index(question.a), self._tied.index(question.b)
        self._among.hear(Match(a, b), answer)
        if isinstance(answer, Preference):
            owed = owed_among((answer.shown_first, answer.shown_second))
            if owed is not None:
                self._owed |= {question.a: owed, question.b: owed}

    def standing(self) -> Standing:
        """Return the scores, and what those that share the top earned among one another."""
        scores = self._draws.firsts()
        among = None if self._among is None else self._among.standing()
        second: list[float | None] = [None] * len(scores)
        for one, verdict in zip(self._tied, () if among is None else among.verdicts, strict=True):
            second[one] = verdict.value if isinstance(verdict, Score) else None
        verdicts = tuple(self._owed.get(one, score) for one, score in enumerate(scores))
        return Standing(verdicts, second=tuple(second) if among else (), stopped=self._stopped(among))

    def _opened(self) -> Contest | None:
        """Return the contest among those that share the top score; None where one stands alone, or nobody."""
        if self._among is None:
            values = [one.value if isinstance(one, Score) else None for one in self._draws.firsts()]
            self._tied = ranked(values, self._entrants.order).tied
            if self._tied:
                place = {candidate: at for at, candidate in enumerate(self._tied)}
                order = tuple(place[one] for one in self._entrants.order if one in place)
                self._among = self._rule.among.contest(Entrants(len(order), order))
        return self._among

    def _stopped(self, among: Standing | None) -> str:
        if self._draws.owed:
            return "" if self._draws.missing(0) else OWED
        if among is None:
            return "" if self.next() else "no two candidates share the top score"
        return among.stopped and f"{len(self._tied)} candidates share the top score; {among.stopped}"
