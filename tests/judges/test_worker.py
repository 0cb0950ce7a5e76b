from __future__ import annotations

import asyncio
import gc
import multiprocessing
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from contextvars import ContextVar

import numpy as np
import pytest

from bonwise.errors import JudgeError
from bonwise.judges import worker
from bonwise.judges.worker import MOST_ABANDONED, MOST_ABANDONED_IN_ALL, MOST_NESTED, run_all_in_thread, run_in_thread

PATIENCE = 20.0


class Owner:
    """Whose calls take turns."""


class Slotted:
    """An owner that cannot be held weakly."""

    __slots__ = ()


def threads():
    """Return the threads of judges that are alive."""
    return {one for one in threading.enumerate() if one.name == "bonwise-judge"}


def until(holds):
    """Wait until something holds that threads bring about."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.001)


class Hanging:
    """Calls that end when they are let go."""

    def __init__(self):
        self.begun, self.let_go = threading.Semaphore(0), threading.Event()

    def __call__(self):
        """Say that it has begun, and hang."""
        self.begun.release()
        self.let_go.wait(PATIENCE)
        return "late"

    async def abandoned(self, owner):
        """Begin, and be given up."""
        task = asyncio.create_task(run_in_thread(owner, "hanging", self))
        await asyncio.to_thread(self.begun.acquire, timeout=PATIENCE)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def hanging():
    """Calls that hang, and end with the test."""
    found = Hanging()
    yield found
    found.let_go.set()
    until(lambda: not worker._ABANDONED)


@pytest.mark.parametrize(
    "error", [StopIteration(1), StopAsyncIteration(), asyncio.CancelledError(), SystemExit(3)], ids=repr
)
def test_whatever_a_call_raises_comes_as_a_value(error):
    """Exceptions that no future takes, or that would end the loop or its tasks, are handed over as any other."""

    def raising():
        raise error

    assert asyncio.run(run_in_thread(Owner(), "x", raising)).error is error


def test_calls_of_one_owner_are_made_in_order_in_one_thread():
    """They never overlap, keep the order of asking, and thread-bound things of the owner stay where they are."""
    owner, seen, inside = Owner(), [], []

    def call(at):
        inside.append(at)
        seen.append((at, threading.get_ident(), len(inside)))
        inside.remove(at)

    async def main():
        await asyncio.gather(*(run_in_thread(owner, "x", lambda at=at: call(at)) for at in range(50)))

    asyncio.run(main())
    asyncio.run(main())
    assert [at for at, _, _ in seen] == [*range(50)] * 2
    assert {most for _, _, most in seen} == {1}
    assert len({thread for _, thread, _ in seen}) == 1


def test_one_that_hangs_holds_up_nobody_else(hanging):
    """While a call of one owner hangs, calls of others are made."""

    async def main():
        stuck = asyncio.create_task(run_in_thread(Owner(), "stuck", hanging))
        found = await asyncio.wait_for(run_in_thread(Owner(), "other", lambda: 7), PATIENCE)
        assert not stuck.done()
        hanging.let_go.set()
        return found.value, (await stuck).value

    assert asyncio.run(main()) == (7, "late")


def test_an_abandoned_call_holds_up_nobody_who_comes_later(hanging):
    """After a call was given up the owner's next one is made, by another thread; when it ends, one thread is left."""
    owner, before = Owner(), threads()

    async def main():
        await hanging.abandoned(owner)
        value = (await asyncio.wait_for(run_in_thread(owner, "x", lambda: 7), PATIENCE)).value
        return value, len(threads() - before)

    assert asyncio.run(main()) == (7, 2)
    hanging.let_go.set()
    until(lambda: len(threads() - before) == 1)
    assert threads() - before == {asyncio.run(_thread(owner))}


async def _thread(owner):
    return (await run_in_thread(owner, "x", threading.current_thread)).value


def test_a_call_that_waits_is_made_when_the_one_before_it_is_given_up(hanging):
    """Who waits behind a call that its caller gives up is served, and needs no further call to wake the worker."""
    owner = Owner()

    async def main():
        stuck = asyncio.create_task(run_in_thread(owner, "stuck", hanging))
        await asyncio.to_thread(hanging.begun.acquire, timeout=PATIENCE)
        waiting = asyncio.create_task(run_in_thread(owner, "x", lambda: 7))
        await asyncio.sleep(0)
        stuck.cancel()
        return (await asyncio.wait_for(waiting, PATIENCE)).value

    assert asyncio.run(main()) == 7


def test_what_is_given_up_together_costs_one_thread(hanging):
    """Of many calls of one owner that are cancelled at once the running one goes on, and no other begins."""
    owner, before = Owner(), threads()

    async def main():
        tasks = [asyncio.create_task(run_in_thread(owner, "x", hanging)) for _ in range(30)]
        await asyncio.to_thread(hanging.begun.acquire, timeout=PATIENCE)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (await asyncio.wait_for(run_in_thread(owner, "x", lambda: 7), PATIENCE)).value == 7
        return hanging.begun.acquire(blocking=False), len(threads() - before)

    assert asyncio.run(main()) == (False, 2)


def test_abandoned_calls_of_one_judge_do_not_pile_up(hanging):
    """After so many the judge is occupied, also for who waits already; when they end it is called again."""
    owner, before = Owner(), threads()

    async def main():
        for _ in range(MOST_ABANDONED - 1):
            await hanging.abandoned(owner)
        last = asyncio.create_task(run_in_thread(owner, "stuck", hanging))
        await asyncio.to_thread(hanging.begun.acquire, timeout=PATIENCE)
        waiting = asyncio.create_task(run_in_thread(owner, "x", lambda: 7))
        await asyncio.sleep(0)
        last.cancel()
        found = [await asyncio.wait_for(waiting, PATIENCE), await run_in_thread(owner, "x", lambda: 7)]
        return found, len(threads() - before)

    found, most = asyncio.run(main())
    for one in found:
        assert isinstance(one.error, JudgeError)
        assert "'x' is occupied: 8 calls" in one.error.message
    assert most == MOST_ABANDONED
    hanging.let_go.set()
    until(lambda: not worker._ABANDONED)
    assert asyncio.run(run_in_thread(owner, "x", lambda: 7)).value == 7


def test_a_turn_that_is_refused_is_refused_for_each_of_its_calls(hanging):
    """Where a judge is occupied, every call of a turn has the error, and none is made."""
    owner, made, outcomes = Owner(), [], []

    async def main():
        for _ in range(MOST_ABANDONED):
            await hanging.abandoned(owner)
        await run_all_in_thread(owner, "x", [lambda: made.append(1)] * 3, outcomes)

    asyncio.run(main())
    assert ["is occupied" in one.error.message for one in outcomes] == [True] * 3
    assert made == []


def test_who_is_cancelled_has_the_outcomes_of_calls_that_ended(hanging):
    """Calls that ended before their turn was given up are there, in order, and the ones behind are not made."""
    outcomes, made = [], []

    async def main():
        calls = [lambda: 1, lambda: 2, hanging, lambda: made.append(4)]
        turn = asyncio.create_task(run_all_in_thread(Owner(), "x", calls, outcomes))
        await asyncio.to_thread(hanging.begun.acquire, timeout=PATIENCE)
        turn.cancel()
        with suppress(asyncio.CancelledError):
            await turn
        return [one.value for one in outcomes]

    assert asyncio.run(main()) == [1, 2]
    hanging.let_go.set()
    until(lambda: not worker._ABANDONED)
    assert made == []


def test_abandoned_calls_of_all_judges_do_not_pile_up(hanging):
    """Judges that are made anew for each call and hang reach a limit of the process; who has a thread goes on."""
    good, before = Owner(), threads()

    async def main():
        await run_in_thread(good, "good", lambda: 7)
        owners = [Owner() for _ in range(MOST_ABANDONED_IN_ALL)]
        for owner in owners:
            await hanging.abandoned(owner)
        refused = await run_in_thread(Owner(), "new", lambda: 7)
        return refused.error, (await run_in_thread(good, "good", lambda: 7)).value, len(threads() - before)

    error, value, most = asyncio.run(main())
    assert "'new' is not called: 64 calls" in error.message
    assert (value, most) == (7, MOST_ABANDONED_IN_ALL + 1)


def test_a_thread_ends_with_its_judge():
    """The worker holds nobody: when an owner is gone its threads are, and so is what is known of it."""
    owners = [Owner() for _ in range(5)]
    for owner in owners:
        asyncio.run(run_in_thread(owner, "x", lambda owner=owner: owner))
    serving = {asyncio.run(_thread(owner)) for owner in owners}
    seen, places = [weakref.ref(owner) for owner in owners], {(id(owner), 0, 1) for owner in owners}
    assert len(serving) == 5
    assert places <= worker._WORKERS.keys()
    del owner, owners

    def gone():
        gc.collect()
        return not any(one() for one in seen)

    until(gone)
    assert not places & worker._WORKERS.keys()
    until(lambda: not any(one.is_alive() for one in serving))


def test_owners_that_cannot_be_held_weakly_take_turns_by_class():
    """Their class stands for them, and their calls are made in one thread."""

    async def main():
        return {(await _thread(Slotted())).ident for _ in range(3)}

    assert len(asyncio.run(main())) == 1


def test_context_variables_reach_the_call_and_stay_there():
    """A call sees what its caller set; what it sets itself is its own."""
    mark = ContextVar("mark", default=0)

    def call():
        found = mark.get()
        mark.set(99)
        return found

    async def main():
        mark.set(5)
        return (await run_in_thread(Owner(), "x", call)).value, mark.get()

    assert asyncio.run(main()) == (5, 5)


def test_calls_within_calls_of_one_owner_are_made_until_they_are_too_deep():
    """A call that has another one of its owner made, and waits for it, does not wait for itself; endless ones end."""
    owner = Owner()

    def nested(loop, depth):
        if not depth:
            return 0
        inner = asyncio.run_coroutine_threadsafe(run_in_thread(owner, "x", lambda: nested(loop, depth - 1)), loop)
        outcome = inner.result(PATIENCE)
        if outcome.error is not None:
            raise outcome.error
        return 1 + outcome.value

    async def main(depth):
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(run_in_thread(owner, "x", lambda: nested(loop, depth)), PATIENCE)

    assert asyncio.run(main(MOST_NESTED - 1)).value == MOST_NESTED - 1
    assert "'x' calls itself, 8 times over" in asyncio.run(main(MOST_NESTED)).error.message


def test_a_loop_that_ended_is_told_nothing(hanging, caplog):
    """A call that outlives the loop in which it was asked for ends in silence."""
    before = threads()
    owner = Owner()
    asyncio.run(hanging.abandoned(owner))
    hanging.let_go.set()
    until(lambda: not worker._ABANDONED)
    del owner
    until(lambda: threads() <= before)
    assert caplog.records == []


@pytest.mark.parametrize("several", [2, 8, 32])
def test_several_threads_make_as_many_calls_at_once_and_no_more(several):
    """As many calls meet as there are threads, round after round; what each returns comes to who asked for it."""
    owner, meeting, inside, most = Owner(), threading.Barrier(several), [], []

    def call(at):
        inside.append(at)
        most.append(len(inside))
        meeting.wait(PATIENCE)
        inside.remove(at)
        return at, threading.get_ident()

    async def main():
        calls = (run_in_thread(owner, "x", lambda at=at: call(at), several) for at in range(5 * several))
        return [one.value for one in await asyncio.gather(*calls)]

    found = asyncio.run(main())
    assert [at for at, _ in found] == [*range(5 * several)]
    assert max(most) == several == len({thread for _, thread in found})


def test_calls_of_several_threads_begin_in_the_order_of_asking():
    """A thread that is free takes the call that has waited longest."""
    begun, meeting = [], threading.Barrier(3)

    def call(at):
        begun.append(at)
        meeting.wait(PATIENCE)

    async def main():
        owner = Owner()
        await asyncio.gather(*(run_in_thread(owner, "x", lambda at=at: call(at), 3) for at in range(60)))

    asyncio.run(main())
    assert [sorted(begun[at : at + 3]) for at in range(0, 60, 3)] == [[at, at + 1, at + 2] for at in range(0, 60, 3)]


def test_threads_begin_only_where_calls_wait():
    """Calls that come one after the other are made in one thread, however many there might be."""
    owner = Owner()

    async def main():
        return {(await run_in_thread(owner, "x", threading.get_ident, 8)).value for _ in range(20)}

    assert len(asyncio.run(main())) == 1


def test_what_several_threads_leave_behind_is_replaced(hanging):
    """Calls that are given up run on, others are made meanwhile; the judge is occupied after so many a thread."""
    owner, before = Owner(), threads()

    async def main():
        for _ in range(MOST_ABANDONED_IN_ALL // 2 // 4):
            tasks = [asyncio.create_task(run_in_thread(owner, "stuck", hanging, 4)) for _ in range(4)]
            for _ in tasks:
                await asyncio.to_thread(hanging.begun.acquire, timeout=PATIENCE)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            found = await asyncio.wait_for(run_in_thread(owner, "x", lambda: 7, 4), PATIENCE)
            yield found
        yield await run_in_thread(owner, "x", lambda: 7, 4)

    async def every():
        return [one async for one in main()]

    *found, last = asyncio.run(every())
    assert [one.value for one in found[:-1]] == [7] * 7
    for one in (found[-1], last):
        assert "'x' is occupied: 32 calls" in one.error.message
    hanging.let_go.set()
    until(lambda: not worker._ABANDONED)
    until(lambda: len(threads() - before) <= 4)
    assert asyncio.run(run_in_thread(owner, "x", lambda: 7, 4)).value == 7


def test_a_thread_that_is_left_is_enough_where_a_judge_is_occupied(hanging):
    """Nobody who waits is refused while a thread of the judge serves; with fewer calls left behind there are more."""
    owner, several = Owner(), 4
    busy = Hanging()

    async def main():
        serving = asyncio.create_task(run_in_thread(owner, "busy", busy, several))
        await asyncio.to_thread(busy.begun.acquire, timeout=PATIENCE)
        for _ in range(MOST_ABANDONED_IN_ALL // 2):
            task = asyncio.create_task(run_in_thread(owner, "stuck", hanging, several))
            await asyncio.to_thread(hanging.begun.acquire, timeout=PATIENCE)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        waiting = asyncio.create_task(run_in_thread(owner, "x", lambda: 7, several))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        busy.let_go.set()
        return (await asyncio.wait_for(waiting, PATIENCE)).value, (await serving).value

    assert asyncio.run(main()) == (7, "late")


def test_several_threads_end_with_their_judge():
    """When the owner is gone all of its threads end."""
    meeting, before = threading.Barrier(6), threads()

    async def main(owner):
        await asyncio.gather(*(run_in_thread(owner, "x", lambda: meeting.wait(PATIENCE), 6) for _ in range(6)))

    asyncio.run(main(Owner()))
    until(lambda: not threads() - before)


@pytest.mark.parametrize("several", [1, 2, 3, 8, 16])
def test_whoever_is_not_cancelled_is_answered(several):
    """With calls of all lengths, a third of them given up at any moment, all others are answered, by few threads."""
    rng, owner = np.random.default_rng(several), Owner()

    def call(at, seconds):
        time.sleep(seconds)
        return at

    async def main():
        tasks = {}
        for at in range(150):
            seconds = rng.choice([0.0, 0.0005, 0.002])
            tasks[at] = asyncio.create_task(run_in_thread(owner, "x", lambda at=at, s=seconds: call(at, s), several))
            if rng.random() < 0.3:
                asyncio.get_running_loop().call_later(rng.random() * 0.01, tasks[at].cancel)
            if rng.random() < 0.2:
                await asyncio.sleep(rng.random() * 0.003)
        return dict(zip(tasks, await asyncio.gather(*tasks.values(), return_exceptions=True), strict=True))

    for at, found in asyncio.run(main()).items():
        given_up = isinstance(found, asyncio.CancelledError)
        assert given_up or (found.value == at if found.error is None else "occupied" in found.error.message)
    until(lambda: not worker._ABANDONED)
    assert asyncio.run(run_in_thread(owner, "x", lambda: 7, several)).value == 7
    (mine,) = (one for place, one in worker._WORKERS.items() if place[0] == id(owner))
    until(lambda: not mine._running)
    assert (mine._waiting, mine._abandoned) == (0, set())
    assert 1 <= mine._threads <= several


PROGRAM = """
import asyncio, threading, time
from bonwise.judges.worker import run_in_thread

async def main():
    for _ in range(3):
        task = asyncio.create_task(run_in_thread(main, "x", {hang}))
        await asyncio.sleep(0.05)
        task.cancel()
    print("end")

asyncio.run(main())
"""


@pytest.mark.parametrize("hang", ["lambda: time.sleep(1000)", "lambda: [time.sleep(0.001) for _ in range(10**6)]"])
def test_a_program_ends_while_calls_hang(hang):
    """Threads that hang or are busy neither keep a program from ending nor print anything."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(hang=hang)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


FORKED = """
import asyncio, os, threading
from bonwise.judges.worker import run_in_thread

class Owner: pass
owner = Owner()
hang = threading.Event()

async def main():
    await run_in_thread(owner, "x", lambda: 1)
    task = asyncio.create_task(run_in_thread(owner, "x", hang.wait))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await run_in_thread(owner, "x", lambda: 1)

asyncio.run(main())
child = os.fork()
if not child:
    found = asyncio.run(asyncio.wait_for(run_in_thread(owner, "x", lambda: 7), 20)).value
    os._exit(found)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_process_begins_anew():
    """A child has none of its parent's threads: its calls are made by its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "7", "")
