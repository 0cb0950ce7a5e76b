"""A lane: one model at one server under one account, with its own pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.calls.failure import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bonwise.calls.ask import Model
    from bonwise.calls.limiter import Limiter
    from bonwise.calls.prices import Price
    from bonwise.calls.providers.protocol import Client, Connection, Provider

__all__ = ["Lane"]


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
        self.refused = refused
        self.price = price
        self.closed: Problem | None = None
        """Why nothing more is sent here, until a person has mended key, model or account."""
        self._make_limiter, self._connection = limiter, connection
        self._client: Client | None = None
        self._limiter: Limiter | None = None

    @property
    def client(self) -> Client:
        """The client, made when the first call is sent: stored answers need neither it nor a key."""
        if self._client is None:
            self._client = self.provider.client(self.model, self._connection)
        return self._client

    @property
    def limiter(self) -> Limiter:
        """The limiter of this lane."""
        if self._limiter is None:
            self._limiter = self._make_limiter(self.model)
        return self._limiter

    async def aclose(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
