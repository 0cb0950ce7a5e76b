"""One allowance per minute."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.pace import Bucket
from bonwise.calls.rate_limits import Window


def greedy_starts(bucket, amounts):
    """Start each amount as early as the bucket allows."""
    now, starts = 0.0, []
    for amount in amounts:
        now += bucket.wait(amount, now)
        bucket.charge(amount, now)
        starts.append((now, amount))
    return starts


def busiest_minute(starts):
    """Return the largest sum in any 60 seconds, by trying every start as the first one."""
    return max(sum(a for when, a in starts if first <= when < first + 60 - 1e-6) for first, _ in starts)


@pytest.mark.parametrize("limit", [1, 2, 7, 25, 60, 101, 600])
def test_no_minute_gets_more_than_the_limit(limit):
    """As early as possible is still at most the limit in any 60 s, the first ones included, and 90 % of it later."""
    starts = greedy_starts(Bucket(limit), [1] * (3 * limit + 2))
    assert busiest_minute(starts) <= limit
    assert starts[-1][0] <= 60 * (3 * limit + 1) / (0.9 * limit)


@given(st.integers(1000, 100_000), st.integers(0, 2**32))
def test_no_minute_gets_more_tokens_than_the_limit(limit, seed):
    """Amounts of up to 4 % of the limit never add up to more than 2 % over it in any minute."""
    amounts = random.Random(seed)  # noqa: S311
    starts = greedy_starts(Bucket(limit), [amounts.randint(1, limit // 25) for _ in range(150)])
    assert busiest_minute(starts) <= 1.02 * limit


def test_an_amount_larger_than_the_bucket_starts_and_leaves_a_debt():
    """A call of half a minute's tokens is not stuck for ever; the next one waits about half a minute."""
    bucket = Bucket(6000)
    assert bucket.wait(3000, 0.0) == 0
    bucket.charge(3000, 0.0)
    assert 28 < bucket.wait(240, 0.0) < 33


def test_what_was_not_used_is_given_back():
    """A call charged too much frees the difference, but never more than the bucket holds."""
    bucket = Bucket(6000)
    bucket.charge(240, 0.0)
    assert bucket.wait(200, 0.0) > 0
    bucket.charge(-200, 0.0)
    assert bucket.wait(200, 0.0) == 0
    bucket.charge(-100_000, 0.0)
    bucket.charge(240, 0.0)
    assert bucket.wait(1, 0.0) > 0


def test_what_was_used_beyond_the_guess_is_waited_for():
    """A call that used more than was charged puts the next one off by the difference."""
    bucket = Bucket(6000)
    bucket.charge(100, 0.0)
    bucket.charge(1140, 0.0)
    assert 10 < bucket.wait(1, 0.0) < 11


def test_an_absurd_count_costs_a_minute_at_most():
    """A server that reports a billion tokens does not stop the endpoint for days."""
    bucket = Bucket(6000)
    bucket.charge(10**9, 0.0)
    assert bucket.wait(1, 0.0) < 66


def test_those_ahead_are_waited_for():
    """The wait behind a queue is that of the whole queue."""
    bucket = Bucket(60)
    bucket.charge(2, 0.0)
    assert bucket.wait(1, 0.0, ahead=9) == pytest.approx(10 * bucket.wait(1, 0.0))


def test_a_server_that_knows_of_less_is_believed():
    """Of two remaining requests one is already spoken for: the next may start, the one after waits."""
    bucket = Bucket(600)
    bucket.sync(Window(600, remaining=2), now=0.0, since=0.0, unseen=1)
    assert bucket.wait(1, 0.0) == 0
    bucket.charge(1, 0.0)
    assert bucket.wait(1, 0.0) > 0


def test_a_server_that_knows_of_more_does_not_allow_a_burst():
    """A full allowance at the server does not refill the bucket: starts stay spread."""
    bucket = Bucket(600)
    bucket.charge(24, 0.0)
    bucket.sync(Window(600, remaining=600), now=0.0, since=0.0, unseen=0)
    assert bucket.wait(1, 0.0) > 0


def test_what_flowed_in_since_the_answer_counts():
    """An old answer that says "none left" does not hold back what its server has allowed since."""
    bucket = Bucket(600)
    bucket.sync(Window(600, remaining=0), now=10.0, since=9.0, unseen=0)
    assert bucket.wait(1, 10.0) == 0


@pytest.mark.parametrize(("own", "limit"), [(False, 1200), (True, 600)])
def test_a_changed_limit_is_taken_over(own, limit):
    """The server's new limit holds, unless the user's own is lower."""
    bucket = Bucket(600, own=own)
    bucket.sync(Window(1200), now=0.0, since=0.0, unseen=0)
    assert bucket.limit == limit


def test_what_was_spent_before_the_limit_was_known_counts():
    """A bucket that is made after eight starts has them behind it."""
    assert Bucket(60, spent=8).wait(1, 0.0) == pytest.approx(7.0, rel=0.05)
