"""How values are in the columns of a ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.digests import answer_digest, key_digest
from bonwise.calls.ledger.records import Stored
from bonwise.errors import LedgerError

__all__ = [
    "ANSWER_COLUMNS",
    "DAMAGED",
    "STORED",
    "answer_trouble",
    "effective_from",
    "json_from",
    "key_trouble",
    "stored_from",
    "usage_from",
]

ANSWER_COLUMNS = """
    c.state, c.answered_at, c.status, c.request_id, c.answered_model, c.fingerprint,
    c.uncached, c.cache_read, c.cache_write_5m, c.cache_write_1h, c.output, c.reasoning,
    c.cost, c.price_version, c.attempts, c.lost_attempts, c.effective, c.note
"""
"""What stands beside an answer and is in its digest, in the order in which it is recorded."""

STORED = f"""
    SELECT s.call, s.choice, s.reading, s.digest, r.raw, r.digest,
           CASE WHEN s.digest IS NULL OR r.digest IS NULL THEN (SELECT unverified_up_to FROM digest_sum) END, c.id,
           {ANSWER_COLUMNS}
    FROM sample s LEFT JOIN call c ON c.id = s.call LEFT JOIN response r ON r.call = s.call
    WHERE s.key = ? AND (s.choice IS NOT NULL OR s.digest IS NOT NULL OR c.state = 'rejected')
"""  # noqa: S608 - columns that are named here

DAMAGED = "bonwise ledger check RUN lists all damage; bonwise ledger repair RUN drops it, and the next run asks again"


def stored_from(key: bytes, row: tuple[Any, ...]) -> Stored:
    """Read a row of `STORED`.

    Raises
    ------
    bonwise.errors.LedgerError
        It is not what was written; the call is named.
    """
    call, choice, reading, of_key, raw, of_answer, up_to, found = row[:8]
    columns = row[8:]
    because = "" if found == call else "the call is missing"
    because = (
        because
        or key_trouble(key, call, choice, of_key, up_to)
        or answer_trouble(call, columns, raw, of_answer, up_to)
    )
    if because:
        raise LedgerError(f"call {call} is damaged: {because}", hint=DAMAGED)
    _, _, status, _, model, fingerprint, *rest = columns
    *counts, cost, _, _, _, effective, note = rest
    sent = effective_from(effective, call)
    return Stored(call, choice, raw, status, reading, model, fingerprint, usage_from(counts), cost, sent, note)


def key_trouble(key: Any, call: Any, choice: Any, digest: Any, up_to: Any) -> str:
    """Say why a key does not lead to what it was written for, empty where it does or where nobody can tell."""
    if digest is None:
        return "" if _may_lack_a_digest(call, up_to) else "the digest of a key is missing"
    right = _is_digest(digest, key_digest, key, call, choice)
    return "" if right else "a key does not lead to the answer that was written for it"


def answer_trouble(call: int, columns: tuple[Any, ...], raw: Any, digest: Any, up_to: Any) -> str:
    """Say why an answer is not what was written, empty where it is or where nobody can tell."""
    if raw is None:
        return "its answer is missing"
    if digest is None:
        return "" if _may_lack_a_digest(call, up_to) else "the digest of its answer is missing"
    right = _is_digest(digest, answer_digest, call, columns, raw)
    return "" if right else "its answer is not what was written"


def json_from(text: Any, call: int, column: str) -> Any:
    """Read a column that holds JSON; NaN and infinity, which JSON has no number for, come as their names.

    Raises
    ------
    bonwise.errors.LedgerError
        It holds something else; the call is named.

    Examples
    --------
    >>> json_from('{"temperature": 0.5}', 7, "effective"), json_from("NaN", 7, "reading")
    ({'temperature': 0.5}, 'NaN')
    """
    try:
        return json.loads(text, parse_constant=str)
    except (TypeError, ValueError, RecursionError):
        raise _damaged(call, column) from None


def effective_from(text: Any, call: int) -> dict[str, Any]:
    """Read the parameters that were sent.

    Raises
    ------
    bonwise.errors.LedgerError
        They are no JSON object; the call is named.
    """
    found = json_from(text, call, "effective")
    if not isinstance(found, dict):
        raise _damaged(call, "effective")
    return found


def usage_from(counts: Sequence[int | None]) -> Usage | None:
    """Read the columns of a usage; None where the server counted nothing."""
    return None if counts[0] is None else Usage(*(count or 0 for count in counts))


def _is_digest(digest: Any, make: Callable[..., bytes], *values: Any) -> bool:
    """Tell whether a digest is that of some values, which may be of any type where the file is damaged."""
    try:
        return bool(make(*values) == digest)
    except (TypeError, ValueError):
        return False


def _may_lack_a_digest(call: Any, up_to: Any) -> bool:
    return isinstance(call, int) and isinstance(up_to, int) and call <= up_to


def _damaged(call: int, column: str) -> LedgerError:
    return LedgerError(f"call {call} is damaged: its column {column!r} is not what was written", hint=DAMAGED)
