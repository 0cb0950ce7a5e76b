"""A port of this machine behind which the router of the SDKs' requests answers those of another transport."""

from __future__ import annotations

import asyncio
import contextlib

import httpx


async def spelt(answer):
    """Return the bytes of a response, as they go over a network."""
    body = b"".join([part async for part in answer.stream])
    headers = [(name, value) for name, value in answer.headers.raw if name.lower() != b"content-length"]
    lines = [b"HTTP/1.1 %d x" % answer.status_code, *(b": ".join(pair) for pair in headers)]
    return b"\r\n".join([*lines, b"content-length: %d" % len(body)]) + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def behind_a_port(router, monkeypatch):
    """Have the router answer what aiohttp sends to other machines; this machine's own servers are reached as ever."""
    # An extra brings what this patches.
    from bonwise.calls.providers import aiohttp_transport  # noqa: PLC0415

    meant, real = {}, aiohttp_transport._address

    async def serve(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
                headers = [tuple(line.split(": ", 1)) for line in lines]
                length = next(int(value) for name, value in headers if name.lower() == "content-length")
                content = await reader.readexactly(length)
                asked = httpx.Request("POST", meant["origin"] + first.split(" ")[1], headers=headers, content=content)
                writer.write(await spelt(await router.async_handler(asked)))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    def address(url):
        found = real(url)
        if found.host == "127.0.0.1":
            return found
        meant["origin"] = str(found.origin())
        return found.with_scheme("http").with_host("127.0.0.1").with_port(port)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(aiohttp_transport, "_address", address)
            yield
    finally:
        server.close()
        await asyncio.sleep(0.01)  # the other end is told
