"""What pools ask of the event loop: tasks, thread hops, and turns that stay short."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import suppress
from contextvars import ContextVar
from itertools import count

import pytest

import bonwise as bw
from bonwise.calls.portal import AT_A_TURN, PoolQueue
from bonwise.errors import JudgeError
from bonwise.selection.selector import Selector
from bonwise.table.verdicts import Score
from bonwise.testing import Faults, Script
from calls.virtual_time import run_virtual
from selection.services import ADDRESS, JUDGE, POOL, asking, by_worth

FOUR = ["worth 10", "worth 40", "worth 30", "worth 20"]


class CountedTask(asyncio.Task):
    """A task that notes whether it is cancelled when it has ended already."""

    cancelled_when_done = 0

    def cancel(self, msg=None):
        """Note it, and cancel."""
        CountedTask.cancelled_when_done += self.done()
        return super().cancel(msg)


class Listwise:
    """A judge that asks no model and sees all candidates at once, asynchronously."""

    name, version = "listwise", "1"

    def __init__(self, work=None):
        self.work = work or (lambda: None)

    async def judge(self, _prompt, candidates):
        """Score by length."""
        self.work()
        await asyncio.sleep(0)
        return [Score(float(len(text))) for text in candidates]


async def waiting(_prompt, text):
    """Judge asynchronously."""
    await asyncio.sleep(0)
    return int(text.split()[1])


def ordinary(_prompt, text):
    """Judge at once."""
    return int(text.split()[1])


def needed(judge, pool):
    """Select once; return the pick, the tasks that were made for it, and the entries of threads."""
    tasks, hops = [], []

    def factory(loop, coroutine, **settings):
        tasks.append(coroutine.__qualname__)
        return CountedTask(coroutine, loop=loop, **settings)

    async def main():
        loop = asyncio.get_running_loop()
        enter = loop.run_in_executor
        async with asking(Script(), judge) as selector:
            await selector.aselect("warm", pool)
            CountedTask.cancelled_when_done = 0
            loop.set_task_factory(factory)
            loop.run_in_executor = lambda *call: hops.append(call) or enter(*call)
            found = await selector.aselect("p", pool)
            loop.set_task_factory(None)
            loop.run_in_executor = enter
        return found

    return asyncio.run(main()), tasks, hops


@pytest.mark.parametrize(
    ("judge", "pool", "own", "entered"),
    [
        (waiting, FOUR, 4, 0),
        (JUDGE, FOUR, 4 + 4, 0),
        (bw.Pairwise("openai/m", base_url=ADDRESS, orders=1), FOUR[:2], 1, 0),
        (Listwise(), FOUR, 1, 0),
        (ordinary, FOUR, 0, 1),
    ],
    ids=["asynchronous", "model", "one question", "listwise", "function"],
)
def test_a_value_has_one_task_and_a_pool_enters_a_thread_once(judge, pool, own, entered):
    """A candidate that waits has one task, a call of a model one more, and what has ended is not cancelled."""
    found, tasks, hops = needed(judge, pool)
    assert found.best is not None
    assert len(tasks) == own, tasks
    assert len(hops) == entered
    assert CountedTask.cancelled_when_done == 0


def test_a_crowd_begins_a_few_pools_at_each_turn():
    """Of pools that come at the same instant no more begin between two turns than may; they begin in order."""
    turn, begun = count(), []
    now = [0]

    def tick(loop):
        now[0] = next(turn)
        loop.call_soon(tick, loop)

    async def judge(prompt, text):
        begun.append((now[0], prompt))
        await asyncio.sleep(0)
        return len(text)

    async def main():
        asyncio.get_running_loop().call_soon(tick, asyncio.get_running_loop())
        async with Selector(judge, max_concurrency=100) as selector:
            return await asyncio.gather(*(selector.aselect(f"p{at}", ["a", "bb"]) for at in range(100)))

    assert [one.best for one in asyncio.run(main())] == ["bb"] * 100
    firsts = list(dict.fromkeys(prompt for _, prompt in begun))
    assert firsts == [f"p{at}" for at in range(100)]
    pools_at = Counter(turn for turn, _ in set(begun))
    assert max(pools_at.values()) <= AT_A_TURN


def test_one_that_is_given_up_in_line_takes_no_turn():
    """Of pools that wait to begin, those that are cancelled leave their turn to the next ones."""

    async def main():
        gate, begun = PoolQueue(1), []

        async def begin(at):
            await gate.begin()
            begun.append(at)

        tasks = [asyncio.create_task(begin(at)) for at in range(4 * AT_A_TURN)]
        await asyncio.sleep(0)
        first = list(begun)
        for task in tasks[AT_A_TURN : 3 * AT_A_TURN]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # And whoever comes when all is quiet need not wait.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        alone = asyncio.create_task(begin("alone"))
        await asyncio.sleep(0)
        return first, begun, alone.done()

    first, begun, at_once = asyncio.run(main())
    assert first == list(range(AT_A_TURN))
    assert begun == [*first, *range(3 * AT_A_TURN, 4 * AT_A_TURN), "alone"]
    assert at_once


def test_time_in_line_counts():
    """The deadline of a pool runs while it waits to begin."""

    async def judge(_prompt, text):
        await asyncio.sleep(0.5)
        return len(text)

    async def main():
        async with Selector(judge, deadline=1.0, on_failure="first") as selector:
            pools = [asyncio.create_task(selector.aselect(f"p{at}", ["a", "bb"])) for at in range(AT_A_TURN + 1)]
            await asyncio.sleep(0)
            asyncio.get_running_loop().now += 0.8
            return await asyncio.gather(*pools)

    *_, last = run_virtual(main())
    assert (last.latency, last.decided_by) == (1.0, "first")


HANGS = Faults(slow=1.0, slow_seconds=10_000.0)
PAIR = bw.Pairwise("openai/m", base_url=ADDRESS, orders=1)


def test_a_single_question_is_given_up_at_the_deadline():
    """A judge that asks one question of a pool is cancelled like those that ask many, and nothing is left."""

    async def main():
        async with asking(Script(faults=HANGS), PAIR, deadline=1.0, on_failure="first") as selector:
            found = await selector.aselect("p", POOL[:2])
        return found, asyncio.all_tasks() - {asyncio.current_task()}

    found, left = run_virtual(main())
    assert (found.decided_by, found.stopped, found.latency, left) == ("first", "the time was up", 1.0, set())


def test_who_is_cancelled_while_a_single_question_is_asked_is_cancelled():
    """A cancellation of the caller stays one where the question is awaited without a task of its own."""

    async def main():
        async with asking(Script(faults=HANGS), PAIR, deadline=5.0, on_failure="first") as selector:
            task = asyncio.create_task(selector.aselect("p", POOL[:2]))
            await asyncio.sleep(1.0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    assert run_virtual(main())


class CancelsItself(type(PAIR)):
    """A judge that asks a model, and whose own code is cancelled."""

    def conclude(self, _prompt, _candidates, _answers):
        """Do as code does that gives itself up."""
        raise asyncio.CancelledError


def test_a_judge_of_one_question_that_cancels_itself_is_a_failure_of_the_judge():
    """Also where whoever selects was cancelled before, and selects while it clears up."""
    judge = CancelsItself("openai/m", base_url=ADDRESS, orders=1)

    async def clearing_up():
        async with asking(by_worth(), judge) as selector:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                return await selector.aselect("p", POOL[:2])

    async def main():
        task = asyncio.create_task(clearing_up())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(JudgeError, match="cancelled itself"):
            await task

    run_virtual(main())


def test_what_a_judge_sets_and_cancels_is_its_own():
    """A judge that sets context variables, or cancels the task it runs in, does not do so to who selects."""
    mark = ContextVar("mark", default="nobody's")

    async def main(work):
        async with Selector(Listwise(work), on_failure="first") as selector:
            found = await selector.aselect("p", FOUR)
        return found.decided_by, mark.get()

    assert asyncio.run(main(lambda: mark.set("the judge's"))) == ("tie-break", "nobody's")
    assert asyncio.run(main(lambda: asyncio.current_task().cancel())) == ("first", "nobody's")


def test_candidates_of_one_turn_do_not_see_what_another_one_set():
    """Candidates that are judged in one turn of a thread see the caller's context variables, and no candidate's."""
    mark = ContextVar("mark", default=0)

    def judge(_prompt, text):
        found = mark.get()
        mark.set(100)
        return found + len(text)

    async def main():
        mark.set(5)
        async with Selector(judge) as selector:
            return (await selector.aselect("p", ["a", "bbb", "cc"])).scores

    assert asyncio.run(main()) == (6.0, 8.0, 7.0)


def test_a_pool_that_is_given_up_begins_no_further_candidate():
    """The call that runs goes on by itself and is the last of its pool; the candidates of other pools are judged."""
    begun, let_go, seen = threading.Event(), threading.Event(), []

    def judge(prompt, text):
        seen.append((prompt, text))
        if prompt == "stuck":
            begun.set()
            let_go.wait(20)
        return len(text)

    async def main():
        async with Selector(judge) as selector:
            stuck = asyncio.create_task(selector.aselect("stuck", ["a", "bb", "ccc"]))
            await asyncio.to_thread(begun.wait, 20)
            stuck.cancel()
            with suppress(asyncio.CancelledError):
                await stuck
            await selector.aselect("p", ["a", "bb"])
            let_go.set()
            return await selector.aselect("q", ["a", "bb"])

    asyncio.run(main())
    assert [text for prompt, text in seen if prompt == "stuck"] == ["a"]
    assert sorted(seen)[:4] == [("p", "a"), ("p", "bb"), ("q", "a"), ("q", "bb")]


def test_an_ordinary_function_may_return_what_is_to_be_awaited():
    """Each of the values that a function without ``async`` returns is awaited beside the others, and judged alone."""
    begun = []

    async def later(text):
        begun.append(text)
        await asyncio.sleep(0.2)
        if text == FOUR[0]:
            raise ZeroDivisionError
        if text == FOUR[2]:
            await asyncio.sleep(1000)
        return int(text.split()[1])

    async def main():
        async with Selector(lambda _, text: later(text), deadline=1.0, on_failure="first") as selector:
            found = await selector.aselect("p", FOUR)
        return found, asyncio.all_tasks() - {asyncio.current_task()}

    found, left = asyncio.run(main())
    assert begun == FOUR
    assert (found.scores, found.decided_by, left) == ((None, 40.0, None, 20.0), "deadline", set())
    assert "ZeroDivisionError" in found.unscored["c0"]
