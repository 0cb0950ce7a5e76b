"""What JSON files, archives and folders of other tools hold, in bounded memory and never outside of them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from bonwise.errors import FileError
from bonwise.printable import quoted
from bonwise.table.text_files import file_errors, json_lines, limit, open_bytes, open_plain, refuse_deep, unique_keys

MOST_BYTES = 512 * 2**20
"""Bytes of a document, or of all parts of an archive or folder together, after decompression."""

_MOST_GROWTH = 100
_MOST_PARTS = 50_000
_PIECE = 2**20
_ZSTD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


def json_document(path: Path) -> Any:
    """Return what a JSON file holds, plain or gzipped; no JSON, or more than `MOST_BYTES`, is a FileError."""
    most = _most_bytes()
    with file_errors(path), open_bytes(path) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise _too_large(str(path))
    if not content.strip():
        raise FileError(f"{path}: the file is empty", hint="check that whatever wrote it has finished")
    return _parsed(content, str(path))


def parts_of_archive(path: Path) -> dict[str, Any]:
    """Return the JSON parts of a zip archive by name; names that lead out, and too much data, are a FileError."""
    return {name: _parsed(content, f"{path}: {quoted(name)}") for name, content in unpacked_parts(path, ".json")}


def unpacked_parts(path: Path, ending: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a zip archive with their names; names that lead out, and too much data, are a FileError."""
    left = _most_bytes()
    with file_errors(path), open_plain(path) as stream:
        try:
            members = zipfile.ZipFile(stream).infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise FileError(f"{path}: not a complete zip archive", hint="write the log again") from error
        if len(members) > _MOST_PARTS:
            raise FileError(f"{path}: more than {_MOST_PARTS:,} parts", hint="split the archive")
        for member in members:
            _refuse_climbing(path, member.filename)
        for member in members:
            if member.filename.endswith(ending) and not member.filename.startswith("_journal/summaries"):
                content = _part(stream, member, path, left)
                left -= len(content)
                yield member.filename, content


def _refuse_climbing(path: Path, name: str) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in name.split("/", 1)[0]:
        raise FileError(f"{path}: the part {quoted(name)} leads out of the archive", hint="do not use this archive")


def _part(stream: IO[bytes], member: zipfile.ZipInfo, path: Path, most: int) -> bytes:
    """Return the bytes of one part, read no further than what may be left."""
    if member.flag_bits & 1:
        raise FileError(
            f"{path}: the part {quoted(member.filename)} is encrypted", hint="write it without a password"
        )
    stream.seek(member.header_offset)
    head = stream.read(_LOCAL_HEADER.size)
    if len(head) < _LOCAL_HEADER.size or not head.startswith(b"PK\x03\x04"):
        raise FileError(f"{path}: not a complete zip archive", hint="write the log again")
    *_, name_length, extra_length = _LOCAL_HEADER.unpack(head)
    stream.seek(name_length + extra_length, io.SEEK_CUR)
    if member.compress_size > most:
        raise _too_large(str(path))
    packed = stream.read(member.compress_size)
    content = _unpacked(packed, member.compress_type, most, f"{path}: the part {quoted(member.filename)}")
    if len(content) > most:
        raise _too_large(str(path))
    return content


def _unpacked(packed: bytes, method: int, most: int, what: str) -> bytes:
    """Decompress at most one byte more than `most`."""
    try:
        if method == zipfile.ZIP_STORED:
            return packed
        if method == zipfile.ZIP_DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most + 1)
        if method == _ZSTD:
            import pyarrow as pa  # noqa: PLC0415 - half a second that only such archives need

            with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
                return bytes(stream.read(most + 1))
    except (zlib.error, OSError) as error:
        raise FileError(f"{what} is damaged", hint="write the log again") from error
    raise FileError(f"{what} is compressed in an unknown way", hint="write it with deflate or zstd")


def parts_of_folder(path: Path) -> dict[str, Any]:
    """Return the JSON and JSON Lines files of a folder by name; links that lead out and too much data are refused."""
    parts: dict[str, Any] = {}
    size = 0
    with file_errors(path):
        root = path.resolve()
        for file in _files(path):
            if not file.resolve().is_relative_to(root):
                raise FileError(f"{file}: leads out of its folder", hint="put the file itself into the folder")
            size += _unpacked_size(file, _most_bytes() - size)
            if size > _most_bytes():
                raise _too_large(str(path))
            if ".jsonl" in file.suffixes or ".ndjson" in file.suffixes:
                parts[file.relative_to(path).as_posix()] = [record for _, record in json_lines(file)]
            else:
                parts[file.name] = json_document(file)
    return parts


def _unpacked_size(file: Path, most: int) -> int:
    """Return the bytes of a file after decompression, or some number above `most`."""
    if file.suffix.lower() != ".gz":
        return file.stat().st_size
    size = 0
    with open_bytes(file) as stream:
        while size <= most and (piece := stream.read(_PIECE)):
            size += len(piece)
    return size


def _files(path: Path) -> Iterator[Path]:
    # Samples of lm-evaluation-harness stand in a folder for each model.
    for file in sorted([*path.iterdir(), *path.glob("*/samples_*.jsonl*")]):
        ending = file.name.lower().removesuffix(".gz")
        if file.is_file() and ending.endswith((".json", ".jsonl", ".ndjson")):
            yield file


def _parsed(content: bytes, where: str) -> Any:
    hint = "check that whatever wrote it has finished"
    try:
        document = json.loads(content.decode("utf-8-sig"), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        raise FileError(f"{where}: not UTF-8 (byte 0x{content[error.start]:02x})", hint="save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise FileError(
            f"{where}: not JSON: {error.msg} (line {error.lineno}, column {error.colno})", hint=hint
        ) from error
    except KeyError as error:
        twice = f"{where}: the key {quoted(error.args[0])} occurs twice in one object"
        raise FileError(twice, hint="keep one of the two") from None
    except RecursionError as error:
        raise FileError(f"{where}: nested too deeply", hint=hint) from error
    except ValueError as error:
        raise FileError(f"{where}: a number with too many digits", hint="write it as text") from error
    refuse_deep(document, where)
    if b"\\ud" in content.lower():
        try:
            # Half of a surrogate pair is valid JSON but no text: nothing could store it.
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeError as error:
            raise FileError(f"{where}: half a surrogate pair", hint="write valid text") from error
    return document


def _most_bytes() -> int:
    return limit("MOST_BYTES", MOST_BYTES)


def refuse_size(path: Path, size: int) -> None:
    """Refuse a file that unpacks to so many bytes, more than what its own size allows."""
    if size > limit("MOST_BYTES", max(MOST_BYTES, _MOST_GROWTH * path.stat().st_size)):
        raise _too_large(str(path))


def _too_large(where: str) -> FileError:
    return FileError(
        f"{where}: holds more than {_most_bytes() // 2**20} MiB",
        hint="split it, give the scores as Parquet or JSON Lines, or set BONWISE_MOST_BYTES",
    )
