"""Keys of a blind label sheet: each stands for a prompt and a candidate, and shows neither."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING

from bonwise.errors import RowError
from bonwise.printable import quoted
from bonwise.table.store import CodedColumn, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


SHEET_KEY = "sheet_key"
"""CodedColumn of a label sheet that stands for prompt_id and candidate."""

_MARK = "k"
_CHECK = 8
"""Bytes of the digest that a key begins with; they hide the names and tell a damaged key."""


def sheet_key(prompt_id: str, candidate: str) -> str:
    """Return a key (letters, digits, ``-``, ``_``; a letter first) that hides the model from labellers; no secret."""
    names = json.dumps([prompt_id, candidate], ensure_ascii=False, separators=(",", ":"))
    plain = names.encode("utf-8", "surrogatepass")
    check = _check(plain)
    return _MARK + base64.urlsafe_b64encode(check + _masked(plain, check)).rstrip(b"=").decode("ascii")


def ids_of_key(key: str) -> tuple[str, str]:
    """Return the prompt id and candidate behind a key, exactly as they were; what is no whole key is a ValueError."""
    text = key.strip()
    if not text.startswith(_MARK) or not text.isascii():
        raise ValueError("not a key")
    body = text[1:]
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not a key") from error
    check = packed[:_CHECK]
    plain = _masked(packed[_CHECK:], check)
    if _check(plain) != check:
        raise ValueError("a damaged key")
    prompt_id, candidate = json.loads(plain.decode("utf-8", "surrogatepass"))
    return prompt_id, candidate


def with_ids(rows: Rows, source: str) -> Rows:
    """Return a blind label sheet with ids, other tables as they are; a blank or damaged key is a RowError."""
    if SHEET_KEY not in rows.columns or {"prompt_id", "candidate"} & set(map(str, rows.columns)):
        return rows
    keys = [
        _ids(cell, f"{source}, row {row}")
        for row, cell in zip(rows.index.tolist(), rows.columns[SHEET_KEY].to_numpy().tolist(), strict=True)
    ]
    ids = {
        role: CodedColumn.of_cells([pair[at] for pair in keys], rows.index)
        for at, role in enumerate(("prompt_id", "candidate"))
    }
    return Rows({**ids, **rows.without(SHEET_KEY).columns}, rows.index)


def with_ids_of_record(record: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return one record of a blind label sheet as `with_ids` returns its row."""
    if SHEET_KEY not in record or {"prompt_id", "candidate"} & set(record):
        return record
    prompt_id, candidate = _ids(record[SHEET_KEY], where)
    rest = {name: value for name, value in record.items() if name != SHEET_KEY}
    return {"prompt_id": prompt_id, "candidate": candidate, **rest}


def _ids(cell: object, where: str) -> tuple[str, str]:
    hint = "copy the column sheet_key from the sheet as bonwise wrote it"
    if not isinstance(cell, str) or not cell.strip():
        raise RowError(f"{where}: no {SHEET_KEY}", hint=hint)
    try:
        return ids_of_key(cell)
    except ValueError as error:
        raise RowError(f"{where}: the {SHEET_KEY} {quoted(cell)} is {error} of a label sheet", hint=hint) from None


def _check(plain: bytes) -> bytes:
    return hashlib.sha256(b"bonwise label sheet\0" + plain).digest()[:_CHECK]


def _masked(content: bytes, check: bytes) -> bytes:
    """Return the bytes mixed with a stream that the check begins; the same call undoes it."""
    stream = hashlib.shake_256(check).digest(len(content))
    return (int.from_bytes(content) ^ int.from_bytes(stream)).to_bytes(len(content))
