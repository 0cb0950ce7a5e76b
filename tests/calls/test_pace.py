"""Waiting: asking again, what servers say about it, and allowances a minute."""

from __future__ import annotations

import asyncio
import math
import random
from bisect import bisect_left
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.ask import TRANSIENT, AttemptError, Problem
from bonwise.calls.limiter import Bucket, EndpointLimiter
from bonwise.calls.rate_limits import LONGEST_WAIT, RateLimits, Window, anthropic_limits, openai_limits, retry_after
from bonwise.calls.retry import until_answered
from bonwise.testing.script import Script
from calls.scripted_runs import in_memory, judged, pools, tally
from calls.virtual_time import run_virtual
from http_libraries import INSTALLED

# Asking again.


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


# What servers say about waiting, in all their spellings.


NOW = datetime(1994, 11, 6, 8, 49, 7, tzinfo=UTC).timestamp()
OPENAI = [f"x-ratelimit-{part}-{what}" for part in ("limit", "remaining", "reset") for what in ("requests", "tokens")]
ANTHROPIC = [
    f"anthropic-ratelimit-{what}-{part}"
    for what in ("requests", "tokens", "input-tokens", "output-tokens")
    for part in ("limit", "remaining", "reset")
]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"Retry-After": "0"}, 0),
        ({"RETRY-AFTER": ".25"}, 0.25),
        ({"retry-after-ms": "200"}, 0.2),
        ({"retry-after-ms": "200.5", "retry-after": "9"}, 0.2005),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "3600"}, 3600),
        ({"retry-after": "86400"}, 86400),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 30),
        ({"retry-after": "Sunday, 06-Nov-94 08:49:37 GMT"}, 30),
        ({"retry-after": "Sun Nov  6 08:49:37 1994"}, 30),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:00 GMT"}, 0),
    ],
)
def test_a_wait_is_read_in_every_spelling(headers, seconds):
    """Seconds, decimals, milliseconds and the three forms of an HTTP date all say how long to wait."""
    assert retry_after(headers, NOW) == pytest.approx(seconds)
    for http in INSTALLED:
        assert retry_after(http.Headers(headers), NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "", "-1", "-0.5", "nan", "inf", "-inf", "Infinity", "1e300", "1e3", "1_0", "١٢", "soon", "7 s", "7, 7",
        "86401", "9" * 400, "Sun, 06 Nov 2099 08:49:37 GMT", "Sun, 99 Nov 1994 08:49:37 GMT", ".", "0x10",
    ],
)  # fmt: skip
def test_an_absurd_wait_counts_as_not_said(text):
    """Negative, infinite, endless or unreadable waits are ignored."""
    assert retry_after({"retry-after": text}, NOW) is None
    assert retry_after({"retry-after-ms": text if text != "86401" else "86400001"}, NOW) is None


def test_no_header_says_nothing():
    """Without headers there is no wait and there are no limits."""
    assert retry_after({}, NOW) is None
    assert openai_limits({}, NOW) == anthropic_limits({}, NOW) == RateLimits()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6ms", 0.006), ("1m3s", 63), ("1h2m", 3720), ("0s", 0), ("59", 59), ("7.66s", 7.66), ("2m59.56s", 179.56),
        ("1m", 60), ("120ms", 0.12), ("500µs", 0.0005), ("1s500ms", 1.5), ("1d", 86400), ("1m0.5s", 60.5),
        ("2d", None), ("-1s", None), ("s", None), ("1 s", None), ("1x", None), ("", None), ("1m3", None),
        ("nan", None),
    ],
)  # fmt: skip
def test_a_reset_is_read_in_every_spelling(text, seconds):
    """Units from nanoseconds to a day, joined or alone, or plain seconds; anything else is not said."""
    window = openai_limits({"x-ratelimit-limit-tokens": "10", "x-ratelimit-reset-tokens": text}, NOW).tokens
    assert window.reset == (None if seconds is None else pytest.approx(seconds))


def test_openai_headers_are_read():
    """Both windows come out as sent, whatever the case of the names."""
    values = dict(zip(OPENAI, ["600", "150000", "599", "149984", "100ms", "1m3s"], strict=True))
    expected = RateLimits(requests=Window(600, 599, 0.1), tokens=Window(150000, 149984, 63.0))
    of_libraries = (http.Headers(values) for http in INSTALLED)
    for headers in (values, {name.title(): value for name, value in values.items()}, *of_libraries):
        assert openai_limits(headers, NOW) == expected


def test_anthropic_headers_are_read():
    """All four windows come out as sent; a reset in the past is now."""
    resets = ["1994-11-06T08:49:37Z", "1994-11-06T09:49:37+01:00", "1994-11-06T08:49:37.5Z", "1994-11-06T08:00:00Z"]
    values = [value for number, reset in enumerate(resets) for value in (str(100 + number), str(number), reset)]
    assert anthropic_limits(dict(zip(ANTHROPIC, values, strict=True)), NOW) == RateLimits(
        requests=Window(100, 0, 30.0),
        tokens=Window(101, 1, 30.0),
        input_tokens=Window(102, 2, 30.5),
        output_tokens=Window(103, 3, 0.0),
    )


@pytest.mark.parametrize("limit", ["0", "-1", "many", "", "1e9", "12.5"])
def test_a_limit_that_cannot_be_meant_names_no_window(limit):
    """A limit of nothing would stop the endpoint for ever, and counts as not said."""
    assert openai_limits({"x-ratelimit-limit-requests": limit}, NOW).requests is None
    assert anthropic_limits({"anthropic-ratelimit-tokens-limit": limit}, NOW).tokens is None


def test_a_garbled_field_costs_only_itself():
    """Where one field is unreadable the others still count."""
    headers = {"x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "-3"}
    assert openai_limits(headers, NOW).requests == Window(5)


headers_of_any_kind = st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", *OPENAI, *ANTHROPIC]),
    st.one_of(
        st.text(max_size=40),
        st.floats().map(str),
        st.integers().map(str),
        st.datetimes().map(str),
        st.datetimes().map(lambda date: date.strftime("%a, %d %b %Y %H:%M:%S GMT")),
        st.from_regex(r"([0-9.]{1,20}(h|m|s|ms|d))*", fullmatch=True),
        st.from_regex(r"[A-Za-z0-9:,+ -]{0,40}", fullmatch=True),
    ),
)


@given(headers_of_any_kind, st.floats(0, 1e11))
def test_no_header_can_raise_or_give_an_absurd_number(headers, now):
    """Whatever is in the headers, what is read is absent, or finite, and no longer than a day."""
    limits = [openai_limits(headers, now), anthropic_limits(headers, now)]
    windows = [w for each in limits for w in (each.requests, each.tokens, each.input_tokens, each.output_tokens) if w]
    for seconds in [retry_after(headers, now), *(window.reset for window in windows)]:
        assert seconds is None or (math.isfinite(seconds) and 0 <= seconds <= LONGEST_WAIT)
    assert all(window.limit > 0 and (window.remaining is None or window.remaining >= 0) for window in windows)


# One allowance per minute.


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


# A limit of requests a minute that a server names is kept, and used.


LIMIT = 600
MINUTE = 60.0


class Watched(Script):
    """Notes when requests arrive."""

    def __post_init__(self):
        super().__post_init__()
        self.arrivals = []

    def receive(self, method, path, headers, content, now):
        """Note the moment."""
        self.arrivals.append(now)
        return super().receive(method, path, headers, content, now)


def busiest_minute_of_pace(arrivals):
    """Return the most arrivals in any minute."""
    return max(bisect_left(arrivals, start + MINUTE) - at for at, start in enumerate(arrivals))


@pytest.mark.parametrize(
    ("minutes", "latency"),
    [(2, 0.2), pytest.param(10, 0.2, marks=pytest.mark.slow), pytest.param(10, 5.0, marks=pytest.mark.slow)],
)
def test_the_servers_pace_is_kept_and_used(monkeypatch, minutes, latency, request):
    """At 600 requests per minute no minute gets 2 % more, none is refused, and over the whole 90 % are reached."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    script = Watched(rate_limit=LIMIT, latency=latency)
    judgments = minutes * LIMIT
    verdicts, _ = run_virtual(judged(pools(judgments), connection=in_memory(script), max_concurrency=64))
    assert tally(verdicts) == {"scored": judgments}
    arrivals = script.arrivals
    most = busiest_minute_of_pace(arrivals)
    reached = judgments / (arrivals[-1] / MINUTE) / LIMIT
    request.node.user_properties.append(("busiest minute", most))
    request.node.user_properties.append(("reached", reached))
    assert most <= 1.02 * LIMIT
    assert reached >= 0.9
    assert script.counts.faults["throttled"] == 0
