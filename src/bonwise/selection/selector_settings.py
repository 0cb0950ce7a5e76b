"""The settings of a selector: written as plain values, copied, and pickled."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

from bonwise.flags import options_of
from bonwise.judges import settings_mapping
from bonwise.selection.settings import SelectorSettings

if TYPE_CHECKING:
    from bonwise.calls import portal
    from bonwise.calls.providers.protocol import Connection
    from bonwise.selection import protocol, settings

_KEYS = ("judge", *(name for name in options_of(SelectorSettings) if name != "text"))
_OF_A_CONNECTION = ("timeout", "connect_timeout", "connections", "attempt_timeout", "transport")


class CopiesSettings:
    """What can be done with the settings of a `bonwise.Selector`."""

    _settings: settings.SelectionSettings
    _engines: settings.Engines
    _text: Callable[[Any], str] | None
    _hosts: dict[Callable[..., portal.LoopHost], portal.LoopHost]
    _lock: threading.Lock
    _closed: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON; `from_dict` makes a selector of them with equal settings.

        Keys of services are not among them: they are read from the environment. Paths stay as they were given.

        Raises
        ------
        bonwise.errors.UsageError
            A setting that plain values cannot state: a function, a client, a transport, a router of another class,
            or an address with a login or a key.
        """
        if self._text is not None:
            settings_mapping.refuse(
                "text", "is a function, which no plain value states", "pass texts, or mappings with the key text"
            )
        chosen = {setting.name: getattr(self._settings, setting.name) for setting in fields(self._settings)}
        values = {**chosen, **self._engines.settings}
        return {name: None if values[name] is None else _WRITERS.get(name, _plain)(values[name]) for name in _KEYS}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Return the selector that a mapping describes: one that `to_dict` returned, or one written by hand.

        Parameters
        ----------
        mapping : mapping
            Its keys are parameters of a selector, all but `text`; what is left out has its default. A judge and a
            strategy are texts as on a command line, or mappings with ``spec`` and ``base_url``, ``price``,
            ``seed`` or ``params``. A router is a mapping as of `bonwise.Router.from_dict`. A connection is a mapping
            with ``timeout``, ``connect_timeout`` and ``connections``.

        Raises
        ------
        bonwise.errors.UsageError
            No judge, an unknown key, or a value that means nothing.
        """
        given = settings_mapping.checked_mapping("the mapping of a selector", mapping, _KEYS, "judge")
        given["judge"] = settings_mapping.judge_from_values("judge", given["judge"])
        _check_values(given)
        made = {
            name: _READERS[name](value) for name, value in given.items() if name in _READERS and value is not None
        }
        return cls(**given | made)

    def __getstate__(self) -> dict[str, Any]:
        # Threads, connections and a ledger that is open belong to one selector.
        return {name: value for name, value in self.__dict__.items() if name not in {"_hosts", "_lock", "_closed"}}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._hosts, self._lock, self._closed = {}, threading.Lock(), False

    def __copy__(self) -> Self:
        copied = object.__new__(type(self))
        # The same engine settings: what they hold counts what is spent.
        copied.__setstate__(self.__getstate__())
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Judges and strategies are settings, and two routers or accounts would each use up the share and the limits.
        copied = memo[id(self)] = self.__copy__()
        return copied


def _strategy_values(strategy: protocol.Strategy) -> str | dict[str, Any]:
    from bonwise.selection.registry import strategy_from_spec  # noqa: PLC0415 - reads what is installed

    return settings_mapping.spec_values("strategy", strategy, strategy_from_spec)


def _router_values(router: settings.Routing) -> dict[str, Any]:
    from bonwise.routing.router import Router  # noqa: PLC0415 - most selectors have none

    if not isinstance(router, Router):
        settings_mapping.refuse(
            "router", f"is a {type(router).__name__}, which no plain value states", "take a bw.Router"
        )
    return router.to_dict()


def _connection_values(connection: Connection) -> dict[str, Any]:
    if not isinstance(connection.transport, str | None):
        settings_mapping.refuse("connection", "has a transport, which no plain value states", "leave transport= out")
    stated = {setting.name: getattr(connection, setting.name) for setting in fields(connection)}
    return {name: value for name, value in stated.items() if name != "transport" or value is not None}


def _path(ledger: object) -> str:
    if not isinstance(ledger, str | os.PathLike):
        settings_mapping.refuse(
            "ledger", f"is a {type(ledger).__name__}, which no plain value states", "give a run folder's path"
        )
    return str(os.fspath(ledger))


def _plain(value: Any) -> Any:
    """Return a number of any kind, such as one of numpy, as Python's own."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _strategy(written: object) -> object:
    from bonwise.selection.registry import strategy_from_spec  # noqa: PLC0415 - reads what is installed

    return strategy_from_spec(**settings_mapping.spec_arguments("strategy", written))


def _router(written: Any) -> object:
    from bonwise.routing.router import Router  # noqa: PLC0415 - most selectors have none

    return Router.from_dict(written)


def _connection(written: object) -> object:
    from bonwise.calls.providers.protocol import Connection  # noqa: PLC0415 - as the engine

    if not isinstance(written, Mapping) or any(name not in _OF_A_CONNECTION for name in written):
        settings_mapping.refuse("connection", f"is {written!r}", f"give a mapping with {', '.join(_OF_A_CONNECTION)}")
    for name, value in written.items():
        if name == "transport":
            if not isinstance(value, str | None):
                settings_mapping.refuse("connection.transport", f"is {value!r}", 'give "aiohttp", or leave it out')
        elif isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            settings_mapping.refuse(f"connection.{name}", f"is {value!r}", "give a number above 0")
    return Connection(**written)


def _check_values(given: Mapping[str, Any]) -> None:
    """Check what a signature states and a file may state wrongly."""
    from bonwise.table.checks import check_whole  # noqa: PLC0415 - only what is read needs it

    if not isinstance(given.get("ledger"), str | None):
        settings_mapping.refuse("ledger", f"is {given['ledger']!r}", "give the path of a run folder")
    for name, option in options_of(SelectorSettings).items():
        if isinstance(option.default, bool) and not isinstance(given.get(name, False), bool):
            settings_mapping.refuse(name, f"is {given[name]!r}", "give true or false")
    if given.get("reask") is not None:
        check_whole("reask", given["reask"], least=0)
    if isinstance(given.get("seed", 0), bool) or not isinstance(given.get("seed", 0), int):
        settings_mapping.refuse("seed", f"is {given['seed']!r}", "give a whole number")


_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "judge": partial(settings_mapping.judge_values, "judge"),
    "strategy": _strategy_values,
    "router": _router_values,
    "ledger": _path,
    "connection": _connection_values,
}
"""Write what is no plain value already."""

_READERS: Mapping[str, Callable[[Any], object]] = {
    "strategy": _strategy,
    "router": _router,
    "connection": _connection,
}
"""Read what they wrote, but for the judge and the path."""
