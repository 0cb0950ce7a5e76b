"""The table of docs/performance.md: each row is a ratio measured in one run, with the command that measures it.

``python benchmarks/performance.py [--write] [--only PART] [--quick]`` runs short forms of the other benchmarks, some
minutes in all. Both sides of a ratio take turns on the same machine, so that a busy or slow one changes neither much.
What is not installed is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import calls
import loop_stalls
import selection
from bonwise.judges.local import from_name
from bonwise.selection.selector import Selector
from bonwise.table.pools import read_pools
from marked_page import markdown_table, write_between
from scripted_model import served

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
HEADER = ("what", "compared with", "ratio", "command")
ENTRY = "import sys; from bonwise.cli.entry import main; sys.exit(main())"
FUNCTION_CALLS_BEFORE = 532
"""Calls of Python functions of a pick among four candidates by a function, before picks were made cheaper."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    pools: tuple[int, int] = (500, 5_000)
    calls: int = 800
    rounds: int = 3
    crowds: tuple[int, ...] = (64, 1_000, 3_000)


QUICK = Settings((20, 60), 64, 1, (8, 16))
Row = tuple[str, str, str, str]


def ratio(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the median of the ratios within a round."""
    return f"{statistics.median(own / other for own, other in pairs):.2f}"


def python(file: str, *arguments: str) -> str:
    """Return the output of another benchmark."""
    return subprocess.run(
        [sys.executable, str(HERE / file), *arguments], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


# Commands on files of pools: CPU of a pool, without the start of the program.


def pool_lines(count: int) -> Iterator[str]:
    """Yield pools of four candidates, each with some 30 to 90 words."""
    for at in range(count):
        words = [
            f"Answer {number} to {at}: " + "so many words that say something " * (5 + 3 * number)
            for number in range(4)
        ]
        yield json.dumps({"prompt_id": f"p{at}", "prompt": f"Question {at}: what is it?", "candidates": words}) + "\n"


def command_cpu(folder: Path, sizes: tuple[int, int], *arguments: str) -> float:
    """Return the seconds of CPU of a pool: those of a large file less those of a small one."""
    spent = []
    for size in sizes:
        before = os.times()
        command = [sys.executable, "-c", ENTRY, arguments[0], str(folder / f"{size}.jsonl"), *arguments[1:]]
        subprocess.run([*command, "--run", str(folder / "run")], capture_output=True, check=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return (spent[1] - spent[0]) / (sizes[1] - sizes[0])


def selector_cpu(folder: Path, size: int) -> float:
    """Return the seconds of CPU of a pick by `Selector.select`."""
    pools = list(read_pools(folder / f"{size}.jsonl"))
    with Selector(from_name("length")) as selector:
        before = time.process_time()
        for pool in pools:
            selector.select(pool.prompt, [candidate.text for candidate in pool.candidates], prompt_id=pool.prompt_id)
        return (time.process_time() - before) / len(pools)


def commands(settings: Settings) -> Iterator[Row]:
    """Compare commands per pool."""
    model = ("--judge", "pointwise:openai/gpt-5-mini", "--dry-run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in settings.pools:
            (folder / f"{size}.jsonl").write_text("".join(pool_lines(size)), encoding="utf-8")
        cpu = partial(command_cpu, folder, settings.pools)
        judge, dry, plan, pick, python_pick = [], [], [], [], []
        for _ in range(settings.rounds):
            judge.append(cpu("judge", "--judge", "local:length"))
            dry.append(cpu("judge", *model))
            plan.append(cpu("select", *model))
            pick.append(cpu("select", "--judge", "local:length"))
            python_pick.append(selector_cpu(folder, settings.pools[1]))
    local = "`bonwise judge --judge local:length`, per pool"
    yield "`bonwise judge --dry-run`, per pool", local, ratio([*zip(dry, judge, strict=True)]), "commands"
    yield "`bonwise select --dry-run`, per pool", local, ratio([*zip(plan, judge, strict=True)]), "commands"
    yield (
        "`bonwise select --judge local:length`",
        "`Selector.select`",
        ratio([*zip(pick, python_pick, strict=True)]),
        "commands",
    )


# Picks in Python.


def functions_called(work: Callable[[], object]) -> int:
    """Return how many Python functions are called; what a pick waits for in other threads does not count."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def texts_of(count: int) -> list[str]:
    """Return candidates that differ."""
    return [f"Answer {number}: " + "so many words " * (8 + number) for number in range(count)]


async def rate(at_once: int, picks: int) -> float:
    """Return the picks per second of CPU of a function that is awaited, so many of them in flight."""
    async with Selector(loop_stalls.waiting_judge) as selector:
        await selector.aselect("warm", texts_of(4))
        before, numbers = time.process_time(), iter(range(picks))

        async def worker() -> None:
            for number in numbers:
                await selector.aselect(f"p{number}", texts_of(4))

        await asyncio.gather(*(worker() for _ in range(at_once)))
        return picks / (time.process_time() - before)


def picks(settings: Settings) -> Iterator[Row]:
    """Compare picks with one another, and with a loop by hand."""
    selector, four = Selector(loop_stalls.judge), texts_of(4)
    selector.select("warm", four)
    called = functions_called(lambda: selector.select("p", four))
    before = f"{FUNCTION_CALLS_BEFORE} before"
    yield "function calls of a pick of four", before, f"{called / FUNCTION_CALLS_BEFORE:.2f}", "picks"
    many = settings.calls
    cpu = {
        count: [
            selection.measure(
                lambda n, count=count: [selector.select(f"p{at}", texts_of(count)) for at in range(n)], many
            )
        ]
        for count in (4, 16)
    }
    yield "a pick of 16 candidates", "a pick of 4", ratio([*zip(cpu[16], cpu[4], strict=True)]), "picks"
    one = asyncio.run(rate(1, many))
    yield "picks per second of CPU, 1 in flight", "itself", f"1.00 ({one:,.0f} picks)", "picks"
    for at_once in settings.crowds:
        several = asyncio.run(rate(at_once, max(many, at_once)))
        yield f"the same, {at_once:,} in flight", "1 in flight", f"{several / one:.2f}", "picks"


def growth(settings: Settings) -> Iterator[Row]:
    """Look at how costs grow with prompts and with judges."""
    few, lot, judges = ("400", "800", "2,4") if settings is QUICK else ("10000", "50000", "2,20")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "growth.json"
        options = (
            "--only",
            "route",
            "--only",
            "audit",
            "--sizes",
            f"{few},{lot}",
            "--judges",
            judges,
            "--prompts",
            "1000",
        )
        python("growth.py", *options, "--json", str(file))
        for found in json.loads(file.read_text(encoding="utf-8")):
            if str(found["size"]) == lot:
                yield (
                    f"`bw.route` of {int(lot):,} prompts, per prompt",
                    f"{int(few):,} prompts",
                    f"{found['ratio']:.2f}",
                    "growth",
                )
            elif found["what"] == "audit" and str(found["size"]) == judges.partition(",")[2]:
                yield f"an audit of {found['size']} judges", "audits one by one", f"{found['ratio']:.2f}", "growth"


# Calls of a model, and the endpoint.


def engine(settings: Settings) -> Iterator[Row]:
    """Compare calls with those of other clients; `calls.py --others` compares with litellm and LangChain."""
    names = ["create", "raw post", "bonwise", *(["bonwise by aiohttp"] if find_spec("aiohttp") else [])]
    costs: dict[str, list[float]] = {name: [] for name in names}
    with served(0.0) as url:
        for _ in range(settings.rounds):
            for name in names:
                costs[name].append(calls.measure(calls.Job(calls.LOOPBACK, name), settings.calls, url).cpu)
    for name, other in (("bonwise", "create"), ("bonwise", "raw post"), ("bonwise by aiohttp", "create")):
        against = {"create": "`create` of the SDK", "raw post": "a bare POST by the SDK's HTTP library"}[other]
        if name in costs:
            what = f"CPU of a call, {name}, ledger on disk"
            yield what, against, ratio([*zip(costs[name], costs[other], strict=True)]), "engine"


def serve(settings: Settings) -> Iterator[Row]:
    """Compare `bonwise serve` with a bare proxy."""
    requests, rounds = ("40", "1") if settings is QUICK else ("300", "3")
    options = ("--draw", "calls", "--requests", requests, "--rounds", rounds)
    done = subprocess.run(
        [sys.executable, str(HERE / "serve.py"), *options], stdout=subprocess.PIPE, text=True, check=False
    )
    found = re.search(r"ratios: CPU ([\d.]+)", done.stdout)
    if found is not None:
        yield "CPU of a request, `bonwise serve`", "a bare proxy of 4 calls", found[1], "serve"


PARTS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "commands": commands,
    "picks": picks,
    "growth": growth,
    "engine": engine,
    "serve": serve,
}
NEEDS = {"engine": ("aiohttp",), "serve": ("starlette", "uvicorn")}
ELSEWHERE = (
    ("litellm and LangChain", "python benchmarks/calls.py --others FOLDER"),
    ("audits against bootstraps of pandas and scipy", "python benchmarks/audit.py"),
    ("what a crowd of picks keeps the event loop from", "python benchmarks/loop_stalls.py --pools 3000"),
    ("memory and open files of a service", "python benchmarks/soak.py"),
)
"""What takes longer, or needs environments of its own, with the command that measures it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="part of the table (repeatable)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: little of each, its numbers mean nothing")
    parser.add_argument("--write", action="store_true", help=f"write the page {PAGE.relative_to(HERE.parent)}")
    options = parser.parse_args(argv)
    if options.write and (options.only or options.quick):
        parser.error("the page holds all parts: leave --only and --quick out")
    rows, missing = [], []
    for name in options.only or PARTS:
        missing += [f"`{need}` is not installed" for need in NEEDS.get(name, ()) if find_spec(need) is None]
        print(name, file=sys.stderr, flush=True)
        if name != "serve" or not any(find_spec(need) is None for need in NEEDS["serve"]):
            rows += list(PARTS[name](QUICK if options.quick else Settings()))
    cells = [(*row[:3], f"`python benchmarks/performance.py --only {row[3]}`") for row in rows]
    table = markdown_table(HEADER, cells)
    left_out = f"\n\nLeft out where this was measured: {'; '.join(dict.fromkeys(missing))}." if missing else ""
    if options.write:
        write_between(PAGE, "ratios", table + left_out)
        write_between(
            PAGE, "elsewhere", markdown_table(("what", "command"), [(what, f"`{run}`") for what, run in ELSEWHERE])
        )
    else:
        print(table + left_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
