"""A server on the loopback address that never ends its answer, and never pauses for long either."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
BEGINNINGS = {
    "body": HEAD + b"content-length: 100000\r\n\r\n",
    "headers": HEAD,
    "chunks": HEAD + b"transfer-encoding: chunked\r\n\r\n",
    "continue": b"",
}
DRIPS = {
    "body": b" ",
    "headers": b"x-drip: y\r\n",
    "chunks": b"1\r\n \r\n",
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n",
}


class Dripping:
    """What it has been asked.

    Parameters
    ----------
    what : str
        A key of `DRIPS`: what it sends bit by bit.
    every : float
        Seconds between two bits.
    """

    def __init__(self, what, every=0.02):
        self.what, self.every = what, every
        self.requests = 0
        self.url = ""
        self.asked = threading.Event()

    async def serve(self, reader, writer):
        """Read one request, and answer it for ever."""
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            self.asked.set()
            writer.write(BEGINNINGS[self.what])
            while not writer.is_closing():
                writer.write(DRIPS[self.what])
                await writer.drain()
                await asyncio.sleep(self.every)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@contextmanager
def dripping(what):
    """Serve in a thread until the block ends."""
    server, loop = Dripping(what), asyncio.new_event_loop()

    async def listen():
        return await asyncio.start_server(server.serve, "127.0.0.1", 0)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    try:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_ended(listening), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended(listening):
    listening.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
