"""Addresses made from titles."""

from __future__ import annotations

import re

__all__ = ["slug"]

_LONGEST = 60
_OTHER = re.compile(r"[^a-z0-9]+")


def slug(title: str) -> str:
    """Return lower-case letters, digits and hyphens.

    Examples
    --------
    >>> slug("Where the judge lost most"), slug("中")
    ('where-the-judge-lost-most', 'part')
    """
    return _OTHER.sub("-", title.lower())[:_LONGEST].strip("-") or "part"
