from __future__ import annotations

import asyncio
import threading

import pytest

from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import JudgeError, UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.pointwise import Pointwise
from bonwise.selection.selector import Selector
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import FakeTransport, Script
from calls.held_time import run_held

INNER = Pointwise("openai/m", base_url="http://scripted.test/v1")


class Doubting:
    """A plug-in that asks another judge in its own way, and halves what it says."""

    name, version = "doubting", "1"

    def judge(self, prompt, candidates):
        """Ask, and doubt."""
        return [Score(one.value / 2) for one in INNER.judge(prompt, candidates)]


def judged(script, judge, texts=("a", "b"), **settings):
    """Judge a few candidates by an engine of its own; return the judgment and the engine."""

    async def main():
        async with Engine(connection=Connection(transport=FakeTransport(script)), **settings) as engine:
            return await judge_with(engine, judge, "p", list(texts)), engine

    return asyncio.run(main())


def test_a_judge_asked_by_a_judge_pays_from_the_same_purse():
    """What a plug-in asks by another judge goes through the engine at work, is counted and billed there."""
    script = Script()
    found, engine = judged(script, Doubting())
    plain, _ = judged(Script(), INNER)
    assert [one.value for one in found.verdicts] == [one.value / 2 for one in plain.verdicts]
    assert script.counts.paid.total() == 2 == engine.totals.bill.calls == found.bill.calls


def test_limits_hold_for_judges_within_judges():
    """At a limit the outer verdicts are owed, whatever the plug-in would have made of it."""
    script = Script()
    found, engine = judged(script, Doubting(), max_calls=1)
    assert script.counts.paid.total() == 1
    assert all(isinstance(one, Unscored) and one.owed for one in found.verdicts)
    assert engine.totals.bill.owed == 1


def test_answers_of_judges_within_judges_are_kept(tmp_path):
    """The ledger of the run holds them: a second run pays nothing."""
    script = Script()
    judged(script, Doubting(), ledger=tmp_path)
    judged(script, Doubting(), ledger=tmp_path)
    assert script.counts.paid.total() == 2


def test_an_asynchronous_judge_must_not_wait_for_itself():
    """Asking synchronously from inside the event loop is refused with a remedy, instead of hanging."""

    class Hasty(Doubting):
        async def judge(self, prompt, candidates):
            return INNER.judge(prompt, candidates)

    with pytest.raises(UsageError, match="wait for ever"):
        judged(Script(), Hasty())


def test_a_plug_in_that_fails_is_named():
    """An exception of a plug-in in a run is one line with its name, and the cause is kept."""

    class Broken(Doubting):
        def judge(self, prompt, candidates):
            raise KeyError(prompt, candidates)

    with pytest.raises(JudgeError, match="'doubting' failed: KeyError") as caught:
        judged(Script(), Broken())
    assert isinstance(caught.value.__cause__, KeyError)


def selected(judge, *, patience=20.0, **settings):
    """Select by a judge from asynchronous code, which calls what blocks in a thread."""

    async def main():
        async with Selector(judge, **settings) as selector:
            return await asyncio.wait_for(selector.aselect("p", ["a", "bbb", "cc"]), patience)

    return asyncio.run(main())


def test_a_judge_that_blocks_may_select_by_another_one():
    """A function that selects in turn, by another function, does not wait for itself."""

    def inner(_prompt, text):
        return len(text)

    with Selector(inner, deadline=20, on_failure="first") as inside:

        def outer(prompt, text):
            return inside.select(prompt, [text, text + "y"]).scores[1]

        assert selected(outer).scores == (2.0, 4.0, 3.0)


def test_judges_of_one_definition_may_select_by_one_another():
    """Functions of one definition take turns, and yet one may ask the other and wait for it."""

    def judge_by(selector):
        def judge(prompt, text):
            return len(text) if selector is None else selector.select(prompt, [text, text + "y"]).scores[1]

        return judge

    with Selector(judge_by(None), deadline=20) as first, Selector(judge_by(first), deadline=20) as second:
        assert selected(judge_by(second)).scores == (3.0, 5.0, 4.0)


def test_a_judge_that_asks_itself_without_end_is_refused():
    """Who selects by itself, again and again, gets an error that says so, and no hang."""
    inside = []

    def outer(prompt, text):
        return inside[0].select(prompt, [text, text + "y"]).scores[1]

    with Selector(outer, deadline=20) as selector:
        inside.append(selector)
        with pytest.raises(JudgeError, match="'outer' calls itself, 8 times over"):
            selected(outer)


def test_a_judge_that_hangs_holds_up_no_other_selection():
    """Beside a selection that waits for a function without end another one is made."""
    let_go = threading.Event()

    def hangs(_prompt, _text):
        return int(let_go.wait(20))

    async def main():
        async with Selector(hangs) as stuck, Selector(lambda _, text: len(text)) as other:
            waiting = asyncio.create_task(stuck.aselect("p", ["a", "b"]))
            found = await asyncio.wait_for(other.aselect("p", ["a", "bb"]), 20)
            assert not waiting.done()
            let_go.set()
            await waiting
            return found.best

    assert asyncio.run(main()) == "bb"


def test_what_a_deadline_cut_off_holds_up_no_later_selection():
    """A function that hung once is called again for the next pool, though the first call has not ended."""
    let_go, calls, loops = threading.Event(), [], []

    def once(_prompt, text):
        calls.append(text)
        if len(calls) == 1:
            loops[0].let_go(0.2)
            let_go.wait(60)
        return len(text)

    async def main():
        loops.append(asyncio.get_running_loop())
        async with Selector(once, deadline=0.2, on_failure="first") as selector:
            first = await selector.aselect("p", ["a", "bb"])
        async with Selector(once, deadline=20, on_failure="first") as selector:
            return first, await selector.aselect("p", ["a", "bb"])

    first, second = run_held(main())
    let_go.set()
    assert (first.decided_by, second.decided_by, second.best) == ("first", "score", "bb")
    assert calls == ["a", "a", "bb"]
