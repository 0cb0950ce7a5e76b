"""Digests by which a ledger notices that something in it is not what was written."""

from __future__ import annotations

import hashlib
from typing import Any

__all__ = ["answer_digest", "key_digest"]

SIZE = 16
"""Bytes of a digest."""


def key_digest(key: bytes, call: int, choice: int | None) -> bytes:
    """Return the digest of a key and of the answer that it leads to: a call, and a choice of its reply.

    Examples
    --------
    >>> key_digest(b"key", 7, 0) == key_digest(b"key", 7, 1)
    False
    """
    return hashlib.blake2b(key + ascii((call, choice)).encode(), digest_size=SIZE).digest()


def answer_digest(call: int, columns: tuple[Any, ...], raw: bytes) -> bytes:
    """Return the digest of an answer: its call, the figures that stand beside it, and its bytes.

    Parameters
    ----------
    call : int
    columns : tuple
        Numbers, texts and None, each of the type that SQLite gives back.
    raw : bytes

    Examples
    --------
    >>> answer_digest(7, (200, "m-1"), b"{}") == answer_digest(7, (200, "m-2"), b"{}")
    False
    """
    # `ascii` writes the same in every version of Python and is made in C; `json` takes four times as long.
    return hashlib.blake2b(ascii((call, columns)).encode() + b"\0" + raw, digest_size=SIZE).digest()
