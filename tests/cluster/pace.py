"""A process that starts as many calls as it may: ``pace.py ADDRESS KIND LIMIT UNTIL``; it prints when."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from functools import partial

from bonwise.calls.ledger.postgres import PostgresLedger
from bonwise.calls.limiter import EndpointLimiter
from bonwise.calls.rate_limits import RateLimits

CALLERS = 32
TOKENS = 50


async def call(limiter, until):
    """Begin calls one after the other; each takes what it was expected to take."""
    while time.time() < until:
        lease = await limiter.acquire(TOKENS)
        os.write(1, f"{time.time()}\n".encode())
        await asyncio.sleep(0.005)
        lease.settle(tokens=TOKENS, limits=RateLimits(), problem=None)


async def main(address, kind, limit, until):
    """Begin calls until the time is up."""
    with PostgresLedger(address) as ledger:
        limiter = EndpointLimiter(CALLERS, **{f"{kind}_per_minute": limit}, bucket=partial(ledger.bucket, "endpoint"))
        callers = [asyncio.create_task(call(limiter, until)) for _ in range(CALLERS)]
        await asyncio.sleep(until - time.time())
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
