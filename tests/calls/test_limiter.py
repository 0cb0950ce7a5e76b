"""The pace of a endpoint, against servers that enforce theirs."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from itertools import pairwise

import pytest

from bonwise.calls.ask import Problem
from bonwise.calls.limiter import LATEST, DeadlineError, EndpointLimiter
from bonwise.calls.rate_limits import RateLimits, Window, anthropic_limits, openai_limits
from bonwise.errors import UsageError
from bonwise.testing.script import Script
from calls.held_time import run_held
from calls.scripted_runs import in_memory, judged, pools, tally
from calls.virtual_time import run_virtual

SILENT = RateLimits()


def time():
    """Return the time of the loop."""
    return asyncio.get_running_loop().time()


def throttled(retry_after=None):
    """Return what a 429 means."""
    return Problem("throttled", "slow down", status=429, retry_after=retry_after)


class RollingAllowance:
    """At most so much in any 60 seconds, enforced to the letter."""

    def __init__(self, limit):
        self.limit = limit
        self.left = limit
        self.taken = deque()

    def forget(self, now):
        """Drop what is older than a minute."""
        while self.taken and self.taken[0][0] <= now - 60:
            self.left += self.taken.popleft()[1]

    def take(self, now, amount):
        """Count an amount."""
        self.taken.append((now, amount))
        self.left -= amount

    def wait(self, now, amount):
        """Return the seconds until an amount fits in."""
        missing = amount - self.left
        for when, freed in self.taken:
            missing -= freed
            if missing <= 0:
                return when + 60 - now
        return 60.0

    def reset(self, now):
        """Return the seconds until everything is free again."""
        return self.taken[-1][0] + 60 - now if self.taken else 0.0


class Server:
    """Answers after 200 to 800 ms; refuses what is too much, and says so in OpenAI's headers if it has any."""

    def __init__(self, seed, requests=None, tokens=None, capacity=None, headers=True):
        self.random = random.Random(seed)  # noqa: S311
        self.allowances = {}
        if requests is not None:
            self.allowances["requests"] = RollingAllowance(requests)
        if tokens is not None:
            self.allowances["tokens"] = RollingAllowance(tokens)
        self.capacity = capacity
        self.headers = headers
        self.busy = self.answered = self.refused = 0
        self.starts = []

    def says(self, now):
        """Return the headers."""
        if not self.headers:
            return {}
        return {
            f"x-ratelimit-{part}-{name}": str(value)
            for name, allowance in self.allowances.items()
            for part, value in (
                ("limit", allowance.limit),
                ("remaining", max(0, allowance.left)),
                ("reset", f"{int(1000 * allowance.reset(now))}ms"),
            )
        }

    async def call(self, tokens):
        """Return the headers and the problem of one call."""
        now = time()
        amounts = {"requests": 1, "tokens": tokens}
        for allowance in self.allowances.values():
            allowance.forget(now)
        waits = [a.wait(now, amounts[n]) for n, a in self.allowances.items() if a.left < amounts[n]]
        if waits or (self.capacity is not None and self.busy >= self.capacity):
            self.refused += 1
            await asyncio.sleep(0.05)
            return {}, throttled(max(waits) if waits and self.headers else None)
        self.starts.append((now, tokens))
        for name, allowance in self.allowances.items():
            allowance.take(now, amounts[name])
        said = self.says(now)
        self.busy += 1
        await asyncio.sleep(self.random.uniform(0.2, 0.8))
        self.busy -= 1
        self.answered += 1
        return said, None


async def drive(limiter, server, seconds, workers=64, tokens=lambda: 1, expected=1):
    """Keep so many workers asking for so many seconds; return when each call started, refused ones too."""
    until = time() + seconds
    starts = []

    async def worker():
        while True:
            try:
                lease = await limiter.acquire(expected, deadline=until)
            except DeadlineError:
                return
            real = tokens()
            starts.append((time(), real))
            said, problem = await server.call(real)
            lease.settle(tokens=None if problem else real, limits=openai_limits(said, now=0), problem=problem)

    await asyncio.gather(*(worker() for _ in range(workers)))
    return starts


def busiest_minute(starts):
    """Return the largest sum of amounts in any 60 seconds."""
    inside, total, most = deque(), 0, 0
    for when, amount in sorted(starts):
        inside.append((when, amount))
        total += amount
        while inside[0][0] <= when - 60 + 1e-3:
            total -= inside.popleft()[1]
        most = max(most, total)
    return most


def requests_of(starts):
    """Count each start once."""
    return [(when, 1) for when, _ in starts]


@pytest.mark.parametrize("told", [True, False], ids=["by headers", "by the user"])
def test_no_minute_exceeds_the_request_limit_and_most_of_it_is_used(told):
    """Ten minutes at 64 workers: at most 600 starts in any minute, at least 90 % of 6,000 in all."""
    server = Server(1, requests=600, headers=told)
    limiter = EndpointLimiter(64, requests_per_minute=None if told else 600)
    starts = run_virtual(drive(limiter, server, 600))
    assert busiest_minute(requests_of(starts)) <= 600 * 1.02
    assert server.answered >= 0.9 * 6000
    assert server.refused <= 0.01 * server.answered


@pytest.mark.parametrize("expected", [500, 900], ids=["well guessed", "guessed too high"])
@pytest.mark.parametrize("told", [True, False], ids=["by headers", "by the user"])
def test_no_minute_exceeds_the_token_limit_and_most_of_it_is_used(expected, told):
    """Ten minutes: at most 120,000 tokens in any minute, and at least 90 % of the allowance in all."""
    sizes = random.Random(2)  # noqa: S311
    server = Server(2, requests=10_000, tokens=120_000, headers=told)
    limiter = EndpointLimiter(64, tokens_per_minute=None if told else 120_000)
    run = drive(limiter, server, 600, tokens=lambda: sizes.randint(300, 700), expected=expected)
    starts = run_virtual(run)
    assert busiest_minute(starts) <= 120_000 * 1.02
    assert sum(tokens for _, tokens in starts) >= 0.9 * 1_200_000
    assert server.refused <= 0.01 * server.answered


@pytest.mark.parametrize("limit", [1, 3, 25, 50, 99])
def test_small_limits_hold_too(limit):
    """However small the limit is, no minute exceeds it, and nine tenths of it are used."""
    server = Server(3, headers=False)
    starts = run_virtual(drive(EndpointLimiter(8, requests_per_minute=limit), server, 1200))
    assert busiest_minute(requests_of(starts)) <= limit
    assert len(starts) >= 0.9 * 20 * limit


def test_the_lower_of_two_limits_counts():
    """A limit of the user's below the server's is kept."""
    server = Server(4, requests=6000)
    starts = run_virtual(drive(EndpointLimiter(64, requests_per_minute=120), server, 180))
    assert busiest_minute(requests_of(starts)) <= 120


def test_an_allowance_shared_with_others_is_not_fought_over():
    """Two endpoints that share 600 requests per minute are refused rarely and use most of it."""
    server = Server(5, requests=600)

    async def both():
        await asyncio.gather(*(drive(EndpointLimiter(32, seed=n), server, 600, workers=32) for n in (1, 2)))

    run_virtual(both())
    assert server.answered >= 0.8 * 6000
    assert server.refused <= 0.1 * server.answered


@pytest.mark.parametrize("seed", range(3))
def test_without_headers_the_capacity_is_found(seed):
    """A silent server that takes 20 at once is kept at 70 % of its capacity, with under 10 % refusals."""
    server = Server(seed, capacity=20)
    starts = run_virtual(drive(EndpointLimiter(64, seed=seed), server, 300))
    assert server.answered >= 0.7 * 20 / 0.5 * 300
    assert server.refused <= 0.1 * len(starts)


def test_calls_are_first_come_first_served():
    """Waiting calls start in the order of their asking, large ones too."""
    order = []

    async def main():
        limiter = EndpointLimiter(4, requests_per_minute=120, tokens_per_minute=50_000)

        async def one(number):
            lease = await limiter.acquire(1000 if number % 3 else 4000)
            order.append(number)
            await asyncio.sleep(0.3)
            lease.settle(tokens=None, limits=SILENT, problem=None)

        await asyncio.gather(*(one(number) for number in range(100)))

    run_virtual(main())
    assert order == list(range(100))


def test_many_refusals_at_once_make_one_pause():
    """64 calls told to wait 20 s make the endpoint wait 20 s, once, and then begin with a few."""

    async def main():
        limiter = EndpointLimiter(64)
        await grown(limiter)
        leases = [await limiter.acquire(1) for _ in range(64)]
        await asyncio.sleep(1)
        refused_at = time()
        for lease in leases:
            lease.settle(tokens=None, limits=SILENT, problem=throttled(20.0))
            await asyncio.sleep(0.001)
        again = [asyncio.create_task(limiter.acquire(1)) for _ in range(64)]
        await asyncio.sleep(19.9 - (time() - refused_at))
        assert not any(task.done() for task in again)
        await asyncio.sleep(0.2)
        started = sum(task.done() for task in again)
        for task in again:
            task.cancel()
        return started

    assert run_virtual(main()) == 8


async def grown(limiter, calls=400):
    """Let the endpoint see enough answers to open fully."""
    server = Server(0)

    async def one():
        lease = await limiter.acquire(1)
        await server.call(1)
        lease.settle(tokens=1, limits=SILENT, problem=None)

    await asyncio.gather(*(one() for _ in range(calls)))


def test_pauses_grow_while_refusals_go_on_and_start_over_after_an_answer():
    """A server that refuses everything and names no time is left alone longer each time, up to half a minute."""

    async def main():
        limiter = EndpointLimiter(8, seed=7)
        starts = []
        for _ in range(LATEST - 1):
            (await limiter.acquire(1)).settle(tokens=None, limits=SILENT, problem=throttled())
        assert time() == 0
        for number in range(14):
            lease = await limiter.acquire(1)
            starts.append(time())
            problem = None if number == 12 else throttled()
            lease.settle(tokens=None, limits=SILENT, problem=problem)
        return [late - early for early, late in pairwise(starts)]

    waits = run_virtual(main())
    for number, wait in enumerate(waits[:12]):
        longest = min(30.0, 0.5 * 2**number)
        assert longest / 2 <= wait <= longest + 1e-3
    assert waits[12] == 0


def test_a_call_from_before_the_pause_does_not_prolong_it():
    """Late refusals of the same flight neither add a pause nor make the next one longer."""

    async def main():
        limiter = EndpointLimiter(8, seed=1)
        first, late = await limiter.acquire(1), await limiter.acquire(1)
        first.settle(tokens=None, limits=SILENT, problem=throttled())
        await asyncio.sleep(5)
        late.settle(tokens=None, limits=SILENT, problem=throttled())
        before = time()
        await limiter.acquire(1)
        return time() - before

    assert run_virtual(main()) == 0


def test_a_deadline_that_cannot_be_met_is_refused_at_once():
    """A call that would start too late, by the pace or a pause, is told so without waiting."""

    async def main():
        limiter = EndpointLimiter(8, requests_per_minute=6)
        lease = await limiter.acquire(1)
        with pytest.raises(DeadlineError, match=r"10\.1 s"):
            await limiter.acquire(1, deadline=time() + 9)
        waiting = asyncio.create_task(limiter.acquire(1, deadline=time() + 11))
        await asyncio.sleep(0)
        with pytest.raises(DeadlineError):
            await limiter.acquire(1, deadline=time() + 19)
        used_up = RateLimits(requests=Window(6, 0, 60.0))
        lease.settle(tokens=None, limits=used_up, problem=throttled(60.0))
        with pytest.raises(DeadlineError):
            await limiter.acquire(1, deadline=time() + 59)
        assert time() == 0
        with pytest.raises(DeadlineError):
            await waiting
        assert time() == 11

    run_virtual(main())


def test_a_place_that_is_not_freed_in_time_is_given_up_at_the_deadline():
    """Where only other calls are in the way, the wait ends at the deadline and leaves nothing behind."""

    async def main():
        limiter = EndpointLimiter(1)
        lease = await limiter.acquire(1)
        with pytest.raises(DeadlineError):
            await limiter.acquire(1, deadline=5.0)
        assert time() == 5.0
        lease.settle(tokens=None, limits=SILENT, problem=None)
        await limiter.acquire(1, deadline=5.0)

    run_virtual(main())


@pytest.mark.parametrize("granted", [False, True], ids=["still waiting", "just admitted"])
def test_a_cancelled_waiter_leaks_nothing_and_lets_the_next_one_in(granted):
    """Whoever is cancelled, before or after being admitted, takes neither a place nor an allowance along."""

    async def main():
        limiter = EndpointLimiter(1, requests_per_minute=60, tokens_per_minute=60_000)
        lease = await limiter.acquire(10)
        await asyncio.sleep(30)
        cancelled = asyncio.create_task(limiter.acquire(2000))
        following = asyncio.create_task(limiter.acquire(2000))
        await asyncio.sleep(0)
        if granted:
            lease.settle(tokens=10, limits=SILENT, problem=None)
        cancelled.cancel()
        await asyncio.sleep(0.5)
        assert cancelled.cancelled()
        if not granted:
            lease.settle(tokens=10, limits=SILENT, problem=None)
        lease = await following
        lease.settle(tokens=2000, limits=SILENT, problem=None)
        assert time() == 30.5
        assert limiter._running == limiter._waiting == limiter._running_tokens == limiter._waiting_tokens == 0

    run_virtual(main())


@pytest.mark.parametrize("seed", range(3))
def test_random_cancellations_leave_a_working_endpoint(seed):
    """However calls are cancelled, given up and refused, all places are free in the end and everyone was served."""
    chance = random.Random(seed)  # noqa: S311

    async def main():
        limiter = EndpointLimiter(6, requests_per_minute=3000, seed=seed)

        async def one():
            await asyncio.sleep(chance.uniform(0, 20))
            deadline = time() + chance.uniform(0, 5) if chance.random() < 0.3 else None
            lease = await limiter.acquire(chance.randint(1, 100), deadline)
            problem = chance.choice([None, None, None, throttled(), Problem("broken", "cut", sent=True)])
            try:
                await asyncio.sleep(chance.uniform(0, 0.2))
            finally:
                lease.settle(tokens=None, limits=SILENT, problem=problem)

        tasks = [asyncio.create_task(one()) for _ in range(300)]
        for task in chance.sample(tasks, 100):
            asyncio.get_running_loop().call_later(chance.uniform(0, 20), task.cancel)
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(end is None or isinstance(end, (DeadlineError, asyncio.CancelledError)) for end in ends)
        assert sum(end is None for end in ends) > 50
        assert limiter._running == limiter._waiting == limiter._running_tokens == limiter._waiting_tokens == 0
        assert limiter._timer is None
        assert not limiter._queue

    run_virtual(main())


def test_connections_are_not_opened_all_at_once():
    """Even a server that allows everything sees eight calls first, and twice as many a round trip later."""

    async def main():
        limiter = EndpointLimiter(64)
        tasks = [asyncio.create_task(limiter.acquire(1)) for _ in range(64)]
        await asyncio.sleep(1)
        first = [task.result() for task in tasks if task.done()]
        assert len(first) == 8
        for lease in first:
            lease.settle(tokens=1, limits=SILENT, problem=None)
        await asyncio.sleep(1)
        assert sum(task.done() for task in tasks) == 8 + 16
        for task in tasks:
            task.cancel()

    run_virtual(main())


@pytest.mark.parametrize(("kind", "shrinks"), [("overloaded", True), ("timeout", True), ("broken", False)])
def test_only_signs_of_overload_shrink_the_window_and_once_a_round_trip(kind, shrinks):
    """Sixteen calls that fail together cost three tenths of the window, not all of it."""

    async def main():
        limiter = EndpointLimiter(16)
        await grown(limiter, calls=100)
        assert limiter._window.size == 16
        leases = [await limiter.acquire(1) for _ in range(16)]
        for lease in leases:
            lease.settle(tokens=None, limits=SILENT, problem=Problem(kind, "too much"))
        return limiter._window.size

    assert run_virtual(main()) == pytest.approx(16 * 0.7 if shrinks else 16)


def test_where_the_server_paces_a_refusal_does_not_cost_the_window():
    """With headers the endpoint returns to its full width after a pause as fast as it first reached it."""
    told = openai_limits({"x-ratelimit-limit-requests": "100000"}, now=0)

    async def main():
        limiter = EndpointLimiter(32)
        await grown(limiter, calls=100)
        lease = await limiter.acquire(1)
        lease.settle(tokens=None, limits=told, problem=throttled(1.0))
        assert limiter._window.size == 8
        await grown(limiter, calls=100)
        assert limiter._window.size == 32

    run_virtual(main())


def test_anthropic_headers_pace_by_their_input_limit():
    """Where input and output are limited apart, a minute's tokens stay below the input limit."""
    said = {
        f"anthropic-ratelimit-{name}-limit": limit for name, limit in (("input-tokens", "30000"), ("tokens", "8000"))
    }

    async def main():
        limiter = EndpointLimiter(64)
        limits, starts = anthropic_limits(said, now=0), []

        async def one():
            lease = await limiter.acquire(300)
            starts.append((time(), 300))
            await asyncio.sleep(0.5)
            lease.settle(tokens=300, limits=limits, problem=None)

        await asyncio.gather(*(one() for _ in range(500)))
        return starts

    starts = run_virtual(main())
    assert busiest_minute(starts) <= 30_000 * 1.02
    assert starts[-1][0] <= 300 / 0.9


def test_hardly_any_output_left_makes_the_endpoint_take_a_breath():
    """An output allowance that is nearly used up holds the next start back for a moment."""
    told = anthropic_limits(
        {"anthropic-ratelimit-output-tokens-limit": "8000", "anthropic-ratelimit-output-tokens-remaining": "100"},
        now=0,
    )

    async def main():
        limiter = EndpointLimiter(8)
        (await limiter.acquire(1)).settle(tokens=1, limits=told, problem=None)
        await limiter.acquire(1)
        return time()

    assert run_virtual(main()) == pytest.approx(2.4)


def test_a_lease_is_settled_once():
    """A second settling would free a place twice, and is refused."""

    async def main():
        lease = await EndpointLimiter().acquire(1)
        lease.settle(tokens=1, limits=SILENT, problem=None)
        with pytest.raises(RuntimeError):
            lease.settle(tokens=1, limits=SILENT, problem=None)

    run_virtual(main())


@pytest.mark.parametrize("name", ["max_concurrency", "requests_per_minute", "tokens_per_minute"])
def test_limits_below_one_are_refused(name):
    """A limit that would let nothing through is a mistake, named as such."""
    with pytest.raises(UsageError, match=name):
        EndpointLimiter(**{name: 0})


def test_one_limiter_serves_one_loop_after_another():
    """A limiter that several runs use, one after the other, keeps working after one was cut short."""
    limiter = EndpointLimiter(2, requests_per_minute=20)

    async def cut_short():
        lease = await limiter.acquire(1)
        waiting = asyncio.create_task(limiter.acquire(1))
        await asyncio.sleep(1)
        lease.settle(tokens=1, limits=SILENT, problem=None)
        return waiting

    async def whole():
        for _ in range(3):
            lease = await limiter.acquire(1)
            lease.settle(tokens=1, limits=SILENT, problem=None)

    assert run_virtual(cut_short()).cancelled()
    run_virtual(whole())


# A clock that stands still, or jumps far ahead.


def jump(loop, ahead):
    """Let a virtual clock jump; beyond 9e6 s asyncio's own timers no longer fall due on a clock that only jumps."""
    loop.now += ahead


def test_a_clock_that_stands_still_lets_no_deadline_hang():
    """What a minute allows starts; all else is refused at once, because its time would never come."""

    async def main():
        limiter, refused = EndpointLimiter(requests_per_minute=60), 0
        for _ in range(200):
            try:
                (await limiter.acquire(10, deadline=time() + 0.01)).settle(tokens=10, limits=SILENT, problem=None)
            except DeadlineError:
                refused += 1
        return refused, time()

    refused, now = run_held(main())
    assert now == 0.0
    assert 190 <= refused < 200


@pytest.mark.parametrize("ahead", [61.0, 86_400.0, 4e6])
def test_a_clock_that_jumps_ahead_is_worth_one_fresh_start(ahead):
    """Calls in line go on, and a second after the jump no more have started than in the first second of all."""

    async def main():
        limiter, loop, starts = EndpointLimiter(requests_per_minute=60), asyncio.get_running_loop(), []

        async def call():
            lease = await limiter.acquire(10)
            starts.append(loop.time())
            lease.settle(tokens=10, limits=SILENT, problem=None)

        loop.call_later(10.5, jump, loop, ahead)
        await asyncio.gather(*[call() for _ in range(120)])
        return starts

    starts = run_virtual(main())
    assert len(starts) == 120
    before = sum(start < 10.5 for start in starts)
    soon = sum(10.5 + ahead <= start < 11.5 + ahead for start in starts)
    assert 0 < soon <= max(sum(start < 1.0 for start in starts), 1) + 1
    assert before < 120


@pytest.mark.parametrize("ahead", [60.0, 86_400.0, 4e6])
def test_a_run_outlives_a_clock_that_jumps_ahead(tmp_path, monkeypatch, ahead):
    """It ends, all is scored, and the same run again asks for nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    script = Script(latency=0.5)

    async def main():
        loop = asyncio.get_running_loop()
        loop.call_later(1.2, jump, loop, ahead)
        connection = in_memory(script, timeout=50.0)
        return await judged(pools(80), ledger=tmp_path, connection=connection, max_concurrency=8)

    verdicts, engine = run_virtual(main())
    counts = tally(verdicts)
    assert counts == {"scored": 80}
    assert engine.totals.bill.unknown >= script.counts.answers - counts["scored"]
    verdicts, again = run_virtual(judged(pools(80), ledger=tmp_path, connection=in_memory(script)))
    assert tally(verdicts) == {"scored": 80}
    assert again.totals.bill.from_ledger == counts["scored"]
