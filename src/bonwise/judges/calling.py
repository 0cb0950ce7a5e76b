"""Call any judge, or any function, and hold it to the contract."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from bonwise.data.verdicts import Score, Unscored, Verdict
from bonwise.errors import JudgeError
from bonwise.judges.protocol import Judge

__all__ = ["FunctionJudge", "as_judge", "verdicts"]


@dataclass(frozen=True)
class FunctionJudge:
    """A function ``(prompt, text) -> number`` as a judge.

    Parameters
    ----------
    function : callable
        Returns a finite number, higher is better; None, NaN and what is no number are unscored.

    Examples
    --------
    >>> FunctionJudge(lambda prompt, text: len(text)).judge("Say hi", ["hi", "hello"])
    [Score(value=2.0), Score(value=5.0)]
    """

    function: Callable[[str, str], Any]
    version: str = "1"

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Call the function once a candidate."""
        return [_verdict(self.function(prompt, text)) for text in candidates]


def as_judge(judge: Judge | Callable[[str, str], Any]) -> Judge:
    """Return a judge as it is, a function as a `FunctionJudge`.

    Raises
    ------
    bonwise.errors.JudgeError
        Neither a judge nor a function.
    """
    if isinstance(judge, type):
        raise JudgeError(f"{judge.__name__} is a class, no judge", hint="pass an instance of it")
    if isinstance(judge, Judge):
        return judge
    if callable(judge):
        return FunctionJudge(judge)
    raise JudgeError(
        f"{type(judge).__name__} is no judge",
        hint="pass an object with name, version and judge(), or a function",
    )


def verdicts(judge: Judge, prompt: str, texts: Sequence[str]) -> tuple[Verdict, ...]:
    """Ask a judge, and check that it answered for each candidate.

    Raises
    ------
    bonwise.errors.JudgeError
        Too few or too many verdicts, or something that is none.
    """
    answer: Any = judge.judge(prompt, texts)
    _refuse_awaitable(answer, f"judge {judge.name!r} is asynchronous")
    if not isinstance(answer, Iterable):
        raise JudgeError(
            f"judge {judge.name!r} returned {type(answer).__name__}",
            hint="return one Score or Unscored a candidate, in order",
        )
    found = tuple(answer)
    if len(found) != len(texts):
        raise JudgeError(
            f"judge {judge.name!r} returned {len(found)} verdicts for {len(texts)} candidates",
            hint="return one Score or Unscored a candidate, in order",
        )
    for verdict in found:
        if not isinstance(verdict, Score | Unscored):
            raise JudgeError(
                f"judge {judge.name!r} returned {type(verdict).__name__}", hint="return Score or Unscored"
            )
    return found


def _verdict(value: Any) -> Verdict:
    _refuse_awaitable(value, "the function is asynchronous")
    if value is None:
        return Unscored("the function returned nothing")
    if isinstance(value, bool) or not isinstance(value, Real):
        return Unscored(f"the function returned {type(value).__name__}, not a number", repr(value)[:200])
    try:
        number = float(value)
    except OverflowError:
        return Unscored("the function returned a number too large to compare")
    return Score(number) if math.isfinite(number) else Unscored(f"the function returned {number}")


def _refuse_awaitable(value: Any, message: str) -> None:
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise JudgeError(message, hint="return the verdicts themselves, not a promise of them")
