"""The date that a page says: today, or the one that SOURCE_DATE_EPOCH sets for builds that can be repeated."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

__all__ = ["made_on"]


def made_on(seconds: str | None = None, today: date | None = None) -> str:
    """Return the date as ISO writes it.

    Parameters
    ----------
    seconds : str, optional
        Since 1970, in place of what SOURCE_DATE_EPOCH says.
    today : datetime.date, optional
        In place of the computer's own.

    Examples
    --------
    >>> made_on("0"), made_on("", date(2026, 11, 28))
    ('1970-01-01', '2026-11-28')
    """
    said = os.getenv("SOURCE_DATE_EPOCH", "") if seconds is None else seconds
    try:
        return datetime.fromtimestamp(int(said), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return (today or datetime.now().astimezone().date()).isoformat()
