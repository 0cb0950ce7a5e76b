"""The laws of a ledger that several processes share, and of processes that die."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from bonwise.calls.ledger.ledger import Ledger
from calls.ledgers import ask, key, process, recorded, request

HOLD = """
import asyncio, sys
from calls.ledgers import key, request
from bonwise.calls.ledger.ledger import Ledger

async def main():
    for keys in ([key(0), key(1)], [key(2)]):
        await ledger.claim(keys, request(), wall=1.0)

with Ledger.open(sys.argv[1]) as ledger:
    asyncio.run(main())
    print("holding", flush=True)
    sys.stdin.readline()
"""

SHARE = """
import asyncio, sys
from calls.ledgers import key, recorded, request
from bonwise.calls.ledger.ledger import Ledger

async def one(ledger, name):
    claim = await ledger.claim([name], request(), wall=1.0)
    while claim.busy:
        await asyncio.sleep(0.001)
        claim = await ledger.claim([name], request(), wall=1.0)
    if claim.claimed:
        await ledger.answer(claim.call_id, recorded({name: 0}))
    return len(claim.claimed)

async def main():
    paid = 0
    for start in range(0, 120, 20):
        paid += sum(await asyncio.gather(*(one(ledger, key(n)) for n in range(start, start + 20))))
    print(paid)

sys.stdin.readline()
with Ledger.open(sys.argv[1]) as ledger:
    asyncio.run(main())
"""

STORM = """
import asyncio, sys
from calls.ledgers import ask, key
from bonwise.calls.ledger.ledger import Ledger

async def work(ledger, start):
    for number in range(start, start + 100_000, 8):
        await ask(ledger, key(number))
        print(number, flush=True)

async def main():
    await asyncio.gather(*(work(ledger, start) for start in range(8)))

ledger = Ledger.open(sys.argv[1])
asyncio.run(main())
"""

FORGETFUL = """
import asyncio, sys
from calls.ledgers import ask, key
from bonwise.calls.ledger.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
asyncio.run(ask(ledger, key(0)))
ledger.note_reading(key(0), "7")
"""

FORK = """
import asyncio, os, sys
from calls.ledgers import ask, key, recorded, request
from bonwise.calls.ledger.ledger import Ledger

def open_files():
    folder = "/proc/self/fd"
    numbers = os.listdir(folder) if os.path.exists(folder) else []
    return [os.readlink(f"{folder}/{n}") for n in numbers if os.path.islink(f"{folder}/{n}")]

ledger = Ledger.open(sys.argv[1])
first = asyncio.run(ledger.claim([key(0), key(1)], request(), wall=1.0))
ledger.stored(key(0))
child = os.fork()
if child == 0:
    try:
        inherited = [file for file in open_files() if "ledger.sqlite" in file]
        claim = asyncio.run(ledger.claim([key(0)], request(), wall=1.0))
        asyncio.run(ask(ledger, key(2)))
        ledger.close()
        os._exit(0 if claim.busy and not inherited else 1)
    finally:
        os._exit(2)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
asyncio.run(ledger.answer(first.call_id, recorded({key(0): 0})))
again = asyncio.run(ledger.claim([key(1)], request(), wall=1.0))
print(code, len(again.claimed), ledger.stored(key(2)) is not None, ledger.stored(key(0)) is not None)
ledger.close()
"""


def holder(folder):
    """Start a process that holds two calls."""
    running = process(HOLD, folder)
    assert running.stdout.readline() == "holding\n"
    return running


async def claim_all(ledger):
    """Claim what the holder holds."""
    return await ledger.claim([key(number) for number in range(3)], request(), wall=2.0)


def test_a_living_process_keeps_its_leases(tmp_path):
    """What another process is asking for is busy until it ends; then it is free and counted as unknown."""
    with Ledger.open(tmp_path) as ledger:
        running = holder(tmp_path)
        busy = asyncio.run(claim_all(ledger))
        running.communicate("\n")
        free = asyncio.run(claim_all(ledger))
    assert (busy.call_id, len(busy.busy), busy.unknown) == (None, 3, 0)
    assert (len(free.claimed), free.busy, free.unknown) == (3, (), 2)


def test_the_leases_of_a_killed_process_are_void_at_once(tmp_path):
    """After a kill nothing waits for a timeout: the next claim takes over, and counts what may be billed."""
    running = holder(tmp_path)
    running.kill()
    running.communicate()
    with Ledger.open(tmp_path) as ledger:
        claim = asyncio.run(claim_all(ledger))
        stats = ledger.stats()
    assert (len(claim.claimed), claim.unknown) == (3, 2)
    assert stats.calls == {"unknown": 2, "sent": 1}
    assert stats.lost_attempts == 2


def test_processes_never_pay_twice(tmp_path):
    """Processes that make the same ledger at once and want the same samples ask for each exactly once."""
    running = [process(SHARE, tmp_path / "run") for _ in range(3)]
    for one in running:
        one.stdin.write("\n")
        one.stdin.flush()
    paid = [int(one.communicate()[0]) for one in running]
    assert sum(paid) == 120
    with Ledger.open(tmp_path / "run") as ledger:
        assert ledger.stats().calls == {"answered": 120}


@pytest.mark.parametrize("answers", [1, 7, 40])
def test_a_kill_at_any_moment_loses_no_awaited_answer(tmp_path, answers):
    """A process killed among many claims and answers leaves a sound file with every answer it was told of."""
    running = process(STORM, tmp_path)
    told = [int(running.stdout.readline()) for _ in range(answers)]
    running.kill()
    told += [int(line) for line in running.stdout.read().splitlines()]
    running.communicate()
    with Ledger.open(tmp_path) as ledger:
        assert ledger.integrity() == "ok"
        assert all(ledger.stored(key(number)) for number in told)
        asyncio.run(ask(ledger, key("afterwards")))


def test_a_ledger_that_nobody_closes_is_closed_at_exit(tmp_path):
    """A process that ends by itself commits what it had queued."""
    running = process(FORGETFUL, tmp_path)
    running.communicate()
    assert running.returncode == 0
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stored(key(0)).reading == "7"


def test_a_process_that_forks_becomes_two_owners(tmp_path):
    """After a fork both processes go on, each with its own leases."""
    running = process(FORK, tmp_path)
    assert running.communicate()[0].split() == ["0", "1", "True", "True"]
    with Ledger.open(tmp_path) as ledger:
        assert ledger.integrity() == "ok"
        with closing(sqlite3.connect(ledger.path)) as connection:
            assert len(set(connection.execute("SELECT pid FROM owner").fetchall())) == 2


def test_answers_while_another_process_prunes(tmp_path):
    """Pruning from elsewhere does not disturb a process that is asking."""

    async def main(ledger):
        claim = await ledger.claim([key(5)], request(), wall=1.0)
        pruner.prune()
        await ledger.answer(claim.call_id, recorded({key(5): 0}))

    holder(tmp_path).communicate("\n")
    with Ledger.open(tmp_path) as ledger, Ledger.open(tmp_path) as pruner:
        asyncio.run(main(ledger))
        calls = ledger.stats().calls
        assert {state: count for state, count in calls.items() if count} == {"answered": 1, "unknown": 2}
