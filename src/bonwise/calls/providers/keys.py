"""The key of an account: found in the environment, and never shown."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from bonwise.errors import CallError

__all__ = ["Key", "find_key"]


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
