"""The endpoints of an engine, by model, server and client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bonwise.calls.ask import Model
    from bonwise.calls.endpoint import Endpoint
    from bonwise.calls.providers.supplied import SuppliedClient

__all__ = ["MOST_CLIENTS", "Endpoints"]

MOST_CLIENTS = 16
"""Endpoints of users' clients that are kept: an engine that all share outlives a client made for one request."""

_Key = tuple[str, str, str, "SuppliedClient | None"]


class Endpoints:
    """Each endpoint once; of those with a client of the user's, the ones that were used last."""

    def __init__(self) -> None:
        self._endpoints: dict[_Key, Endpoint] = {}

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(list(self._endpoints.values()))

    def of(self, model: Model, base_url: str, make: Callable[[], Endpoint]) -> Endpoint:
        """Return the endpoint of a model at a server, made when it is first asked for."""
        key = (model.provider, base_url, model.name, model.client)
        endpoint = self._endpoints.get(key)
        if endpoint is None:
            endpoint = self._endpoints[key] = make()
            self._drop_unused()
        elif model.client is not None:
            self._endpoints[key] = self._endpoints.pop(key)
        return endpoint

    def _drop_unused(self) -> None:
        supplied = [key for key in self._endpoints if key[-1] is not None]
        # Calls under way keep their endpoint, and what sends by a user's client has nothing to close.
        for key in supplied[:-MOST_CLIENTS]:
            del self._endpoints[key]
