"""No response is read past a size that no answer has: a small one may be packed to fill the memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2

__all__ = ["LARGEST", "TooLargeError", "cap"]

LARGEST = 32 * 2**20
"""Bytes, when unpacked."""


class TooLargeError(httpx2.ReadError):
    """A response that is not read to its end.

    Parameters
    ----------
    status : int
        Of HTTP.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__("the response is too large")


async def cap(response: httpx2.Response) -> None:
    """Have the reading of a response end in `TooLargeError` once it grows too large; a hook of httpx2.

    Examples
    --------
    >>> import asyncio
    >>> response = httpx2.Response(200, content=b"short")
    >>> asyncio.run(cap(response))
    >>> asyncio.run(response.aread())
    b'short'
    """
    # A hook cannot hand back another response, and to build one for each call costs five times as much.
    response.__class__ = _Capped


class _Capped(httpx2.Response):
    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size = 0
        async for part in super().aiter_bytes(chunk_size):
            size += len(part)
            if size > LARGEST:
                raise TooLargeError(self.status_code)
            yield part
