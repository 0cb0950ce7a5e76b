"""The keys of clients with their limits, for all processes of one host; without keys, which requests are local."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bonwise.calls.bill import PICO
from bonwise.errors import InputError, LedgerError
from bonwise.serving.api_errors import NO_RETRY, ApiError
from bonwise.table.checks import Limit, between, check
from bonwise.table.text_files import open_plain

_SOURCES = ("value", "file", "env")
_LIMITS: Mapping[str, Limit] = {
    "max_cost": between(0, 1_000_000, "an amount of US dollars"),
    "max_concurrency": between(1, 1_000_000, "a whole number", int),
}
_SHORTEST = 8
"""Letters of a key: a shorter one is found by trying."""


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A key of a client."""

    name: str
    """As logs and metrics call it."""
    secret: str = field(repr=False)
    max_cost: float | None = None
    """US dollars that its requests may cost."""
    max_concurrency: int | None = None
    """Requests at once."""

    @property
    def limited(self) -> bool:
        """Whether it has a limit."""
        return self.max_cost is not None or self.max_concurrency is not None


class KeyRing:
    """Finds the key of a request."""

    def __init__(self, keys: Iterable[ClientKey]) -> None:
        # Looked up by digest: how long it takes says nothing about how much of a secret was right.
        self._keys = {_digest(key.secret): key for key in keys}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def find(self, authorization: str) -> ClientKey | None:
        """Return the key that an ``Authorization`` header holds; None where it holds none that is known."""
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            return None
        found = self._keys.get(_digest(secret.strip()))
        known = found is not None and hmac.compare_digest(_digest(found.secret), _digest(secret.strip()))
        return found if known else None


def read_keys(given: Mapping[str, Any]) -> tuple[ClientKey, ...]:
    """Read the table of keys, each of one name; no message ever repeats a key."""
    keys = tuple(_key(f"keys.{name}", name, one) for name, one in given.items())
    names: dict[str, str] = {}
    for key in keys:
        if key.secret in names:
            raise InputError(
                f"keys.{key.name} is the same key as keys.{names[key.secret]}", hint="give each name its own key"
            )
        names[key.secret] = key.name
    return keys


def _key(place: str, name: str, given: object) -> ClientKey:
    if isinstance(given, str):
        return ClientKey(name, _secret(place, given))
    if not isinstance(given, Mapping):
        raise InputError(f"{place} is neither a text nor a table", hint=_HINT)
    for setting, value in given.items():
        if setting not in (*_SOURCES, *_LIMITS):
            raise InputError(f"{place}.{setting} is not a setting", hint=_HINT)
        if setting in _LIMITS:
            check(f"{place}.{setting}", value, _LIMITS[setting])
    sources = [one for one in _SOURCES if one in given]
    if len(sources) != 1 or not isinstance(given[sources[0]], str):
        raise InputError(f"{place} needs one text of value, file and env", hint=_HINT)
    limits = {one: given.get(one) for one in _LIMITS}
    return ClientKey(name, _found(place, sources[0], given[sources[0]]), **limits)


_HINT = (
    'write NAME = "...", or NAME = {env = "VARIABLE", max_cost = 5.0, max_concurrency = 4}; file and value likewise'
)


def _found(place: str, source: str, value: str) -> str:
    # No message repeats the value: the key itself may have been written there.
    if source == "env":
        if not os.environ.get(value, "").strip():
            raise InputError(
                f"{place}.env does not name a variable that is set", hint="set the variable; a key itself is a value"
            )
        return _secret(place, os.environ[value])
    if source == "file":
        try:
            with open_plain(Path(value)) as stream:
                return _secret(place, stream.read().decode())
        except (OSError, ValueError) as error:
            raise InputError(f"{place}.file cannot be read", hint="name a file that holds the key") from error
    return _secret(place, value)


def _secret(place: str, value: str) -> str:
    # A key read from a file often ends in a line feed.
    secret = value.strip()
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InputError(f"{place} holds no key", hint="a key is ASCII without blanks")
    if len(secret) < _SHORTEST:
        raise InputError(f"{place} is a key of fewer than {_SHORTEST} letters", hint="write a long random one")
    return secret


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::[0-9]{1,5})?", re.ASCII)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, by its name alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_foreign(method: str, headers: Mapping[str, str], allowed_hosts: Collection[str]) -> None:
    """Refuse a web page where no key is needed, as browsers run strangers' pages: 403 other host, 415 no JSON."""
    authority = headers.get("host", "").lower()
    host = _host(authority)
    if not (is_loopback(host) or host in allowed_hosts):
        raise ApiError(
            403, "without [keys] the Host must be this machine, or one of allowed_hosts", "host_not_allowed"
        )
    origin = headers.get("origin", f"http://{authority}").lower().partition("://")[2]
    if origin != authority and _host(origin) not in allowed_hosts:
        raise ApiError(
            403,
            "without [keys] a web page of another origin may not ask, unless allowed_hosts has it",
            "foreign_origin",
        )
    if method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "without [keys] Content-Type must be application/json", "unsupported_media_type")


def _host(authority: str) -> str:
    parts = _AUTHORITY.fullmatch(authority)
    return parts[1].strip("[]").rstrip(".") if parts else ""


_TABLES = """
CREATE TABLE IF NOT EXISTS spent (name TEXT PRIMARY KEY, pico INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS open (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, process INTEGER NOT NULL, pico INTEGER NOT NULL
);
"""
_WAIT = 10.0
"""Seconds for another process to finish its transaction, which takes less than a millisecond."""


class KeyLimits:
    """The account of each key, in a file of all processes: admitted by the worst case, charged the cost."""

    def __init__(self, place: Path | None = None) -> None:
        self._process = os.getpid()
        try:
            # Made where settings are checked, used where the event loop runs; never by two threads at once.
            self._file = sqlite3.connect(
                place or ":memory:", timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.executescript(_TABLES)
        except sqlite3.Error as error:
            raise LedgerError(f"{place}: the accounts of keys cannot be opened: {error}") from error

    def admit(self, key: ClientKey, worst: float) -> int:
        """Set a request's worst case aside; return its number. ApiError 429: too many at once, or it does not fit."""
        need = round(worst * PICO)
        with _Transaction(self._file):
            row = self._file.execute(
                "SELECT count(*), coalesce(sum(pico), 0), (SELECT pico FROM spent WHERE name = ?1) "
                "FROM open WHERE name = ?1",
                (key.name,),
            ).fetchone()
            at_once, reserved, spent = row[0], row[1], row[2] or 0
            if key.max_concurrency is not None and at_once >= key.max_concurrency:
                raise ApiError(
                    429,
                    f"the key {key.name!r} has {at_once} requests under way, as many as it may",
                    "rate_limit_exceeded",
                    kind="rate_limit_error",
                    headers={"retry-after": "1"},
                )
            if key.max_cost is not None and spent + reserved + need > round(key.max_cost * PICO):
                # What is under way may end cheaper than its worst case: then a later try fits.
                final = spent + need > round(key.max_cost * PICO)
                raise ApiError(
                    429,
                    f"max_cost of the key {key.name!r} leaves no room for the worst case of this request, "
                    f"{worst:.6f} US dollars",
                    "insufficient_quota" if final else "rate_limit_exceeded",
                    kind="insufficient_quota" if final else "rate_limit_error",
                    headers=NO_RETRY if final else {"retry-after": "1"},
                )
            found = self._file.execute(
                "INSERT INTO open (name, process, pico) VALUES (?, ?, ?)", (key.name, self._process, need)
            )
            return int(found.lastrowid or 0)

    def settle(self, number: int, cost: float | None) -> None:
        """Charge what a request cost, in US dollars; None charges its worst case."""
        with _Transaction(self._file):
            self._end("id = ?", number, None if cost is None else round(cost * PICO))

    def give_up(self, process: int | None = None) -> None:
        """Charge the worst case of requests that nobody ends any more: those of a process, or of all."""
        with _Transaction(self._file):
            if process is None:
                self._end("? IS NULL", None, None)
            else:
                self._end("process = ?", process, None)

    def spent(self, name: str) -> float:
        """Return what the requests of a key have cost, in US dollars."""
        row = self._file.execute("SELECT pico FROM spent WHERE name = ?", (name,)).fetchone()
        return 0.0 if row is None else row[0] / PICO

    def under_way(self, name: str) -> int:
        """Return how many requests of a key are under way."""
        row = self._file.execute("SELECT count(*) FROM open WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _end(self, which: str, value: int | None, pico: int | None) -> None:
        ended = self._file.execute(f"DELETE FROM open WHERE {which} RETURNING name, pico", (value,)).fetchall()  # noqa: S608 - three fixed texts
        for name, worst in ended:
            self._file.execute(
                "INSERT INTO spent VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET pico = pico + ?2",
                (name, worst if pico is None else pico),
            )


class _Transaction:
    """A transaction that no other process interrupts."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._file.execute("COMMIT")
        else:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
