"""Judges that score each candidate alone: by one number, or by two that say how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bonwise.calls.ask import Answers, Choice
from bonwise.flags import takes_numbers
from bonwise.judges.asking import AskingSettings, concluded_alone
from bonwise.judges.parse import readers
from bonwise.judges.protocol import Conclusion, cached_property
from bonwise.table.verdicts import Score

__all__ = ["Interval", "Pointwise"]


@takes_numbers
@dataclass(frozen=True)
class Pointwise(AskingSettings):
    """One question per candidate; its score, from 0 to 100 unless the prompt says otherwise, becomes one from 0 to 1.

    A candidate without a visible character is unscored and not asked about.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, such as ``pointwise-reason``, or a file of mode ``pointwise``.
    base_url : str, optional
        Another server that speaks the provider's language.
    client : object, optional
        A client of the provider's official SDK that you made, for Azure, Bedrock or Vertex or with a proxy of your
        own: it sends the requests, and is neither changed nor closed.
    price : tuple of float, optional
        US dollars per million tokens of input, cached or not, and of output: ``(0.25, 2.0)``.
    temperature : float, optional
        None leaves it to the server.
    max_tokens : int
        The most an answer may have, reasoning included.
    params : mapping or str, optional
        Further fields of the request's body, such as ``{"reasoning_effort": "low"}``.
    longest : int
        Characters of one text beyond which its middle is left out.

    Examples
    --------
    >>> judge = Pointwise("openai/gpt-5-mini", prompt="pointwise-reason")
    >>> judge.name, judge.calls(candidates=4)
    ('pointwise,prompt=pointwise-reason:openai/gpt-5-mini', 4)
    """

    prompt: str | Path = "pointwise"

    kind: ClassVar[str] = "pointwise"

    @cached_property
    def _read(self) -> Callable[[Choice], Any]:
        return partial(readers.score, asked=self.file.asked)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:  # noqa: ARG002
        """Turn each answer into the score of its candidate."""
        low, high = self.file.asked.scale
        return concluded_alone(candidates, answers, lambda number, raw: Score((number - low) / (high - low), raw=raw))

    def calls(self, candidates: int) -> int:
        """Return one call per candidate."""
        return candidates


@takes_numbers
@dataclass(frozen=True)
class Interval(AskingSettings):
    """One question per candidate: a score from 0 to 100 and the two ends of an interval around it.

    All three become numbers from 0 to 1. A score outside its own interval is not an answer.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``interval``.
    base_url : str, optional
        Another server that speaks the provider's language.
    client : object, optional
        A client of the provider's official SDK that you made, for Azure, Bedrock or Vertex or with a proxy of your
        own: it sends the requests, and is neither changed nor closed.
    price : tuple of float, optional
        US dollars per million tokens of input, cached or not, and of output: ``(0.25, 2.0)``.
    temperature : float, optional
        None leaves it to the server.
    max_tokens : int
        The most an answer may have, reasoning included.
    params : mapping or str, optional
        Further fields of the request's body, such as ``{"reasoning_effort": "low"}``.
    longest : int
        Characters of one text beyond which its middle is left out.

    Examples
    --------
    >>> judge = Interval("openai/gpt-5-mini")
    >>> judge.name, judge.calls(candidates=4)
    ('interval:openai/gpt-5-mini', 4)
    """

    prompt: str | Path = "interval"

    kind: ClassVar[str] = "interval"

    @cached_property
    def _read(self) -> Callable[[Choice], Any]:
        return partial(readers.interval, asked=self.file.asked)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:  # noqa: ARG002
        """Turn each answer into the score and the interval of its candidate."""
        return concluded_alone(candidates, answers, self._score)

    def calls(self, candidates: int) -> int:
        """Return one call per candidate."""
        return candidates

    def _score(self, stated: readers.ReadInterval, raw: str) -> Score:
        least, most = self.file.asked.scale
        value, low, high = ((value_stated - least) / (most - least) for value_stated in stated)
        return Score(value, raw=raw, low=low, high=high)
