"""JSON as it comes over the wire."""

from __future__ import annotations

import json
from typing import Any

from bonwise.calls.bill import PartialUsage, Usage
from bonwise.calls.providers.complaint import read_complaint
from bonwise.calls.providers.redaction import one_line

__all__ = ["count_of", "counts", "loaded", "usages"]

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
    return tuple(count_of(value) or 0 for value in values)


def count_of(value: object) -> int | None:
    """Return a number of tokens, None for whatever is no such number.

    Examples
    --------
    >>> count_of(12), count_of(-1), count_of(True), count_of("12"), count_of(float("inf"))
    (12, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _MOST else None


def usages(
    told: Usage, *, input_told: bool, output_told: bool, total: object
) -> tuple[Usage | None, PartialUsage | None]:
    """Return a usage that is complete, or else one that is told in part, or else neither.

    Examples
    --------
    >>> usages(Usage(uncached=9), input_told=True, output_told=False, total=12)[1].total
    12
    """
    if input_told and output_told:
        return told, None
    whole = count_of(total) or None
    if not told.total and whole is None:
        return None, None
    return None, PartialUsage(told, input_told, output_told, whole)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
