"""A port of this machine that keeps what it receives, and says what it is told to."""

from __future__ import annotations

import asyncio
import contextlib

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Recorded:
    """Gives its first requests one answer and all others another, and hangs up; keeps heads and bodies."""

    def __init__(self, said=OK, *, well=0, before=OK):
        self.said, self.well, self.before = said, well, before
        self.heads, self.bodies = [], []

    async def serve(self, reader, writer):
        """Answer what comes on one connection."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
                fields = dict(line.split(": ", 1) for line in self.heads[-1].lower().split("\r\n")[1:-2])
                self.bodies.append(await reader.readexactly(int(fields.get("content-length", 0))))
                if len(self.heads) > self.well:
                    writer.write(self.said)
                    break
                writer.write(self.before)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def listening(server, **settings):
    """Serve on a port of this machine until the block ends."""
    made = await asyncio.start_server(server.serve, "127.0.0.1", 0, **settings)
    try:
        yield made.sockets[0].getsockname()[1]
    finally:
        made.close()
        await asyncio.sleep(0.01)  # the other end is told
