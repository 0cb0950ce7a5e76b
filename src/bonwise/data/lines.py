"""JSON Lines: one object a line, the row number beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bonwise.data.bytes_check import check_text, file_errors, open_text
from bonwise.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["json_lines"]


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the row number and the object of each non-blank line.

    Raises
    ------
    bonwise.errors.RowError
        A line that is not one JSON object.
    """
    check_text(path)
    with file_errors(path), open_text(path) as lines:
        for row, line in enumerate(lines, start=1):
            if line.strip():
                yield row, _object(line, f"{path}, row {row}")


def _object(line: str, where: str) -> dict[str, Any]:
    hint = "one JSON object a line"
    try:
        record = json.loads(line)
        if "\\ud" in line.lower():
            # Half of a surrogate pair is valid JSON but no text: nothing could store or send it.
            json.dumps(record, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        message = f"{where}: not JSON: {error.msg} (at character {error.pos + 1})"
        raise RowError(message, hint=hint) from error
    except RecursionError as error:
        raise RowError(f"{where}: nested too deeply", hint=hint) from error
    except UnicodeError as error:
        raise RowError(f"{where}: half a surrogate pair", hint="write valid text") from error
    except ValueError as error:
        raise RowError(f"{where}: a number with too many digits", hint="write it as text") from error
    if not isinstance(record, dict):
        raise RowError(f"{where}: not a JSON object", hint=hint)
    return record
