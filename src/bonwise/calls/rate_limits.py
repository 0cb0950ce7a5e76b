"""How long a server asks to wait, and what pace it allows, read from its headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Window:
    """One allowance."""

    limit: int
    """Per minute."""
    remaining: int | None = None
    """Left now."""
    reset: float | None = None
    """Seconds until it is full again."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Allowances that a response named, else None; `tokens` is input and output, unless servers count them apart."""

    requests: Window | None = None
    tokens: Window | None = None
    input_tokens: Window | None = None
    output_tokens: Window | None = None


PATIENCE = 600.0
"""Seconds that a server may ask to wait; what asks for more is left for a later run."""

LONGEST_WAIT = 86_400.0
"""One day, in seconds. A longer wait is no plausible pace and counts as not said: nobody wants to find a run
asleep until next year because of one header. Shorter ones are returned as told; the caller's deadline decides."""

DIGITS = re.compile(r"[0-9]{1,15}")
DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15}")
PART = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
DURATION = re.compile(rf"(?:{PART}(?:ms|us|µs|ns|d|h|m|s))+")
STEP = re.compile(rf"({PART})(ms|us|µs|ns|d|h|m|s)")
SECONDS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Read ``retry-after-ms``, else ``retry-after``: seconds up to `LONGEST_WAIT`, None where unusable."""
    lowered = _lower(headers)
    milliseconds = _decimal(lowered.get("retry-after-ms"))
    if milliseconds is not None and milliseconds <= LONGEST_WAIT * 1000:
        return milliseconds / 1000
    stated = lowered.get("retry-after")
    seconds = _decimal(stated)
    return _plausible(_until(stated, now, parsedate_to_datetime) if seconds is None else seconds)


def openai_limits(headers: Mapping[str, str], now: float) -> RateLimits:
    """Read ``x-ratelimit-{limit,remaining,reset}-{requests,tokens}``; None of a window without a usable limit."""
    del now
    lowered = _lower(headers)

    def window(what: str) -> Window | None:
        limit = _limit(lowered.get(f"x-ratelimit-limit-{what}"))
        if limit is None:
            return None
        left, reset = lowered.get(f"x-ratelimit-remaining-{what}"), lowered.get(f"x-ratelimit-reset-{what}")
        return Window(limit, _count(left), _duration(reset))

    return RateLimits(requests=window("requests"), tokens=window("tokens"))


def anthropic_limits(headers: Mapping[str, str], now: float) -> RateLimits:
    """Read ``anthropic-ratelimit-{...}-{limit,remaining,reset}`` likewise; a reset is a date."""
    lowered = _lower(headers)

    def window(what: str) -> Window | None:
        stem = f"anthropic-ratelimit-{what}-"
        limit = _limit(lowered.get(stem + "limit"))
        if limit is None:
            return None
        reset = _plausible(_until(lowered.get(stem + "reset"), now, datetime.fromisoformat))
        return Window(limit, _count(lowered.get(stem + "remaining")), reset)

    return RateLimits(
        requests=window("requests"),
        tokens=window("tokens"),
        input_tokens=window("input-tokens"),
        output_tokens=window("output-tokens"),
    )


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _plausible(seconds: float | None) -> float | None:
    return seconds if seconds is not None and seconds <= LONGEST_WAIT else None


def _decimal(text: str | None) -> float | None:
    # float() alone would also take "inf", "nan", "1_0", "1e300" and digits of other scripts.
    return float(text) if text is not None and DECIMAL.fullmatch(text := text.strip()) else None


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and DIGITS.fullmatch(text := text.strip()) else None


def _limit(text: str | None) -> int | None:
    # Some gateways write 0 or -1 for "no limit"; taken literally it would stop everything.
    return _count(text) or None


def _duration(text: str | None) -> float | None:
    if text is None or (plain := _decimal(text)) is not None:
        return _plausible(plain) if text is not None else None
    text = text.strip()
    if not DURATION.fullmatch(text):
        return None
    return _plausible(sum(float(number) * SECONDS[unit] for number, unit in STEP.findall(text)))


def _until(text: str | None, now: float, parse: Callable[[str], datetime]) -> float | None:
    if text is None:
        return None
    try:
        date = parse(text.strip())
        # A date without a zone is the asctime form of HTTP, which is in UTC.
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
