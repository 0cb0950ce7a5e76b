"""The version of a service that a request speaks to, with all that its address and custom headers add to it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, unquote, urlencode

from bonwise.calls.providers.secret_names import is_secret
from bonwise.calls.providers.service import Address

__all__ = ["CustomHeaders", "api_version", "client_version", "custom_headers", "version_alone"]

# A version stands as it is, but for what would end it.
_PLAIN = "".join(c for c in map(chr, range(32, 127)) if c not in "?#%")


def api_version(version: str, address: Address, variable: str, header: str = "") -> str:
    """Return what enters the ledger's key: the version, the open query, and a digest of the open custom headers.

    Where an address has no query and the environment no headers, it is the version itself.

    Parameters
    ----------
    version : str
        As the version header says it, empty where there is none.
    address : Address
    variable : str
        Of the environment, with the SDK's custom headers.
    header : str
        The version header, which `version` speaks for.

    Examples
    --------
    >>> api_version("2026-10-21", Address("http://h"), "NO_SUCH_HEADERS")
    '2026-10-21'
    >>> api_version("", Address("http://h", (("api-version", "2024"), ("key", "hush"))), "NO_SUCH_HEADERS")
    '?api-version=2024'
    """
    digest = custom_headers(variable).digest(header)
    return _joined(version, address, f"headers={digest}" if digest else "")


def client_version(
    version: str, address: Address, headers: CustomHeaders, marks: Mapping[str, str], header: str = ""
) -> str:
    """Return what enters the ledger's key where a client of the user's sends: the marks of the client as well.

    Parameters
    ----------
    version : str
        As the version header says it, empty where there is none.
    address : Address
        With the query that the client adds to every request.
    headers : CustomHeaders
        Those that the client adds to every request.
    marks : mapping of str to str
        What else tells the client from others; no secrets.
    header : str
        The version header, which `version` speaks for.

    Examples
    --------
    >>> client_version("", Address("http://h"), CustomHeaders({}), {"client": "AzureOpenAI"})
    '#client=AzureOpenAI'
    """
    digest = headers.digest(header)
    return _joined(version, address, urlencode({**marks, "headers": digest} if digest else marks))


def version_alone(joined: str) -> str:
    """Return the version that the version header carries.

    Examples
    --------
    >>> version_alone("2026-10-21?api-version=2024#headers=81ad093466cc")
    '2026-10-21'
    """
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
    """What an SDK sends beside its own headers.

    Parameters
    ----------
    values : mapping of str to str
        By name, in small letters.
    """

    values: Mapping[str, str] = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of them nobody else may see, with and without the scheme before it."""
        found = [value for name, value in self.values.items() if is_secret(name, value)]
        return tuple(filter(None, [*found, *(value.split()[-1] for value in found if value)]))

    @property
    def sent(self) -> dict[str, str]:
        """All of them but those that the SDKs write over."""
        return {name: value for name, value in self.values.items() if name not in _SAYS_NOTHING}

    def digest(self, without: str = "") -> str:
        """Return a word that tells these headers from others, empty where there are none.

        Secrets do not enter it: a short one could be guessed from it. Neither does the header named `without`.

        Examples
        --------
        >>> CustomHeaders({"anthropic-beta": "context-1m-2025-08-07"}).digest()
        '81ad093466cc'
        >>> CustomHeaders({"x-api-key": "hush"}).digest()
        ''
        """
        told = sorted(
            (name, value) for name, value in self.sent.items() if name != without and not is_secret(name, value)
        )
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12] if told else ""


def custom_headers(variable: str) -> CustomHeaders:
    """Return the headers that a variable of the environment names, one ``name: value`` a line.

    Examples
    --------
    >>> custom_headers("NO_SUCH_HEADERS").digest()
    ''
    """
    return _read(os.environ.get(variable, ""))


@lru_cache(maxsize=64)
def _read(text: str) -> CustomHeaders:
    named = (line.partition(":") for line in text.split("\n"))
    as_spelt = {name.strip(): value.strip() for name, colon, value in named if colon}
    # The SDKs keep the last of each spelling, and of several spellings the one that came up last.
    return CustomHeaders({name.lower(): value for name, value in as_spelt.items()})
