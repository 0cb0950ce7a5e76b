"""Clients that select all the time, from a service of which some answers go wrong."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.table.verdicts import Score
from bonwise.testing.script import Script
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

_spec = importlib.util.spec_from_file_location(
    "benchmark_of_load", Path(__file__).parents[2] / "benchmarks" / "load.py"
)
BENCHMARK = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = BENCHMARK
_spec.loader.exec_module(BENCHMARK)
"""The same faults, server and deadline, measured on a real clock."""

TEN, HANGING = BENCHMARK.TEN, BENCHMARK.FAULTS["10 % faults, 2 % hang"]
Capacity = BENCHMARK.Capacity


@dataclass
class Load:
    """What came of it: picks, those with a score of every candidate, and the seconds that each took."""

    picks: int
    judged: int
    seconds: list[float]

    @property
    def p99(self):
        """The 99th percentile of the latency."""
        return sorted(self.seconds)[int(0.99 * len(self.seconds))]


def loaded(faults, *, clients, pool, seconds, **settings):
    """Let so many clients select from pools of so many candidates for so many seconds, on a clock that jumps."""
    script = Script(latency=BENCHMARK.LATENCY, faults=faults)
    found = Load(0, 0, [])

    async def client(selector, number, until):
        now, turn = asyncio.get_running_loop().time, 0
        while now() < until:
            begun, turn = now(), turn + 1
            texts = [f"answer {at} of {number}, {turn}" for at in range(pool)]
            one = await selector.aselect(f"prompt {number}, {turn}", texts)
            found.picks += 1
            found.judged += sum(isinstance(verdict, Score) for verdict in one.verdicts) == pool
            found.seconds.append(now() - begun)

    async def main():
        connection = Connection(transport=FakeTransport(script))
        judge = bw.Pointwise("openai/gpt-5-mini")
        async with bw.Selector(
            judge, deadline=BENCHMARK.DEADLINE, on_failure="first", connection=connection, **settings
        ) as selector:
            until = asyncio.get_running_loop().time() + seconds
            await asyncio.gather(*(client(selector, number, until) for number in range(clients)))

    run_virtual(main())
    return found
