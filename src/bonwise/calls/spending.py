"""Hard limits on calls, tokens and money that count what is still in flight."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from bonwise.errors import UsageError

__all__ = ["Reservation", "Spending", "SpendingLimitReached"]

_PICO = 10**12


class SpendingLimitReached(Exception):  # noqa: N818 - no defect: the run ends where its owner wanted it to
    """One more call might exceed a limit, whatever becomes of the calls in flight; stays inside the engine.

    Parameters
    ----------
    limit : str
        ``max_calls``, ``max_tokens`` or ``max_cost``.
    reason : str
        One line.
    """

    def __init__(self, limit: str, reason: str) -> None:
        self.limit = limit
        self.reason = reason
        super().__init__(reason)


class _Amount(NamedTuple):
    """Calls, tokens and pico-dollars: whole numbers, so that sums of small costs do not drift."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0

    def plus(self, other: _Amount) -> _Amount:
        return _Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def minus(self, other: _Amount) -> _Amount:
        return _Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass(slots=True)
class _QueuedReservation:
    need: _Amount
    priced: bool
    granted: asyncio.Future[Reservation]


class Spending:
    """What may be spent, and what is.

    Each call reserves its worst case before it is sent and says afterwards what it really used. What is spent
    and what is reserved never exceed a limit together, so that real spending cannot exceed it either, as long
    as each call stays within its worst case. For one event loop, and not for threads.

    Parameters
    ----------
    max_calls, max_tokens : int, optional
    max_cost : float, optional
        US dollars. A limit that is exactly reached is kept.

    Raises
    ------
    bonwise.errors.UsageError
        A limit that is negative or no number.

    Examples
    --------
    >>> import asyncio
    >>> async def run():
    ...     spending = Spending(max_cost=0.10)
    ...     with await spending.reserve(tokens=5_000, cost=0.08) as reservation:
    ...         reservation.settle(tokens=1_200, cost=0.02)
    ...     return spending
    >>> asyncio.run(run())
    Spending(calls=1, tokens=1200, cost=0.02, in_flight=0, max_cost=0.1)
    """

    def __init__(
        self, max_calls: int | None = None, max_tokens: int | None = None, max_cost: float | None = None
    ) -> None:
        for name, value in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise UsageError(f"{name} must be a whole number that is not negative, not {value!r}")
        if max_cost is not None and (isinstance(max_cost, bool) or not 0 <= max_cost < math.inf):
            raise UsageError(f"max_cost must be a number of US dollars that is not negative, not {max_cost!r}")
        self.needs_prices = max_cost is not None
        """Whether a call without a known price cannot be allowed."""
        self._given = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost}
        self._limits = (max_calls, max_tokens, None if max_cost is None else _pico(max_cost))
        self._bounded = any(limit is not None for limit in self._limits)
        self._known = _Amount()
        self._possible = _Amount()
        self._reserved = _Amount()
        self._waiters: deque[_QueuedReservation] = deque()
        self._overruns = 0
        self._unpriced = 0

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
        return self._known.cost / _PICO

    @property
    def possible_cost(self) -> float:
        """Worst case, in US dollars, of what no server counted; it is spent as far as the limits go."""
        return self._possible.cost / _PICO

    @property
    def in_flight(self) -> int:
        """Reservations that are neither settled, cancelled nor lost."""
        return self._reserved.calls

    @property
    def overruns(self) -> int:
        """Calls that used more than their worst case: the server ignored a bound."""
        return self._overruns

    @property
    def unpriced(self) -> int:
        """Calls that are in no cost, known or possible: their model has no price."""
        return self._unpriced

    async def reserve(self, tokens: int, cost: float | None) -> Reservation:
        """Set the worst case of one call aside, waiting in line while calls in flight may leave room for it.

        Each attempt that may be billed needs a reservation of its own: a retry after `Reservation.lost` or
        `Reservation.settle` reserves again. An attempt that was surely not sent may keep its reservation.

        Parameters
        ----------
        tokens : int
            The most the call can use, input and output together.
        cost : float or None
            The most it can cost in US dollars; None where the price is not known.

        Raises
        ------
        SpendingLimitReached
            It cannot fit even if all calls in flight turn out to cost nothing.
        bonwise.errors.UsageError
            The cost is not known and there is a `max_cost`.
        """
        if cost is None and self.needs_prices:
            raise UsageError(
                "max_cost cannot be kept for a model without a known price",
                hint="state its price in a TOML file and name the file in BONWISE_PRICES",
            )
        need = _Amount(1, _whole(tokens), 0 if cost is None else _pico(cost))
        self._refuse(need)
        if not self._queue_is_empty() or not self._fits(need):
            return await self._wait(
                _QueuedReservation(need, cost is not None, asyncio.get_running_loop().create_future())
            )
        return self._grant(need, cost is not None)

    async def _wait(self, waiter: _QueuedReservation) -> Reservation:
        self._waiters.append(waiter)
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            # The room may have been given away in the same turn of the loop as the cancellation.
            if not waiter.granted.cancelled() and waiter.granted.exception() is None:
                waiter.granted.result().cancel()
            self._wake()
            raise

    def _grant(self, need: _Amount, priced: bool) -> Reservation:
        self._reserved = self._reserved.plus(need)
        return Reservation(self, need, priced=priced)

    def _close(self, need: _Amount, known: _Amount, possible: _Amount) -> None:
        self._reserved = self._reserved.minus(need)
        self._known = self._known.plus(known)
        self._possible = self._possible.plus(possible)
        self._wake()

    def _wake(self) -> None:
        # With nothing in flight the first in line either fits or is refused, so nobody waits for nobody.
        while not self._queue_is_empty():
            waiter = self._waiters[0]
            try:
                self._refuse(waiter.need)
            except SpendingLimitReached as refusal:
                waiter.granted.set_exception(refusal)
            else:
                if not self._fits(waiter.need):
                    return
                waiter.granted.set_result(self._grant(waiter.need, waiter.priced))

    def _queue_is_empty(self) -> bool:
        while self._waiters and self._waiters[0].granted.done():
            self._waiters.popleft()
        return not self._waiters

    def _fits(self, need: _Amount) -> bool:
        if not self._bounded:
            return True
        total = self._known.plus(self._possible).plus(self._reserved).plus(need)
        return all(limit is None or amount <= limit for amount, limit in zip(total, self._limits, strict=True))

    def _refuse(self, need: _Amount) -> None:
        if not self._bounded:
            return
        spent = self._known.plus(self._possible)
        for name, gone, more, limit in zip(self._given, spent, need, self._limits, strict=True):
            if limit is not None and gone + more > limit:
                raise SpendingLimitReached(name, self._reason(name))

    def _reason(self, name: str) -> str:
        # The same words for every call, so that they can be counted; what is spent is said with the totals.
        state = "is reached" if name == "max_calls" else "leaves no room for the worst case of another call"
        return f"{name}={self._given[name]} {state}"


class Reservation:
    """The worst case of one call, set aside. `Spending.reserve` makes it.

    It ends once: settled, cancelled or lost. As a context manager it is lost where nothing else was said.
    """

    def __init__(self, spending: Spending, need: _Amount, *, priced: bool) -> None:
        self._spending = spending
        self._need = need
        self._priced = priced
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.lost()

    def settle(self, tokens: int | None, cost: float | None) -> None:
        """Charge what the call really used, even if that is more than was set aside.

        Parameters
        ----------
        tokens : int or None
            None where the server counted none: the worst case stays charged, as possible tokens.
        cost : float or None
            The same for US dollars.
        """
        used = _Amount(1, 0 if tokens is None else _whole(tokens), 0 if cost is None else _pico(cost))
        self._end()
        if used.tokens > self._need.tokens or (self._priced and used.cost > self._need.cost):
            self._spending._overruns += 1  # noqa: SLF001 - the two classes are one
        if cost is None and not self._priced:
            self._spending._unpriced += 1  # noqa: SLF001 - the same
        possible = _Amount(0, self._need.tokens if tokens is None else 0, self._need.cost if cost is None else 0)
        self._spending._close(self._need, used, possible)  # noqa: SLF001 - the same

    def cancel(self) -> None:
        """Give all back: nothing was sent."""
        self._end()
        self._spending._close(self._need, _Amount(), _Amount())  # noqa: SLF001 - the two classes are one

    def lost(self) -> None:
        """Keep the worst case charged as possible: sent, never answered, and perhaps billed."""
        self._end()
        if not self._priced:
            self._spending._unpriced += 1  # noqa: SLF001 - the two classes are one
        self._spending._close(self._need, _Amount(), self._need)  # noqa: SLF001 - the same

    def _end(self) -> None:
        if not self._open:
            raise RuntimeError("this reservation has ended already")
        self._open = False


def _whole(tokens: int) -> int:
    if tokens < 0:
        raise ValueError(f"tokens cannot be negative: {tokens}")
    return int(tokens)


def _pico(cost: float) -> int:
    if not 0 <= cost < math.inf:
        raise ValueError(f"a cost must be finite and not negative: {cost}")
    return round(cost * _PICO)
