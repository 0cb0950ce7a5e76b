"""Reading the body of a request: bounded in size and in time, without keeping what is too much."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bonwise.serving.api_errors import ApiError

__all__ = ["client_has_left", "read_body"]

Receive = Callable[[], Awaitable[Any]]

_DISCARDED = 2**28
"""Bytes of a body that is too large which are read and thrown away: a client that is cut off sees no answer."""

_PATIENCE = 10.0
"""Seconds for that."""


async def read_body(headers: Mapping[str, str], receive: Receive, *, most: int, seconds: float) -> bytes:
    """Return the body of a request.

    Raises
    ------
    ApiError
        413 where it is larger than `most` bytes, 408 where it takes longer than `seconds`, 499 where the client left.
    """
    stated = headers.get("content-length", "")
    if stated.isdigit() and int(stated) > most:
        # A client that asks first sends nothing at all.
        if headers.get("expect", "").lower() != "100-continue":
            await _discard(receive, 0)
        raise _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise client_has_left()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    break
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise ApiError(
            408, f"the body did not arrive within {seconds:g} s", "request_timeout", headers={"connection": "close"}
        ) from None
    parts.clear()
    await _discard(receive, size)
    raise _too_large(most)


def client_has_left() -> ApiError:
    """Return the error of a client that closed its connection; nobody reads it but the log."""
    return ApiError(499, "the client closed its connection", "client_closed_request")


async def _discard(receive: Receive, size: int) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            while size < _DISCARDED:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _too_large(most: int) -> ApiError:
    return ApiError(
        413,
        f"the body is larger than {most} bytes",
        "request_too_large",
        headers={"connection": "close"},
    )
