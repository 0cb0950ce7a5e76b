"""Which names announce a secret, and which values look like one."""

from __future__ import annotations

import hashlib
import re
from typing import AnyStr

__all__ = [
    "KEY_LIKE",
    "SCHEME_AND_KEY",
    "SHORTEST_SECRET",
    "as_a_word",
    "is_secret",
    "is_secret_in_query",
    "shown_in_query",
]

SHORTEST_SECRET = 4
"""Characters below which nothing is looked for: such a word is found in every message."""
_SHORTEST_ANYWHERE = 6

# Servers echo keys masked in the middle, so stars and dots belong to them.
KEY_LIKE = re.compile(r"(?<![\w-])(?:(?:sk|pk|rk|gsk|xai|nvapi|hf|key)[-_][\w*.…-]{6,}|AIza[\w*-]{10,})")
SCHEME_AND_KEY = re.compile(r"\b(bearer|basic)\s+[^\s\"',;]{6,}", re.IGNORECASE)

_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|passphrase|pwd|credentials?|cookie|signature|sig|code)$"
    r"|(?<![a-z])(?:key|token|secret|password|pass|pwd|pin|otp|hmac|auth|authorization|cookie|session|jwt|signature|sig)"
    r"(?![a-z])",
    re.IGNORECASE,
)
# One letter that services use for a key, and others for a count.
_SHORT_NAME = re.compile(r"(?:k|ak|sk|pw)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9.]*")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TOKEN_PART = re.compile(r"[A-Za-z0-9+/=_]{16,}")
_LETTERS_ONLY = 28
"""Letters in one run beyond which they are no word and no name."""


def is_secret(name: str, value: str = "") -> bool:
    """Whether a header or a part of a query is to be treated as a secret, by its name or by its looks.

    Examples
    --------
    >>> is_secret("x-api-key"), is_secret("Cf-Aig-Authorization"), is_secret("x-upstream", "Bearer abc.def-12")
    (True, True, True)
    >>> is_secret("api-version", "2024-10-21"), is_secret("anthropic-beta", "context-1m-2025-08-07")
    (False, False)
    """
    return bool(_NAME.search(name) or KEY_LIKE.search(value) or SCHEME_AND_KEY.search(value))


def is_secret_in_query(name: str, value: str) -> bool:
    """Whether a part of a query is to be treated as a secret.

    Examples
    --------
    >>> is_secret_in_query("pwd", "hunter2"), is_secret_in_query("k", "hunter2"), is_secret_in_query("k", "5")
    (True, True, False)
    >>> is_secret_in_query("x", "3fA9c27Be01d44f8a6"), is_secret_in_query("deployment", "gpt-5-mini-2025-08-07")
    (True, False)
    """
    short = _SHORT_NAME.fullmatch(name) and len(value) >= SHORTEST_SECRET and not _COUNT.fullmatch(value)
    return bool(short) or is_secret(name, value) or _looks_random(value)


def shown_in_query(name: str, value: str) -> str | None:
    """Return a part of a query as it may be stored and shown; None for a secret.

    A value that only looks like a key may also name a deployment. Its digest tells two of them apart, and is too long
    a guess to lead back to it.

    Examples
    --------
    >>> shown_in_query("api-version", "2024-10-21"), shown_in_query("api-key", "hush")
    ('2024-10-21', None)
    >>> shown_in_query("tenant", "9b2f1c7e-3d54-4a0e-8f21-7c6a5b4d3e2f")
    'sha256-aa144a7b3877'
    """
    if is_secret(name, value):
        return None
    if _looks_random(value):
        return f"sha256-{hashlib.sha256(value.encode()).hexdigest()[:12]}"
    return None if is_secret_in_query(name, value) else value


def _looks_random(value: str) -> bool:
    """Whether a value looks as if a machine had drawn it: too long and too mixed for a word, a date or a name."""
    return bool(_UUID.search(value)) or any(_is_mixed(part) for part in _TOKEN_PART.findall(value))


def as_a_word(secret: AnyStr) -> re.Pattern[AnyStr]:
    """Return what finds a secret: anywhere, or, where it has fewer than 6 characters, as a word of its own.

    A shorter one is part of other words, such as ``token`` of ``max_tokens``.

    Examples
    --------
    >>> as_a_word("token").sub("[key]", "max_tokens: token")
    'max_tokens: [key]'
    """
    word = re.escape(secret)
    if len(secret) >= _SHORTEST_ANYWHERE:
        return re.compile(word)
    if isinstance(word, bytes):
        return re.compile(rb"(?<![A-Za-z0-9_])" + word + rb"(?![A-Za-z0-9_])")
    return re.compile(r"(?<![A-Za-z0-9_])" + word + r"(?![A-Za-z0-9_])")


def _is_mixed(part: str) -> bool:
    digits = sum(one.isdigit() for one in part)
    return (bool(digits) and digits < len(part)) or len(part) >= _LETTERS_ONLY
