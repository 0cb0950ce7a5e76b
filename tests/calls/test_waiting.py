"""What servers say about waiting, in all their spellings."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.rate_limits import LONGEST_WAIT, RateLimits, Window, anthropic_limits, openai_limits, retry_after
from http_libraries import INSTALLED

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
