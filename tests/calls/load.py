"""Clients that select all the time, from a service of which some answers go wrong."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.data.verdicts import Score
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

LATENCY = 0.03
TEN = {
    "throttled": 0.02,
    "server_error": 0.02,
    "overloaded": 0.02,
    "cut": 0.02,
    "malformed": 0.02,
    "retry_after": 0.02,
}
"""One attempt in ten goes wrong, in five ways."""

HANGING = TEN | {"slow": 0.02, "slow_seconds": 3600.0}
"""And one in fifty is never answered."""


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


class Capacity:
    """Faults of a server that takes so many requests a second and refuses the others with 429."""

    def __init__(self, per_second, retry_after=None):
        self.per_second, self.taken, self.turned_away = per_second, 0, 0
        self._faults = Faults(with_retry_after=float(retry_after is not None), retry_after=retry_after or 0.0)
        self._burst = per_second / 10
        self._left, self.at = self._burst, 0.0

    def __getattr__(self, name):
        return getattr(self._faults, name)

    def of_attempt(self, _seed, _digest, _attempt):
        """Take a request, or refuse it."""
        now = asyncio.get_running_loop().time()
        self._left = min(self._burst, self._left + (now - self.at) * self.per_second)
        self.at = now
        if self._left < 1:
            self.turned_away += 1
            return "throttled"
        self._left -= 1
        self.taken += 1
        return None


def loaded(faults, *, clients, pool, seconds, **settings):
    """Let so many clients select from pools of so many candidates for so many seconds, on a clock that jumps."""
    script = Script(latency=LATENCY, faults=faults)
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
            judge, deadline=2.0, on_failure="first", connection=connection, **settings
        ) as selector:
            until = asyncio.get_running_loop().time() + seconds
            await asyncio.gather(*(client(selector, number, until) for number in range(clients)))

    run_virtual(main())
    return found
