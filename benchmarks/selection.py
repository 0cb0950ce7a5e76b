"""What a selection costs above the judge, and what threads and batches save of the time of a function that blocks."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import openai

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection, http_library
from bonwise.judges.calling import as_judge
from bonwise.judges.judging import judge_with
from bonwise.selection.front import select
from bonwise.selection.selector import Selector
from bonwise.stacks.fitted_stack import FeatureScaling, JudgeStack, StackFeature

HTTP = http_library(openai)
CANDIDATES, SELECTIONS, ROUNDS = 8, 200, 7
JUDGES = 10
QUICK_SELECTIONS, QUICK_ROUNDS = 20, 2
POOL = [f"Answer {at}: " + "so many words that say something of it " * 10 for at in range(CANDIDATES)]
MODEL = bw.Pointwise("openai/m", base_url="http://memory/v1")
ANSWER = {
    "id": "answer",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"score": 85}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 5, "total_tokens": 505},
}


def judge(_prompt: str, text: str) -> int:
    """Score by length: as little work as a judge can do."""
    return len(text)


async def waiting_judge(_prompt: str, text: str) -> int:
    """Do the same, asynchronously."""
    return len(text)


def in_memory() -> Connection:
    """Return a connection that answers at once."""
    content = json.dumps(ANSWER).encode()

    async def answer(_request: Any) -> Any:
        return HTTP.Response(200, content=content, headers={"content-type": "application/json"})

    return Connection(transport=HTTP.MockTransport(answer))


def bare_loop(selections: int) -> None:
    """Take the best by hand."""
    for at in range(selections):
        scores = [judge(f"p{at}", text) for text in POOL]
        scores.index(max(scores))


def by_select(selections: int) -> None:
    """Call `bw.select` for each prompt."""
    for at in range(selections):
        select(f"p{at}", POOL, judge=judge)


def by_selector(selections: int) -> None:
    """Keep one selector."""
    with Selector(judge) as selector:
        for at in range(selections):
            selector.select(f"p{at}", POOL)


def by_aselect(judge: Any, connection: Callable[[], Connection] | None = None) -> Callable[[int], None]:
    """Return what awaits one selection after the other, in one event loop."""

    async def main(selections: int) -> None:
        async with Selector(judge, connection=connection() if connection else None) as selector:
            for at in range(selections):
                await selector.aselect(f"p{at}", POOL)

    return lambda selections: asyncio.run(main(selections))


def bare_questions(selections: int) -> None:
    """Ask the engine about all candidates at once, and take the best by hand."""

    async def main() -> None:
        async with Engine(connection=in_memory()) as engine:
            for at in range(selections):
                judged = await asyncio.gather(*(judge_with(engine, MODEL, f"p{at}", [text]) for text in POOL))
                scores = [one.verdicts[0].value for one in judged]
                scores.index(max(scores))

    asyncio.run(main())


class MeanOfTen:
    """Ten judges whose scores are averaged: what a stack does without its weights and chances."""

    name, version = "mean of ten", "1"
    of = [as_judge(judge)] * JUDGES

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[bw.Score]:
        """Average the scores of each candidate."""
        found = [one.judge(prompt, candidates) for one in self.of]
        return [bw.Score(statistics.fmean(one.value for one in scores)) for scores in zip(*found, strict=True)]


def stack_of_ten() -> bw.Stack:
    """Return a stack of ten judges, with weights and chances."""
    names = [f"judge {at}" for at in range(JUDGES)]
    scaling = FeatureScaling(
        tuple(StackFeature(name, "score") for name in names), np.full(JUDGES, 50.0), np.eye(JUDGES)
    )
    return bw.Stack(
        JudgeStack.of(scaling, np.linspace(-1, 1, JUDGES), 0.01 * np.eye(JUDGES)), judges=dict.fromkeys(names, judge)
    )


LOCAL, TEN, MEMORY = "local judge", "ten local judges", "model in memory"
CONTENDERS: dict[str, dict[str, Callable[[int], None]]] = {
    LOCAL: {
        "bare loop": bare_loop,
        "bw.select": by_select,
        "Selector.select": by_selector,
        "Selector.aselect": by_aselect(judge),
        "Selector.aselect, async judge": by_aselect(waiting_judge),
    },
    TEN: {"Selector.aselect, mean": by_aselect(MeanOfTen()), "Selector.aselect, stack": by_aselect(stack_of_ten())},
    MEMORY: {"engine, bare loop": bare_questions, "Selector.aselect": by_aselect(MODEL, in_memory)},
}
"""By what is asked; the first of each is what the others are compared with."""


POOLS_AT_ONCE, EACH, BLOCKS = 20, 4, 0.05
QUICK_BLOCKS = 0.001


def blocking(seconds: float) -> dict[str, Any]:
    """Return judges that block for some seconds a call; the first is what the others are compared with."""

    def one(_prompt: str, text: str) -> int:
        time.sleep(seconds)
        return len(text)

    def several(_prompt: str, texts: Sequence[str]) -> list[int]:
        time.sleep(seconds)
        return [len(text) for text in texts]

    return {
        "function": one,
        "FunctionJudge(function)": bw.FunctionJudge(one),
        "FunctionJudge(function, workers=32)": bw.FunctionJudge(one, workers=32),
        "FunctionJudge(function, batch=True)": bw.FunctionJudge(several, batch=True),
        "FunctionJudge(function, batch=True, workers=8)": bw.FunctionJudge(several, batch=True, workers=8),
    }


def waited(judge: Any) -> float:
    """Return the seconds until all of a crowd of pools have their picks."""

    async def main() -> float:
        async with Selector(judge) as selector:
            begun = time.perf_counter()
            await asyncio.gather(*(selector.aselect(f"p{at}", POOL[:EACH]) for at in range(POOLS_AT_ONCE)))
            return time.perf_counter() - begun

    return asyncio.run(main())


def waits(seconds: float, rounds: int) -> dict[str, list[float]]:
    """Let judges that block take turns."""
    judges = blocking(seconds)
    found: dict[str, list[float]] = {name: [] for name in judges}
    for _ in range(rounds):
        for name, judge in judges.items():
            found[name].append(waited(judge))
    return found


def table_of_waits(found: dict[str, list[float]]) -> str:
    """Lay them out as a Markdown table; ratios are medians of those within a round."""
    first = next(iter(found.values()))
    lines = [("what blocks", "s for all pools", "times as quick"), ("---",) * 3]
    for name, seconds in found.items():
        times = statistics.median(base / one for base, one in zip(first, seconds, strict=True))
        lines.append((f"`{name}`", f"{statistics.median(seconds):.2f}", f"{times:.1f}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Row:
    """What was measured of one contender: seconds of CPU of a selection, one a round."""

    judge: str
    name: str
    cpu: list[float]


def measure(work: Callable[[int], None], selections: int) -> float:
    """Return the CPU seconds of one selection, those of all threads of this process included."""
    before = time.process_time()
    work(selections)
    return (time.process_time() - before) / selections


def measured(selections: int, rounds: int) -> list[Row]:
    """Let the contenders take turns, after a warm-up."""
    rows = [Row(kind, name, []) for kind, some in CONTENDERS.items() for name in some]
    for row in rows:
        CONTENDERS[row.judge][row.name](3)
    for _ in range(rounds):
        for row in rows:
            row.cpu.append(measure(CONTENDERS[row.judge][row.name], selections))
    return rows


HEADER = ("judge", "what", "CPU ms a selection", "above the bare loop, ms", "x the bare loop")


def table(rows: Sequence[Row]) -> str:
    """Lay the medians out as a Markdown table."""
    firsts: dict[str, Row] = {}
    for row in rows:
        firsts.setdefault(row.judge, row)
    lines = [HEADER, ("---",) * len(HEADER), *(cells(row, firsts[row.judge]) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines[1] = tuple("-" * width for width in widths)
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def cells(row: Row, first: Row) -> tuple[str, ...]:
    """Write one line: differences and ratios are medians of those within a round."""
    cpu = f"{statistics.median(row.cpu) * 1e3:.3f}"
    if row is first:
        return row.judge, row.name, cpu, "-", "-"
    both = list(zip(row.cpu, first.cpu, strict=True))
    above = statistics.median(one - base for one, base in both)
    times = statistics.median(one / base for one, base in both)
    return row.judge, row.name, cpu, f"{above * 1e3:+.3f}", f"{times:,.2f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--selections", type=int, default=SELECTIONS, help="of each contender in each round")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the contenders take turns in each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    parser.add_argument("--quick", action="store_true", help="a smoke run: few selections, two rounds")
    asked = parser.parse_args(argv)
    selections, rounds = (QUICK_SELECTIONS, QUICK_ROUNDS) if asked.quick else (asked.selections, asked.rounds)
    rows = measured(selections, rounds)
    machine = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("bonwise", "openai", HTTP.__name__)},
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "candidates": CANDIDATES,
        "selections": selections,
        "rounds": rounds,
    }
    blocked = waits(QUICK_BLOCKS if asked.quick else BLOCKS, rounds)
    words = ", ".join(f"{name} {value}" for name, value in machine.items())
    print(words, table(rows), table_of_waits(blocked), sep="\n\n")
    if asked.json is not None:
        document = {"machine": machine, "rows": [vars(row) for row in rows], "waits": blocked}
        asked.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
