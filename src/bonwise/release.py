"""The version of this package, read from its metadata once."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version


@cache
def release() -> str:
    """Return the installed version."""
    return version("bonwise")
