"""The keys by which clients of the endpoint are known."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bonwise.data.checks import Limit, check, number, whole
from bonwise.errors import InputError

__all__ = ["ClientKey", "KeyRing", "read_keys"]

_SOURCES = ("value", "file", "env")
_LIMITS: Mapping[str, Limit] = {
    "max_cost": number(lambda value: value >= 0, "an amount of US dollars, 0 or more"),
    "max_concurrency": whole(1, "a whole number, 1 or more", int),
}


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
    """Finds the key of a request.

    Examples
    --------
    >>> ring = KeyRing([ClientKey("alice", "one-secret")])
    >>> ring.find("Bearer one-secret").name, ring.find("Bearer another"), ring.find("")
    ('alice', None, None)
    """

    def __init__(self, keys: Iterable[ClientKey]) -> None:
        # Looked up by digest: how long it takes says nothing about how much of a secret was right.
        self._keys = {_digest(one.secret): one for one in keys}

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
    """Read the table of keys; no message ever repeats one.

    Raises
    ------
    bonwise.errors.InputError
        A key that is none, or that two names share.

    Examples
    --------
    >>> [one.name for one in read_keys({"alice": "one-secret", "bob": {"value": "another", "max_cost": 5.0}})]
    ['alice', 'bob']
    """
    keys = tuple(_key(f"keys.{name}", name, one) for name, one in given.items())
    names: dict[str, str] = {}
    for one in keys:
        if one.secret in names:
            raise InputError(
                f"keys.{one.name} is the same key as keys.{names[one.secret]}", hint="give each name its own key"
            )
        names[one.secret] = one.name
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
    if source == "env":
        if not os.environ.get(value, "").strip():
            raise InputError(f"{place}.env names {value!r}, which is not set", hint=f"set {value}")
        return _secret(place, os.environ[value])
    if source == "file":
        try:
            return _secret(place, Path(value).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{place}.file: {value!r} cannot be read", hint="name a file that holds the key"
            ) from error
    return _secret(place, value)


def _secret(place: str, value: str) -> str:
    # A key read from a file often ends in a line feed.
    secret = value.strip()
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InputError(f"{place} holds no key", hint="a key is ASCII without blanks")
    return secret


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
