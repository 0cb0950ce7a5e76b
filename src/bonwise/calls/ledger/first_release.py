"""What version 0.1.0 wrote: its calls get the digests that can still be made."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from bonwise.calls.ledger.digest_sum import DigestSum, write_sum
from bonwise.calls.ledger.digests import key_digest
from bonwise.calls.request import KEY_VERSION, encoded

__all__ = ["add_digests"]

_SAMPLES = """
    SELECT s.key, s.call, s.choice, c.provider, c.base_url, c.api_version, c.endpoint, q.body
    FROM sample s JOIN call c ON c.id = s.call LEFT JOIN request q ON q.call = c.id
    WHERE s.choice IS NOT NULL OR c.state = 'rejected' ORDER BY s.call
"""
_MOST_SAMPLES = 64
_MOST_REASKS = 2


def add_digests(connection: sqlite3.Connection) -> None:
    """Give a digest to each key that its call's request still leads to, and write down count and sum.

    The answers themselves get none: nobody can tell any more whether they are what the server sent.
    """
    last = connection.execute("SELECT coalesce(max(id), 0) FROM call").fetchone()[0]
    found = DigestSum(unverified_up_to=last)
    call, stems = None, []
    for key, of, choice, *where, body in connection.execute(_SAMPLES).fetchall():
        if of != call:
            call, stems = of, list(_stems(where, body))
        digest = key_digest(key, of, choice) if _leads_to(stems, key) else None
        if digest is not None:
            connection.execute("UPDATE sample SET digest = ? WHERE key = ?", (digest, key))
        if digest is not None or choice is not None:
            found = found.with_key(key, digest)
    (responses,) = connection.execute("SELECT count(*) FROM response").fetchone()
    write_sum(connection, found.plus(DigestSum(answers=responses)))


def _stems(where: list[Any], body: Any) -> Iterator[Any]:
    """Yield what the keys of a request begin with; the number of answers that was asked for is in none."""
    if not isinstance(body, str):
        return
    place = encoded([KEY_VERSION, *where])
    yield hashlib.sha256(place + body.encode())
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return
    if isinstance(fields, dict) and "n" in fields:
        del fields["n"]
        yield hashlib.sha256(place + encoded(fields))


def _leads_to(stems: list[Any], key: bytes) -> bool:
    for reask in range(_MOST_REASKS):
        for sample in range(_MOST_SAMPLES):
            for stem in stems:
                whole = stem.copy()
                whole.update(f"\0{sample}\0{reask}".encode())
                if whole.digest() == key:
                    return True
    return False
