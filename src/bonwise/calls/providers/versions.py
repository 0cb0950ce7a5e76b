"""The version of a service that a request speaks to, with all that its address and headers add to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, unquote, urlencode

from bonwise.calls.providers.address import Address
from bonwise.calls.providers.custom_headers import CustomHeaders, custom_headers

__all__ = ["api_version", "client_version", "version_alone"]

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
