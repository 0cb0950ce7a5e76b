"""Asking again."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from bonwise.calls.limiter import EndpointLimiter
from bonwise.calls.rate_limits import RateLimits
from bonwise.calls.reply import TRANSIENT, AttemptError, Problem
from bonwise.calls.retry import until_answered
from calls.virtual_time import run_virtual

FINAL = ["unsupported", "rejected", "denied", "quota"]


class Flaky:
    """Fails with the given problems, one an attempt, then answers; notes when it was asked."""

    def __init__(self, *problems):
        self.problems = list(problems)
        self.asked = []
        self.numbers = []

    async def __call__(self, number):
        """Answer with the number of the attempt."""
        self.asked.append(asyncio.get_running_loop().time())
        self.numbers.append(number)
        if self.problems:
            raise AttemptError(self.problems.pop(0))
        return number

    @property
    def waits(self):
        """The seconds between attempts."""
        return [late - early for early, late in pairwise(self.asked)]


@pytest.mark.parametrize("kind", sorted(TRANSIENT))
def test_what_may_pass_is_asked_again(kind):
    """Every transient problem is followed by another attempt, numbered from 1."""
    attempt = Flaky(*[Problem(kind, "later")] * 3)
    assert run_virtual(until_answered(attempt)) == 4
    assert attempt.numbers == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", FINAL)
def test_what_is_final_is_asked_once(kind):
    """A problem that waiting does not mend ends it at once, with that problem."""
    attempt = Flaky(Problem(kind, "no"))
    with pytest.raises(AttemptError) as caught:
        run_virtual(until_answered(attempt))
    assert caught.value.problem.kind == kind
    assert attempt.asked == [0]


def test_the_last_problem_is_raised_after_the_last_attempt():
    """Twelve attempts are made by default; what is raised is what the twelfth met."""
    attempt = Flaky(*[Problem("overloaded", f"number {n}") for n in range(1, 20)])
    with pytest.raises(AttemptError, match="number 12"):
        run_virtual(until_answered(attempt))
    assert len(attempt.asked) == 12


def test_waits_double_with_jitter_up_to_a_bound():
    """Without a word from the server each wait is between half and all of a time that doubles up to 45 s."""
    attempt = Flaky(*[Problem("broken", "cut")] * 11)
    run_virtual(until_answered(attempt, seed=3))
    for number, wait in enumerate(attempt.waits):
        longest = min(45.0, 0.1 * 2**number)
        assert longest / 2 <= wait <= longest
    assert len({wait / min(45.0, 0.1 * 2**n) for n, wait in enumerate(attempt.waits)}) == 11


def test_the_same_seed_gives_the_same_waits():
    """Jitter is drawn from the seed alone."""
    attempts = [Flaky(*[Problem("timeout", "late")] * 5) for _ in range(3)]
    for attempt, seed in zip(attempts, [1, 1, 2], strict=True):
        run_virtual(until_answered(attempt, seed=seed))
    assert attempts[0].waits == attempts[1].waits != attempts[2].waits


def test_the_server_s_word_is_kept():
    """A wait that the server names is waited exactly; a wait of 0 counts as not named."""
    attempt = Flaky(Problem("overloaded", "", retry_after=7.5), Problem("overloaded", "", retry_after=0.0))
    run_virtual(until_answered(attempt))
    assert attempt.waits[0] == 7.5
    assert attempt.waits[1] >= 0.1


@pytest.mark.parametrize(("deadline", "asked"), [(9.9, 1), (10.1, 2)])
def test_a_wait_beyond_the_deadline_is_not_begun(deadline, asked):
    """Where the next attempt would come too late the problem is raised at once, without waiting."""

    async def main():
        attempt = Flaky(*[Problem("throttled", "", retry_after=10.0)] * 2)
        with pytest.raises(AttemptError):
            await until_answered(attempt, deadline=deadline)
        assert attempt.asked == [0, 10][:asked]
        assert asyncio.get_running_loop().time() == attempt.asked[-1]

    run_virtual(main())


def test_other_errors_pass_through():
    """An error that is no attempt's is raised as it is, after one attempt."""

    async def attempt(number):
        raise KeyError(number)

    with pytest.raises(KeyError, match="1"):
        run_virtual(until_answered(attempt))


@pytest.mark.parametrize("after", [0.1, 5.0], ids=["in an attempt", "between attempts"])
def test_cancelling_ends_it(after):
    """A cancelled call makes no further attempt."""
    asked = []

    async def attempt(number):
        asked.append(number)
        await asyncio.sleep(1)
        raise AttemptError(Problem("overloaded", "", retry_after=100.0))

    async def main():
        task = asyncio.create_task(until_answered(attempt))
        await asyncio.sleep(after)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(300)

    run_virtual(main())
    assert asked == [1]


def test_a_pause_of_the_endpoint_and_the_wait_of_a_call_are_one_wait():
    """A call told to wait 20 s, in a endpoint that pauses 20 s, starts again after 20 s, not 40."""
    asked = []

    async def main():
        limiter = EndpointLimiter()

        async def attempt(number):
            lease = await limiter.acquire(1)
            asked.append(asyncio.get_running_loop().time())
            problem = Problem("throttled", "", retry_after=20.0) if number == 1 else None
            lease.settle(tokens=None, limits=RateLimits(), problem=problem)
            if problem:
                raise AttemptError(problem)

        await until_answered(attempt)

    run_virtual(main())
    assert asked == [0, 20]


def test_calls_side_by_side_do_not_disturb_each_other():
    """Calls that fail and wait at the same time each keep their own count."""

    async def main():
        attempts = [Flaky(*[Problem("broken", "cut")] * failures) for failures in range(8)]
        return await asyncio.gather(*(until_answered(attempt) for attempt in attempts))

    assert run_virtual(main()) == list(range(1, 9))
