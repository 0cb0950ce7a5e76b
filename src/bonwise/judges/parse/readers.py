"""The readers of judges that are answered in words: from a `Choice` to a value, or to `Unscored`."""

from __future__ import annotations

from typing import NamedTuple

from bonwise.calls.reply import Choice
from bonwise.data.verdicts import Unscored
from bonwise.judges.parse.fields import Form, answer
from bonwise.judges.parse.reply import unread
from bonwise.judges.parse.slots import NumberSlot, WordSlot

__all__ = ["ReadChoice", "ReadInterval", "interval", "pick", "probability", "score"]

_SCORE = "(?:final |overall )?(?:score|rating)|final answer"
_LOW = "low|low end|lower|lower end|lower bound"
_HIGH = "high|high end|upper|upper end|upper bound"
_CHOICE = "(?:final )?(?:choice|verdict|winner|preference|answer)"
_PROBABILITY = r"(?:final )?(?:probability|p|p\(a\))|final answer"

_SCORES = {
    whole: Form({"score": NumberSlot(0, 100, whole=whole)}, {"score": _SCORE}, ("score",), bare="score")
    for whole in (True, False)
}
_INTERVALS = {
    whole: Form(
        dict.fromkeys(("score", "low", "high"), NumberSlot(0, 100, whole=whole)),
        {"score": _SCORE, "low": _LOW, "high": _HIGH},
        ("score", "low", "high"),
    )
    for whole in (True, False)
}
_PICKS = Form(
    {"choice": WordSlot(("A", "B", "TIE")), "confidence": NumberSlot(1, 5, whole=True)},
    {"choice": _CHOICE, "confidence": "(?:final )?confidence"},
    ("choice",),
    bare="choice",
)
_PROBABILITIES = Form(
    {"probability": NumberSlot(0, 1)}, {"probability": _PROBABILITY}, ("probability",), bare="probability"
)


class ReadChoice(NamedTuple):
    """The better one of two candidates, as they were shown."""

    choice: str
    """``A``, ``B`` or ``TIE``."""
    confidence: int | None = None
    """From 1 to 5; None where the reply states none."""


class ReadInterval(NamedTuple):
    """A score from 0 to 100 and the ends of an interval around it."""

    score: float
    low: float
    high: float


def score(choice: Choice, *, whole: bool = True) -> float | Unscored:
    r"""Read a score from 0 to 100.

    Parameters
    ----------
    choice : Choice
    whole : bool
        Whether the prompt asks for a whole number.

    Examples
    --------
    >>> score(Choice('{"score": 85}')), score(Choice("Sound, but terse.\nScore: 85/100"))
    (85, 85)
    >>> score(Choice("101")).reason
    'off the scale 0 to 100: 101'
    """
    found = answer(choice, _SCORES[whole])
    value: float | Unscored = found if isinstance(found, Unscored) else found["score"]
    return value


def pick(choice: Choice) -> ReadChoice | Unscored:
    """Read which of two candidates is better.

    Examples
    --------
    >>> pick(Choice('{"choice": "A", "confidence": 4}'))
    ReadChoice(choice='A', confidence=4)
    >>> pick(Choice("[[B]]"))
    ReadChoice(choice='B', confidence=None)
    """
    found = answer(choice, _PICKS)
    return found if isinstance(found, Unscored) else ReadChoice(found["choice"], found.get("confidence"))


def probability(choice: Choice) -> float | Unscored:
    """Read the probability that the candidate shown first is better.

    Examples
    --------
    >>> probability(Choice('{"probability": 0.73}')), probability(Choice("73%"))
    (0.73, 0.73)
    """
    found = answer(choice, _PROBABILITIES)
    value: float | Unscored = found if isinstance(found, Unscored) else found["probability"]
    return value


def interval(choice: Choice, *, whole: bool = True) -> ReadInterval | Unscored:
    """Read a score from 0 to 100 and the interval around it.

    Examples
    --------
    >>> interval(Choice('{"score": 70, "low": 60, "high": 85}'))
    ReadInterval(score=70, low=60, high=85)
    >>> interval(Choice('{"score": 70, "low": 75, "high": 85}')).reason
    'the score 70 lies outside its interval, 75 to 85'
    """
    found = answer(choice, _INTERVALS[whole])
    if isinstance(found, Unscored):
        return found
    stated = ReadInterval(found["score"], found["low"], found["high"])
    if not stated.low <= stated.score <= stated.high:
        reason = f"the score {stated.score:g} lies outside its interval, {stated.low:g} to {stated.high:g}"
        return unread(reason, choice)
    return stated
