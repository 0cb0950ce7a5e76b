"""A lane: one model at one server under one account, with its own pace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.calls.failure import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bonwise.calls.ask import Model
    from bonwise.calls.limiter import Limiter
    from bonwise.calls.prices import Price
    from bonwise.calls.providers.protocol import Client, Connection, Provider, Response
    from bonwise.calls.request import Request

__all__ = ["Lane"]

MOST_CALLS = 8
"""Calls under way by one client: at each, its pool looks at the sockets of all connections that rest."""


class Lane:
    """What all calls of one model at one server share.

    Parameters
    ----------
    provider : Provider
    model : Model
    base_url : str
        Where the requests go.
    refused : frozenset of str
        Parameters that the server has refused or ignored before.
    price : Price or None
        None where it is not known.
    limiter : callable
        From the model to its limiter.
    connection : Connection
    """

    def __init__(
        self,
        provider: Provider,
        model: Model,
        base_url: str,
        refused: frozenset[str],
        price: Price | None,
        limiter: Callable[[Model], Limiter],
        connection: Connection,
    ) -> None:
        self.provider = provider
        self.model = model
        self.base_url = base_url
        self.refused = self.remembered = refused
        self.price = price
        self.closed: Problem | None = None
        """Why nothing more is sent here, until a person has mended key, model or account."""
        self._make_limiter, self._connection = limiter, connection
        self._lines: list[_Line] = []
        self._limiter: Limiter | None = None

    def open(self) -> None:
        """Have a client at hand; stored answers need neither one nor a key.

        Raises
        ------
        bonwise.errors.CallError
            There is no key.
        """
        self._free_line()

    async def send(self, request: Request) -> Response:
        """Send once, by a client that has few calls under way; see `bonwise.calls.providers.protocol.Client`."""
        line = self._free_line()
        line.calls += 1
        try:
            return await line.client.send(request)
        finally:
            line.calls -= 1

    @property
    def limiter(self) -> Limiter:
        """The limiter of this lane."""
        if self._limiter is None:
            self._limiter = self._make_limiter(self.model)
        return self._limiter

    async def aclose(self) -> None:
        """Close the clients, if there are any."""
        while self._lines:
            await self._lines.pop().client.aclose()

    def _free_line(self) -> _Line:
        for line in self._lines:
            if line.calls < MOST_CALLS or self._connection.transport is not None:
                return line
        self._lines.append(_Line(self.provider.client(self.model, self._connection)))
        return self._lines[-1]


@dataclass(slots=True)
class _Line:
    """A client, and how many calls it has under way."""

    client: Client
    calls: int = 0
