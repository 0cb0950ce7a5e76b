"""How fast a ledger takes calls: that of a run folder, and one on PostgreSQL, by several processes on one machine.

Run ``python benchmarks/ledgers.py --ledger postgresql://USER@HOST/DB``. Each call is a claim, a request of 2 kB, an
answer and a note, with a limit on money or without. How to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bonwise.calls.ask import Request
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.records import Recorded

TEXT = Path(__file__).with_name("README.md").read_text("utf-8")[:2000]
BODY = {"model": "m", "messages": [{"role": "user", "content": TEXT}]}
RAW = json.dumps({"choices": [{"message": {"content": "7"}}], "usage": TEXT[:500]}).encode()
REQUEST = Request("openai", "https://api.openai.com/v1", "", "/chat/completions", BODY, "m")
AT_ONCE = 64
COST, MOST, DAY = 10**6, 10**18, 86_400.0


async def work(place: str, calls: int, first: int, limited: bool) -> tuple[float, float]:
    """Make calls, `AT_ONCE` at once; return the seconds and the CPU seconds that they took."""
    ledger: Any = Engine(place).ledger
    numbers = iter(range(first, first + calls))

    async def one_after_another() -> None:
        for number in numbers:
            key = hashlib.sha256(str(number).encode()).digest()
            row = await ledger.hold_money(COST, MOST, DAY, time.time()) if limited else None
            claim = await ledger.claim([key], REQUEST, time.time())
            await ledger.answer(claim.call_id, Recorded(200, RAW, time.time(), {key: 0}, cost=1e-6))
            ledger.note_reading(key, "7")
            ledger.spend_money(COST, time.time(), row)

    await ledger.look_up([b"\0" * 32])
    begun, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    ledger.close()
    return seconds, cpu


def measured(place: str, calls: int, processes: int, limited: bool, offset: int) -> dict[str, float]:
    """Return calls per second of several processes together, and CPU milliseconds per call."""
    each = calls // processes
    commands = [
        [sys.executable, __file__, "--work", place, str(each), str(offset + at * each), str(int(limited))]
        for at in range(processes)
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    told = [json.loads(process.communicate()[0]) for process in running]
    return {
        "calls_per_second": each * processes / max(seconds for seconds, _ in told),
        "cpu_ms_per_call": 1000 * sum(cpu for _, cpu in told) / (each * processes),
    }


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--work"]:
        place, calls, first, limited = sys.argv[2:]
        print(json.dumps(asyncio.run(work(place, int(calls), int(first), limited == "1"))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ledger", help="address of a database; its schema is used up")
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows, offset = [], time.time_ns()
    with tempfile.TemporaryDirectory() as folder:
        for kind, place in (("run folder", folder), ("PostgreSQL", options.ledger)):
            for processes in (1, 4) if place else ():
                for limited in (False, True):
                    offset += options.calls
                    figures = measured(place, options.calls, processes, limited, offset)
                    rows.append({"ledger": kind, "processes": processes, "limit": limited, **figures})
                    told = (
                        f"{figures['calls_per_second']:7,.0f} calls/s {figures['cpu_ms_per_call']:6.2f} ms CPU a call"
                    )
                    print(
                        f"{kind:11} {processes} processes, {'limit' if limited else 'no limit':8} {told}", flush=True
                    )
        size = (Path(folder) / "ledger.sqlite").stat().st_size
        count = 4 * options.calls
        print(f"run folder  {size / count:,.0f} bytes a call")
    if options.json:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        options.json.write_text(json.dumps({"rows": rows, "bytes_per_call": size / count, "peak_kb": peak}, indent=1))


if __name__ == "__main__":
    main()
