"""Count and XOR of all digests, in one row that changes together with what it counts."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from bonwise.calls.ledger.digests import SIZE, key_digest

__all__ = ["STORED_KEYS", "DigestSum", "read_sum", "write_sum"]

KEY = 32
"""Bytes of a key."""

STORED_KEYS = "SELECT key, digest FROM sample NOT INDEXED WHERE (choice IS NOT NULL OR digest IS NOT NULL)"
"""What is counted, in the order in which the file holds it: a lease has neither choice nor digest."""


def _number(content: bytes | None) -> int:
    """Return a key or a digest as the number that is combined with others; 0 where there is none."""
    return int.from_bytes(content or b"", "big")


class DigestSum(NamedTuple):
    """How many answers a ledger holds, and the XOR of their digests."""

    keys: int = 0
    """Keys that lead to an answer."""
    keys_xor: int = 0
    """Of these keys and of their digests."""
    answers: int = 0
    """Responses."""
    answers_xor: int = 0
    """Of their digests."""
    unverified_up_to: int = 0
    """The last call that an older bonwise made, whose answer has no digest."""

    def with_key(self, key: bytes, digest: bytes | None, count: int = 1) -> DigestSum:
        """Return the sum with one more key, or with one less (`count` -1)."""
        xor = self.keys_xor ^ _number(key) ^ _number(digest)
        return DigestSum(self.keys + count, xor, self.answers, self.answers_xor, self.unverified_up_to)

    def with_answer(self, digest: bytes | None, count: int = 1) -> DigestSum:
        """Return the sum with one more response, or with one less (`count` -1)."""
        xor = self.answers_xor ^ _number(digest)
        return DigestSum(self.keys, self.keys_xor, self.answers + count, xor, self.unverified_up_to)

    def plus(self, other: DigestSum) -> DigestSum:
        """Return both together."""
        return DigestSum(
            self.keys + other.keys,
            self.keys_xor ^ other.keys_xor,
            self.answers + other.answers,
            self.answers_xor ^ other.answers_xor,
            max(self.unverified_up_to, other.unverified_up_to),
        )


def read_sum(connection: sqlite3.Connection) -> DigestSum | None:
    """Read the row; None where it is gone or is not what was written."""
    row = connection.execute(
        "SELECT keys, keys_xor, answers, answers_xor, unverified_up_to, digest FROM digest_sum WHERE id = 1"
    ).fetchone()
    if row is None or not isinstance(row[1], bytes) or not isinstance(row[3], bytes):
        return None
    keys, keys_xor, answers, answers_xor, up_to, digest = row
    found = DigestSum(keys, _number(keys_xor), answers, _number(answers_xor), up_to)
    return found if _digest_of(found) == digest else None


def write_sum(connection: sqlite3.Connection, found: DigestSum) -> None:
    """Write the row."""
    keys_xor, answers_xor = found.keys_xor.to_bytes(KEY, "big"), found.answers_xor.to_bytes(SIZE, "big")
    connection.execute(
        "INSERT OR REPLACE INTO digest_sum (id, keys, keys_xor, answers, answers_xor, unverified_up_to, digest) "
        "VALUES (1, ?, ?, ?, ?, ?, ?)",
        (found.keys, keys_xor, found.answers, answers_xor, found.unverified_up_to, _digest_of(found)),
    )


def _digest_of(found: DigestSum) -> bytes:
    values = (found.keys, found.keys_xor, found.answers, found.answers_xor, found.unverified_up_to)
    return key_digest(repr(values).encode(), 0, None)
