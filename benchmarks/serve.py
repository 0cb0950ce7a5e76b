"""What the endpoint adds to a bare proxy that makes the same calls: CPU per request, and latency.

One scripted upstream in a process of its own answers after 50 ms, differently each time. Two servers ask it, both
with n = 4 candidates per request over the same HTTP clients: ``bonwise serve`` with the judge ``local:length``, and a
starlette application that returns the first of four answers as it came. The same load goes to one and to the other
in turn, and the CPU of each server is read from the system.

Run ``python benchmarks/serve.py``; ``--leaks`` sends 20,000 requests to the endpoint instead and prints its open
files, tasks and memory, of all its processes with ``--workers``. The exit code is 1 if the ratio of CPU or of a
latency is above 1.6, or if something leaks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bonwise.calls.ask import Request as Call
from bonwise.calls.providers.openai import ENDPOINT
from bonwise.calls.providers.protocol import Connection, provider
from bonwise.serving.config import ModelConfig
from bonwise.serving.upstream import CLIENTS

N, LATENCY, WIDE = 4, 0.05, 64
TARGET = 1.6
ROUNDS, REQUESTS = 3, 1000
MESSAGES = 2000
"""Characters of a prompt."""

UPSTREAM = f"""
import asyncio
from random import Random
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer, _until_stopped
draw = Random(1)
def answer(request):
    return "word " * draw.randint(20, 120)
asyncio.run(_until_stopped(ScriptedServer(Script(answer=answer, latency={LATENCY}, ignores=frozenset({{ignores}})))))
"""

SETTINGS = """
[models.fast]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = {n}
draw = "{draw}"
"""


def proxy(url: str, port: int) -> None:
    """Serve a bare proxy: the same calls over the same clients, and no choice."""
    import uvicorn  # noqa: PLC0415
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    config = ModelConfig(name="fast", upstream="openai/m", judge="local:length", base_url=f"{url}/v1")
    clients: list[Any] = []
    state = {"turn": 0}

    async def forward(request: Request) -> Response:
        if not clients:
            connection = Connection(timeout=120, attempt_timeout=120, connections=CLIENTS)
            clients.extend(provider("openai").client(config.model, connection) for _ in range(CLIENTS))
        body = await request.json()
        call = Call("openai", f"{url}/v1", "", ENDPOINT, {**body, "model": "m"}, "m")
        state["turn"] += N
        chosen = [clients[(state["turn"] + at) % CLIENTS] for at in range(N)]
        answers = await asyncio.gather(*(one.send(call) for one in chosen))
        return Response(answers[0].content, media_type="application/json")

    app = Starlette(routes=[Route("/v1/chat/completions", forward, methods=["POST"])])
    uvicorn.run(app, port=port, log_level="warning", access_log=False, timeout_keep_alive=30)


@dataclass
class Server:
    """A process that serves."""

    process: subprocess.Popen[str]
    url: str

    @property
    def places(self) -> list[Path]:
        """What the system says of the process and of its workers."""
        own = Path(f"/proc/{self.process.pid}")
        workers = (own / "task" / own.name / "children").read_text("utf-8").split()
        return [own, *(Path("/proc") / one for one in workers)]

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = [(one / "stat").read_text("utf-8").rpartition(")")[2].split() for one in self.places]
        return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")

    @property
    def files(self) -> int:
        """Open files, sockets among them."""
        return sum(len(list((one / "fd").iterdir())) for one in self.places)

    @property
    def memory(self) -> float:
        """Resident memory in MiB."""
        pages = sum(int((one / "statm").read_text("utf-8").split()[1]) for one in self.places)
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def started(command: Sequence[str], url: str = "") -> Iterator[Server]:
    """Run a server while the block runs; without `url` its first line of output is its address."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        found = url or (process.stdout.readline().strip() if process.stdout else "")
        yield Server(process, found)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def contenders(folder: Path, draw: str, workers: int = 1) -> Iterator[tuple[Server, Server]]:
    """Start the upstream, the proxy and the endpoint."""
    with ExitStack() as opened:
        ignores = "'n'" if draw == "calls" else ""
        upstream = opened.enter_context(started([sys.executable, "-c", UPSTREAM.format(ignores=ignores)]))
        settings = folder / "serve.toml"
        settings.write_text(SETTINGS.format(url=upstream.url, n=N, draw=draw), encoding="utf-8")
        ports = free_ports(2)
        here = [sys.executable, __file__, "--proxy", upstream.url, str(ports[0])]
        bonwise = [sys.executable, "-c", "from bonwise.cli.entry import main; main()", "serve", "--config"]
        more = ["--port", str(ports[1]), "--workers", str(workers)]
        yield (
            opened.enter_context(started(here, f"http://127.0.0.1:{ports[0]}")),
            opened.enter_context(started([*bonwise, str(settings), *more], f"http://127.0.0.1:{ports[1]}")),
        )


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses."""
    import socket  # noqa: PLC0415

    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


async def exchange(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], body: bytes) -> dict[str, Any]:
    """Send one request on a connection and return the answer."""
    reader, writer = streams
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    length = next(int(one.partition(":")[2]) for one in lines if one.startswith("content-length"))
    content = await reader.readexactly(length)
    assert lines[0].split()[1] == "200", content
    found: dict[str, Any] = json.loads(content)
    return found


async def load(url: str, requests: int) -> list[float]:
    """Send requests, so many at once; return the seconds of each."""
    host, port = url.removeprefix("http://").split(":")
    for _ in range(200):
        try:
            (await asyncio.open_connection(host, int(port)))[1].close()
            break
        except OSError:
            await asyncio.sleep(0.1)
    numbers, times = iter(range(requests)), []

    async def client() -> None:
        streams = await asyncio.open_connection(host, int(port))
        for number in numbers:
            prompt = f"{number} " + "x" * MESSAGES
            body = json.dumps({"model": "bon/fast", "messages": [{"role": "user", "content": prompt}]}).encode()
            began = time.perf_counter()
            await exchange(streams, body)
            times.append(time.perf_counter() - began)
        streams[1].close()

    await asyncio.gather(*(client() for _ in range(WIDE)))
    return times


def measured(server: Server, requests: int) -> tuple[float, list[float]]:
    """Return milliseconds of CPU per request, and the times of the requests."""
    before = server.cpu
    times = asyncio.run(load(server.url, requests))
    return (server.cpu - before) / requests * 1000, times


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return the times that half, 95 % and 99 % of the requests kept, in milliseconds."""
    cuts = statistics.quantiles(times, n=100)
    return {f"p{at}": cuts[at - 1] * 1000 for at in (50, 95, 99)}


def compare(draw: str, rounds: int, requests: int) -> float:
    """Print one line per server and the ratios between them; return the largest one of CPU and latencies.

    A ratio is the median of the ratios of the rounds: what else the machine does in a round slows both.
    """
    with tempfile.TemporaryDirectory() as folder, contenders(Path(folder), draw) as both:
        for server in both:
            measured(server, 200)
        found: list[list[dict[str, float]]] = [[], []]
        for turn in range(rounds):
            # Whoever comes first meets another machine than whoever comes second.
            for at in (0, 1) if turn % 2 == 0 else (1, 0):
                spent, took = measured(both[at], requests)
                found[at].append({"CPU": spent, **percentiles(took)})
    for name, of_one in zip(("bare proxy, 4 calls", f"bonwise serve, draw = {draw}"), found, strict=True):
        said = (f"{what} {statistics.median(one[what] for one in of_one):7.2f} ms" for what in of_one[0])
        print(f"{name:30} {'  '.join(said)}")
    pairs = list(zip(*found, strict=True))
    ratios = {what: statistics.median(ours[what] / bare[what] for bare, ours in pairs) for what in found[0][0]}
    said = ", ".join(f"{what} {ratio:.2f}" for what, ratio in ratios.items())
    print(f"ratios: {said} (at most {TARGET} with draw = calls), {WIDE} at once, {rounds} rounds of {requests}")
    return max(ratios.values())


def leaks(requests: int, workers: int) -> bool:
    """Send many requests to the endpoint; print open files and memory, and tell whether they grew."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, contenders(Path(folder), "auto", workers) as (_, server):
        for _ in range(5):
            asyncio.run(load(server.url, requests // 5))
            time.sleep(7)  # connections that rest are closed after 5 s
            rows.append((server.files, server.memory))
            print(f"{len(rows) * requests // 5:6} requests: {rows[-1][0]} open files, {rows[-1][1]:.0f} MiB")
    # How many connections to the upstream rest in the pools differs from round to round; a leak grows in every round.
    files, memory = zip(*rows, strict=True)
    return min(files[-2:]) > max(files[:2]) + 8 or min(memory[-2:]) > max(memory[:2]) * 1.15 + 8


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proxy", nargs=2, metavar=("URL", "PORT"), help=argparse.SUPPRESS)
    parser.add_argument("--draw", choices=("calls", "n"), action="append", help="how bonwise asks (default: both)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="per round and server")
    parser.add_argument("--leaks", type=int, nargs="?", const=20_000, metavar="N", help="look for leaks instead")
    parser.add_argument("--workers", type=int, default=1, help="processes of the endpoint where leaks are looked for")
    asked = parser.parse_args(argv)
    if asked.proxy:
        proxy(asked.proxy[0], int(asked.proxy[1]))
        return 0
    if asked.leaks:
        return 1 if leaks(asked.leaks, asked.workers) else 0
    ratios = {draw: compare(draw, asked.rounds, asked.requests) for draw in asked.draw or ("calls", "n")}
    return 1 if ratios.get("calls", 0.0) > TARGET else 0


if __name__ == "__main__":
    sys.exit(main())
