"""The date that a page says: today, or the one that SOURCE_DATE_EPOCH sets for builds that can be repeated."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime

__all__ = ["made_on"]


def made_on(environment: Mapping[str, str] | None = None, today: date | None = None) -> str:
    """Return the date as ISO writes it.

    Parameters
    ----------
    environment : mapping, optional
        In place of that of the process.
    today : datetime.date, optional
        In place of the computer's own.

    Examples
    --------
    >>> made_on({"SOURCE_DATE_EPOCH": "0"}), made_on({}, date(2026, 11, 28))
    ('1970-01-01', '2026-11-28')
    """
    seconds = (os.environ if environment is None else environment).get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return (today or datetime.now().astimezone().date()).isoformat()
