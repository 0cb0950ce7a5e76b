"""The version of a service that a request speaks to, with all that its address and headers add to it."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, unquote, urlencode

from bonwise.calls.providers.address import Address
from bonwise.calls.providers.custom_headers import custom_headers

__all__ = ["api_version", "version_alone"]

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
    return _joined(version, address, custom_headers(variable).digest(header))


def version_alone(joined: str) -> str:
    """Return the version that the version header carries.

    Examples
    --------
    >>> version_alone("2026-10-21?api-version=2024#headers=81ad093466cc")
    '2026-10-21'
    """
    return unquote(joined.partition("#")[0].partition("?")[0])


@lru_cache(maxsize=64)
def _joined(version: str, address: Address, digest: str) -> str:
    query = urlencode(sorted(address.open_query))
    ending = (f"?{query}" if query else "") + (f"#headers={digest}" if digest else "")
    return quote(version, safe=_PLAIN) + ending
