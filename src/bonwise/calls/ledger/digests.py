"""Digests by which a ledger notices that something in it is not what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

__all__ = ["answer_digest", "as_number", "key_digest"]

SIZE = 16
"""Bytes of a digest."""


def key_digest(key: bytes, call: int, choice: int | None) -> bytes:
    """Return the digest of a key and of the answer that it leads to: a call, and a choice of its reply.

    Examples
    --------
    >>> key_digest(b"key", 7, 0) == key_digest(b"key", 7, 1)
    False
    """
    return hashlib.blake2b(b"%b\0%d\0%b" % (key, call, str(choice).encode()), digest_size=SIZE).digest()


def answer_digest(call: int, columns: Sequence[Any], raw: bytes) -> bytes:
    """Return the digest of an answer: its call, the figures that stand beside it, and its bytes.

    Parameters
    ----------
    call : int
    columns : sequence
        Numbers, texts and None. SQLite gives 2 back for 2.0, so both have one digest.
    raw : bytes

    Examples
    --------
    >>> answer_digest(7, [2.0, None], b"{}") == answer_digest(7, [2, None], b"{}")
    True
    """
    figures = "\x1f".join(map(_written, (call, *columns))).encode(errors="surrogatepass")
    return hashlib.blake2b(figures + b"\0" + raw, digest_size=SIZE).digest()


def as_number(content: bytes | None) -> int:
    """Return a key or a digest as the number that is combined with others; 0 where there is none."""
    return 0 if content is None else int.from_bytes(content, "big")


def _written(value: Any) -> str:
    if type(value) is str:
        return f'"{value}'
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
