"""An asynchronous client works in one event loop: the first one that uses it.

Its connections belong to that loop. In another loop they would hang or break, and the loop of a synchronous caller
is one that bonwise runs itself: such a caller may be what the client's own loop waits for.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from bonwise.calls.portal_loops import is_portal_loop
from bonwise.errors import UsageError

__all__ = ["check_loop", "claim_loop"]

_LOOPS: weakref.WeakKeyDictionary[Any, weakref.ref[asyncio.AbstractEventLoop]] = weakref.WeakKeyDictionary()
"""By HTTP client, which several clients may share, the loop that its connections belong to."""


def check_loop(client: Any) -> None:
    """Refuse the running event loop where an asynchronous client cannot work in it.

    Raises
    ------
    bonwise.errors.UsageError
        The loop serves a synchronous caller, or the client has worked in another loop.
    """
    _check(client, _LOOPS.get(_connections(client)))


def claim_loop(client: Any) -> None:
    """Bind an asynchronous client to the running event loop, unless it is bound already.

    Raises
    ------
    bonwise.errors.UsageError
        As `check_loop`.
    """
    check_loop(client)
    running = weakref.ref(asyncio.get_running_loop())
    # Another thread may have bound it meanwhile.
    _check(client, _LOOPS.setdefault(_connections(client), running))


def _check(client: Any, bound: weakref.ref[asyncio.AbstractEventLoop] | None) -> None:
    running = asyncio.get_running_loop()
    name = type(client).__name__
    blocking = name.removeprefix("Async") if name.startswith("Async") else "its synchronous form"
    if is_portal_loop(running):
        raise UsageError(
            f"client= is asynchronous ({name}), and this call is synchronous",
            hint=f"pass {blocking} instead, or await aselect()",
        )
    # A loop that is gone leaves its connections in the client.
    if bound is not None and bound() is not running:
        raise UsageError(
            f"client= is asynchronous ({name}) and was first used in another event loop",
            hint=f"make a client and a judge in each event loop, or pass {blocking}, which works in all of them",
        )


def _connections(client: Any) -> Any:
    return getattr(client, "_client", client)
