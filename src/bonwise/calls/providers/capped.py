"""No response is read past a size that no answer has: a small one may be packed to fill the memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

__all__ = ["LARGEST", "TooLargeError", "cap"]

LARGEST = 32 * 2**20
"""Bytes, when unpacked."""

_PIECE = 4096
"""Bytes that are unpacked at once. httpx unpacks all that it is given, and a network gives 64 KiB."""

_CAPPED: dict[type[Any], type[Any]] = {}
"""By the class of responses of each HTTP library, the one that stops."""


class TooLargeError(Exception):
    """A response that is not read to its end.

    Parameters
    ----------
    status : int
        Of HTTP.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__("the response is too large")


async def cap(response: Any) -> None:
    """Have the reading of a response end in `TooLargeError` once it grows too large.

    Parameters
    ----------
    response : httpx.Response or httpx2.Response
        As a response hook of a client gets it.

    Examples
    --------
    >>> import asyncio, openai
    >>> from bonwise.calls.providers.http import http_library
    >>> response = http_library(openai).Response(200, content=b"short")
    >>> asyncio.run(cap(response))
    >>> asyncio.run(response.aread())
    b'short'
    """
    # A hook cannot hand back another response, and to build one for each call costs five times as much.
    response.__class__ = _capped_kind(type(response))


def _capped_kind(plain: type[Any]) -> type[Any]:
    if plain not in _CAPPED:
        _CAPPED[plain] = _capped(plain)
    return _CAPPED[plain]


def _capped(plain: Any) -> type[Any]:
    async def aiter_bytes(self: Any, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size = 0
        async for part in plain.aiter_bytes(self, chunk_size):
            size += len(part)
            if size > LARGEST:
                raise TooLargeError(self.status_code)
            yield part

    def aiter_raw(self: Any, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        parts: AsyncGenerator[bytes, None] = plain.aiter_raw(self, chunk_size or _PIECE)
        return parts

    return type(f"Capped{plain.__name__}", (plain,), {"aiter_bytes": aiter_bytes, "aiter_raw": aiter_raw})
