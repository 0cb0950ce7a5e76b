"""How values are in the columns of a ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.records import Stored
from bonwise.errors import LedgerError

__all__ = ["STORED", "effective_from", "json_from", "stored_from", "usage_from"]

STORED = """
    SELECT c.id, s.choice, r.raw, c.status, s.reading, c.answered_model, c.fingerprint, c.cost, c.effective,
           c.note, c.uncached, c.cache_read, c.cache_write_5m, c.cache_write_1h, c.output, c.reasoning
    FROM sample s JOIN call c ON c.id = s.call JOIN response r ON r.call = c.id
    WHERE s.key = ? AND (s.choice IS NOT NULL OR c.state = 'rejected')
"""

_DAMAGED = "the file was changed or spoilt: take an older copy of it, or begin a new run folder"


def stored_from(row: Sequence[Any]) -> Stored:
    """Read a row of `STORED`."""
    call, choice, raw, status, reading, model, fingerprint, cost, effective, note, *counts = row
    sent = effective_from(effective, call)
    return Stored(call, choice, raw, status, reading, model, fingerprint, usage_from(counts), cost, sent, note)


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


def _damaged(call: int, column: str) -> LedgerError:
    return LedgerError(f"call {call} is damaged: its column {column!r} is not what was written", hint=_DAMAGED)
