"""JSON Lines: one object per line, the row number beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bonwise.data.bytes_check import LONGEST_LINE, check_text, file_errors, open_text
from bonwise.data.wording import quoted
from bonwise.errors import FileError, RowError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["json_lines", "json_lines_of"]

_BYTE_ORDER_MARK = "\ufeff"


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the row number and the object of each non-blank line.

    Parameters
    ----------
    path : pathlib.Path

    Raises
    ------
    bonwise.errors.RowError
        A line that is not one JSON object, or a key that occurs twice in an object.
    """
    check_text(path)
    with file_errors(path), open_text(path) as lines:
        for row, line in enumerate(lines, start=1):
            if line.strip():
                yield row, _object(line, f"{path}, row {row}")


def json_lines_of(stream: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Do the same for a stream that can be read only once, each line as soon as it is there.

    Parameters
    ----------
    stream : binary file
    name : str
        Of the stream, for messages.

    Raises
    ------
    bonwise.errors.RowError
        A line that is not one JSON object, or a key that occurs twice in an object.
    bonwise.errors.FileError
        A line that is not UTF-8 or longer than `bonwise.data.bytes_check.LONGEST_LINE` bytes, or a stream that
        cannot be read.

    Examples
    --------
    >>> import io
    >>> list(json_lines_of(io.BytesIO(b'{"a": 1}\n\n{"a": 2}'), "standard input"))
    [(1, {'a': 1}), (3, {'a': 2})]
    """
    row = 0
    with file_errors(Path(name)):
        while line := stream.readline(LONGEST_LINE + 1):
            row += 1
            text = _text(line, f"{name}, row {row}")
            if row == 1:
                text = text.removeprefix(_BYTE_ORDER_MARK)
            if text.strip():
                yield row, _object(text, f"{name}, row {row}")


def _text(line: bytes, where: str) -> str:
    if len(line) > LONGEST_LINE:
        raise FileError(
            f"{where}: longer than {LONGEST_LINE // 2**20} MiB",
            hint="one row per line; check for a missing line break",
        )
    try:
        return line.decode()
    except UnicodeError as error:
        raise FileError(f"{where}: not UTF-8", hint="write UTF-8") from error


def _object(line: str, where: str) -> dict[str, Any]:
    hint = "one JSON object per line"
    try:
        record = json.loads(line, object_pairs_hook=_unique)
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
    except KeyError as error:
        raise RowError(
            f"{where}: the key {quoted(error.args[0])} occurs twice in one object", hint="keep one of the two"
        ) from None
    except ValueError as error:
        raise RowError(f"{where}: a number with too many digits", hint="write it as text") from error
    if not isinstance(record, dict):
        raise RowError(f"{where}: not a JSON object", hint=hint)
    return record


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise KeyError(next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at])))
    return made
