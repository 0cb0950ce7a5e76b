from __future__ import annotations

import asyncio
import gc
import random
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.calls import spending as spending_module
from bonwise.calls.spending import Spending, SpendingLimitReached

LIMITS = {"max_calls": 40, "max_tokens": 20_000, "max_cost": 0.02}


def charged(spending):
    """Return what is spent and reserved together, at one instant."""
    with spending._lock:
        return spending._known.plus(spending._possible).plus(spending._reserved)


def within(spending):
    """Say whether every limit is kept at this instant."""
    return all(
        limit is None or value <= limit for value, limit in zip(charged(spending), spending._limits, strict=True)
    )


async def one_call(spending, draw, real):
    """Reserve, use some of it, and end in one of all ways."""
    worst = draw.randint(1, 2_000)
    with await spending.reserve(worst, worst * 1e-6) as reservation:
        assert within(spending)
        for _ in range(draw.randint(0, 3)):
            await asyncio.sleep(draw.choice([0, 0.0005]))
        used = draw.randint(0, worst)
        end = draw.random()
        if end < 0.1:
            reservation.cancel()
        elif end < 0.2:
            real.append(worst)
            reservation.lost()
        else:
            real.append(used)
            reservation.settle(used, used * 1e-6)
    assert within(spending)


async def calls_at_once(spending, seed, width, real, cancelled):
    """Call from many tasks until the limit; return how many were refused."""
    draw = random.Random(seed)  # noqa: S311 - chance, not secrecy

    async def worker():
        while True:
            try:
                await one_call(spending, draw, real)
            except SpendingLimitReached:
                return

    workers = [asyncio.create_task(worker()) for _ in range(width)]
    for task in workers[:cancelled]:
        await asyncio.sleep(0.001)
        task.cancel()
    ends = await asyncio.wait_for(asyncio.gather(*workers, return_exceptions=True), 15)
    assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends), ends
    return ends.count(None)


def in_threads(count, work):
    """Run ``asyncio.run(work(number))`` in each thread; return what came of it, and raise what failed."""
    found, failed = [None] * count, []

    def run(number):
        try:
            found[number] = asyncio.run(work(number))
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 20
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"
    if failed:
        raise failed[0]
    return found


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(LIMITS)),
    loops=st.integers(2, 4),
    width=st.integers(1, 12),
    cancelled=st.integers(0, 3),
    seed=st.integers(0, 10_000),
)
def test_loops_in_several_threads_share_one_limit(name, loops, width, cancelled, seed):
    """What is spent and reserved never exceeds the limit, every caller ends, and nothing stays reserved."""
    spending, real = Spending(**{name: LIMITS[name]}), []

    async def work(number):
        return await calls_at_once(spending, f"{seed} {number}", width, real, min(cancelled, width))

    refused = sum(in_threads(loops, work))
    assert refused >= loops * (width - min(cancelled, width))
    assert within(spending)
    assert spending.in_flight == 0
    assert not spending._line
    assert not spending._open
    assert spending.overruns == 0


@pytest.mark.parametrize("seed", range(3))
def test_eight_threads_use_the_limit_and_no_more(seed):
    """Eight loops with many callers each spend nearly all of a limit, and never more."""
    spending, real = Spending(max_cost=1.0), []
    refused = sum(in_threads(8, lambda number: calls_at_once(spending, seed * 8 + number, 24, real, 0)))
    assert refused == 8 * 24
    assert sum(real) * 1e-6 <= 1.0
    assert 0.98 <= spending.cost + spending.possible_cost <= 1.0


def test_without_the_lock_threads_would_lose_amounts(monkeypatch):
    """The same sums without a lock go wrong where threads meet: the tests above can fail."""
    spending = Spending(max_calls=10**9)
    plus = spending_module.Amount.plus

    def slow(self, other):
        found = plus(self, other)
        time.sleep(0)  # another thread may go on here
        return found

    class NoLock:
        def acquire(self, *, blocking=True):  # noqa: ARG002
            return True

        def release(self):
            pass

    monkeypatch.setattr(spending_module.Amount, "plus", slow)

    async def work(_number):
        for _ in range(300):
            (await spending.reserve(1, None)).settle(1, None)

    in_threads(4, work)
    assert spending.calls == 1_200
    spending._lock = NoLock()
    in_threads(4, work)
    assert spending.calls != 2_400


def test_a_waiter_in_another_thread_is_woken_at_once():
    """Room that one loop gives back is taken in the other one, long before anybody looks again."""
    spending = Spending(max_calls=1)
    holds, waits = threading.Event(), threading.Event()

    async def work(number):
        if number == 0:
            reservation = await spending.reserve(1, None)
            holds.set()
            await asyncio.to_thread(waits.wait, 10)
            await asyncio.sleep(0.05)
            started = time.perf_counter()
            reservation.cancel()
            return started
        await asyncio.to_thread(holds.wait, 10)
        asyncio.get_running_loop().call_later(0.02, waits.set)
        (await spending.reserve(1, None)).cancel()
        return time.perf_counter()

    given, taken = in_threads(2, work)
    assert taken - given < spending_module.PATIENCE / 2


def test_nobody_waits_for_a_loop_that_stands_still(monkeypatch):
    """What a stopped loop holds counts as possibly spent; when it goes on, its call is charged as it was."""
    monkeypatch.setattr(spending_module, "PATIENCE", 0.05)
    spending = Spending(max_tokens=100)
    still = asyncio.new_event_loop()
    held = still.run_until_complete(spending.reserve(80, None))

    async def refused():
        with pytest.raises(SpendingLimitReached):
            await asyncio.wait_for(spending.reserve(50, None), 10)

    asyncio.run(refused())
    assert (spending.in_flight, spending.possible_tokens) == (0, 80)
    held.settle(30, None)
    assert (spending.in_flight, spending.tokens, spending.possible_tokens, spending.calls) == (0, 30, 0, 1)
    (asyncio.run(spending.reserve(50, None))).cancel()
    still.close()


def test_nobody_stands_behind_a_waiter_whose_loop_stands_still():
    """A call that waits in a stopped loop keeps its wish, and those behind it go on without it."""
    spending = Spending(max_tokens=100)
    still = asyncio.new_event_loop()
    first = still.run_until_complete(spending.reserve(90, None))
    waiting = still.create_task(spending.reserve(60, None))
    still.run_until_complete(asyncio.sleep(0.01))

    async def small():
        return await asyncio.wait_for(spending.reserve(10, None), 0.5)

    second = asyncio.run(small())
    first.cancel()
    third = still.run_until_complete(asyncio.wait_for(waiting, 5))
    assert spending.in_flight == 2
    second.cancel()
    third.cancel()
    still.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_waiter_whose_loop_was_closed_is_forgotten():
    """A loop that is closed with a call in line leaves nothing behind that others would wait for."""
    spending = Spending(max_calls=1)
    gone = asyncio.new_event_loop()
    held = gone.run_until_complete(spending.reserve(1, None))
    waiting = gone.create_task(spending.reserve(1, None))
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()
    held.cancel()

    async def again():
        return await asyncio.wait_for(spending.reserve(1, None), 0.5)

    asyncio.run(again()).cancel()
    waiting._log_destroy_pending = False
    del waiting
    gc.collect()
    assert not spending._line


def test_a_call_that_is_collected_while_the_lock_is_held_does_not_block():
    """A reservation may end inside of the locked part, and is charged when the lock is free."""
    spending = Spending(max_calls=2)

    async def main():
        reservation = await spending.reserve(1, None)
        with spending._lock:
            reservation.lost()
        assert spending.in_flight == 1
        (await spending.reserve(1, None)).cancel()
        assert (spending.in_flight, spending.calls) == (0, 1)

    asyncio.run(asyncio.wait_for(main(), 10))
