"""The table of docs/performance.md: each row is a ratio measured in one run, with the command that measures it.

``python benchmarks/performance.py [--write] [--only PART] [--quick]`` runs short forms of the other benchmarks, some
minutes in all. Both sides of a ratio take turns on the same machine, so that a busy or slow one changes neither much.
``--write --only PART`` renews the rows of that part. A row whose contender is not there says that it was not
measured; ``--others FOLDER`` names a folder with environments of litellm and LangChain, as `calls.py` makes them.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import bonwise as bw
import call_contenders
import calls
import loop_stalls
import selection
import whole_audit
from bonwise.judges.local import from_name
from bonwise.selection.selector import Selector
from bonwise.table.pools import read_pools
from bonwise.testing import simulate
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
    held: tuple[int, int] = (4_000, 40_000)
    """Pools of which the memory of a dry run is measured."""
    rows: tuple[int, int] = (200, 2_000)
    """Pools that a ledger holds."""
    others: Path | None = None
    """Where environments of other clients are."""


QUICK = Settings((20, 60), 64, 1, (8, 16), (20, 60), (4, 8))
NOT_MEASURED = "not measured"
BEFORE = "753c271d"
"""The last commit before picks were made cheaper."""
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
    # Children's time is told in ticks: few pools may take none.
    return max(spent[1] - spent[0], 1 / os.sysconf("SC_CLK_TCK")) / (sizes[1] - sizes[0])


def selector_cpu(folder: Path, size: int) -> float:
    """Return the seconds of CPU of a pick by `Selector.select`."""
    pools = list(read_pools(folder / f"{size}.jsonl"))
    with Selector(from_name("length")) as selector:
        before = time.process_time()
        for pool in pools:
            selector.select(pool.prompt, [candidate.text for candidate in pool.candidates], prompt_id=pool.prompt_id)
        return (time.process_time() - before) / len(pools)


def command_peak(folder: Path, size: int) -> float:
    """Return the largest memory, in megabytes, of a dry run on a file of so many pools."""
    file = folder / f"{size}.jsonl"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(pool_lines(size))
    arguments = [
        "judge",
        str(file),
        "--judge",
        "pointwise:openai/gpt-5-mini",
        "--dry-run",
        "--run",
        str(folder / "run"),
    ]
    process = subprocess.Popen([sys.executable, "-c", ENTRY, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    file.unlink()
    return used.ru_maxrss / 1024


def memory(settings: Settings) -> Iterator[Row]:
    """Compare the memory of a dry run on many pools with that on few."""
    few, many = settings.held
    with tempfile.TemporaryDirectory() as folder:
        small, large = (command_peak(Path(folder), size) for size in settings.held)
    what = f"memory of `bonwise judge --dry-run`, {many:,} pools"
    yield what, f"{few:,} pools", f"{large / small:.2f} ({large:,.0f} MB)", "memory"


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


ONE_PICK = """
import time
from bonwise.selection.selector import Selector
texts = {texts!r}
with Selector(lambda prompt, text: len(text)) as selector:
    for at in range({picks}):
        if at == {picks} // 5:
            before = time.process_time()
        selector.select(f"p{{at}}", texts)
    print(time.process_time() - before)
"""


@contextmanager
def source_before() -> Iterator[Path | None]:
    """Yield the folder with the code as it was before; None where the history is not there."""
    with tempfile.TemporaryDirectory() as folder:
        command = [shutil.which("git") or "", "-C", str(HERE.parent), "archive", BEFORE, "src"]
        archive = subprocess.run(command, capture_output=True, check=False) if command[0] else None
        if archive is None or archive.returncode:
            yield None
            return
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder) / "src"


def pick_cpu(source: Path, picks: int) -> float:
    """Return the seconds of CPU of picks among four by a function, in a process with the code of a folder."""
    program = ONE_PICK.format(texts=texts_of(4), picks=5 * picks // 4)
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def before(settings: Settings) -> Iterator[Row]:
    """Compare picks, and the stall of a crowd of them, with the code of before."""
    picked, stalled = "a pick of four by a function", f"longest stall of a loop by {settings.crowds[-1]:,} pools, CPU"
    with source_before() as old:
        if old is None:
            yield picked, f"commit {BEFORE}", f"{NOT_MEASURED}: no history", "before"
            yield stalled, f"commit {BEFORE}", f"{NOT_MEASURED}: no history", "before"
            return
        new, pairs, stalls = HERE.parent / "src", [], []
        for _ in range(settings.rounds):
            pairs.append((pick_cpu(new, settings.calls), pick_cpu(old, settings.calls)))
            both = [loop_stalls.measured(loop_stalls.ASYNCHRONOUS, settings.crowds[-1], at) for at in (new, old)]
            stalls.append((both[0].stall_cpu, both[1].stall_cpu))
    yield picked, f"commit {BEFORE}", ratio(pairs), "before"
    yield stalled, f"commit {BEFORE}", ratio(stalls), "before"


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
    yield "picks per second of CPU, 1 in flight", "itself", f"1.00 ({one:,.0f} on one busy core)", "picks"
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


def ledger(settings: Settings) -> Iterator[Row]:
    """Compare new calls with a ledger of many rows with those with one of few."""
    judge = bw.Pointwise("openai/m", base_url="http://memory/v1")
    os.environ.setdefault("OPENAI_API_KEY", call_contenders.KEY)
    few, many = settings.rows
    cpu: dict[int, list[float]] = {few: [], many: []}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        selectors = {
            rows: opened.enter_context(
                Selector(judge, ledger=Path(folder) / str(rows), connection=loop_stalls.in_memory())
            )
            for rows in settings.rows
        }
        for rows, selector in selectors.items():
            pick_numbers(selector, range(rows))
        for turn in range(1, settings.rounds + 1):
            for rows, selector in selectors.items():
                numbers = range(turn * 10**6, turn * 10**6 + few)
                begun = time.process_time()
                pick_numbers(selector, numbers)
                cpu[rows].append(time.process_time() - begun)
    what = f"a pick by a model in memory, ledger of {4 * many:,} answers"
    yield what, f"{4 * few:,} answers", ratio([*zip(cpu[many], cpu[few], strict=True)]), "ledger"


def pick_numbers(selector: Selector, numbers: range) -> None:
    """Pick from pools that differ."""
    pools = ((f"p{number}", [f"{text} {number}" for text in texts_of(4)]) for number in numbers)
    for pick in selector.select_many(pools):
        assert pick.best is not None


# Audits of files, as whole processes.


SUMS = """\
import sys
import duckdb
print(duckdb.sql(f'''WITH prompts AS (SELECT prompt_id, count(*) n, sum(judge_score) s, sum(oracle_label) o,
    sum(judge_score * judge_score) ss, sum(oracle_label * oracle_label) oo, sum(judge_score * oracle_label) so,
    max(judge_score) top, max(oracle_label) best, min(oracle_label) low, arg_max(oracle_label, judge_score) pick
    FROM '{sys.argv[1]}' GROUP BY prompt_id)
SELECT count(*), sum(n), sum(s), sum(o), sum(ss), sum(oo), sum(so), sum(ss - s * s / n), sum(oo - o * o / n),
    sum(so - s * o / n), sum(pick), sum(o / n), sum(best), sum(low), sum((pick - o / n) ** 2),
    sum((best - o / n) ** 2), sum((pick - o / n) * (best - o / n)), sum((pick - o / n) ** 4), max(top) FROM prompts
''').fetchall())
"""
"""Most of the sums that an audit in passes adds up: without ties and pairs of candidates."""
IN_PASSES = whole_audit.AUDIT.replace(
    "main(['audit', *sys.argv[1:]])", "main(['audit', '--in-passes', *sys.argv[1:]])"
)


def audit(settings: Settings) -> Iterator[Row]:
    """Compare audits with a script of pandas, and with sums by DuckDB where that is installed."""
    rows, rounds = (400, 1) if settings is QUICK else (400_000, settings.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost = whole_audit.measured(rows, rounds, folder, seed=1)
        yield f"`bonwise audit` of {rows:,} rows of CSV", "12 lines of pandas", f"{cost.ratio:.2f}", "audit"
        if find_spec("duckdb") is None:
            return
        frame, file = simulate("arena", n=rows // 4, seed=1).frame(), folder / "scores.parquet"
        frame.to_parquet(file, index=False)
        pairs = [tuple(whole_audit.cost(code, file)[0] for code in (IN_PASSES, SUMS)) for _ in range(rounds)]
        yield (
            f"the same of Parquet, `--in-passes`, {rows:,} rows",
            "most of its sums by DuckDB",
            ratio(pairs),
            "audit",
        )


# Calls of a model, and the endpoint.


AGAINST = {
    "create": "`create` of the SDK",
    "raw post": "`post` of the SDK",
    "httpx": "a bare POST by the SDK's HTTP library",
    "aiohttp": "a bare POST by aiohttp",
    "litellm": "litellm",
    "langchain-openai": "langchain-openai",
}


def engine(settings: Settings) -> Iterator[Row]:
    """Compare calls with those of other clients."""
    jobs = {name: calls.Job(calls.LOOPBACK, name) for name in ("create", "raw post", "httpx", "bonwise")}
    if find_spec("aiohttp"):
        jobs |= {name: calls.Job(calls.LOOPBACK, name) for name in ("aiohttp", "bonwise by aiohttp")}
    for name in calls.OTHERS:
        python = (settings.others or Path()) / name / "bin" / "python"
        if settings.others is not None and python.exists():
            jobs[name] = calls.Job(calls.LOOPBACK, name, str(python))
    costs: dict[str, list[float]] = {name: [] for name in jobs}
    with served(0.0) as url:
        for _ in range(settings.rounds):
            for name, job in jobs.items():
                costs[name].append(calls.measure(job, settings.calls, url).cpu)
    pairs = [("bonwise", other) for other in AGAINST if other != "aiohttp"]
    for name, other in [*pairs, ("bonwise by aiohttp", "create"), ("bonwise by aiohttp", "aiohttp")]:
        there = name in costs and other in costs
        figure = ratio([*zip(costs[name], costs[other], strict=True)]) if there else f"{NOT_MEASURED}: not installed"
        yield f"CPU of a call, {name}, ledger on disk", AGAINST[other], figure, "engine"


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
    "memory": memory,
    "picks": picks,
    "before": before,
    "growth": growth,
    "ledger": ledger,
    "audit": audit,
    "engine": engine,
    "serve": serve,
}
NEEDS = {"audit": ("duckdb",), "engine": ("aiohttp",), "serve": ("starlette", "uvicorn")}
ELSEWHERE = (
    ("audits against bootstraps of pandas and scipy", "python benchmarks/audit.py"),
    ("what a crowd of picks keeps the event loop from", "python benchmarks/loop_stalls.py --pools 3000"),
    ("memory and open files of a service", "python benchmarks/soak.py"),
)
"""What takes longer, or needs environments of its own, with the command that measures it."""


def renewed(page: str, cells: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows of a page, those of the commands that were run again replaced."""
    table = page.partition("<!-- ratios: start -->")[2].partition("<!-- ratios: end -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][2:]
    kept = [tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in lines]
    again = {row[3] for row in cells}
    rows = [row for row in kept if row[3] not in again] + list(cells)
    order = [f"`python benchmarks/performance.py --only {part}`" for part in PARTS]
    return sorted(rows, key=lambda row: order.index(row[3]))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="part of the table (repeatable)")
    parser.add_argument("--others", type=Path, metavar="FOLDER", help="environments that calls.py --others made")
    parser.add_argument("--quick", action="store_true", help="a smoke run: little of each, its numbers mean nothing")
    parser.add_argument("--write", action="store_true", help=f"write the page {PAGE.relative_to(HERE.parent)}")
    options = parser.parse_args(argv)
    if options.write and options.quick:
        parser.error("numbers of a smoke run mean nothing: leave --quick out")
    rows, missing = [], []
    for name in options.only or PARTS:
        missing += [f"`{need}` is not installed" for need in NEEDS.get(name, ()) if find_spec(need) is None]
        print(name, file=sys.stderr, flush=True)
        if name != "serve" or not any(find_spec(need) is None for need in NEEDS["serve"]):
            rows += list(PARTS[name](replace(QUICK if options.quick else Settings(), others=options.others)))
    cells = [(*row[:3], f"`python benchmarks/performance.py --only {row[3]}`") for row in rows]
    if options.write and options.only:
        cells = renewed(PAGE.read_text(encoding="utf-8"), cells)
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
