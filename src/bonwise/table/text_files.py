"""Files of text: one pass over the bytes before any parser; JSON Lines, one object per line with its row number."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import stat
import zlib
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from bonwise.errors import FileError, RowError, UsageError
from bonwise.printable import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_LINE = 16 * 2**20
"""Bytes in one line beyond which a file is taken for damaged: no score and no answer is that long."""

_ONE_ROW_PER_LINE = "one row per line; check for a missing line break, or set BONWISE_LONGEST_LINE"
_CHUNK = 2**20
_SMALL = 256 * 2**20
_MOST_GROWTH = 100
"""How many times its size a gzipped file may grow beyond `_SMALL` bytes: text grows to about ten times."""
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_MOST_NOT_ASCII = 0.1
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system says of a file into one clear error."""
    name = str(path)
    if "\0" in str(path):
        raise FileError(f"{name}: no such file", hint="check the path")
    try:
        yield
    except FileNotFoundError as error:
        raise FileError(f"{name}: no such file", hint="check the path") from error
    except IsADirectoryError as error:
        raise FileError(f"{name}: is a folder, not a file", hint="name a file in it") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{name}: not a complete gzip file", hint="compress it again") from error
    except UnicodeError as error:
        raise FileError(f"{name}: not UTF-8", hint="save the file as UTF-8") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileError(f"{name}: {reason}", hint="check the path, its rights and the disk") from error


def open_bytes(path: Path) -> IO[bytes]:
    """Open a plain or gzipped file for reading bytes."""
    if path.suffix.lower() == ".gz":
        return cast("IO[bytes]", _BoundedGzip(path))
    return open_plain(path)


_KINDS = (("pipe", stat.S_ISFIFO), ("socket", stat.S_ISSOCK), ("device", stat.S_ISCHR), ("device", stat.S_ISBLK))


def open_plain(path: Path) -> IO[bytes]:
    """Open a regular file for reading bytes: all is opened here, since a pipe may make it wait for ever."""
    _refuse_kind(path, path.stat().st_mode)
    # What takes the place of the file in between is opened without waiting, and refused too.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _refuse_kind(path, os.fstat(handle).st_mode)
    except FileError:
        os.close(handle)
        raise
    return io.BufferedReader(io.FileIO(handle))


def _refuse_kind(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise FileError(f"{path}: is a folder, not a file", hint="name a file in it")
    for kind, fits in _KINDS:
        if fits(mode):
            raise FileError(f"{path}: is a {kind}, which can be read only once", hint="write it to a file first")


def limit(name: str, usual: int) -> int:
    """Return a limit on what is read: that of the environment variable ``BONWISE_NAME``, else the usual one."""
    text = os.environ.get(f"BONWISE_{name}") or str(usual)
    if not text.isascii() or not text.isdigit() or len(text) > 15 or int(text) < 1:
        raise UsageError(f"BONWISE_{name} is {quoted(text)}", hint="give a whole number of 1 or more, or unset it")
    return int(text)


class _BoundedGzip(gzip.GzipFile):
    """A gzipped file that is read no further than data of its size can reach."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = limit("MOST_BYTES", max(_SMALL, _MOST_GROWTH * path.stat().st_size))
        stream = open_plain(path)
        super().__init__(fileobj=stream, mode="rb")
        self.myfileobj = cast("Any", stream)  # closed with it

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            parts = []
            while part := self.read(_CHUNK):
                parts.append(part)
            return b"".join(parts)
        return self._bounded(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._bounded(super().read1(size))

    def _bounded(self, part: bytes) -> bytes:
        if self.tell() > self._most:
            raise FileError(
                f"{self._path}: grows to more than {self._most // 2**20:,} MiB when it is decompressed",
                hint="decompress it yourself if you trust it, or set BONWISE_MOST_BYTES",
            )
        return part


def open_text(path: Path, *, newline: str | None = None) -> io.TextIOWrapper:
    """Open a plain or gzipped file for reading UTF-8, with or without a byte order mark."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline=newline)


def open_as_utf_8(path: Path) -> tuple[Callable[[], IO[bytes]], str]:
    """Return what opens a text as UTF-8, and a note on UTF-16, or Windows-1252 if few bytes are not ASCII."""
    try:
        check_text(path)
    except FileError:
        with file_errors(path), open_bytes(path) as stream:
            content = stream.read(_CHUNK)
            if content and (content.startswith(_UTF_16) or b"\0" not in content):
                content += stream.read()
        if content.startswith(_UTF_16) and len(content) % 2:
            raise FileError(f"{path}: UTF-16 that ends within a letter", hint="write it again") from None
        text, name = _other_text(content)
        if not text or b"\0" in text or max(map(len, text.split(b"\n"))) > limit("LONGEST_LINE", LONGEST_LINE):
            raise
        return partial(io.BytesIO, text), f"text in {name}"
    return partial(open_bytes, path), ""


def _other_text(content: bytes) -> tuple[bytes, str]:
    """Return text as UTF-8, and what it is written in; nothing where that is not plain."""
    with suppress(UnicodeDecodeError):
        if content.startswith(_UTF_16):
            return content.decode("utf-16").encode(), "UTF-16"
        few = sum(map(len, _NOT_ASCII.findall(content))) <= _MOST_NOT_ASCII * len(content)
        # Where some of it is a letter of UTF-8, or begins one at the end, it is UTF-8 that was damaged.
        if few and content[-1:].isascii() and content.decode(errors="ignore").isascii():
            return content.decode("cp1252").encode(), "Windows-1252"
    return b"", ""


def check_text(path: Path) -> None:
    """Refuse a file that is empty, binary, not UTF-8, or has a line beyond `LONGEST_LINE`."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, length, size = 1, 0, 0
    longest = limit("LONGEST_LINE", LONGEST_LINE)
    with file_errors(path), open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            if not size:
                _refuse_utf_16(path, chunk)
            size += len(chunk)
            _refuse_binary(path, chunk, line)
            _refuse_other_encodings(path, decoder, chunk, line)
            line, length = _refuse_long_lines(path, chunk, line, length, longest)
        _refuse_other_encodings(path, decoder, b"", line, final=True)
    if size == 0:
        raise FileError(f"{path}: the file is empty", hint="check that whatever wrote it has finished")


def _refuse_utf_16(path: Path, chunk: bytes) -> None:
    if chunk.startswith(_UTF_16):
        raise FileError(f"{path}, line 1: UTF-16, not UTF-8", hint="save the file as UTF-8")


def _refuse_binary(path: Path, chunk: bytes, line: int) -> None:
    at = chunk.find(b"\0")
    if at >= 0:
        row = line + chunk.count(b"\n", 0, at)
        raise FileError(
            f"{path}, line {row}: a NUL byte: the file is binary, not text",
            hint="give CSV or JSONL as UTF-8 text, or Parquet with the ending .parquet",
        )


def _refuse_other_encodings(
    path: Path, decoder: codecs.IncrementalDecoder, chunk: bytes, line: int, *, final: bool = False
) -> None:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        row = line + error.object.count(b"\n", 0, error.start)
        raise FileError(
            f"{path}, line {row}: not UTF-8 (byte 0x{error.object[error.start]:02x})", hint="save the file as UTF-8"
        ) from error


def _refuse_long_lines(path: Path, chunk: bytes, line: int, length: int, longest: int) -> tuple[int, int]:
    """Follow line number and length through a chunk; a line counts across chunks."""
    if length + len(chunk) <= longest:  # no line of it can be too long
        last = chunk.rfind(b"\n")
        return line + chunk.count(b"\n"), (length if last < 0 else -last - 1) + len(chunk)
    pieces = chunk.split(b"\n")
    for piece in pieces[:-1]:
        _refuse_if_long(f"{path}, line {line}", length + len(piece), longest)
        line, length = line + 1, 0
    length += len(pieces[-1])
    _refuse_if_long(f"{path}, line {line}", length, longest)
    return line, length


def _refuse_if_long(where: str, length: int, longest: int) -> None:
    if length > longest:
        raise FileError(f"{where}: longer than {longest // 2**20} MiB", hint=_ONE_ROW_PER_LINE)


DEEPEST = 64
"""Levels of lists and objects, one within the other."""


def refuse_deep(document: object, where: str, error: type[FileError | RowError] = FileError) -> None:
    """Refuse what is nested deeper than `DEEPEST` levels."""
    deepest = limit("DEEPEST", DEEPEST)
    if is_deeper(document, deepest):
        raise error(f"{where}: nested deeper than {deepest} levels", hint="write it flat, or set BONWISE_DEEPEST")


def is_deeper(document: object, levels: int) -> bool:
    """Tell whether lists and objects are within one another on more than so many levels."""
    level = [document]
    for _ in range(levels + 1):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


_BYTE_ORDER_MARK = "\ufeff"


def json_lines(path: Path, cut_off: list[int] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield row number and object of each line; with `cut_off` a last line without its end is noted and left out."""
    check_text(path)
    deepest, name = limit("DEEPEST", DEEPEST), str(path)
    with file_errors(path), open_text(path) as lines:
        for row, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                record = _object(line, f"{name}, row {row}", deepest)
            except RowError as error:
                is_within = isinstance(error.__cause__, json.JSONDecodeError) and not line.endswith("\n")
                if cut_off is None or row == 1 or not is_within:
                    raise
                cut_off.append(row)
                return
            yield row, record


def json_lines_of(stream: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""As `json_lines` for a stream, each line as it comes; no UTF-8 or beyond `LONGEST_LINE` is a FileError."""
    row, longest, deepest = 0, limit("LONGEST_LINE", LONGEST_LINE), limit("DEEPEST", DEEPEST)
    with file_errors(Path(name)):
        while line := stream.readline(longest + 1):
            row += 1
            text = _text(line, f"{name}, row {row}", longest)
            if row == 1:
                text = text.removeprefix(_BYTE_ORDER_MARK)
            if text.strip():
                yield row, _object(text, f"{name}, row {row}", deepest)


def log_lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield row number and object of each line of a log that is still written; a text says what of it is missing."""
    longest, deepest = limit("LONGEST_LINE", LONGEST_LINE), limit("DEEPEST", DEEPEST)
    with file_errors(path), open_bytes(path) as stream:
        for row, line in enumerate(iter(lambda: stream.readline(longest + 1), b""), start=1):
            where, empty, ended = f"{path}, row {row}", b"\0" in line, line.endswith(b"\n")
            _refuse_utf_16(path, line)
            text = line.removeprefix(codecs.BOM_UTF8).strip(b"\0\r\n\t ")
            try:
                if text:
                    yield row, _object(_text(text, where, longest), where, deepest)
            except (FileError, RowError):
                if (ended and not empty) or len(line) > longest:
                    raise
                empty or (yield row, f"{where}: the file ends within it")
            if empty:
                yield row, f"{where}: NUL bytes, as a crash leaves them"
            if not ended:
                # The rest of the line may be written before another look at the file.
                return


def _text(line: bytes, where: str, longest: int) -> str:
    _refuse_if_long(where, len(line), longest)
    try:
        return line.decode()
    except UnicodeError as error:
        raise FileError(f"{where}: not UTF-8", hint="write UTF-8") from error


def _object(line: str, where: str, deepest: int) -> dict[str, Any]:
    hint = "one JSON object per line"
    try:
        record, end = _DECODER.raw_decode(line) if line[0] == "{" else (None, 0)
        if line[end:] != "\n":  # white space about it, or anything else than one object
            record = _DECODER.decode(line)
        if "\\" in line and "\\ud" in line.lower():
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
    if line.count("{") + line.count("[") > deepest:  # else nothing can be that deep, as in nearly every row
        refuse_deep(record, where, RowError)
    return record


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a `KeyError` where a key occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise KeyError(next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at])))
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)
"""Made once: to make it takes longer than to read a line."""
