"""JSON as it comes over the wire."""

from __future__ import annotations

import json
from typing import Any

from bonwise.calls.providers.complaint import read_complaint
from bonwise.calls.providers.redaction import one_line

__all__ = ["counts", "loaded"]

_MOST = 2**53


def loaded(content: bytes) -> dict[str, Any]:
    """Read the object that a successful response holds.

    Raises
    ------
    ValueError
        No JSON object, or one that reports an error.

    Examples
    --------
    >>> loaded(b'{"id": 1}')
    {'id': 1}
    """
    body = _json(content)
    if not isinstance(body, dict):
        # Raised outside any handler: a decoder's error carries the whole body.
        raise ValueError("the answer is cut short, or no JSON object")  # noqa: TRY004 - the contract of readers
    if body.get("error"):
        raise ValueError(f"an error instead of an answer: {one_line(read_complaint(content).message)}")
    return body


def counts(*values: object) -> tuple[int, ...]:
    """Return numbers of tokens; whatever is no such number counts as none.

    Examples
    --------
    >>> counts(12, 3.0, -1, None, float("nan"))
    (12, 3, 0, 0, 0)
    """
    return tuple(_count(value) for value in values)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value <= _MOST else 0


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
