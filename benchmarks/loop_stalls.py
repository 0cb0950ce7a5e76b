"""How long an event loop is not served while a crowd of pools is judged in it, and what a pool costs."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import openai

import bonwise as bw
from bonwise.calls.providers.protocol import Connection, http_library
from bonwise.selection.selector import Selector
from scripted_model import served

HTTP = http_library(openai)
POOLS, CANDIDATES, ROUNDS = 1_000, 4, 5
QUICK_POOLS, QUICK_ROUNDS = 20, 1
TICK = 0.001
"""Seconds after which the loop is asked whether it is there."""
HERE, BEFORE = "here", "before"
ASYNCHRONOUS, ORDINARY, MEMORY, LOOPBACK = "async function", "function", "model in memory", "model over loopback"
ANSWER = {
    "id": "answer",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"score": 85}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 5, "total_tokens": 505},
}


async def waiting_judge(_prompt: str, text: str) -> int:
    """Score by length, and let the loop go on once."""
    await asyncio.sleep(0)
    return len(text)


def judge(_prompt: str, text: str) -> int:
    """Score by length: as little work as a judge can do."""
    return len(text)


def in_memory() -> Connection:
    """Return a connection that answers at once."""
    content = json.dumps(ANSWER).encode()

    async def answer(_request: Any) -> Any:
        return HTTP.Response(200, content=content, headers={"content-type": "application/json"})

    return Connection(transport=HTTP.MockTransport(answer))


@contextmanager
def by_waiting() -> Iterator[Selector]:
    """Return a selector by an asynchronous function."""
    yield Selector(waiting_judge)


@contextmanager
def by_function() -> Iterator[Selector]:
    """Return a selector by an ordinary function."""
    yield Selector(judge)


@contextmanager
def by_memory() -> Iterator[Selector]:
    """Return a selector by a model that is answered in this process."""
    yield Selector(bw.Pointwise("openai/m", base_url="http://memory/v1"), connection=in_memory())


@contextmanager
def by_loopback() -> Iterator[Selector]:
    """Return a selector by a model that another process serves."""
    with served() as address:
        yield Selector(bw.Pointwise("openai/m", base_url=f"{address}/v1"))


CONTENDERS = {ASYNCHRONOUS: by_waiting, ORDINARY: by_function, MEMORY: by_memory, LOOPBACK: by_loopback}


@dataclass(frozen=True)
class Measured:
    """What one crowd of pools took.

    Parameters
    ----------
    stall : float
        The longest time, in seconds, that the loop was late for a tick.
    stall_cpu : float
        The longest CPU time, in seconds, of the loop's thread between two ticks: without other programs.
    cpu : float
        CPU seconds of a pool, those of all threads of this process included.
    wall : float
        Seconds of the whole crowd.
    """

    stall: float
    stall_cpu: float
    cpu: float
    wall: float


class Ticker:
    """Asks the running loop every millisecond whether it is there."""

    def __init__(self) -> None:
        self.stall = self.stall_cpu = 0.0
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time()
        self._cpu = time.thread_time()
        self._tick()

    def _tick(self) -> None:
        now, cpu = self._loop.time(), time.thread_time()
        self.stall = max(self.stall, now - self._due)
        self.stall_cpu = max(self.stall_cpu, cpu - self._cpu)
        self._cpu = cpu
        self._due = now + TICK
        self._handle = self._loop.call_at(self._due, self._tick)

    def stop(self) -> None:
        """Take the last tick, and ask no more."""
        self._handle.cancel()
        self._tick()
        self._handle.cancel()


async def crowd(selector: Selector, pools: int) -> Measured:
    """Start all pools at the same instant, after one that warms up, and wait for them."""
    texts = [f"Answer {at}: " + "so many words that say something of it " * (8 + at) for at in range(CANDIDATES)]
    async with selector:
        await asyncio.gather(*(selector.aselect(f"warm {at}", texts) for at in range(8)))
        gc.collect()
        gc.freeze()  # as a service does that has started: what was imported is not searched for garbage
        ticker = Ticker()
        await asyncio.sleep(10 * TICK)
        cpu, began = time.process_time(), time.perf_counter()
        found = await asyncio.gather(*(selector.aselect(f"p{at}", texts) for at in range(pools)))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - began
        ticker.stop()
    assert all(one.best is not None for one in found)
    return Measured(ticker.stall, ticker.stall_cpu, cpu / pools, wall)


def measured_here(name: str, pools: int) -> Measured:
    """Measure one contender in this process."""
    with CONTENDERS[name]() as selector:
        return asyncio.run(crowd(selector, pools))


def measured(name: str, pools: int, source: Path | None) -> Measured:
    """Measure one contender in a process of its own, with bonwise as it is installed or as a folder holds it."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    command = [sys.executable, str(Path(__file__).resolve()), "--one", name, "--pools", str(pools)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return Measured(**json.loads(done.stdout))


@dataclass(frozen=True)
class Row:
    """All rounds of one contender with one version of the code."""

    judge: str
    code: str
    rounds: list[Measured]

    def median(self, what: str) -> float:
        """Return the median over the rounds."""
        return statistics.median(getattr(one, what) for one in self.rounds)


def compared(pools: int, rounds: int, before: Path | None) -> list[Row]:
    """Let the contenders and the versions of the code take turns."""
    sources: dict[str, Path | None] = {HERE: None} if before is None else {BEFORE: before, HERE: None}
    rows = [Row(name, code, []) for name in CONTENDERS for code in sources]
    for _ in range(rounds):
        for row in rows:
            row.rounds.append(measured(row.judge, pools, sources[row.code]))
    return rows


HEADER = ("judge", "code", "longest stall, ms", "of it CPU, ms", "CPU ms per pool", "x before", "all pools, s")


def table(rows: Sequence[Row]) -> str:
    """Lay the medians out as a Markdown table."""
    before = {row.judge: row for row in rows if row.code == BEFORE}
    lines = [HEADER, ("---",) * len(HEADER), *(cells(row, before.get(row.judge)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines[1] = tuple("-" * width for width in widths)
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def cells(row: Row, before: Row | None) -> tuple[str, ...]:
    """Write one line; the ratio is the median of those within a round."""
    times = "-"
    if before is not None and before is not row:
        pairs = zip(row.rounds, before.rounds, strict=True)
        times = f"{statistics.median(one.cpu / other.cpu for one, other in pairs):.2f}"
    stalls = (f"{row.median(what) * 1e3:.1f}" for what in ("stall", "stall_cpu"))
    return row.judge, row.code, *stalls, f"{row.median('cpu') * 1e3:.3f}", times, f"{row.median('wall'):.2f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=POOLS, help="started at the same instant")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the contenders take turns in each")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="the src folder of another checkout")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    parser.add_argument("--quick", action="store_true", help="a smoke run: few pools, one round")
    parser.add_argument("--one", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.one:
        print(json.dumps(asdict(measured_here(asked.one, asked.pools))))
        return
    pools, rounds = (QUICK_POOLS, QUICK_ROUNDS) if asked.quick else (asked.pools, asked.rounds)
    rows = compared(pools, rounds, asked.before)
    print(
        f"{pools} pools of {CANDIDATES}, {rounds} rounds, Python {platform.python_version()}, {os.cpu_count()} CPUs",
        table(rows),
        sep="\n\n",
    )
    if asked.json is not None:
        document = {"pools": pools, "candidates": CANDIDATES, "rows": [asdict(row) for row in rows]}
        asked.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
