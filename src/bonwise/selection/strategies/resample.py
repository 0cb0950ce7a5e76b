"""Several scores per candidate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from bonwise.data.checks import check_whole
from bonwise.judges.asking import checked_temperature, options_text
from bonwise.judges.protocol import Judge
from bonwise.judges.wrapping import calls_of
from bonwise.selection.draws import OWED, Draws
from bonwise.selection.protocol import Draw, Entrants, Heard, Question, Standing
from bonwise.selection.spec import StrategySpec

__all__ = ["Resample"]


@dataclass(frozen=True)
class Resample:
    """Score every candidate the same number of times and keep the highest mean.

    A draw that is unscored is left out of the mean; a candidate is owed while one of its draws is. The standard
    errors pool the variance between the draws of one candidate over the pool.

    Parameters
    ----------
    draws : int
        At least 1.
    temperature : float, optional
        At which a model is asked, every time, in place of the judge's own; None keeps the judge's own.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> Resample(draws=3).name
    'resample:draws=3'
    """

    draws: int = 5
    temperature: float | None = 1.0

    kind: ClassVar[str] = "resample"
    compares: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole("draws", self.draws, least=1)
        object.__setattr__(self, "temperature", checked_temperature(self.temperature))

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(StrategySpec(self.kind, options_text(self)))

    def contest(self, entrants: Entrants) -> _ResampleContest:
        """Open the contest of one pool."""
        return _ResampleContest(self, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls, once a draw."""
        return calls_of(judge, candidates) * self.draws


class _ResampleContest:
    def __init__(self, rule: Resample, entrants: Entrants) -> None:
        self._rule, self._first_pass_alone = rule, entrants.first_pass_alone
        self._draws = Draws(entrants.count)

    def next(self) -> tuple[Draw, ...]:
        """Ask for every draw at once, or for the first ones alone where a router looks at them."""
        numbers = 1 if self._first_pass_alone and self._draws.missing(0) else self._rule.draws
        return tuple(
            Draw(candidate, number, self._rule.temperature)
            for number in range(numbers)
            for candidate in self._draws.missing(number)
        )

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a score."""
        self._draws.hear(question, answer)

    def standing(self) -> Standing:
        """Return the means."""
        many = self._rule.draws
        stopped = (
            OWED if self._draws.owed else f"every candidate was scored {'once' if many == 1 else f'{many} times'}"
        )
        return self._draws.standing("" if self.next() else stopped)
