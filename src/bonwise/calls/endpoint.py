"""An endpoint: one model at one server under one account, with its own pace."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bonwise.calls import ask, retry
from bonwise.calls.providers.protocol import USUAL_TIMEOUT
from bonwise.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bonwise.calls import ask, prices
    from bonwise.calls.limiter import Limiter
    from bonwise.calls.providers.protocol import Client, Connection, Provider

MOST_CALLS = 2
"""Calls under way by one client: at each call its pool looks at the sockets of all connections that rest."""

CLOSED_FOR = 30.0
"""Seconds until a closed endpoint is tried again: a service that lives long outlives the mending."""

_REFUSED_ANOTHER = "the server refused a call a moment ago: nothing is sent to it for a while"


class Endpoint:
    """What calls of one model at one server share: `refused` parameters, and a `price`, None where not known."""

    def __init__(
        self,
        provider: Provider,
        model: ask.Model,
        base_url: str,
        refused: frozenset[str],
        price: prices.Price | None,
        limiter: Callable[[ask.Model], Limiter],
        connection: Connection,
    ) -> None:
        self.provider, self.operation = provider, getattr(provider, "operation", "chat")
        self.model = model
        self.base_url = base_url
        self.refused = self.remembered = refused
        self.written_down = set(refused)
        """Which of the refused parameters the ledger knows of."""
        self.price = price
        self.answered = False
        """Whether the model has answered here before, now or in an earlier run."""
        self.closed: ask.Problem | None = None
        """Why nothing is sent here for a while: a person has to mend key, model or account."""
        self.denied: ask.Problem | None = None
        """What a person has to mend, until an answer comes."""
        self.without_key: CallError | None = None
        """Why nothing can be sent for want of a key, until there is one."""
        self._closed_until, self._closed_by = 0.0, ""
        self.retries = retry.RetryBudget()
        self._make_limiter, self._connection = limiter, connection
        stated = connection.attempt_timeout
        own = None if model.client is None or stated < USUAL_TIMEOUT else model.client.read_timeout
        self.attempt_timeout = stated if own is None else max(stated, own)
        """Seconds for a whole attempt not needed earlier, no fewer than a user's client waits for the next byte."""
        self.limiter: Limiter
        """Paces the account of this moment: `open` makes it."""
        self._account: str | None = None
        self._lines: list[ClientInUse] = []
        self._retired: list[ClientInUse] = []

    @cached_property
    def latencies(self) -> retry.Latencies:
        """How long answers take here, counted for calls that have a deadline."""
        return retry.Latencies()

    def open(self) -> None:
        """Have a client for the account of this moment; AttemptError where closed, CallError without a key."""
        try:
            account = self.provider.account(self.model)
        except CallError as error:
            self.without_key = error
            raise
        self.without_key = None
        if account != self._account:
            # Another key has other rights and another pace.
            self._account, self.limiter = account, self._make_limiter(self.model)
            self.closed = self.denied = None
            self._retired, self._lines = self._retired + self._lines, []
        if self.closed is not None and asyncio.get_running_loop().time() < self._closed_until:
            # A refusal may repeat the request that it is for, which is no other asker's affair.
            own = self._closed_by == ask.ASKER.get()
            raise ask.AttemptError(self.closed if own else replace(self.closed, message=_REFUSED_ANOTHER))
        self.closed = None
        self._free_client()

    def close(self, problem: ask.Problem) -> None:
        """Send nothing for a while, unless the problem can be that of one request only, such as a forbidden text."""
        if problem.kind == "denied" and problem.status != 401 and self.answered:
            return
        self.closed = problem
        self.denied = problem if problem.kind == "denied" else None
        self._closed_until = asyncio.get_running_loop().time() + CLOSED_FOR
        self._closed_by = ask.ASKER.get()

    def latest_start(self, until: float) -> float:
        """Return when an attempt begins at the latest: one with less time than half of the answers take is lost."""
        return until if self.latencies.median is None else until - self.latencies.median

    def take_client(self) -> ClientInUse:
        """Return a client that has few calls under way, for one more; whoever takes it counts the call down again."""
        free = self._free_client()
        free.calls += 1
        return free

    def give_up_clients(self) -> list[Client]:
        """Return the clients, if there are any, to be closed by the caller."""
        lines, self._lines, self._retired = self._lines + self._retired, [], []
        return [line.client for line in lines]

    def _free_client(self) -> ClientInUse:
        for line in self._lines:
            if line.calls < MOST_CALLS or self._connection.transport is not None:
                return line
        self._lines.append(ClientInUse(self.provider.client(self.model, self._connection)))
        return self._lines[-1]


@dataclass(slots=True)
class ClientInUse:
    """A client, and how many calls it has under way."""

    client: Client
    calls: int = 0
