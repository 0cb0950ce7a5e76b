"""Which names announce a secret, and which values look like one."""

from __future__ import annotations

import re

__all__ = ["KEY_LIKE", "SCHEME_AND_KEY", "is_secret"]

# Servers echo keys masked in the middle, so stars and dots belong to them.
KEY_LIKE = re.compile(r"(?<![\w-])(?:(?:sk|pk|rk|gsk|xai|nvapi|hf|key)[-_][\w*.…-]{6,}|AIza[\w*-]{10,})")
SCHEME_AND_KEY = re.compile(r"\b(bearer|basic)\s+[^\s\"',;]{6,}", re.IGNORECASE)

_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|credentials?|cookie|signature|sig|code)$"
    r"|(?<![a-z])(?:key|token|secret|password|auth|authorization|cookie|session|jwt|signature|sig)(?![a-z])",
    re.IGNORECASE,
)


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
