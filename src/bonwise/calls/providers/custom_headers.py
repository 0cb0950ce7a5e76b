"""Headers that the environment has an SDK add to every request."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from bonwise.calls.providers.secret_names import is_secret

__all__ = ["CustomHeaders", "custom_headers"]

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
