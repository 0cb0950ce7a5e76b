"""What the environment says of a service: address, key, headers, the version that these make; secrets kept apart."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from bonwise.calls.providers.secrets import is_secret, is_secret_in_query, shown_in_query
from bonwise.errors import CallError, UsageError

if TYPE_CHECKING:
    from bonwise.calls.ask import Model


@dataclass(frozen=True, slots=True)
class Address:
    """A server's base URL, its secrets apart; `origin`, scheme, host and port, is enough to know it by."""

    url: str
    """Scheme, host, port and path, without a slash at the end."""
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Sent with every request."""
    login: tuple[str, str] | None = field(default=None, repr=False)
    """User and password, sent as basic authentication."""
    origin: str = field(init=False, repr=False, compare=False)
    secrets: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """What of the address nobody else may see, in every form in which it is sent."""
    open_query: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)
    """What of the query may be shown, each name once, as it is sent."""

    def __post_init__(self) -> None:
        keys = [value for name, value in self.query if is_secret_in_query(name, value)]
        if self.login is not None:
            # Where there is no password, the user's name is the key.
            keys += [self.login[1] or self.login[0], b64encode(":".join(self.login).encode()).decode()]
        shown = ((name, shown_in_query(name, value)) for name, value in dict(self.query).items())
        object.__setattr__(self, "origin", "/".join(self.url.split("/", 3)[:3]))
        object.__setattr__(self, "secrets", tuple(filter(None, keys)))
        object.__setattr__(self, "open_query", tuple((name, value) for name, value in shown if value is not None))


def find_address(given: str | None, variable: str, default: str) -> Address:
    """Return the address given, the environment's or the default; no error repeats it: it may hold a password."""
    if given:
        return read_address(given, "base_url")
    from_environment = os.environ.get(variable, "").strip()
    return read_address(from_environment, variable) if from_environment else read_address(default, "the default")


@lru_cache(maxsize=64)
def read_address(url: str, source: str) -> Address:
    """Take an address apart; the error names its `source` and does not repeat it: it may hold a password."""
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
    """A key and where it was found."""

    variable: str = ""
    """Of the environment; empty where no key is set and the server may need none."""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is reached."""

    address: Address
    key: Key
    headers: CustomHeaders
    secrets: tuple[str, ...] = field(repr=False)
    """What nobody else may see."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and the variables of the environment that speak of it."""

    name: str
    default_url: str
    """Where it is unless something else is said."""
    url_variable: str
    """Names another server."""
    key_variables: tuple[str, ...]
    """Of these the first one that is set holds the key."""
    headers_variable: str
    """Names headers that go with every request."""
    needs_key: bool = True
    """Whether nobody gets an answer at `default_url` without a key."""
    default_origin: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "default_origin", Address(self.default_url).origin)

    def address(self, base_url: str | None) -> Address:
        """Return where requests go: to the URL given, else to the environment's, else to `default_url`."""
        return find_address(base_url, self.url_variable, self.default_url)

    def server(self, base_url: str | None, version: str = "", header: str = "") -> tuple[Address, str]:
        """Return where requests go, and the version that enters the ledger's key; see `api_version`."""
        address = self.address(base_url)
        return address, api_version(version, address, self.headers_variable, header)

    def access(self, base_url: str | None) -> Access:
        """Return how requests get there; raises what `address` and `key` raise."""
        address = self.address(base_url)
        key, headers = self.key(address), custom_headers(self.headers_variable)
        return Access(address, key, headers, (key.secret, *address.secrets, *headers.secrets))

    def key(self, address: Address) -> Key:
        """Return the key for a server; the service itself wants one; raises what `find_key` raises."""
        required = self.needs_key and address.origin == self.default_origin
        return find_key(self.name, self.key_variables, required=required)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key; raises what `key` raises."""
        secret = self.key(self.address(model.base_url)).secret
        return hashlib.sha256(secret.encode()).hexdigest()[:12] if secret else "none"


def find_key(provider: str, variables: tuple[str, ...], *, required: bool) -> Key:
    """Return the environment's first key; a CallError where a `required` one is missing or no header can carry it."""
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


# A version stands as it is, but for what would end it.
_PLAIN = "".join(c for c in map(chr, range(32, 127)) if c not in "?#%")


def api_version(version: str, address: Address, variable: str, header: str = "") -> str:
    """Return what enters the ledger's key: the version, the open query, and a digest of the open custom headers.

    `header` carries the version (empty: none) and is not in the digest; `variable` holds the SDK's custom headers.
    """
    return _api_version(version, address, os.environ.get(variable, ""), header)


@lru_cache(maxsize=64)
def _api_version(version: str, address: Address, headers: str, header: str) -> str:
    digest = _read(headers).digest(header)
    return _joined(version, address, f"headers={digest}" if digest else "")


def client_version(
    version: str, address: Address, headers: CustomHeaders, marks: Mapping[str, str], header: str = ""
) -> str:
    """Return what enters the ledger's key where a client of the user's sends: the marks of the client as well.

    `header` carries the version (empty: none). The client adds the query of `address` and the `headers` to every
    request; `marks` are what else tells it from others, no secrets.
    """
    digest = headers.digest(header)
    return _joined(version, address, urlencode({**marks, "headers": digest} if digest else marks))


def version_alone(joined: str) -> str:
    """Return the version that the version header carries."""
    return unquote(joined.partition("#")[0].partition("?")[0])


@lru_cache(maxsize=64)
def _joined(version: str, address: Address, marks: str) -> str:
    query = urlencode(sorted(address.open_query))
    ending = (f"?{query}" if query else "") + (f"#{marks}" if marks else "")
    return quote(version, safe=_PLAIN) + ending


# Both SDKs count these anew, or say them of themselves; no answer depends on them.
_SAYS_NOTHING = frozenset({"x-stainless-retry-count", "x-stainless-read-timeout"})


@dataclass(frozen=True, slots=True)
class CustomHeaders:
    """What an SDK sends beside its own headers."""

    values: Mapping[str, str] = field(repr=False)
    """By name, in small letters."""
    sent: Mapping[str, str] = field(init=False, repr=False, compare=False)
    """All of them but those that the SDKs write over."""
    secrets: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """What of them nobody else may see, with and without the scheme before it."""

    def __post_init__(self) -> None:
        sent = {name: value for name, value in self.values.items() if name not in _SAYS_NOTHING}
        secrets = [value for name, value in self.values.items() if is_secret(name, value)]
        bare = [value.split()[-1] for value in secrets if value]
        object.__setattr__(self, "sent", sent)
        object.__setattr__(self, "secrets", tuple(filter(None, [*secrets, *bare])))

    def digest(self, without: str = "") -> str:
        """Return a word for these headers, empty for none; no secret enters: a short one could be guessed."""
        kept = sorted(
            (name, value) for name, value in self.sent.items() if name != without and not is_secret(name, value)
        )
        return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:12] if kept else ""


def custom_headers(variable: str) -> CustomHeaders:
    """Return the headers that a variable of the environment names, one ``name: value`` a line."""
    return _read(os.environ.get(variable, ""))


@lru_cache(maxsize=64)
def _read(text: str) -> CustomHeaders:
    named = (line.partition(":") for line in text.split("\n"))
    as_spelt = {name.strip(): value.strip() for name, colon, value in named if colon}
    # The SDKs keep the last of each spelling, and of several spellings the one that came up last.
    return CustomHeaders({name.lower(): value for name, value in as_spelt.items()})
