from __future__ import annotations

import asyncio
import gc
import math
import threading
import time
import warnings
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.errors import JudgeError, UsageError
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


POOLS = [(f"p{at}", ["a", "bb", "cc", f"{at:05}", "bb", "dddd", "nothing", "nan"]) for at in range(12)]


def by_length(_prompt, text):
    """Score by length, with ties, and two kinds of nothing."""
    return {"nothing": None, "nan": math.nan}.get(text, float(len(text)))


def by_lengths(prompt, texts):
    """Do the same for all texts of a prompt."""
    return [by_length(prompt, text) for text in texts]


async def awaited_lengths(prompt, texts):
    """Do the same, asynchronously."""
    await asyncio.sleep(0)
    return by_lengths(prompt, texts)


WAYS = {
    "one worker": FunctionJudge(by_length, workers=1),
    "two workers": FunctionJudge(by_length, workers=2),
    "workers": FunctionJudge(by_length),
    "most workers": FunctionJudge(by_length, workers=32),
    "batch": FunctionJudge(by_lengths, batch=True),
    "batch and workers": FunctionJudge(by_lengths, batch=True, workers=4),
    "batch, async": FunctionJudge(awaited_lengths, batch=True),
    "batch of an array": FunctionJudge(
        lambda prompt, texts: np.array([math.nan if one is None else one for one in by_lengths(prompt, texts)]),
        batch=True,
    ),
    "batch, one by one": FunctionJudge(lambda prompt, texts: (by_length(prompt, text) for text in texts), batch=True),
    "wrapped": Quantized(FunctionJudge(lambda _, text: len(text) / 100), bins=101),
}


def picks_of(judge, **settings):
    """Return what matters of the picks of all pools, through every door."""
    found = {"select_many": list(bw.select_many(POOLS, judge=judge, **settings))}
    found["select"] = [bw.select(*pool, judge=judge, **settings) for pool in POOLS]
    with bw.Selector(judge, **settings) as selector:
        found["Selector"] = [selector.select(*pool) for pool in POOLS]

    async def main():
        async with bw.Selector(judge, **settings) as selector:
            return await asyncio.gather(*(selector.aselect(*pool) for pool in POOLS))

    found["aselect"] = asyncio.run(main())
    return {
        door: [(one.best_id, one.scores, one.ranking, one.tied, one.decided_by, one.evaluations) for one in picks]
        for door, picks in found.items()
    }


@pytest.mark.parametrize(
    "settings", [{}, {"strategy": bw.Resample(3)}, {"deadline": 60.0}], ids=["", "again", "in time"]
)
@pytest.mark.parametrize("judge", [judge for way, judge in WAYS.items() if way != "wrapped"], ids=[*WAYS][:-1])
def test_workers_and_batches_change_no_pick(judge, settings):
    """Scores, their order, ties and what is counted are those of the bare function, through every door."""
    expected = picks_of(by_length, **settings)
    assert len({repr(one) for one in expected.values()}) == 1
    assert repr(picks_of(judge, **settings)) == repr(expected)


@pytest.mark.parametrize("judge", WAYS.values(), ids=WAYS)
def test_workers_and_batches_change_no_table(judge):
    """A table of scores is in the order of pools and candidates, whichever thread was quicker."""
    bare = Quantized(lambda _, text: len(text) / 100, bins=101) if isinstance(judge, Quantized) else by_length
    expected = [one.judgments[0].verdicts for one in bw.judge(POOLS, judge=bare).judged]
    found = [one.judgments[0].verdicts for one in bw.judge(POOLS, judge=judge).judged]
    assert [list(map(_value, verdicts)) for verdicts in found] == [list(map(_value, one)) for one in expected]


def _value(verdict):
    return verdict.value if isinstance(verdict, Score) else None


def meeting_of(threads, batch=False):
    """Return a function whose calls end when so many are under way at once."""
    meeting = threading.Barrier(threads)

    def judge(_prompt, text):
        meeting.wait(20)
        return [float(len(one)) for one in text] if batch else float(len(text))

    return judge


def aselected(judge, pools):
    """Pick from all pools at once in one event loop."""

    async def main():
        async with bw.Selector(judge) as selector:
            return await asyncio.gather(*(selector.aselect(*pool) for pool in pools))

    return asyncio.run(main())


ONE, EIGHT = [("p", [*"abcdefgh"])], [(f"p{at}", ["a", "b"]) for at in range(8)]


@pytest.mark.parametrize(
    "door",
    [
        lambda judge: bw.select(*ONE[0], judge=judge),
        lambda judge: list(bw.select_many(ONE, judge=judge)),
        lambda judge: bw.judge(ONE, judge=judge),
        lambda judge: asyncio.run(bw.ajudge(ONE, judge=judge)),
        lambda judge: aselected(judge, ONE),
    ],
    ids=["select", "select_many", "judge", "ajudge", "aselect"],
)
def test_the_candidates_of_a_pool_are_judged_at_once(door):
    """Eight threads are usual for a function that is wrapped: eight calls meet, which one by one would hang."""
    door(FunctionJudge(meeting_of(8)))


@pytest.mark.parametrize(
    "door",
    [
        lambda judge: list(bw.select_many(EIGHT, judge=judge)),
        lambda judge: bw.judge(EIGHT, judge=judge),
        lambda judge: aselected(judge, EIGHT),
    ],
    ids=["select_many", "judge", "aselect"],
)
def test_batches_of_several_pools_are_judged_at_once(door):
    """Where several threads are allowed, batches of different prompts meet."""
    door(FunctionJudge(meeting_of(8, batch=True), batch=True, workers=8))


def test_a_batch_is_called_once_a_prompt_by_one_thread_at_a_time():
    """All different texts of a prompt in one list, and never two prompts at once, unless workers are stated."""
    seen, inside, most = [], [], []

    def judge(prompt, texts):
        inside.append(prompt)
        most.append(len(inside))
        seen.append((prompt, texts))
        time.sleep(0.001)
        inside.remove(prompt)
        return [len(text) for text in texts]

    pools = [(f"p{at}", ["a", "bb", "a", "ccc"]) for at in range(10)]
    picks = aselected(FunctionJudge(judge, batch=True), pools)
    assert [pick.best for pick in picks] == ["ccc"] * 10
    assert sorted(seen) == [(f"p{at}", ["a", "bb", "ccc"]) for at in range(10)]
    assert max(most) == 1


def test_a_batch_that_is_asked_again_sees_only_what_is_drawn_again():
    """A strategy that draws the leaders anew hands over their texts alone."""
    seen = []

    def judge(_prompt, texts):
        seen.append(texts)
        return [len(text) for text in texts]

    bw.select("p", ["a", "bbb", "ccc"], judge=FunctionJudge(judge, batch=True), strategy=bw.Adaptive(margin=0.1))
    assert seen[0] == ["a", "bbb", "ccc"]
    assert len(seen) > 1
    assert all(again == ["bbb", "ccc"] for again in seen[1:])


FAULTY = [
    (lambda _, texts: [1.0] * (len(texts) - 1), "returned 1 scores for 2 texts"),
    (lambda *_: [1.0] * 3, "returned 3 scores for 2 texts"),
    (lambda *_: [], "returned 0 scores for 2 texts"),
    (lambda *_: 1.0, "returned float for 2 texts"),
    (lambda *_: None, "returned NoneType for 2 texts"),
    (lambda *_: "ab", "returned str for 2 texts"),
    (lambda *_: {"a": 1, "b": 2}, "returned dict for 2 texts"),
    (lambda *_: {1.0, 2.0}, "returned set for 2 texts"),
    (lambda *_: np.array(1.0), "returned ndarray for 2 texts"),
]


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize(("function", "said"), FAULTY)
def test_a_batch_returns_one_score_a_text(function, said, later):
    """Anything else is the judge's error, in one line that says what is wanted; no candidate gets another's score."""

    async def awaited(prompt, texts):
        return function(prompt, texts)

    judge = FunctionJudge(awaited if later else function, batch=True)
    with pytest.raises(JudgeError, match=said) as caught:
        verdicts(judge, "p", ["a", "b"])
    assert caught.value.hint == "a batch function returns one score for each text, in order"
    with pytest.raises(JudgeError, match=said):
        bw.select("p", ["a", "b"], judge=judge)


def test_a_batch_may_hold_reasons_and_what_cannot_be_read():
    """Each element is read as what a function of one text returns, and one warning names what is no number."""
    given = [(0.5, "clear"), {"score": 0.25}, None, np.array([1.0]), True, "9/10"]
    judge = FunctionJudge(lambda *_: given, batch=True)
    with pytest.warns(UserWarning, match="returned ndarray, not a number") as said:
        found = verdicts(judge, "p", [*"abcdef"])
    assert len(said) == 1
    assert found[:3] == (Score(0.5), Score(0.25), Unscored("the function returned nothing"))
    assert found[0].raw == "clear"
    assert [one.reason for one in found[3:]] == [
        f"the function returned {kind}, not a number" for kind in ("ndarray", "bool", "str")
    ]


def test_several_threads_say_once_what_cannot_be_read():
    """One warning for a judge, whichever thread comes first."""
    meeting = threading.Barrier(8)

    def judge(_prompt, _text):
        meeting.wait(20)
        return "9/10"

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        bw.judge(ONE, judge=FunctionJudge(judge))
    assert len([one for one in said if "not a number" in str(one.message)]) == 1


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        *(({"workers": value}, "give a whole number of 1 to 32") for value in (0, -1, 33, "8")),
        ({"workers": 33, "batch": True}, "give a whole number of 1 to 32"),
    ],
    ids=repr,
)
def test_a_number_of_workers_that_means_nothing_is_refused(settings, hint):
    """From 1 to 32, a whole number."""
    with pytest.raises(UsageError, match=f"workers is {settings['workers']!r}") as caught:
        FunctionJudge(by_lengths, **settings)
    assert caught.value.hint == hint


def test_an_async_function_takes_no_workers():
    """It is awaited, so that threads would do nothing; a copy of such a judge is made without a word."""
    with pytest.raises(UsageError, match="workers is 2") as caught:
        FunctionJudge(awaited_lengths, batch=True, workers=2)
    assert caught.value.hint == "leave it out: an async function is awaited"
    assert replace(FunctionJudge(awaited_lengths, batch=True), version="2").workers == 1
    assert deepcopy(FunctionJudge(by_lengths, batch=True)) == FunctionJudge(by_lengths, batch=True)


def test_what_fails_in_one_of_several_threads_fails_as_in_one():
    """The error names the judge; where a pick goes on without that candidate, it does with threads too."""

    def judge(_prompt, text):
        if text == "bb":
            raise ValueError("no")
        return len(text)

    for given in (judge, FunctionJudge(judge)):
        with pytest.raises(JudgeError, match="judge 'judge' failed: ValueError: no"):
            bw.judge([("p", ["a", "bb", "ccc"])], judge=given)
        pick = bw.select("p", ["a", "bb", "ccc"], judge=given, on_failure="first")
        assert (pick.best, pick.decided_by, pick.scores) == ("ccc", "partial", (1.0, None, 3.0))


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


@pytest.mark.parametrize("given", [5, None, "len", [len]])
def test_a_function_judge_holds_a_function(given):
    """What cannot be called is refused where it is given, not at the first pool."""
    with pytest.raises(JudgeError, match=f"^{type(given).__name__} is not a function") as caught:
        FunctionJudge(given)
    assert caught.value.hint == "pass (prompt, text) -> number"
