"""How many picks a service keeps, and how many of them are judged, while answers of its model go wrong.

Run ``python benchmarks/load.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import openai
import tenacity

import bonwise as bw
from bonwise.table.verdicts import Score
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer

LATENCY, DEADLINE = 0.03, 2.0
SECONDS, ROUNDS = 12.0, 3
QUICK_SECONDS, QUICK_ROUNDS = 1.0, 1
SERVICES = {"pools of 4": (100, 4), "pools of 2": (200, 2)}
TEN = {
    "throttled": 0.02,
    "server_error": 0.02,
    "overloaded": 0.02,
    "cut": 0.02,
    "malformed": 0.02,
    "retry_after": 0.02,
}
FAULTS: dict[str, dict[str, float]] = {
    "none": {},
    "10 % faults": TEN,
    "10 % faults, 2 % hang": TEN | {"slow": 0.02, "slow_seconds": 3600.0},
}
CAPACITY = 200.0
OVERLOADED = f"{CAPACITY:.0f} requests/s"
BONWISE, PLAIN = "bonwise", "AsyncOpenAI and tenacity"


@dataclass(frozen=True)
class Run:
    """What came of one round.

    Parameters
    ----------
    picks, judged : int
        Picks, and those with an answer for every candidate.
    p50, p99 : float
        Seconds of a pick.
    answered : float
        Answers that the server gave in a second.
    """

    service: str
    faults: str
    contender: str
    picks: int
    judged: int
    p50: float
    p99: float
    answered: float


class Capacity:
    """Faults of a server that takes so many requests a second, and refuses the others with 429.

    Parameters
    ----------
    per_second : float
    retry_after : float, optional
        Seconds that it asks those to wait whom it refuses.

    Attributes
    ----------
    taken, turned_away : int
    at : float
        When it was last asked, by the clock of the running loop.
    """

    def __init__(self, per_second: float, retry_after: float | None = None) -> None:
        self.per_second, self._left, self.at = per_second, per_second / 10, 0.0
        self.taken = self.turned_away = 0
        self._faults = Faults(with_retry_after=float(retry_after is not None), retry_after=retry_after or 0.0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._faults, name)

    def of_attempt(self, _seed: int, _digest: str, _attempt: int) -> str | None:
        """Take a request, or refuse it."""
        now = asyncio.get_running_loop().time()
        self._left = min(self.per_second / 10, self._left + (now - self.at) * self.per_second)
        self.at = now
        if self._left < 1:
            self.turned_away += 1
            return "throttled"
        self._left -= 1
        self.taken += 1
        return None


async def serve(faults: str) -> None:
    """Serve in a process of its own, until it is ended."""
    given: Any = Capacity(CAPACITY) if faults == OVERLOADED else Faults(**FAULTS[faults])
    script = Script(latency=LATENCY, faults=given)
    async with ScriptedServer(script) as server:
        print(server.url, flush=True)
        while True:
            await asyncio.to_thread(sys.stdin.readline)
            print(script.counts.answers, flush=True)


@contextmanager
def served(faults: str) -> Iterator[tuple[str, Callable[[], int]]]:
    """Start a server; yield its address, and what tells how many answers it has given."""
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", faults], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    into, out = server.stdin, server.stdout

    def answers() -> int:
        into.write("\n")
        into.flush()
        return int(out.readline())

    try:
        yield out.readline().strip() + "/v1", answers
    finally:
        server.kill()
        server.wait()


Pick = Callable[[str, list[str]], Awaitable[bool]]
"""Picks from one pool, and tells whether every candidate was judged."""


async def by_bonwise(url: str, clients: Callable[[Pick], Awaitable[None]]) -> None:
    """Let clients pick with one selector."""
    judge = bw.Pointwise("openai/m", base_url=url)
    async with bw.Selector(judge, deadline=DEADLINE, on_failure="first", seed=0) as selector:

        async def pick(prompt: str, texts: list[str]) -> bool:
            found = await selector.aselect(prompt, texts)
            return sum(isinstance(one, Score) for one in found.verdicts) == len(texts)

        await clients(pick)


async def by_hand(url: str, clients: Callable[[Pick], Awaitable[None]]) -> None:
    """Let clients pick as one would without a library: a client, tries again with growing waits, a time-out."""
    client = openai.AsyncOpenAI(base_url=url, max_retries=0, timeout=DEADLINE)
    places = asyncio.Semaphore(64)

    @tenacity.retry(
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=1.0),
        stop=tenacity.stop_after_delay(DEADLINE),
        retry=tenacity.retry_if_exception_type((openai.OpenAIError, ValueError)),
    )
    async def score(prompt: str, text: str) -> str:
        async with places:
            answer = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": f"Score from 0 to 100.\n{prompt}\n{text}"}]
            )
        return answer.choices[0].message.content or ""

    async def pick(prompt: str, texts: list[str]) -> bool:
        tasks = [asyncio.create_task(score(prompt, text)) for text in texts]
        done, late = await asyncio.wait(tasks, timeout=DEADLINE)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return sum(task in done and task.exception() is None for task in tasks) == len(texts)

    await clients(pick)
    await client.close()


CONTENDERS = {BONWISE: by_bonwise, PLAIN: by_hand}


def measured(service: str, faults: str, contender: str, seconds: float) -> Run:
    """Let all clients of a service pick all the time, for so many seconds."""
    count, size = SERVICES[service]
    took: list[float] = []
    judged = 0

    async def client(number: int, pick: Pick, until: float) -> None:
        nonlocal judged
        turn = 0
        while (begun := time.monotonic()) < until:
            turn += 1
            texts = [f"answer {at} of {number}, {turn}" for at in range(size)]
            found = await pick(f"prompt {number}, {turn}", texts)
            judged += found
            took.append(time.monotonic() - begun)

    async def clients(pick: Pick) -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(client(number, pick, until) for number in range(count)))

    with served(faults) as (url, answers):
        begun = time.monotonic()
        asyncio.run(CONTENDERS[contender](url, clients))
        rate = answers() / (time.monotonic() - begun)
    took.sort()
    p50, p99 = took[len(took) // 2], took[int(0.99 * len(took))]
    return Run(service, faults, contender, len(took), judged, p50, p99, rate)


def all_runs(seconds: float, rounds: int) -> list[Run]:
    """Measure everything, round by round, so that whatever else the machine does falls on all alike."""
    asked = [(service, faults) for service in SERVICES for faults in FAULTS] + [("pools of 4", OVERLOADED)]
    return [
        measured(service, faults, contender, seconds)
        for _ in range(rounds)
        for service, faults in asked
        for contender in CONTENDERS
    ]


def table(runs: list[Run]) -> Iterator[str]:
    """Yield a row for each service, kind of faults and contender: medians over the rounds."""
    yield "| service | faults | contender | picks | of those without faults | judged | p50 s | p99 s | answers/s |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    whole: dict[tuple[str, str], float] = {}
    for key in dict.fromkeys((one.service, one.faults, one.contender) for one in runs):
        mine = [one for one in runs if (one.service, one.faults, one.contender) == key]
        picks = statistics.median(one.picks for one in mine)
        share = statistics.median(one.judged / one.picks for one in mine)
        first = whole.setdefault((key[0], key[2]), picks)
        figures = [statistics.median(getattr(one, name) for one in mine) for name in ("p50", "p99", "answered")]
        yield (
            f"| {' | '.join(key)} | {picks:,.0f} | {picks / first:.2f} | {share:.3f} | {figures[0]:.2f} | "
            f"{figures[1]:.2f} | {figures[2]:.0f} |"
        )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of seconds; its numbers mean little")
    parser.add_argument("--seconds", type=float, help=f"of each run; {SECONDS:g} unless given")
    parser.add_argument("--rounds", type=int, help=f"{ROUNDS} unless given")
    parser.add_argument("--json", type=Path, help="write the runs too")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "sk-of-nobody"
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    seconds = given.seconds or (QUICK_SECONDS if given.quick else SECONDS)
    runs = all_runs(seconds, given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS))
    print("\n".join(table(runs)))
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in runs], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
