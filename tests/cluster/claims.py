"""A process that pays for claims it wins: ``claims.py ADDRESS KEYS SEED MOST COST``; each payment is a line.

It says ``paid NUMBER COST`` before it answers and ``kept NUMBER`` once the answer is in the ledger, then ``done``.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time

from bonwise.calls.ledger import postgres_transactions
from bonwise.calls.ledger.postgres import PostgresLedger
from bonwise.errors import LedgerError
from calls.ledgers import key, recorded, request

AT_ONCE = 16
HOUR = 3600.0
PAUSE = 0.02


def say(*words):
    """Write a line that a kill cannot cut: one call of the system."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def held(ledger, most, cost):
    """Return what is held for a call once there is room for it, None where there never will be."""
    while (row := await ledger.hold_money(cost, most, HOUR, time.time())) == 0:  # noqa: ASYNC110 - of other processes
        await asyncio.sleep(PAUSE)
    return row


async def worked(ledger, numbers, chance, most, cost):
    """Go through keys until each is answered, or no money is left."""
    while numbers:
        number = numbers.pop()
        row = await held(ledger, most, cost) if most else 0
        if row is None:
            say("broke")
            return
        claim = await ledger.claim([key(number)], request(), time.time())
        spent = 0
        if claim.claimed:
            spent = chance.randint(cost // 2, cost)
            say("paid", number, spent)
            await asyncio.sleep(chance.uniform(0, 0.01))
            await ledger.answer(claim.call_id, recorded({key(number): 0}, cost=spent / 1e12))
            say("kept", number)
        elif claim.busy:
            numbers.insert(0, number)
            await asyncio.sleep(PAUSE)
        if row:
            ledger.spend_money(spent, time.time(), row)


async def main(address, keys, seed, most, cost):
    """Work with several calls at once."""
    chance = random.Random(f"{seed} {os.getpid()}")  # noqa: S311 - an order, no secret
    numbers = list(range(keys))
    chance.shuffle(numbers)
    with PostgresLedger(address) as ledger:
        await asyncio.gather(*(worked(ledger, numbers, chance, most, cost) for _ in range(AT_ONCE)))
    say("done")


if __name__ == "__main__":
    postgres_transactions.HEARTBEAT = 0.5
    while True:
        try:
            asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
        except LedgerError as error:  # it could not even be opened: the server is down
            say("again", error)
            time.sleep(0.2)
            continue
        break
