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
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.

    Examples
    --------
    >>> judge = Pointwise("openai/gpt-5-mini", prompt="pointwise-reason")
    >>> judge.name, judge.calls(candidates=4)
    ('pointwise,prompt=pointwise-reason:openai/gpt-5-mini', 4)
    """

    prompt: str | Path = "pointwise"

    kind: ClassVar[str] = "pointwise"
    takes_images: ClassVar[bool] = True

    @cached_property
    def _read(self) -> Callable[[Choice], Any]:
        return partial(readers.score, asked=self.file.asked)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:  # noqa: ARG002
        """Turn each answer into the score of its candidate."""
        low, high = self.file.asked.scale
        return concluded_alone(candidates, answers, lambda number, raw: Score((number - low) / (high - low), raw=raw))


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
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.

    Examples
    --------
    >>> judge = Interval("openai/gpt-5-mini")
    >>> judge.name, judge.calls(candidates=4)
    ('interval:openai/gpt-5-mini', 4)
    """

    prompt: str | Path = "interval"

    kind: ClassVar[str] = "interval"
    takes_images: ClassVar[bool] = True

    @cached_property
    def _read(self) -> Callable[[Choice], Any]:
        return partial(readers.interval, asked=self.file.asked)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:  # noqa: ARG002
        """Turn each answer into the score and the interval of its candidate."""
        return concluded_alone(candidates, answers, self._score)

    def _score(self, stated: readers.ReadInterval, raw: str) -> Score:
        least, most = self.file.asked.scale
        value, low, high = ((value_stated - least) / (most - least) for value_stated in stated)
        return Score(value, raw=raw, low=low, high=high)
