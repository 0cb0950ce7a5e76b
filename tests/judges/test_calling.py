from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import pytest

from bonwise.data.verdicts import Score, Unscored
from bonwise.errors import JudgeError
from bonwise.judges.calling import FunctionJudge, as_judge, verdicts
from bonwise.judges.local import Length, from_name
from bonwise.judges.protocol import Judge


class Scripted:
    """A judge that answers by a function."""

    name, version = "scripted", "1"

    def __init__(self, answer):
        self.answer = answer

    def judge(self, prompt, candidates):
        """Answer."""
        return self.answer(prompt, candidates)


def test_a_judge_stays_as_it_is():
    """What keeps the contract is used as it is, and so is a built-in judge."""
    for judge in (Scripted(None), from_name("length")):
        assert as_judge(judge) is judge
        assert isinstance(judge, Judge)


def test_a_function_becomes_a_judge():
    """A function is called once a candidate, in order, with the prompt, and lends its name."""
    asked = []

    def counting(prompt, text):
        asked.append((prompt, text))
        return len(text)

    judge = as_judge(counting)
    assert judge.name == "counting"
    assert judge.version
    assert verdicts(judge, "p", ["a", "bb"]) == (Score(1.0), Score(2.0))
    assert asked == [("p", "a"), ("p", "bb")]


def test_any_callable_becomes_a_judge():
    """Partials and objects with a call have a name too."""

    class Caller:
        def __call__(self, _prompt, _text):
            return 1

    for function in (partial(lambda mark, _prompt, _text: mark, 3), Caller(), len):
        assert isinstance(as_judge(function), FunctionJudge)
        assert as_judge(function).name


@pytest.mark.parametrize("judge", [None, 1, "length", [len]], ids=repr)
def test_what_is_no_judge_is_refused(judge):
    """An object that is neither a judge nor callable is refused by its type."""
    with pytest.raises(JudgeError, match=type(judge).__name__):
        as_judge(judge)


def test_a_class_is_no_judge():
    """The class of a judge, not called to make one, is refused and not asked."""
    with pytest.raises(JudgeError):
        verdicts(as_judge(Length), "p", ["a", "b"])


@pytest.mark.parametrize("value", [0, 1.5, -2, Fraction(1, 4)], ids=repr)
def test_real_numbers_are_scores(value):
    """Any finite real number is a score."""
    (found,) = FunctionJudge(lambda _prompt, _text: value).judge("p", ["a"])
    assert found == Score(float(value))


@pytest.mark.parametrize(
    "value",
    [None, math.nan, math.inf, True, False, "9/10", "", b"1", [], {}, 10**400, Score(1)],
    ids=lambda v: repr(v)[:20],
)
def test_what_is_no_finite_number_is_unscored(value):
    """Whatever else a function returns is unscored with a reason of one line, and what it said is kept short."""
    (found,) = FunctionJudge(lambda _prompt, _text: value).judge("p", ["a"])
    assert isinstance(found, Unscored)
    assert found.reason
    assert "\n" not in found.reason
    assert len(found.raw) <= 200


def test_a_coroutine_is_refused_and_closed():
    """An asynchronous function is a judge's error; its coroutine leaves no warning behind."""

    async def judge(prompt, text):
        return 1.0

    with pytest.raises(JudgeError, match="asynchronous"):
        verdicts(as_judge(judge), "p", ["a"])


@pytest.mark.parametrize(
    "answer",
    [
        lambda *_: [],
        lambda _, texts: [Score(1.0)] * (len(texts) + 1),
        lambda _, texts: [1.0] * len(texts),
        lambda *_: [Score(1.0), None],
        lambda _, texts: [(Score(1.0),)] * len(texts),
        lambda *_: None,
        lambda *_: 7,
    ],
    ids=["none", "too many", "floats", "a hole", "tuples", "nothing", "a number"],
)
def test_verdicts_are_one_a_candidate(answer):
    """A judge that returns anything but one Score or Unscored a candidate is named in a judge's error."""
    with pytest.raises(JudgeError, match="scripted"):
        verdicts(Scripted(answer), "p", ["a", "b"])


def test_an_asynchronous_judge_is_refused():
    """A judge whose method is a coroutine function is a judge's error, and leaves no warning behind."""

    async def answer(prompt, texts):
        return [Score(1.0)] * len(texts)

    with pytest.raises(JudgeError, match="scripted"):
        verdicts(Scripted(answer), "p", ["a", "b"])


def test_verdicts_may_come_one_by_one():
    """A judge may yield its verdicts."""
    found = verdicts(Scripted(lambda _, texts: (Score(float(len(t))) for t in texts)), "p", ["a", "bb"])
    assert found == (Score(1.0), Score(2.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_is_finite(value):
    """A score that is no finite number cannot be made."""
    with pytest.raises(ValueError, match="finite"):
        Score(value)
