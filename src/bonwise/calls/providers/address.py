"""Where a server is, and what of its address may be shown."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from bonwise.calls.providers.secret_names import is_secret
from bonwise.errors import UsageError

__all__ = ["Address", "find_address", "read_address"]


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
    """

    url: str
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)

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

    @property
    def origin(self) -> str:
        """Scheme, host and port: enough to know the server by."""
        return "/".join(self.url.split("/", 3)[:3])


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
