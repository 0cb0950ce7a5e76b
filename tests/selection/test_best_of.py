from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import inspect
import itertools
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.errors import CallError, JudgeError, UsageError
from bonwise.selection.front import Kept, agenerate_best, best_of, generate_best
from bonwise.selection.selection import Selection
from calls.virtual_time import run_virtual
from cli.served import served


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
    assert sorted(answer.selection.scores) == [1.0, 2.0, 3.0]
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
def test_a_draw_that_fails_costs_no_other(asynchronous):
    """What was paid is chosen from; where all draws fail there is one error, with each cause counted."""
    left = ["a", ValueError("busy"), "bbb", 7, *[ValueError("busy")] * 2, KeyError("k"), StopIteration()]
    numbers = iter(range(8))

    def now(_prompt):
        found = left[next(numbers)]
        if isinstance(found, Exception):
            raise found
        return found

    async def later(prompt):
        await asyncio.sleep(0)
        return now(prompt)

    generate = best_of(4, length)(later if asynchronous else now)
    select = (lambda: asyncio.run(generate.aselect("p"))) if asynchronous else (lambda: generate.select("p"))
    pick = select()
    generated = pick.generated
    assert (pick.best, sorted(pick.scores)) == ("bbb", [1.0, 3.0])
    assert (generated.drawn, generated.failed, generated.late, generated.cancelled) == (2, 2, 0, 0)
    assert sorted(one.partition(":")[0] for one in generated.failures) == ["UsageError", "ValueError"]
    with pytest.raises(CallError, match=r"no draw gave an answer: ValueError: busy \(2 of 4\); ") as caught:
        select()
    assert re.search(r"KeyError: 'k' \(1 of 4\)", caught.value.message)
    assert isinstance(caught.value.__cause__, Exception)


class Slow:
    """A generator whose draws take each its own seconds, and gives as many letters as its number."""

    def __init__(self, *seconds):
        self.seconds, self.begun, self.ended = seconds, 0, []

    async def __call__(self, _prompt):
        """Take the seconds of the next draw."""
        at = self.begun
        self.begun += 1
        try:
            await asyncio.sleep(self.seconds[at])
        finally:
            self.ended.append(at)
        return "x" * (at + 1)


async def scored(_prompt, text):
    """Score by length, in a tenth of a second."""
    await asyncio.sleep(0.1)
    return len(text)


class Together:
    """A judge of all texts at once, in a tenth of a second."""

    name, version = "together", "1"

    async def judge(self, _prompt, texts):
        """Score by length."""
        await asyncio.sleep(0.1)
        return [bw.Score(len(text)) for text in texts]


def timed(judge, seconds, **settings):
    """Draw on virtual time; return the selection, the seconds it took, and the draws."""
    slow = Slow(*seconds)

    async def main():
        loop = asyncio.get_running_loop()
        begun = loop.time()
        pick = await agenerate_best(slow, "p", n=len(seconds), judge=judge, **settings)
        return pick, round(loop.time() - begun, 6)

    return *run_virtual(main()), slow


@pytest.mark.parametrize(
    ("judge", "seconds", "settings", "scores", "took", "counts"),
    [
        (scored, (0.3, 0.3, 0.3, 0.3), {"deadline": 2.0}, (1, 2, 3, 4), 0.4, (4, 0, 0)),
        (scored, (0.3, 0.1, 9, 9), {"deadline": 0.5}, (1, 2), 0.5, (2, 2, 0)),
        (scored, (0.3, 0.1, 0.45, 9), {"deadline": 0.5}, (1, 2, None), 0.5, (3, 1, 0)),
        (scored, (0.2, 9, 9, 9), {"deadline": 0.5}, (None,), 0.5, (1, 3, 0)),
        (Together(), (0.1, 0.2, 0.3, 9), {"deadline": 0.5}, (1, 2), 0.35, (2, 2, 0)),
        (Together(), (0.1, 0.2, 0.2, 0.2), {"deadline": 2.0}, (1, 2, 3, 4), 0.3, (4, 0, 0)),
        (Together(), (0.1, 0.35, 9, 9), {"deadline": 0.5}, (1, 2), 0.45, (2, 2, 0)),
        (scored, (0.1, 0.2, 0.32, 9), {"stop_at": 2}, (1, 2), 0.3, (2, 0, 2)),
        (scored, (0.1, 0.2, 0.25, 9), {"stop_at": 2}, (1, 2, None), 0.3, (3, 0, 1)),
        (scored, (9, 0.2, 9, 9), {"stop_at": 2}, (2,), 0.3, (1, 0, 3)),
        (scored, (0.1, 0.2, 0.3, 9), {"stop_at": 99, "deadline": 0.5}, (1, 2, 3), 0.5, (3, 1, 0)),
        (scored, (0.1, 0.2, 0.3, 0.4), {"stop_at": 99}, (1, 2, 3, 4), 0.5, (4, 0, 0)),
        (scored, (0.1, 0.2), {"stop_at": 2}, (1, 2), 0.3, (2, 0, 0)),
    ],
)
def test_one_deadline_for_drawing_and_judging(judge, seconds, settings, scores, took, counts):
    """What is there is judged, late draws are dropped, and the answer comes in time."""
    pick, lasted, slow = timed(judge, seconds, **settings)
    assert (pick.scores, lasted) == (scores, took)
    assert (pick.generated.drawn, pick.generated.late, pick.generated.cancelled) == counts
    assert pick.latency == pytest.approx(took)
    assert sorted(slow.ended) == list(range(len(seconds)))
    assert ("stop_at" in pick.stopped) == ("stop_at" in settings and settings["stop_at"] == 2)


@pytest.mark.parametrize("on_failure", ["raise", "first", "random"])
def test_where_nothing_is_there_in_time(on_failure):
    """Without an answer there is nothing to pick by any rule; with unjudged ones `on_failure` decides."""
    with pytest.raises(CallError, match=r"no answer within 0\.5 s: 4 of 4 draws were under way") as caught:
        timed(scored, (1.5, 1.5, 1.5, 1.5), deadline=0.5, on_failure=on_failure)
    assert caught.value.hint == "allow more time"
    if on_failure == "raise":
        with pytest.raises(CallError, match=r"no answer within 0\.5 s"):
            timed(scored, (0.45, 0.45), deadline=0.5, on_failure=on_failure)
    else:
        pick, lasted, _ = timed(scored, (0.45, 0.45), deadline=0.5, on_failure=on_failure)
        assert (pick.decided_by, lasted, pick.generated.drawn) == (on_failure, 0.5, 2)


@pytest.mark.parametrize(
    ("judge", "settings"),
    [
        (Together(), {}),
        (bw.Pairwise("openai/m"), {}),
        (bw.FunctionJudge(lambda _, texts: map(len, texts), batch=True), {}),
        (length, {"strategy": bw.Resample(draws=2)}),
        (length, {"router": bw.Router(strong=length, signal="interval_width", share=0.5)}),
    ],
    ids=["together", "pairs", "batch", "redraws", "router"],
)
def test_stop_at_needs_scores_of_single_answers(judge, settings):
    """Where the score of one answer alone does not decide, it is refused, before anything is drawn."""
    with pytest.raises(UsageError, match="stop_at needs a judge that scores each answer alone"):
        best_of(2, judge, stop_at=1, **settings)


def test_a_caller_that_gives_up_ends_its_draws():
    """They have ended when it goes on."""
    slow = Slow(60, 60)

    async def impatient():
        async with asyncio.timeout(0.5):
            await agenerate_best(slow, "p", n=2, judge=length, deadline=9)

    with pytest.raises(TimeoutError):
        run_virtual(impatient())
    assert sorted(slow.ended) == [0, 1]


CALLER = contextvars.ContextVar("who asks", default="nobody")


@pytest.mark.parametrize("within_a_loop", [False, True])
def test_threads_draw_side_by_side(within_a_loop):
    """Each sees the context of the caller, also of one in a running loop, and waits for no other."""
    together = threading.Barrier(4, timeout=30)

    def generate(prompt):
        together.wait()
        return prompt + CALLER.get()

    async def main():
        return generate_best(generate, "p", n=4, judge=length, deadline=30)

    token = CALLER.set("me")
    pick = asyncio.run(main()) if within_a_loop else generate_best(generate, "p", n=4, judge=length)
    CALLER.reset(token)
    assert (pick.best, pick.decided_by, pick.generated.drawn) == ("pme", "same text", 4)


def test_threads_that_never_end_hold_nothing_up():
    """Neither the answer nor the end of the process; a score ends drawing as well as a deadline."""
    code = (
        "import threading, time, bonwise as bw\n"
        "drafts = iter(['aa', 'b'])\n"
        "def write(prompt):\n"
        "    draft = next(drafts, None)\n"
        "    return draft or threading.Event().wait()\n"
        "for settings in ({'deadline': 3.0}, {'stop_at': 2}):\n"
        "    drafts = iter(['aa', 'b'])\n"
        "    pick = bw.generate_best(write, 'p', n=4, judge=lambda prompt, text: len(text), **settings)\n"
        "    print(pick.best, pick.generated.late, pick.generated.cancelled > 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["aa 2 False", "aa 0 True"]


def test_an_interrupt_ends_the_waiting():
    """A key that is pressed while threads draw reaches the caller at once."""
    waiting = threading.Event()

    def press():
        waiting.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    def generate(_prompt):
        waiting.set()
        return held.wait(60) and "a"

    held, presser = threading.Event(), threading.Thread(target=press)
    # A shell lets what it begins in the background ignore the key.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            generate_best(generate, "p", n=2, judge=length)
    finally:
        signal.signal(signal.SIGINT, usual)
        held.set()
        presser.join()


def test_what_yields_is_refused():
    """In one sentence, when it is decorated."""

    def parts(_prompt):
        yield "a"

    async def aparts(_prompt):
        yield "a"

    for one in (parts, aparts):
        with pytest.raises(UsageError, match="yields parts, and only a whole answer can be judged"):
            best_of(2, length)(one)
    with pytest.raises(UsageError, match="int is not a function"):
        best_of(2, length)(3)


def test_a_function_that_hides_what_is_to_be_awaited():
    """Asynchronous code awaits what a plain function returns; synchronous code says what to call instead."""

    async def later(prompt):
        return prompt

    pick = asyncio.run(agenerate_best(lambda prompt: later(f"{prompt}"), "p", n=2, judge=length))
    assert (pick.best, pick.generated.drawn) == ("p", 2)
    with pytest.raises(CallError, match=r"returned something to be awaited \(await aselect\(\) or agenerate_best"):
        generate_best(lambda prompt: later(f"{prompt}"), "p", n=2, judge=length)
    with pytest.raises(UsageError, match="agenerate_best"):
        generate_best(later, "p", n=2, judge=length)


def test_money_of_draws(monkeypatch, tmp_path):
    """What draws ask of models through bonwise is billed to them, and apart from judging."""
    # Synchronous code shares one engine, which read the price file when it was first needed: it is stated here.
    judge = bw.Pointwise("openai/m", price=(1.0, 10.0))
    with served(monkeypatch, tmp_path):
        numbers = itertools.count()

        def generate(prompt):
            return bw.select(f"{prompt} {next(numbers)}", ["red", "scarlet"], judge=judge).best[:0] + "red"

        pick = generate_best(generate, "p", n=3, judge=judge, deadline=60)
        stopped = generate_best(lambda prompt: prompt, "p", n=1, judge=judge, stop_at=-1)
        alike = generate_best(lambda prompt: prompt, "p", n=3, judge=judge, stop_at=1e9)
    bill = pick.generated.bill
    assert bill.calls == 6
    assert bill.cost > 0
    assert pick.calls == 0
    assert (stopped.calls, stopped.decided_by, stopped.scores[0] is None) == (1, "score", False)
    assert (alike.calls, alike.decided_by, alike.generated.bill.calls) == (1, "same text", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "deadline", "bound", "drawn"),
    [
        ((0.3,) * 4, None, 0.45, 4),
        ((0.3,) * 4, 2.0, 0.45, 4),
        ((0.3, 0.3, 0.3, -1), 2.0, 0.45, 3),
        ((1.5,) * 4, 0.5, 0.6, 0),
    ],
)
def test_in_real_time(seconds, deadline, bound, drawn):
    """Four threads of .3 s take no more than .45; one that fails leaves three; by .6 s .5 s are over."""
    left = iter(seconds)

    @best_of(n=4, judge=length, deadline=deadline)
    def write(_prompt):
        """Take a while."""
        time.sleep(next(left))
        return "answer"

    begun = time.perf_counter()
    try:
        generated = write.select("Name a colour").generated.drawn
    except CallError as error:
        generated = 0
        assert "4 of 4 draws were under way" in error.message  # noqa: PT017 - it is one of two outcomes
    lasted = time.perf_counter() - begun
    print(f"{seconds} s, deadline {deadline}: {generated} answers in {lasted:.3f} s")  # noqa: T201
    assert generated == drawn
    assert lasted <= bound


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
    awaited = getattr(inspect, "markcoroutinefunction", None) is None or inspect.iscoroutinefunction(asynchronous)
    assert awaited
    assert asyncio.iscoroutinefunction(asynchronous)
    assert not asyncio.iscoroutinefunction(generate)


@pytest.mark.slow
def test_what_a_type_checker_sees():
    """A decorated function has its own parameters and return type; a setting of the wrong type is an error."""
    pytest.importorskip("mypy")
    root, line = Path(__file__).parents[2], ["-m", "mypy", "--strict", "tests/selection/best_of_types.py"]
    done = subprocess.run([sys.executable, *line], capture_output=True, text=True, check=False, cwd=root)
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "Success"), done.stdout
