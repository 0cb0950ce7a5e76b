"""All frozen cases, and where their golden files lie."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from frozen.case import Case
from frozen.cases import asked, audits, planned, real, studies, words
from frozen.documents import documents
from frozen.running import outcome

__all__ = ["CASES", "DOCUMENTS", "GOLDEN", "found", "golden", "keep"]

CASES: Mapping[str, Case] = {
    case.name: case for part in (words, audits, studies, planned, asked, real) for case in part.CASES
}

DOCUMENTS = "documents"
"""Name of the case that holds the documents which no command writes."""

GOLDEN = Path(__file__).parent / "golden"

LARGE = 20_000
"""Bytes above which a golden file is compressed."""


def found(name: str, folder: Path, data: Path | None = None) -> dict[str, str]:
    """Run a case in an empty folder and return what it left behind, by file name."""
    return documents(folder) if name == DOCUMENTS else outcome(CASES[name], folder, data)


def golden(name: str) -> dict[str, str]:
    """Read the golden files of a case, by file name."""
    folder, kept = GOLDEN / name, {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            raw = path.read_bytes()
            packed = path.suffix == ".gz"
            inner = path.relative_to(folder).as_posix().removesuffix(".gz" if packed else "")
            kept[inner] = (gzip.decompress(raw) if packed else raw).decode("utf-8")
    return kept


def keep(name: str, inner: str, text: str | None) -> None:
    """Write a golden file, or delete it where there is no text; a large one is compressed."""
    plain, packed = GOLDEN / name / inner, GOLDEN / name / f"{inner}.gz"
    for path in (plain, packed):
        path.unlink(missing_ok=True)
    if text is None:
        return
    plain.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode()
    if len(raw) > LARGE:
        packed.write_bytes(gzip.compress(raw, mtime=0))
    else:
        plain.write_bytes(raw)
