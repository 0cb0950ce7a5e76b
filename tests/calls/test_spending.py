from __future__ import annotations

import asyncio
import math
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bonwise.calls.spending import Spending, SpendingLimitReached
from bonwise.errors import UsageError


def charged(spending):
    """Return what is spent and reserved together, as the limits see it."""
    return spending._known.plus(spending._possible).plus(spending._reserved)


def within(spending):
    """Say whether every limit is kept at this instant."""
    return all(
        limit is None or value <= limit for value, limit in zip(charged(spending), spending._limits, strict=True)
    )


async def turns(count=5):
    """Let every task that can go on go on."""
    for _ in range(count):
        await asyncio.sleep(0)


class Machine(RuleBasedStateMachine):
    """Reservations of all sizes that end in all ways, in any order."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.waiting, self.open, self.real = [], [], 0.0

    def teardown(self):
        """Leave no task and no loop behind."""
        for task in self.waiting:
            task.cancel()
        self.loop.run_until_complete(turns())
        self.loop.close()

    def turn(self):
        """Let tasks go on, and sort out those that ended."""
        self.loop.run_until_complete(turns())
        for task in [task for task in self.waiting if task.done()]:
            self.waiting.remove(task)
            if not task.cancelled() and task.exception() is None:
                self.open.append(task.result())
            elif not task.cancelled():
                assert isinstance(task.exception(), SpendingLimitReached)

    @initialize(calls=st.integers(0, 12) | st.none(), tokens=st.integers(0, 400) | st.none(), cost=st.floats(0, 2))
    def limits(self, calls, tokens, cost):
        """Choose the limits."""
        self.spending = Spending(calls, tokens, cost)
        self.max_cost = cost

    @rule(tokens=st.integers(0, 90), cost=st.floats(0, 0.5))
    def reserve(self, tokens, cost):
        """Ask for room."""
        self.waiting.append(self.loop.create_task(self.spending.reserve(tokens, cost)))
        self.turn()

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.floats(0, 1), counted=st.booleans(), priced=st.booleans())
    def settle(self, data, share, counted, priced):
        """End one call by an answer, counted or not."""
        one = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        cost = one._need.cost * share / 1e12
        one.settle(int(one._need.tokens * share) if counted else None, cost if priced else None)
        self.real += cost
        self.turn()

    @precondition(lambda self: self.open)
    @rule(data=st.data(), sent=st.booleans())
    def give_up(self, data, sent):
        """End one call without an answer."""
        one = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        if sent:
            self.real += one._need.cost / 1e12
            one.lost()
        else:
            one.cancel()
        self.turn()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), free=st.booleans())
    def cancel_a_task(self, data, free):
        """Cancel one that waits."""
        # Giving room and cancelling in the same turn of the loop is where a reservation could leak.
        if free and self.open:
            self.open.pop().cancel()
        self.waiting[data.draw(st.integers(0, len(self.waiting) - 1))].cancel()
        self.turn()

    @invariant()
    def limits_are_kept(self):
        """Hold the limits at every instant, and let nobody wait for nobody."""
        if hasattr(self, "spending"):
            assert within(self.spending)
            assert self.real <= self.max_cost + 1e-9
            assert self.spending.in_flight == len(self.open)
            assert self.spending.overruns == 0
            assert self.open or not self.waiting


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestMachine = Machine.TestCase


def run_wide(spending, calls, width, seed):
    """Send calls of random worst cases and random real use until the limit; return the real cost and the peak."""
    draw, real, peaks, refused = random.Random(seed), [], [], []  # noqa: S311 - chance, not secrecy

    async def worker(todo):
        while todo:
            worst = todo.pop()
            try:
                reservation = await spending.reserve(worst, worst * 1e-6)
            except SpendingLimitReached as reached:
                refused.append(reached)
                return
            peaks.append(charged(spending).cost)
            await turns(draw.randint(0, 4))
            used = draw.randint(0, worst)
            end = draw.random()
            if end < 0.02:
                reservation.cancel()
            elif end < 0.05:
                real.append(used * 1e-6)
                reservation.lost()
            else:
                real.append(used * 1e-6)
                reservation.settle(used, used * 1e-6)
            peaks.append(charged(spending).cost)

    async def main():
        todo = [draw.randint(1, 5_000) for _ in range(calls)]
        await asyncio.wait_for(asyncio.gather(*(worker(todo) for _ in range(width))), 60)

    asyncio.run(main())
    return math.fsum(real), max(peaks) / 1e12, refused


@pytest.mark.parametrize("seed", range(5))
def test_sixty_four_calls_at_once_stay_within_max_cost_and_use_it(seed):
    """Spent and reserved never exceed the limit, and at least nine tenths of it are used when calls are plenty."""
    spending = Spending(max_cost=2.0)
    real, peak, refused = run_wide(spending, calls=3_000, width=64, seed=seed)
    assert peak <= 2.0
    assert real <= 2.0
    assert spending.cost + spending.possible_cost >= 0.9 * 2.0
    assert len(refused) == 64
    assert {reached.limit for reached in refused} == {"max_cost"}
    assert spending.in_flight == 0


def test_without_reservations_the_same_calls_would_exceed_the_limit():
    """Sixty-four callers that look only at what is spent overshoot: the test above can fail."""
    spent = []

    async def careless():
        while math.fsum(spent) + 0.005 <= 0.1:
            await turns(3)
            spent.append(0.005)

    async def main():
        await asyncio.gather(*(careless() for _ in range(64)))

    asyncio.run(main())
    assert math.fsum(spent) > 0.1


@pytest.mark.parametrize(
    ("limits", "tokens", "cost", "fits"),
    [
        ({"max_calls": 3}, 1, None, 3),
        ({"max_tokens": 300}, 100, None, 3),
        ({"max_tokens": 299}, 100, None, 2),
        ({"max_cost": 0.3}, 0, 0.1, 3),
        ({"max_cost": 0.2999}, 0, 0.1, 2),
        ({"max_calls": 0}, 0, 0.0, 0),
    ],
)
def test_what_exactly_reaches_a_limit_fits(limits, tokens, cost, fits):
    """A limit that is exactly reached is kept, and the next call is refused with the limit's name."""
    spending = Spending(**limits)

    async def main():
        for _ in range(fits):
            (await spending.reserve(tokens, cost)).settle(tokens, cost)
        with pytest.raises(SpendingLimitReached, match=next(iter(limits))) as caught:
            await spending.reserve(tokens, cost)
        assert "\n" not in caught.value.reason

    asyncio.run(main())
    assert spending.calls == fits


def test_a_cost_of_zero_fits_in_a_limit_of_zero():
    """A known price of nothing can be spent without money, as often as one likes."""

    async def main():
        spending = Spending(max_cost=0)
        for _ in range(10):
            (await spending.reserve(100, 0.0)).settle(100, 0.0)
        return spending

    assert asyncio.run(main()).calls == 10


def test_ten_thousand_small_costs_do_not_drift():
    """Ten thousand times 0.0001 dollars are one dollar, and one more is refused."""

    async def main():
        spending = Spending(max_cost=1.0)
        for _ in range(10_000):
            (await spending.reserve(1, 0.0001)).settle(1, 0.0001)
        with pytest.raises(SpendingLimitReached):
            await spending.reserve(1, 1e-9)
        return spending.cost

    assert asyncio.run(main()) == 1.0


def test_calls_wait_in_line_for_what_is_in_flight():
    """A call that may fit later waits, in the order of asking, even where a smaller one behind it would fit now."""
    order = []

    async def one(spending, name, tokens):
        reservation = await spending.reserve(tokens, None)
        order.append(name)
        return reservation

    async def main():
        spending = Spending(max_tokens=100)
        first = await spending.reserve(90, None)
        tasks = [asyncio.create_task(one(spending, name, size)) for name, size in (("big", 60), ("small", 10))]
        await turns()
        assert order == []
        first.settle(20, None)
        for task in tasks:
            (await task).cancel()

    asyncio.run(main())
    assert order == ["big", "small"]


def test_everybody_in_line_is_refused_when_the_limit_is_reached():
    """Calls that wait are refused as soon as nothing in flight can make room for them; none waits for ever."""

    async def main():
        spending = Spending(max_cost=1.0)
        first = await spending.reserve(1, 0.6)
        line = [asyncio.create_task(spending.reserve(1, 0.5)) for _ in range(50)]
        await turns()
        first.settle(1, 0.55)
        ends = await asyncio.wait_for(asyncio.gather(*line, return_exceptions=True), 5)
        assert all(isinstance(end, SpendingLimitReached) for end in ends)
        with pytest.raises(SpendingLimitReached):
            await spending.reserve(1, 0.5)
        (await spending.reserve(1, 0.45)).cancel()

    asyncio.run(main())


def test_a_cancelled_waiter_gives_its_place_and_its_room_away():
    """Cancelling before or in the very turn of being let in leaves nothing reserved, and the next goes on."""

    async def main():
        spending = Spending(max_calls=1)
        first = await spending.reserve(1, None)
        early, late, patient = (asyncio.create_task(spending.reserve(1, None)) for _ in range(3))
        await turns()
        early.cancel()
        await turns()
        first.cancel()
        late.cancel()
        (await asyncio.wait_for(patient, 5)).cancel()
        assert early.cancelled()
        assert late.cancelled()
        return spending

    spending = asyncio.run(main())
    assert (spending.in_flight, spending.calls) == (0, 0)


def test_who_stood_behind_a_cancelled_waiter_goes_on_at_once():
    """A small call behind a big one goes on when the big one gives up, before anything in flight ends."""

    async def main():
        spending = Spending(max_tokens=100)
        first = await spending.reserve(90, None)
        big, small = (asyncio.create_task(spending.reserve(size, None)) for size in (60, 10))
        await turns()
        big.cancel()
        await turns()
        assert small.done()
        small.result().cancel()
        first.cancel()

    asyncio.run(main())


def test_a_waiter_cancelled_while_it_is_refused_raises_once():
    """A refusal that meets a cancellation is taken up quietly."""

    async def main():
        spending = Spending(max_calls=1)
        first = await spending.reserve(1, None)
        task = asyncio.create_task(spending.reserve(1, None))
        await turns()
        first.settle(1, None)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


def test_lost_attempts_stay_charged_as_possible():
    """An attempt without an answer holds its worst case for ever, apart from what is known."""

    async def main():
        spending = Spending(max_calls=2, max_cost=1.0)
        (await spending.reserve(1_000, 0.4)).lost()
        (await spending.reserve(1_000, 0.5)).settle(200, 0.1)
        return spending

    spending = asyncio.run(main())
    assert (spending.calls, spending.tokens, spending.possible_tokens) == (2, 200, 1_000)
    assert (spending.cost, spending.possible_cost) == (0.1, 0.4)


def test_what_the_server_did_not_count_stays_at_its_worst_case():
    """An answer without a count is charged its worst case as possible; a count without a price keeps its tokens."""

    async def main():
        spending = Spending(max_tokens=2_000)
        (await spending.reserve(1_000, 0.4)).settle(None, None)
        (await spending.reserve(1_000, None)).settle(300, None)
        return spending

    spending = asyncio.run(main())
    assert (spending.tokens, spending.possible_tokens) == (300, 1_000)
    assert (spending.cost, spending.possible_cost, spending.unpriced) == (0.0, 0.4, 1)


def test_an_overrun_is_charged_and_counted():
    """A server that ignores its bound is charged truthfully, and everything after it is refused."""

    async def main():
        spending = Spending(max_cost=1.0)
        (await spending.reserve(100, 0.9)).settle(150, 1.3)
        with pytest.raises(SpendingLimitReached):
            await spending.reserve(1, 0.0)
        return spending

    spending = asyncio.run(main())
    assert (spending.cost, spending.overruns, spending.in_flight) == (1.3, 1, 0)


def test_a_reservation_ends_once():
    """A second ending is a mistake; a block that ends without a word counts as lost."""

    async def main():
        spending = Spending()
        reservation = await spending.reserve(10, 0.1)
        reservation.cancel()
        for again in (reservation.cancel, reservation.lost, lambda: reservation.settle(1, 0.0)):
            with pytest.raises(RuntimeError):
                again()
        with pytest.raises(ZeroDivisionError), await spending.reserve(10, 0.1):
            raise ZeroDivisionError
        with await spending.reserve(10, 0.1) as reservation:
            reservation.settle(1, 0.01)
        return spending

    spending = asyncio.run(main())
    assert (spending.calls, spending.cost, spending.possible_cost, spending.in_flight) == (2, 0.01, 0.1, 0)


def test_max_cost_needs_a_price():
    """A call without a known price cannot be kept within a max_cost."""
    with pytest.raises(UsageError, match="max_cost") as caught:
        asyncio.run(Spending(max_cost=1.0).reserve(1, None))
    assert "BONWISE_PRICES" in caught.value.hint


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, True])
@pytest.mark.parametrize("name", ["max_calls", "max_tokens", "max_cost"])
def test_a_limit_that_is_no_amount_is_refused(name, value):
    """A limit is a number that is not negative."""
    with pytest.raises(UsageError, match=name):
        Spending(**{name: value})


@pytest.mark.parametrize(("tokens", "cost"), [(-1, 0.0), (0, -0.1), (0, math.nan), (0, math.inf)])
def test_an_amount_that_is_none_is_refused(tokens, cost):
    """A worst case and a real use are finite and not negative; a bad real use leaves the reservation open."""

    async def main():
        spending = Spending()
        with pytest.raises(ValueError, match="negative"):
            await spending.reserve(tokens, cost)
        reservation = await spending.reserve(1, 1.0)
        with pytest.raises(ValueError, match="negative"):
            reservation.settle(tokens, cost)
        assert spending.in_flight == 1
        reservation.cancel()

    asyncio.run(main())
