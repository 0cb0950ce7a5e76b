from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import json
import pickle

import pytest

from bonwise.errors import CallError, JudgeError, UsageError
from bonwise.selection.front import Kept, best_of
from bonwise.selection.selection import Selection


def length(_prompt, text):
    """Score by length."""
    return len(text)


def writer(*drafts):
    """Return a generator of these drafts, one after the other."""
    left = iter(drafts)
    return lambda _prompt: next(left)


def test_it_returns_the_best_answer_with_its_selection():
    """The best of n answers is a text like any other, with how it was chosen."""
    asked = []

    @best_of(n=3, judge=lambda prompt, text: asked.append(prompt) or len(text))
    def generate(prompt, *, tail=""):
        """Write something."""
        return f"{prompt}{tail}{'x' * len(asked)}" if tail else writer_of(prompt)

    drafts = iter(["a", "bbb", "cc"])

    def writer_of(_prompt):
        return next(drafts)

    answer = generate("p")
    assert (answer, isinstance(answer, str)) == ("bbb", True)
    assert answer.selection.scores == (1.0, 3.0, 2.0)
    assert set(asked) == {"p"}
    assert (generate.__name__, generate.__doc__) == ("generate", "Write something.")
    assert json.dumps(answer) == '"bbb"'
    assert generate("q", tail="!").startswith("q!")


@pytest.mark.parametrize("again", [pickle.loads, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_a_kept_text_can_be_copied(again):
    """A copy of the answer, also by way of bytes, is equal and holds the same selection."""
    kept = best_of(2, length)(writer("a", "bb"))("p")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copied = again(pickle.dumps(kept, protocol) if again is pickle.loads else kept)
        assert (copied, type(copied)) == ("bb", Kept)
        assert copied.selection == kept.selection


def test_an_asynchronous_function_generates_all_at_once():
    """Of an asynchronous function the answers are made side by side, and the best is awaited."""
    at_work, peak = [], []

    @best_of(n=4, judge=length)
    async def generate(prompt):
        at_work.append(1)
        await asyncio.sleep(0)
        peak.append(len(at_work))
        return prompt * len(at_work)

    answer = asyncio.run(generate("ab"))
    assert answer.selection.best == answer == "abababab"
    assert max(peak) == 4


class Writer:
    """A class that generates in every way a class can."""

    def __init__(self, tail):
        self.tail = tail
        self.left = iter(["a", "bbb", "cc"] * 9)

    @best_of(n=3, judge=length)
    def write(self, _prompt):
        """Write."""
        return next(self.left) + self.tail

    @best_of(n=3, judge=length)
    async def awrite(self, _prompt):
        """Write later."""
        return next(self.left) + self.tail

    @staticmethod
    @best_of(n=2, judge=length)
    def plain(prompt):
        """Write without an instance."""
        return prompt

    async def __call__(self, _prompt):
        """Write when called."""
        return next(self.left) + self.tail


def test_methods_are_bound_to_their_instance():
    """Decorated methods see their own instance, and the prompt is the first argument after it."""
    first, second = Writer("!"), Writer("?")
    assert (first.write("p"), second.write("p")) == ("bbb!", "bbb?")
    assert asyncio.run(first.awrite("p")) == "bbb!"
    assert Writer.write.__name__ == "write"
    assert isinstance(second.write.select("p"), Selection)
    assert Writer.plain("p") == second.plain("p") == "p"


def test_whatever_can_be_called_can_be_wrapped():
    """Objects with an asynchronous `__call__`, partial functions and other best-of functions are wrapped as well."""
    assert asyncio.run(best_of(3, length)(Writer("!"))("p")) == "bbb!"

    async def generate(prompt, tail):
        await asyncio.sleep(0)
        return prompt + tail

    assert asyncio.run(best_of(2, length)(functools.partial(generate, tail="?"))("p")) == "p?"
    drafts = ["a", "bbb", "cc", "dddd", "e", "f"]
    inner = best_of(3, length)(writer(*drafts))
    outer = best_of(2, length)(inner)
    assert outer("p").selection.ids == ("c0", "c1")
    asynchronous = best_of(2, length)(best_of(3, length)(Writer("!")))
    assert asyncio.run(asynchronous("p")) == "bbb!"


def test_select_returns_the_selection_of_any_kind_of_answer():
    """Answers that are no text are returned as they are, and `select` tells how they were chosen."""
    drafts = iter([{"text": "a", "cost": 1}, {"text": "bb", "cost": 2}] * 2)
    generate = best_of(2, length)(lambda _prompt: next(drafts))
    assert generate("p") == {"text": "bb", "cost": 2}
    assert generate.select("p").best["cost"] == 2
    sync_in_async = best_of(2, length)(writer("a", "bb"))
    assert asyncio.run(sync_in_async.aselect("p")).best == "bb"


def test_an_asynchronous_function_has_no_synchronous_selection():
    """`select` of an asynchronous function says to await, and leaves no coroutine behind."""

    @best_of(2, length)
    async def generate(prompt):
        return prompt

    with pytest.raises(UsageError, match="asynchronous function") as caught:
        generate.select("p")
    assert "aselect" in caught.value.hint


@pytest.mark.parametrize(
    ("prompt", "args", "kwargs"),
    [
        (None, ("p", 3), {}),
        (None, (), {"prompt": "p"}),
        (lambda question, **_: question["text"], ({"text": "p"},), {"tail": "!"}),
        (lambda *, topic: topic, (), {"topic": "p"}),
    ],
    ids=["first", "keyword", "own", "own by keyword"],
)
def test_the_judge_sees_the_prompt(prompt, args, kwargs):
    """The prompt is the first argument, or what `prompt=` makes of the arguments."""
    seen = []
    drafts = iter("ab")
    generate = best_of(2, lambda asked, _text: seen.append(asked) or 1, prompt=prompt)(lambda *_, **__: next(drafts))
    generate(*args, **kwargs)
    assert set(seen) == {"p"}


def test_without_a_prompt_nothing_is_generated():
    """Where no prompt is among the arguments, that is said before anything is paid for."""
    made = []
    with pytest.raises(UsageError, match="no prompt among the arguments") as caught:
        best_of(2, length)(lambda number: made.append(number) or "a")(3)
    assert "prompt=" in caught.value.hint
    with pytest.raises(UsageError, match="no prompt"):
        asyncio.run(best_of(2, length)(Writer("!"))(3))
    assert made == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_errors_of_the_generator_are_its_own(asynchronous):
    """What the function raises comes through as it is, and what runs beside it is cancelled."""
    cancelled = []
    turns = iter(range(9))

    async def later(_prompt):
        try:
            await asyncio.sleep(1000 * next(turns))
        except asyncio.CancelledError:
            cancelled.append(1)
            raise
        raise ZeroDivisionError("mine")

    def now(_prompt):
        raise ZeroDivisionError("mine")

    generate = best_of(3, length)(later if asynchronous else now)
    with pytest.raises(ZeroDivisionError, match="mine"):
        asyncio.run(generate("p")) if asynchronous else generate("p")
    assert len(cancelled) == (2 if asynchronous else 0)


def test_where_nothing_can_be_chosen():
    """No score, no answer: an error with the reasons, unless `on_failure` picks one."""
    for settings, why in (({}, "scored no candidate"), ({"on_failure": "owe"}, "none of 2 answers could be chosen")):
        with pytest.raises(JudgeError, match=f"{why}: the function returned nothing") as caught:
            best_of(2, lambda *_: None, **settings)(writer("a", "b"))("p")
        assert "on_failure" in caught.value.hint
    picked = best_of(2, lambda *_: None, on_failure="first")(writer("a", "b"))("p")
    assert (picked, picked.selection.decided_by) == ("a", "first")


def test_settings_are_those_of_a_selector():
    """Seed, text, deadline and failure policy are passed on."""
    generate = best_of(2, length, text=lambda one: one["x"], seed=3)(writer({"x": "aa"}, {"x": "b"}))
    assert generate.select("p").text == "aa"

    async def hangs(_prompt, _text):
        await asyncio.sleep(1000)

    with pytest.raises(CallError, match=r"within 0\.05 s"):
        best_of(2, hangs, deadline=0.05)(writer("a", "b"))("p")
    for settings in ({"n": 0}, {"n": 2, "deadline": 0}, {"n": True}, {"n": 2.5}):
        with pytest.raises(UsageError):
            best_of(judge=length, **settings)


def test_one_answer_needs_no_judge():
    """With n of 1 the answer is generated once and never judged."""
    asked = []
    generate = best_of(1, lambda *_: asked.append(1))(writer("a"))
    assert (generate("p"), asked) == ("a", [])


def test_it_closes():
    """A closed function generates and selects no more."""
    generate = best_of(2, length)(writer("a", "b", "c", "d"))
    generate("p")
    generate.close()
    with pytest.raises(UsageError, match="closed"):
        generate("p")
    asynchronous = best_of(2, length)(Writer("!"))
    asyncio.run(asynchronous.aclose())
    with pytest.raises(UsageError, match="closed"):
        asyncio.run(asynchronous("p"))
    assert not inspect.iscoroutinefunction(asynchronous)
