"""The book of matches of one pool: every comparison that was heard."""

from __future__ import annotations

from dataclasses import replace

from bonwise.data.verdicts import Preference
from bonwise.judges.asking import owed_among
from bonwise.selection.protocol import Heard, Match, Question

__all__ = ["Matches", "is_owed"]


class Matches:
    """What was heard of each pair.

    Examples
    --------
    >>> book = Matches()
    >>> book.hear(Match(1, 2), Preference(1, 2, shown_first=1.0, shown_second=0.5))
    >>> book.of(1, 2).value, book.of(0, 1) is None
    (0.75, True)
    """

    def __init__(self) -> None:
        self._heard: dict[tuple[int, int], Preference] = {}

    def hear(self, question: Question, answer: Heard) -> None:
        """Take the answer to a match.

        Raises
        ------
        TypeError
            The question was no match, or the answer is none to a match.
        """
        if not isinstance(question, Match) or not isinstance(answer, Preference):
            raise TypeError(f"{type(answer).__name__} is no answer to {question}: only comparisons were asked for")
        # A judge that was shown two texts alone calls them 0 and 1.
        same = (answer.a, answer.b) == (question.a, question.b)
        self._heard[question.a, question.b] = answer if same else replace(answer, a=question.a, b=question.b)

    def of(self, a: int, b: int) -> Preference | None:
        """Return what was heard of two candidates, the smaller position first."""
        return self._heard.get((a, b))

    @property
    def heard(self) -> list[Preference]:
        """Every pair that was heard of."""
        return list(self._heard.values())

    @property
    def owed(self) -> bool:
        """Whether an answer was heard of that did not arrive."""
        return any(is_owed(one) for one in self._heard.values())


def is_owed(preference: Preference) -> bool:
    """Tell whether one of the orders of a pair did not arrive."""
    return owed_among((preference.shown_first, preference.shown_second)) is not None
