"""The lanes of an engine, by model, server and client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bonwise.calls.ask import Model
    from bonwise.calls.lane import Lane
    from bonwise.calls.providers.supplied import SuppliedClient

__all__ = ["MOST_CLIENTS", "Lanes"]

MOST_CLIENTS = 16
"""Lanes of users' clients that are kept: an engine that all share outlives a client that is made for one request."""

_Key = tuple[str, str, str, "SuppliedClient | None"]


class Lanes:
    """Each lane once; of those with a client of the user's, the ones that were used last."""

    def __init__(self) -> None:
        self._lanes: dict[_Key, Lane] = {}

    def __iter__(self) -> Iterator[Lane]:
        return iter(list(self._lanes.values()))

    def of(self, model: Model, base_url: str, make: Callable[[], Lane]) -> Lane:
        """Return the lane of a model at a server, made when it is first asked for."""
        key = (model.provider, base_url, model.name, model.client)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = make()
            self._drop_unused()
        elif model.client is not None:
            self._lanes[key] = self._lanes.pop(key)
        return lane

    def _drop_unused(self) -> None:
        supplied = [key for key in self._lanes if key[-1] is not None]
        # Calls under way keep their lane, and what sends by a user's client has nothing to close.
        for key in supplied[:-MOST_CLIENTS]:
            del self._lanes[key]
