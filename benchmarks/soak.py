"""Whether a service that picks for a long time grows: slopes of memory, tasks, sockets, files and latency.

Run ``python benchmarks/soak.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy import stats

import bonwise as bw
from load import served

SECONDS, QUICK_SECONDS = 1200.0, 60.0
CLIENTS, CANDIDATES, DEADLINE = 20, 4, 2.0
BLOCKS = 40
"""Parts of the time; each gives one value of every figure."""

WARM_UP = 0.2
"""Part of the time that is left out of the slopes: connections are opened, and caches filled."""

UNITS = {"memory": "MB", "tasks": "", "sockets": "", "files": "", "latency": "ms", "picks": "a second"}


@dataclass(frozen=True)
class Sample:
    """What the process held at the end of a block, and what its picks took in it.

    Parameters
    ----------
    at : float
        Seconds since the start.
    memory : float
        Resident, in MB.
    tasks, sockets, files : float
        Tasks of the event loop, open sockets, and other open files.
    latency : float
        Median of a pick, in ms.
    picks : float
        A second.
    """

    at: float
    memory: float
    tasks: float
    sockets: float
    files: float
    latency: float
    picks: float


def held(at: float, took: Sequence[float], since: float) -> Sample:
    """Look at this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    open_files = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.exists()]
    sockets = sum("socket:" in one for one in open_files)
    return Sample(
        at,
        pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        len(asyncio.all_tasks()),
        sockets,
        len(open_files) - sockets,
        1000 * statistics.median(took),
        len(took) / since,
    )


async def soak(url: str, seconds: float, folder: Path) -> list[Sample]:
    """Pick all the time, with a ledger on disk, and look at the process at the end of every block."""
    begun, took, samples = time.monotonic(), [0.0], []
    until = begun + seconds

    async def client(selector: bw.Selector, number: int) -> None:
        turn = 0
        while (now := time.monotonic()) < until:
            turn += 1
            texts = [f"answer {at} of {number}, {turn}" for at in range(CANDIDATES)]
            await selector.aselect(f"prompt {number}, {turn}", texts)
            took.append(time.monotonic() - now)

    judge = bw.Pointwise("openai/m", base_url=url)
    async with bw.Selector(judge, deadline=DEADLINE, on_failure="first", ledger=folder, seed=0) as selector:
        clients = [asyncio.create_task(client(selector, number)) for number in range(CLIENTS)]
        for block in range(1, BLOCKS + 1):
            await asyncio.sleep(begun + block * seconds / BLOCKS - time.monotonic())
            samples.append(held(time.monotonic() - begun, took, seconds / BLOCKS))
            took[:] = took[-1:]
        await asyncio.gather(*clients)
    return samples


def slopes(samples: Sequence[Sample]) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield of each figure its median and its slope an hour, with the 95 % interval of the slope."""
    kept = samples[int(WARM_UP * len(samples)) :]
    hours = [one.at / 3600 for one in kept]
    for name in UNITS:
        values = [getattr(one, name) for one in kept]
        line = stats.linregress(hours, values)
        # Of values that are all the same the error is 0, which is undefined for the library.
        reach = stats.t.ppf(0.975, len(kept) - 2) * line.stderr if len(set(values)) > 1 else 0.0
        yield name, statistics.median(values), line.slope, line.slope - reach, line.slope + reach


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS:g} seconds")
    parser.add_argument("--seconds", type=float, help=f"{SECONDS:g} unless given")
    parser.add_argument("--json", type=Path, help="write the samples too")
    given = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "sk-of-nobody"
    seconds = given.seconds or (QUICK_SECONDS if given.quick else SECONDS)
    with tempfile.TemporaryDirectory() as folder, served("10 % faults") as (url, _):
        samples = asyncio.run(soak(url, seconds, Path(folder) / "run"))
    print(f"{seconds:g} s, {CLIENTS} clients, pools of {CANDIDATES}, a tenth of the attempts failing")
    print("| figure | median | slope an hour | 95 % interval |\n| --- | --- | --- | --- |")
    for name, middle, slope, low, high in slopes(samples):
        print(f"| {f'{name} {UNITS[name]}'.strip()} | {middle:.1f} | {slope:+.1f} | [{low:+.1f}, {high:+.1f}] |")
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in samples], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
