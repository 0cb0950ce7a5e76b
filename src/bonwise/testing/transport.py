"""A scripted service in the place of the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2

from bonwise.testing.script import Delivery, Script

__all__ = ["FakeTransport"]


class FakeTransport(httpx2.AsyncBaseTransport):
    """Carries requests to a `bonwise.testing.script.Script` instead of the network.

    It waits by ``asyncio.sleep`` alone, so a virtual clock of the event loop is obeyed; an answer that takes
    longer than the read timeout of the request ends in ``httpx2.ReadTimeout`` after that time.

    Parameters
    ----------
    script : Script

    Examples
    --------
    >>> from bonwise.testing.script import Script
    >>> async def main():
    ...     async with httpx2.AsyncClient(transport=FakeTransport(Script(lambda request: "B"))) as client:
    ...         body = {"model": "m", "messages": [{"role": "user", "content": "A or B?"}]}
    ...         response = await client.post("http://scripted/v1/chat/completions", json=body)
    ...         return response.json()["choices"][0]["message"]["content"]
    >>> asyncio.run(main())
    'B'
    """

    def __init__(self, script: Script) -> None:
        self.script = script

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, or fail as a network would."""
        content = await request.aread()
        now = asyncio.get_running_loop().time()
        delivery = self.script.receive(request.method, request.url.path, request.headers, content, now)
        whole = False
        try:
            await _wait(delivery, request)
            whole = delivery.cut_at is None
            return _response(delivery)
        finally:
            self.script.finish(delivery, whole=whole)


async def _wait(delivery: Delivery, request: httpx2.Request) -> None:
    patience = request.extensions.get("timeout", {}).get("read")
    if patience is not None and delivery.delay > patience:
        await asyncio.sleep(patience)
        raise httpx2.ReadTimeout("no answer in time", request=request)
    await asyncio.sleep(delivery.delay)


def _response(delivery: Delivery) -> httpx2.Response:
    response = delivery.response
    if delivery.cut_at is None:
        return httpx2.Response(response.status, headers=response.headers, content=response.content)
    headers = {**response.headers, "content-length": str(len(response.content))}
    stream = _CutStream(response.content[: delivery.cut_at], len(response.content))
    return httpx2.Response(response.status, headers=headers, stream=stream)


class _CutStream(httpx2.AsyncByteStream):
    def __init__(self, sent: bytes, expected: int) -> None:
        self._sent = sent
        self._expected = expected

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._sent
        raise httpx2.RemoteProtocolError(
            f"the connection broke after {len(self._sent)} of {self._expected} bytes of the body"
        )
