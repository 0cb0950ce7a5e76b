"""Figures of estimates in documents that have no model yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.documents import metrics
from bonwise.report.wording import named

__all__ = ["GROUPS", "interval", "interval_header", "named", "number"]

_Document = Mapping[str, Any]

GROUPS = tuple((group.title, tuple((one.name, one.meaning) for one in group.metrics)) for group in metrics.GROUPS)


def number(value: float | None) -> str:
    """Write a figure to three decimals, a dash where there is none."""
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def interval(found: _Document) -> str:
    """Write the interval of an estimate, a dash where there is none."""
    return "-" if found["low"] is None else f"[{number(found['low'])}, {number(found['high'])}]"


def interval_header(confidence: float) -> str:
    """Name a column of intervals.

    Examples
    --------
    >>> interval_header(0.95)
    '95% interval'
    """
    return f"{100 * confidence:g}% interval"
