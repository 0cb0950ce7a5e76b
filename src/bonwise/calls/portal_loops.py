"""The event loops that bonwise runs for synchronous callers."""

from __future__ import annotations

import asyncio
import weakref

__all__ = ["is_portal_loop", "note_portal_loop"]

_PORTAL_LOOPS: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()


def note_portal_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Remember that a loop serves synchronous callers."""
    _PORTAL_LOOPS.add(loop)


def is_portal_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether a loop serves synchronous callers, and none of the user's own asynchronous code."""
    return loop in _PORTAL_LOOPS
