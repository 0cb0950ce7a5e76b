"""What the environment says of a service: where it is, and the key of an account, which is never shown."""

from __future__ import annotations

import hashlib
import os
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from bonwise.calls.providers.secret_names import is_secret
from bonwise.errors import CallError, UsageError

if TYPE_CHECKING:
    from bonwise.calls.ask import Model

__all__ = ["Address", "Key", "Service", "find_address", "find_key", "read_address"]


@dataclass(frozen=True, slots=True)
class Address:
    """A server's base URL, its secrets apart.

    Parameters
    ----------
    url : str
        Scheme, host, port and path, without a slash at the end.
    query : tuple of pairs
        Sent with every request.
    login : pair of str, optional
        User and password, sent as basic authentication.

    Attributes
    ----------
    origin : str
        Scheme, host and port: enough to know the server by.
    """

    url: str
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)
    origin: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", "/".join(self.url.split("/", 3)[:3]))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of the address nobody else may see, in every form in which it is sent."""
        keys = [value for name, value in self.query if is_secret(name, value)]
        if self.login is not None:
            # Where there is no password, the user's name is the key.
            keys += [self.login[1] or self.login[0], b64encode(":".join(self.login).encode()).decode()]
        return tuple(filter(None, keys))

    @property
    def open_query(self) -> tuple[tuple[str, str], ...]:
        """What of the query may be shown, each name once, as it is sent."""
        return tuple((name, value) for name, value in dict(self.query).items() if not is_secret(name, value))


def find_address(given: str | None, variable: str, default: str) -> Address:
    """Return the address given, or else the environment's, or else the default.

    Raises
    ------
    bonwise.errors.UsageError
        It is no ``http`` or ``https`` address. The message does not repeat it: it may hold a password.

    Examples
    --------
    >>> find_address("http://me:secret@localhost:8000/v1/?x=1", "NO_SUCH_URL", "https://example.org")
    Address(url='http://localhost:8000/v1')
    """
    if given:
        return read_address(given, "base_url")
    from_environment = os.environ.get(variable, "").strip()
    return read_address(from_environment, variable) if from_environment else read_address(default, "the default")


@lru_cache(maxsize=64)
def read_address(url: str, source: str) -> Address:
    """Take an address apart.

    Parameters
    ----------
    url : str
    source : str
        Where it was stated, for the error.

    Raises
    ------
    bonwise.errors.UsageError
        It is no ``http`` or ``https`` address. The message does not repeat it: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        host = _host(parts)
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), ""
    if not host or parts.scheme not in {"http", "https"} or any(c.isspace() or not c.isprintable() for c in url):
        raise UsageError(f"{source} is no http or https address", hint="write it like http://127.0.0.1:8000/v1")
    login = (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None
    query = tuple(parse_qsl(parts.query, keep_blank_values=True))
    return Address(f"{parts.scheme}://{host}{parts.path.rstrip('/')}", query, login)


def _host(parts: SplitResult) -> str:
    name = parts.hostname or ""
    name = f"[{name}]" if ":" in name else name
    return f"{name}:{parts.port}" if parts.port is not None and name else name


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it was found.

    Parameters
    ----------
    variable : str
        Of the environment; empty where no key is set and the server may need none.
    secret : str
    """

    variable: str = ""
    secret: str = field(default="", repr=False)

    @property
    def account(self) -> str:
        """A word that tells keys apart and reveals nothing of them."""
        return hashlib.sha256(self.secret.encode()).hexdigest()[:12] if self.secret else "none"


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and the variables of the environment that speak of it.

    Parameters
    ----------
    name : str
    home : str
        Where it is unless something else is said.
    url_variable : str
        Names another server.
    key_variables : tuple of str
        Of these the first one that is set holds the key.
    headers_variable : str
        Names headers that go with every request.
    """

    name: str
    home: str
    url_variable: str
    key_variables: tuple[str, ...]
    headers_variable: str
    home_origin: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "home_origin", Address(self.home).origin)

    def address(self, base_url: str | None) -> Address:
        """Return where requests go: to the URL given, else to the environment's, else home.

        Raises
        ------
        bonwise.errors.UsageError
            It is no ``http`` or ``https`` address.
        """
        return find_address(base_url, self.url_variable, self.home)

    def key(self, address: Address) -> Key:
        """Return the key for a server; the service itself wants one.

        Raises
        ------
        bonwise.errors.CallError
            There is none for the service itself, or it holds characters that no header can carry.
        """
        at_home = address.origin == self.home_origin
        return find_key(self.name, self.key_variables, required=at_home)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key; raises what `key` raises."""
        return self.key(self.address(model.base_url)).account if model.client is None else model.client.account


def find_key(provider: str, variables: tuple[str, ...], *, required: bool) -> Key:
    """Return the first key that the environment holds.

    Raises
    ------
    bonwise.errors.CallError
        There is none although one is required, or it holds characters that no header can carry.

    Examples
    --------
    >>> find_key("example", ("NO_SUCH_KEY",), required=False).account
    'none'
    """
    for variable in variables:
        # A key read from a file often ends in a line feed.
        secret = os.environ.get(variable, "").strip()
        if secret and not (secret.isascii() and secret.isprintable()):
            raise CallError(f"the key in {variable} holds characters that no key has", hint=f"set {variable} anew")
        if secret:
            return Key(variable, secret)
    if required:
        raise CallError(f"no key for {provider}", hint=f"set {variables[0]}")
    return Key()
