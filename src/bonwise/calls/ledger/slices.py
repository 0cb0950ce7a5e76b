"""Money and pace that many processes share on PostgreSQL: each takes a slice, so that no call waits for one row."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bonwise.calls import limiter

Terms = tuple[int, float]
"""The most pico-dollars, and within how many seconds."""

Grants = dict[Terms, tuple[int, int | None]]
"""The dearest call that waits, and how much more is set aside: 0 to wait for other calls, None for no room."""

CALLS = 64
"""Worst cases of calls that a slice of money holds at most."""

PART = 8
"""Of the room that is left, a slice takes one such part at most."""

IDLE = 2.0
"""Seconds after which money that nobody here asks for is given back."""


@dataclass(slots=True, eq=False)
class _Slice:
    """What is set aside in the database, of which some is held for calls in flight."""

    size: int = 0
    held: int = 0
    used_at: float = 0.0
    changed: bool = False


_Flushed = tuple[dict[int, tuple[float, int]], dict[Terms, tuple[_Slice, int]]]
"""What was written: when something was spent last and how much, by minute; and the size of each slice."""


class MoneySlices:
    """What one process may still spend without asking, and what it has spent; any thread may call it."""

    def __init__(self) -> None:
        self.last = 0.0
        """When money was spent last, by anybody: this time never falls."""
        self._slices: dict[Terms, _Slice] = {}
        self._spent: dict[int, tuple[float, int]] = {}
        self._unwritten: set[int] = set()
        self._holds: dict[int, tuple[_Slice, int]] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def hold(self, terms: Terms, cost: int) -> int | None:
        """Set the worst case of a call aside and return its number; None where the slice has no room for it."""
        with self._lock:
            part = self._slices.setdefault(terms, _Slice())
            if part.size - part.held < cost:
                return None
            part.held, part.used_at = part.held + cost, time.monotonic()
            number = next(self._numbers)
            self._holds[number] = part, cost
            return number

    def spend(self, cost: int, wall: float, number: int | None) -> None:
        """Count what a call has cost, in place of what was held for it."""
        with self._lock:
            if number is not None:
                part, held = self._holds.pop(number)
                part.held, part.size, part.changed = part.held - held, part.size - cost, True
            if cost:
                self.last = max(self.last, wall)
                minute = int(self.last // 60)
                self._spent[minute] = self.last, self._spent.get(minute, (0.0, 0))[1] + cost
                self._unwritten.add(minute)

    def free(self, terms: Terms) -> int:
        """Return what a slice has left; its size is written anew next time, whatever becomes of this transaction."""
        with self._lock:
            part = self._slices.setdefault(terms, _Slice())
            part.changed = True
            return part.size - part.held

    def grow(self, terms: Terms, amount: int) -> None:
        """Hear that a slice was given more, by a transaction that was committed; without it is given back."""
        with self._lock:
            part = self._slices[terms]
            # Two that wait for the rest of each other's slices would wait for ever.
            part.size, part.used_at = part.size + amount, time.monotonic() if amount else 0.0

    def to_write(self, *, leaves: bool) -> _Flushed:
        """Return what has changed; slices that idle, or all where the process leaves, shrink to what is held."""
        with self._lock:
            for part in self._slices.values():
                if (leaves or time.monotonic() - part.used_at > IDLE) and part.size != part.held:
                    part.size, part.changed = part.held, True
            changed = {terms: (part, part.size) for terms, part in self._slices.items() if part.changed}
            return {minute: self._spent[minute] for minute in sorted(self._unwritten)}, changed

    def written(self, flushed: _Flushed) -> None:
        """Hear that this was committed."""
        with self._lock:
            minutes, parts = flushed
            self._unwritten -= {minute for minute, spent in minutes.items() if self._spent[minute] == spent}
            kept = {*self._unwritten, max(self._spent, default=0)}
            self._spent = {minute: spent for minute, spent in self._spent.items() if minute in kept}
            for part, size in parts.values():
                part.changed = part.size != size

    def begin_anew(self, terms: Terms, part: _Slice) -> None:
        """Give a slice up that the database does not hold: another process took this one for dead, and counted it."""
        with self._lock:
            if self._slices.get(terms) is part:
                self._slices[terms] = _Slice()


_SPEND = """
    INSERT INTO spent (minute, owner, at, cost) VALUES ($1, $2, $3, $4)
    ON CONFLICT (minute, owner) DO UPDATE SET at = excluded.at, cost = excluded.cost
"""
_BURY = """
    WITH gone AS (DELETE FROM lease WHERE owner = $1 RETURNING cost)
    INSERT INTO spent (minute, owner, at, cost)
    SELECT floor($2::float8 / 60)::bigint, 0, $2, sum(cost) FROM gone HAVING sum(cost) > 0
    ON CONFLICT (minute, owner) DO UPDATE SET at = excluded.at, cost = spent.cost + excluded.cost
"""
_TOTALS = """
    SELECT coalesce((SELECT sum(cost) FROM spent WHERE minute >= $1 AND at > $2), 0),
           coalesce((SELECT sum(cost) FROM lease), 0)
"""
_SET_ASIDE = """
    INSERT INTO lease (owner, account, cost) VALUES ($1, $2, $3)
    ON CONFLICT (owner, account) DO UPDATE SET cost = lease.cost + excluded.cost
"""
_RESIZE = "UPDATE lease SET cost = $3 WHERE owner = $1 AND account = $2"


async def flush_money(connection: Any, owner: int, money: MoneySlices, *, leaves: bool) -> _Flushed:
    """Write what was spent and what is left of slices, as whole amounts: to write them twice changes nothing."""
    flushed = minutes, parts = money.to_write(leaves=leaves)
    for minute, (at, cost) in minutes.items():
        await connection.execute(_SPEND, minute, owner, at, cost)
    for terms, (part, size) in parts.items():
        if (await connection.execute(_RESIZE, owner, str(terms), max(size, 0))).endswith(" 0"):
            money.begin_anew(terms, part)
    return flushed


async def grant_money(
    connection: Any, owner: int, money: MoneySlices, terms: Terms, need: tuple[int, float], dead: Iterable[int]
) -> int | None:
    """Set more aside for a slice, for a call of some cost and time; dead processes' slices may all be billed."""
    (most, seconds), (cost, wall) = terms, need
    await connection.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema() || ' money'))")
    for left in sorted(dead):
        await connection.execute(_BURY, left, max(wall, money.last))
    money.last = now = max(wall, money.last, await connection.fetchval("SELECT max(at) FROM spent") or 0.0)
    # One statement sees one moment: money that moves from a slice to what is spent is never missed.
    since = now - seconds
    spent, leased = map(int, await connection.fetchrow(_TOTALS, math.floor(since / 60), since))
    if spent + cost > most:
        return None
    short, room = cost - money.free(terms), most - spent - leased
    more = max(short, min(short + (CALLS - 1) * cost, room // PART))
    if more <= 0 or room < short:
        return 0
    await connection.execute(_SET_ASIDE, owner, str(terms), more)
    return more


KEEP = 0.5
"""Seconds after which starts that were granted and not used are lost: an allowance is not saved up."""

POLL = 0.01
"""Seconds between two looks whether starts were granted."""

_CLOCK = "extract(epoch FROM clock_timestamp())::float8"
_FILLED = f"least($3, p.level + $5 * greatest(0, {_CLOCK} - p.at))"
_GRANTED = f"least($4, greatest(0, {_FILLED}))"
LEASE_PACE = f"""
    INSERT INTO pace AS p (name, kind, level, granted, at)
    VALUES ($1, $2, $3::float8 - least($3, $4::float8), least($3, $4), {_CLOCK} + 0 * $5::float8)
    ON CONFLICT (name, kind)
    DO UPDATE SET granted = {_GRANTED}, level = {_FILLED} - {_GRANTED}, at = {_CLOCK}
    RETURNING granted, level
"""  # noqa: S608 - the clock is the server's, and named above
"""Takes up to $4 out of a token bucket that holds $3 and is filled by $5 a second."""


class SharedBucket(limiter.Bucket):
    """A token bucket that is filled out of one which all processes on a ledger share, by what waits for it here.

    `lease` takes what is wanted, what the common bucket holds and its rate; it returns what is granted, and is left.
    """

    __slots__ = ("_ask_at", "_asking", "_granted_at", "_lease")

    def __init__(
        self, limit: int, lease: Callable[[float, float, float], Future[tuple[float, float]]], *, own: bool = False
    ) -> None:
        super().__init__(limit, own=own)
        self._lease, self._asking = lease, False
        self._level = self._ask_at = self._granted_at = 0.0

    def wait(self, amount: float, now: float, ahead: float = 0.0, queued: float = 0.0) -> float:
        """Return the seconds until an amount may start, about; asks for what is `queued` too."""
        level, needed = self._filled(now), min(amount, self._burst)
        if ahead + needed <= level:
            return 0.0
        if not self._asking and now >= self._ask_at:
            self._asking, loop = True, asyncio.get_running_loop()
            granting = self._lease(max(needed, min(queued, self._burst)) - level, self._burst, self._rate)
            granting.add_done_callback(lambda granted: self._hear(loop, granted))
        return max(POLL, self._ask_at - now, ahead / self._rate)

    def _hear(self, loop: asyncio.AbstractEventLoop, granted: Future[tuple[float, float]]) -> None:
        with suppress(RuntimeError):  # of a loop that was closed nobody waits any more
            loop.call_soon_threadsafe(self._receive, loop, granted)

    def _receive(self, loop: asyncio.AbstractEventLoop, done: Future[tuple[float, float]]) -> None:
        self._asking, now = False, loop.time()
        if done.cancelled() or done.exception() is not None:
            self._ask_at = now + 1.0
            return
        granted, left = done.result()
        self._level, self._granted_at = min(self._filled(now) + granted, self._burst), now
        self._ask_at = now + max(0.0, 1.0 - left) / self._rate

    def _allow(self, limit: int) -> None:
        self._limit, self._burst = limit, float(max(1, limit // 100))
        self._rate = limiter.MARGIN * limit / limiter.MINUTE

    def _filled(self, now: float) -> float:
        if now - self._granted_at > KEEP:
            self._level = min(self._level, 0.0)
        return self._level
