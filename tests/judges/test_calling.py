from __future__ import annotations

import asyncio
import gc
import math
import time
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.errors import JudgeError
from bonwise.judges.calling import FunctionJudge, as_judge, innermost
from bonwise.judges.judging import judge_now, judge_with
from bonwise.judges.local import Length, from_name
from bonwise.judges.protocol import Judge
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.verdicts import Score, Unscored


def verdicts(judge, prompt, texts):
    """Return what a judge finds, from synchronous code."""
    return judge_now(judge, prompt, texts).verdicts


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


UNREADABLE = [
    *(True, False, "9/10", "", b"1", [], {}, Score(1), [1.0, "a list"], (1.0, 2.0), (1.0,), {"mark": 1}, 1j),
    *(
        np.bool_(True),
        np.array([1.0]),
        np.array("x"),
        {"score": True},
        {"score": "9"},
        ("9", "why"),
        Length(),
        object(),
    ),
]


@pytest.mark.filterwarnings("ignore:judge .* returned .*, not a number:UserWarning")
@pytest.mark.parametrize(
    "value",
    [None, math.nan, math.inf, 10**400, Decimal("NaN"), Decimal("sNaN"), (None, "why"), {"score": None}, *UNREADABLE],
    ids=lambda v: repr(v)[:20],
)
def test_what_is_no_finite_number_is_unscored(value):
    """Whatever else a function returns is unscored with a reason of one line, and what it said is kept short."""
    (found,) = FunctionJudge(lambda _prompt, _text: value).judge("p", ["a"])
    assert isinstance(found, Unscored)
    assert found.reason
    assert "\n" not in found.reason
    assert len(found.raw) <= 200


READABLE = {
    "pair": (0.5, "clear"),
    "pair without a reason": (0.5, None),
    "mapping": {"score": 0.5, "reason": "clear"},
    "mapping without a reason": {"score": np.float32(0.5), "other": 1},
    "object": SimpleNamespace(score=Decimal("0.5"), reason="clear"),
    "object without a reason": SimpleNamespace(score=0.5),
    "decimal": Decimal("0.5"),
    "float32": np.float32(0.5),
    "array": np.array(0.5),
    "pair of an array": (np.array(0.5), "clear"),
}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("value", READABLE.values(), ids=READABLE)
def test_scores_are_read_in_every_usual_form(value, asynchronous):
    """Alone, with a reason, in a mapping or an object, as a decimal or of numpy; the reason is kept as words."""

    async def awaited(_prompt, _text):
        return value

    (found,) = verdicts(as_judge(awaited if asynchronous else lambda *_: value), "p", ["a"])
    assert (found, type(found.value)) == (Score(0.5), float)
    assert found.raw == ("clear" if "clear" in repr(value) else "")
    assert verdicts(as_judge(lambda *_: np.int64(3)), "p", ["a"]) == (Score(3.0),)


def test_a_reason_is_kept_without_a_score_and_cut_where_it_is_long():
    """What the function says beside nothing stays; of a long reason the middle is left out."""
    answers = {"a": (None, "refused"), "b": (1, "x" * 20_000)}
    none, long = verdicts(as_judge(lambda _, text: answers[text]), "p", ["a", "b"])
    assert none == Unscored("the function returned nothing", "refused")
    assert 10_000 < len(long.raw) < 10_100


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("value", UNREADABLE, ids=lambda v: repr(v)[:20])
def test_what_cannot_be_read_is_said_once(value, asynchronous):
    """One warning for a judge, with the type, however many candidates and prompts; None and NaN need none."""

    async def awaited(_prompt, _text):
        return value

    judge = as_judge(awaited if asynchronous else lambda *_: value)
    with pytest.warns(UserWarning, match=", not a number: such candidates are unscored") as said:
        first = verdicts(judge, "p", ["a", "b", "c"])
    assert len(said) == 1
    assert {type(one) for one in first} == {Unscored}
    verdicts(judge, "q", ["a", "b"])


@pytest.mark.parametrize(
    ("value", "kind"), [("9", "str"), (("9", "why"), "tuple with str as the score"), (np.bool_(True), "bool")]
)
def test_what_cannot_be_read_is_named_by_its_type(value, kind):
    """In the warning and in the reason: of what was returned, and of the score in it."""
    with pytest.warns(UserWarning, match=f"^judge '<lambda>' returned {kind}, not a number"):
        (found,) = verdicts(as_judge(lambda *_: value), "p", ["a"])
    assert found.reason == f"the function returned {kind}, not a number"


def test_a_selector_says_once_what_cannot_be_read():
    """Over many pools too, also where some candidates are scored."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with bw.Selector(lambda _, text: "9/10" if text == "b" else len(text)) as selector:
            picks = [selector.select(f"p{at}", ["a", "b", "ccc"]) for at in range(5)]
    assert {pick.best for pick in picks} == {"ccc"}
    assert [str(one.message).partition(":")[0] for one in said] == ["judge '<lambda>' returned str, not a number"]


def test_an_asynchronous_function_is_awaited():
    """The candidates of a prompt are judged at once, and the verdicts are in their order."""
    under_way, most = [], []

    async def judge(prompt, text):
        under_way.append(text)
        await asyncio.sleep(0)
        most.append(len(under_way))
        await asyncio.sleep(0.001 * len(text))
        under_way.remove(text)
        return None if text == "c" else len(text)

    found = verdicts(as_judge(judge), "p", ["aaa", "bb", "c"])
    assert found == (Score(3.0), Score(2.0), Unscored("the function returned nothing"))
    assert max(most) == 3


def test_an_asynchronous_judge_is_awaited_inside_a_running_loop():
    """Synchronous code gets verdicts of an asynchronous judge also where a loop is running already."""

    async def answer(prompt, texts):
        await asyncio.sleep(0)
        return [Score(1.0)] * len(texts)

    async def notebook():
        return verdicts(Scripted(answer), "p", ["a", "b"])

    assert asyncio.run(notebook()) == (Score(1.0), Score(1.0))


def test_a_judge_that_blocks_is_never_called_twice_at_once():
    """Synchronous judges run beside the event loop, one call after the other, while it goes on."""
    at_once, most, ticks = [0], [], []

    def slow(prompt, text):
        at_once[0] += 1
        most.append(at_once[0])
        time.sleep(0.002)
        at_once[0] -= 1
        return 1.0

    async def main():
        async with Engine() as engine:
            asked = asyncio.gather(*(judge_with(engine, as_judge(slow), "p", ["a"]) for _ in range(8)))
            while not asked.done():
                ticks.append(1)
                await asyncio.sleep(0)
            return await asked

    assert len(asyncio.run(main())) == 8
    assert max(most) == 1
    assert len(ticks) > 8


def test_who_takes_turns_is_told_by_what_is_called_in_the_end():
    """Functions of one definition, methods of one object, wrappers of one judge are one; other objects are not."""

    class Scorer:
        def one(self, _prompt, _text):
            return 1

        def other(self, _prompt, _text):
            return 2

        def __call__(self, _prompt, _text):
            return 3

    def closure(mark):
        return lambda _prompt, _text: mark

    def owner(given):
        return innermost(as_judge(given))

    scorer, judge = Scorer(), Scripted(None)
    assert owner(closure(1)) is owner(closure(2)) is owner(partial(partial(closure(3)), text="a"))
    assert owner(scorer.one) is owner(scorer.other) is owner(scorer) is scorer
    assert owner(judge) is owner(Quantized(judge)) is owner(Resampled(Quantized(judge))) is judge
    assert len({id(owner(one)) for one in (closure(1), Scripted(None), judge, Scorer(), scorer, len)}) == 6


def test_a_judge_that_is_made_of_itself_is_looked_into_no_further():
    """Wrappers without an end are no reason to hang."""
    judge = Scripted(None)
    judge.of = judge
    assert innermost(judge) is judge


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


def test_verdicts_may_come_one_by_one():
    """A judge may yield its verdicts."""
    found = verdicts(Scripted(lambda _, texts: (Score(float(len(t))) for t in texts)), "p", ["a", "bb"])
    assert found == (Score(1.0), Score(2.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_is_finite(value):
    """A score that is not a finite number cannot be made."""
    with pytest.raises(ValueError, match="finite"):
        Score(value)


def test_cancelled_before_it_begins_nothing_is_left_unawaited():
    """A judge that is given up at once warns of no coroutine that was never awaited."""

    async def slowly(_prompt, text):
        return len(text)

    async def main():
        task = asyncio.create_task(as_judge(slowly).judge("p", ["a", "b", "c"]))
        await asyncio.sleep(0)  # its tasks are made, and none has begun
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gc.collect()

    asyncio.run(main())
