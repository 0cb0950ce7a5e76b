"""Hard limits on calls, tokens and money that count what is in flight, and the calls that wait for room."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from bonwise.calls.bill import PICO
from bonwise.calls.cost_limit import CostLimit, MaxCost
from bonwise.errors import UsageError
from bonwise.table.checks import check_whole
from bonwise.tracing import logger


class Amount(NamedTuple):
    """Calls, tokens and pico-dollars: whole numbers, so that sums of small costs do not drift."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0

    @classmethod
    def of_call(cls, tokens: int | None, cost: float | None, calls: int = 1) -> Self:
        """Return what calls take, their cost in US dollars; what is not known (None) counts as nothing."""
        if tokens is not None and tokens < 0:
            raise ValueError(f"tokens cannot be negative: {tokens}")
        if cost is not None and not 0 <= cost < math.inf:
            raise ValueError(f"a cost must be finite and not negative: {cost}")
        return cls(calls, 0 if tokens is None else int(tokens), 0 if cost is None else round(cost * PICO))

    def plus(self, other: Amount) -> Amount:
        """Return the sum."""
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def minus(self, other: Amount) -> Amount:
        """Return the difference."""
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


_NOTHING = Amount()


class SpendingLimitReached(Exception):  # noqa: N818 - no defect: the run ends where its owner wanted it to
    """One more call might exceed a limit, whatever becomes of those in flight; stays inside the engine."""

    def __init__(self, limit: str, reason: str) -> None:
        self.limit = limit
        self.reason = reason
        super().__init__(reason)


_LOG = logger("calls")


@dataclass(slots=True, eq=False)
class QueuedReservation:
    """A call that waits for room."""

    need: Amount
    priced: bool
    loop: asyncio.AbstractEventLoop
    """Where it waits."""
    turn: asyncio.Future[None]
    """Done when there may be room for it."""
    told: bool = False
    """Whether `turn` is done, or will be as soon as the loop goes on."""

    def try_again(self, here: asyncio.AbstractEventLoop | None) -> None:
        """Let it try, from the loop that runs here or from any other thread."""
        self.told = True
        if here is self.loop:
            self._end_of_waiting()
        elif not self.loop.is_closed():
            with suppress(RuntimeError):  # closed at this very moment: nobody waits there any more
                self.loop.call_soon_threadsafe(self._end_of_waiting)

    def wait_again(self) -> None:
        """Go back to where it stood in line."""
        self.told, self.turn = False, self.loop.create_future()

    def _end_of_waiting(self) -> None:
        if not self.turn.done():
            self.turn.set_result(None)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


PATIENCE = 1.0
"""Seconds between two looks at the event loops of open reservations, while somebody waits for room."""


class _Ending(NamedTuple):
    """How a call ended: what is known to be spent, and what may be."""

    reservation: Reservation
    known: Amount = Amount()
    possible: Amount = Amount()
    overrun: bool = False
    unpriced: bool = False


class Spending:
    """What may be spent, and what is.

    Each call reserves its worst case before it is sent and says afterwards what it really used. Spent and reserved
    together never exceed a limit (one exactly reached is kept), so real spending cannot, as long as each call stays
    within its worst case. Any number of event loops and threads may share one account. Where somebody waits for room,
    a reservation whose event loop has stood still for `PATIENCE` seconds counts as possibly spent; should its loop go
    on, it ends as any other. `max_cost` is in US dollars; one with a window is `shared`.
    """

    def __init__(
        self, max_calls: int | None = None, max_tokens: int | None = None, max_cost: MaxCost | None = None
    ) -> None:
        for name, value in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if value is not None:
                check_whole(name, value, least=0)
        limit = None if max_cost is None else CostLimit.of("max_cost", max_cost)
        windowed = limit is not None and limit.window is not None
        self.shared = limit if windowed else None
        """The limit with a window, which is kept on the ledger and not here."""
        self.needs_prices = max_cost is not None
        """Whether a call without a known price cannot be allowed."""
        self._given = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": limit if windowed else max_cost}
        self._limits = (max_calls, max_tokens, None if limit is None or windowed else round(limit.dollars * PICO))
        self.bounded = any(limit is not None for limit in self._limits)
        """Whether a limit is kept here."""
        self._known = Amount()
        self._possible = Amount()
        self._reserved = Amount()
        self.overruns = 0
        """Calls that used more than their worst case: the server ignored a bound."""
        self._unpriced = 0
        self._lock = threading.Lock()
        self._line: OrderedDict[QueuedReservation, None] = OrderedDict()
        """Those who wait, in their order."""
        self._open: set[Reservation] = set()
        self._watching: set[asyncio.AbstractEventLoop] = set()
        self._ended: deque[_Ending | QueuedReservation] = deque()

    def __repr__(self) -> str:
        limits = "".join(f", {name}={value}" for name, value in self._given.items() if value is not None)
        spent = f"calls={self.calls}, tokens={self.tokens}, cost={self.cost}"
        return f"Spending({spent}, in_flight={self.in_flight}{limits})"

    @property
    def calls(self) -> int:
        """Calls that were sent and are over, answered or not."""
        return self._known.calls + self._possible.calls

    @property
    def tokens(self) -> int:
        """Tokens that servers counted."""
        return self._known.tokens

    @property
    def possible_tokens(self) -> int:
        """Worst case of what no server counted: attempts without an answer, answers without a count."""
        return self._possible.tokens

    @property
    def cost(self) -> float:
        """US dollars that are known to be spent."""
        return self._known.cost / PICO

    @property
    def possible_cost(self) -> float:
        """Worst case, in US dollars, of what no server counted; it is spent as far as the limits go."""
        return self._possible.cost / PICO

    @property
    def in_flight(self) -> int:
        """Reservations that are neither settled, cancelled nor lost."""
        return self._reserved.calls

    @property
    def exceeded(self) -> dict[str, float]:
        """What is spent, by limit beyond which it goes: a call in flight used more than its worst case."""
        spent = zip(self._given.items(), self._known.plus(self._possible), self._limits, strict=True)
        beyond = [(name, given, gone) for (name, given), gone, limit in spent if limit is not None and gone > limit]
        return {f"{name}={given}": gone / PICO if name == "max_cost" else gone for name, given, gone in beyond}

    @property
    def unpriced(self) -> int:
        """Calls that are in no cost, known or possible: their model has no price."""
        return self._unpriced

    def extend(
        self, open_one: Reservation | None, tokens: int, cost: float | None, calls: int = 1, *, forced: bool = False
    ) -> Reservation:
        """Set the worst case of calls of a batch aside; SpendingLimitReached if it does not fit, unless `forced`."""
        need = Amount.of_call(tokens, cost, calls)
        with self._lock:
            if not forced:
                self._refuse(need, beside=self._reserved)
            if open_one is None:
                return self._grant(need, asyncio.get_running_loop(), priced=cost is not None)
            open_one.grow(need)
            self._reserved = self._reserved.plus(need)
        return open_one

    async def reserve(self, tokens: int, cost: float | None) -> Reservation:
        """Set the worst case of one call aside, waiting in line while calls in flight may leave room for it.

        Each attempt that may be billed reserves anew, also after `Reservation.lost` or `Reservation.settle`; one that
        was surely not sent may keep its reservation. `tokens` is input and output, `cost` in US dollars, None where
        not known: a UsageError beside a `max_cost`. Raises `SpendingLimitReached` where it cannot fit even if all
        calls in flight cost nothing.
        """
        if cost is None and self.needs_prices:
            raise UsageError(
                "max_cost cannot be kept for a model without a known price",
                hint="state its price in a TOML file and name the file in BONWISE_PRICES",
            )
        need = Amount.of_call(tokens, cost)
        loop = asyncio.get_running_loop()
        self._lock.acquire()
        try:
            self._refuse(need)
            if not self._line and self._fits(need):
                return self._grant(need, loop, priced=cost is not None)
            waiter = QueuedReservation(need, cost is not None, loop, loop.create_future())
            self._line[waiter] = None
            self._watch(loop)
            self._wake()  # those before it may wait in a loop that stands still
        finally:
            self._lock.release()
            self._charge()
        while True:
            try:
                await waiter.turn
            except BaseException:
                self._ended.append(waiter)
                self._charge()
                raise
            reservation = self._taken(waiter)
            if reservation is not None:
                return reservation

    def refuse_overrun(self, reservation: Reservation) -> None:
        """Raise `SpendingLimitReached` where calls took more than their worst case, and left no room for this one."""
        with self._lock:
            self._refuse(reservation.need)
        self._charge()

    def has_room(self, tokens: int, cost: float | None) -> bool:
        """Tell whether a call would fit at this moment, before anybody who waits."""
        with self._lock:
            return not self._line and self._fits(Amount.of_call(tokens, cost))

    def _taken(self, waiter: QueuedReservation) -> Reservation | None:
        """Return what a call waited for; None where others were quicker."""
        self._lock.acquire()
        try:
            self._refuse(waiter.need)
            if not self._fits(waiter.need):
                waiter.wait_again()
                return None
            self._line.pop(waiter, None)
            return self._grant(waiter.need, waiter.loop, priced=waiter.priced)
        except SpendingLimitReached:
            self._line.pop(waiter, None)
            raise
        finally:
            self._lock.release()
            self._charge()

    def _grant(self, need: Amount, loop: asyncio.AbstractEventLoop, *, priced: bool) -> Reservation:
        self._reserved = self._reserved.plus(need)
        reservation = Reservation(self, need, loop, priced=priced)
        if self.bounded:
            self._open.add(reservation)
        return reservation

    def _end(self, ending: _Ending) -> None:
        self._ended.append(ending)
        self._charge()

    def _charge(self) -> None:
        """Charge what has ended, let others try; never waits for the lock: garbage collection may call it."""
        while self._ended and self._lock.acquire(blocking=False):
            try:
                while self._ended:
                    ended = self._ended.popleft()
                    if isinstance(ended, _Ending):
                        self._charge_one(ended)
                    else:
                        self._line.pop(ended, None)
                self._wake()
            finally:
                self._lock.release()

    def _charge_one(self, ended: _Ending) -> None:
        reservation = ended.reservation
        if reservation.given_up:
            self._possible = self._possible.minus(reservation.need)
        else:
            self._reserved = self._reserved.minus(reservation.need)
            self._open.discard(reservation)
        self._known = self._known.plus(ended.known)
        self._possible = self._possible.plus(ended.possible)
        self.overruns += ended.overrun
        self._unpriced += ended.unpriced

    def _wake(self) -> None:
        """Let those in line try who fit or are to be refused, in order; with none in flight the first."""
        if not self._line:
            return
        here, promised, gone = _running_loop(), Amount(), []
        for waiter in self._line:
            running = waiter.loop.is_running()
            if self._limit_reached(waiter.need) is None:
                together = promised.plus(waiter.need)
                if not self._fits(together):
                    if running:
                        break
                    continue
                promised = together if running else promised
            if waiter.loop.is_closed():
                gone.append(waiter)
            elif not waiter.told:
                waiter.try_again(here)
        for waiter in gone:
            del self._line[waiter]

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look from time to time, from a loop in which somebody waits, whether other loops have stopped."""
        if loop not in self._watching:
            self._watching = {watching for watching in self._watching if not watching.is_closed()} | {loop}
            loop.call_later(PATIENCE, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._lock.acquire()
        try:
            self._watching.discard(loop)
            if any(waiter.loop is loop for waiter in self._line):
                self._watch(loop)
                self._give_up_those_that_stand_still()
                self._wake()
        finally:
            self._lock.release()
            self._charge()

    def _give_up_those_that_stand_still(self) -> None:
        now = time.monotonic()
        for reservation in [reservation for reservation in self._open if reservation.stands_still(now)]:
            reservation.given_up = True
            self._open.discard(reservation)
            self._reserved = self._reserved.minus(reservation.need)
            self._possible = self._possible.plus(reservation.need)

    def _fits(self, need: Amount) -> bool:
        if not self.bounded:
            return True
        total = self._known.plus(self._possible).plus(self._reserved).plus(need)
        return all(limit is None or amount <= limit for amount, limit in zip(total, self._limits, strict=True))

    def _refuse(self, need: Amount, beside: Amount = _NOTHING) -> None:
        name = self._limit_reached(need.plus(beside))
        if name is not None:
            raise SpendingLimitReached(name, self._reason(name))

    def _limit_reached(self, need: Amount) -> str | None:
        """Return the limit beyond which a call would go even if all in flight turned out to cost nothing."""
        if self.bounded:
            spent = self._known.plus(self._possible)
            for name, gone, more, limit in zip(self._given, spent, need, self._limits, strict=True):
                if limit is not None and gone + more > limit:
                    return name
        return None

    def _reason(self, name: str) -> str:
        # The same words for every call, so that they can be counted; what is spent is said with the totals.
        state = "is reached" if name == "max_calls" else "leaves no room for the worst case of another call"
        return f"{name}={self._given[name]} {state}"


class Reservation:
    """The worst case of one call, from `Spending.reserve`: settled, cancelled or, if nothing is said, lost."""

    __slots__ = ("_loop", "_need", "_open", "_priced", "_spending", "_still_since", "ended", "given_up")

    def __init__(self, spending: Spending, need: Amount, loop: asyncio.AbstractEventLoop, *, priced: bool) -> None:
        self.given_up = False
        """Whether it counts as spent already, because its loop stands still."""
        self.ended: Callable[[int], None] | None = None
        """Called with the pico-dollars that it is charged with when it ends."""
        self._spending = spending
        self._need = need
        self._loop = loop
        self._priced = priced
        self._open = True
        self._still_since: float | None = None

    @property
    def need(self) -> Amount:
        """What is set aside."""
        return self._need

    def grow(self, need: Amount) -> None:
        """Set more aside, as `Spending.extend` has it."""
        self._need = self._need.plus(need)

    def stands_still(self, now: float) -> bool:
        """Tell whether its event loop was found stopped, and still is `PATIENCE` seconds later."""
        if self._loop.is_running():
            self._still_since = None
            return False
        if self._still_since is None:
            self._still_since = now
        return now - self._still_since >= PATIENCE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.lost()

    def settle(
        self,
        tokens: int | None,
        cost: float | None,
        calls: int = 1,
        *,
        may_tokens: int | None = None,
        may_cost: float | None = None,
    ) -> None:
        """Charge what the calls used, even beyond what was set aside; None leaves the worst case, as possible."""
        used = Amount.of_call(tokens, cost, calls)
        may = Amount.of_call(may_tokens, may_cost)
        possible = Amount(
            0,
            self._need.tokens if tokens is None and may_tokens is None else may.tokens,
            self._need.cost if cost is None and may_cost is None else may.cost,
        )
        overrun = used.tokens + may.tokens > self._need.tokens or (
            self._priced and used.cost + may.cost > self._need.cost
        )
        if overrun and not self._spending.overruns:
            _LOG.warning("a call took more tokens than it may: the server ignores the limit on tokens")
        self._end(_Ending(self, used, possible, overrun, unpriced=cost is None and not self._priced))

    def cancel(self) -> None:
        """Give all back: nothing was sent."""
        self._end(_Ending(self))

    def lost(self) -> None:
        """Keep the worst case charged as possible: sent, never answered, and perhaps billed."""
        self._end(_Ending(self, possible=self._need, unpriced=not self._priced))

    def _end(self, ending: _Ending) -> None:
        if not self._open:
            raise RuntimeError("this reservation has ended already")
        self._open = False
        self._spending._end(ending)  # noqa: SLF001 - the two classes are one
        if self.ended is not None:
            self.ended(ending.known.cost + ending.possible.cost)
