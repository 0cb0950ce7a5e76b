"""A scripted service in the place of the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import ModuleType, TracebackType
from typing import Any, Self

from bonwise.calls.providers.protocol import library_of
from bonwise.testing.script import Delivery, Script

__all__ = ["FakeTransport"]


class FakeTransport:
    """Carries requests to a `bonwise.testing.script.Script` instead of the network.

    It waits by ``asyncio.sleep`` alone, so a virtual clock of the event loop is obeyed; an answer that takes
    longer than the read timeout of the request ends in a ``ReadTimeout`` after that time. Clients of httpx and of
    httpx2 may send with it: each gets responses and errors of its own library.

    Parameters
    ----------
    script : Script

    Examples
    --------
    >>> import openai
    >>> from bonwise.testing.script import Script
    >>> async def main():
    ...     http = openai.DefaultAsyncHttpxClient(transport=FakeTransport(Script(lambda request: "B")))
    ...     async with openai.AsyncOpenAI(api_key="none", base_url="http://scripted/v1", http_client=http) as client:
    ...         question = {"role": "user", "content": "A or B?"}
    ...         answer = await client.chat.completions.create(model="m", messages=[question])
    ...         return answer.choices[0].message.content
    >>> asyncio.run(main())
    'B'
    """

    def __init__(self, script: Script) -> None:
        self.script = script

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    async def handle_async_request(self, request: Any) -> Any:
        """Answer one request, or fail as a network would.

        Parameters
        ----------
        request : httpx.Request or httpx2.Request
        """
        content = await request.aread()
        now = asyncio.get_running_loop().time()
        delivery = self.script.receive(request.method, request.url.path, request.headers, content, now)
        http = library_of(type(request))
        whole = False
        try:
            await _wait(delivery, request, http)
            whole = delivery.cut_at is None
            return _response(delivery, http)
        finally:
            self.script.finish(delivery, whole=whole)


async def _wait(delivery: Delivery, request: Any, http: ModuleType) -> None:
    patience = request.extensions.get("timeout", {}).get("read")
    if patience is not None and delivery.delay > patience:
        await asyncio.sleep(patience)
        raise http.ReadTimeout("no answer in time", request=request)
    await asyncio.sleep(delivery.delay)


def _response(delivery: Delivery, http: ModuleType) -> Any:
    response = delivery.response
    if delivery.cut_at is None:
        return http.Response(response.status, headers=response.headers, content=response.content)
    headers = {**response.headers, "content-length": str(len(response.content))}
    body = _cut(response.content[: delivery.cut_at], len(response.content), http)
    return http.Response(response.status, headers=headers, content=body)


async def _cut(sent: bytes, expected: int, http: ModuleType) -> AsyncIterator[bytes]:
    yield sent
    raise http.RemoteProtocolError(f"the connection broke after {len(sent)} of {expected} bytes of the body")
