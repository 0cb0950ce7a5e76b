"""A judge whose scores are rounded to few levels: what coarse scales cost in ties can be seen on any judge."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from bonwise.calls.answer import Answers
from bonwise.calls.ask import Ask
from bonwise.data.checks import check_whole
from bonwise.data.verdicts import Score, Unscored, Verdict
from bonwise.judges.asking import ask_now, options_text
from bonwise.judges.calling import as_judge
from bonwise.judges.protocol import Conclusion, Judge, is_asking, is_listwise
from bonwise.judges.spec import Spec
from bonwise.judges.wrapping import as_asking, called, calls_of

__all__ = ["Quantized"]

VERSION = 1


@dataclass(frozen=True)
class Quantized:
    """Another judge's scores, each rounded to the nearest of some equally spaced levels from 0 to 1.

    Half-way scores are rounded up. The ends of an interval and the draws of a mean are rounded in the same way,
    one by one, so the draws need not have the score as their mean; an end beyond the scale is rounded to the
    levels continued. A score beyond the scale is unscored. Preferences stay as they are.

    Parameters
    ----------
    of : Judge or callable
        Any judge, or a function ``(prompt, text) -> number``.
    bins : int
        Number of levels, 0 and 1 among them; at least 2.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> judge = Quantized(lambda prompt, text: len(text) / 10, bins=5)
    >>> judge.judge("Say it", ["a", "abc", "abcdefghijk"])
    (Score(value=0.0), Score(value=0.25), Unscored(reason='1.1 lies off [0, 1]', raw=''))
    """

    of: Judge
    bins: int = 20

    kind: ClassVar[str] = "quantized"

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_judge(self.of))
        check_whole("bins", self.bins, least=2)

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line."""
        return str(Spec(self.kind, options_text(self, always=("bins",)), of=self.of.name))

    @property
    def version(self) -> str:
        """The inner judge's, and this one's rule."""
        return f"{self.of.version} quantized{VERSION}"

    @property
    def asking(self) -> bool:
        """Whether the inner judge asks a model."""
        return is_asking(self.of)

    @property
    def listwise(self) -> bool:
        """Whether the inner judge's score of a candidate depends on the others."""
        return is_listwise(self.of)

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return the inner judge's questions."""
        return as_asking(self.of).asks(prompt, candidates)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Let the inner judge conclude, and round its scores."""
        found = as_asking(self.of).conclude(prompt, candidates, answers)
        return Conclusion(self._rounded(found.verdicts), found.preferences)

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask the model and wait, or call a judge that asks no model."""
        if self.asking:
            return ask_now(self, prompt, candidates)
        return called(self.of, prompt, candidates, 1, lambda found: self._rounded(found[0]))

    def calls(self, candidates: int) -> int:
        """Return the inner judge's calls."""
        return calls_of(self.of, candidates)

    def _rounded(self, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
        return tuple(self._of(one) if isinstance(one, Score) else one for one in verdicts)

    def _of(self, score: Score) -> Verdict:
        if not 0 <= score.value <= 1:
            return Unscored(f"{score.value:g} lies off [0, 1]")
        low, high = (None if end is None else self._level(end) for end in (score.low, score.high))
        draws = tuple(None if draw is None else self._level(draw) for draw in score.draws)
        return Score(self._level(score.value), low=low, high=high, draws=draws, raw=score.raw)

    def _level(self, value: float) -> float:
        return math.floor(value * (self.bins - 1) + 0.5) / (self.bins - 1)
