"""Files that may be replaced: those that show that bonwise wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bonwise.data.bytes_check import file_errors
from bonwise.data.writing import is_in_place
from bonwise.errors import FileError

__all__ = ["BLIND_SHEET", "LABEL_PAGE", "SHEET", "TASKS", "is_label_page", "refuse_foreign"]

SHEET = ("prompt_id", "candidate", "oracle_label")
"""Columns with which a label sheet begins."""

BLIND_SHEET = ("sheet_key", "oracle_label")
"""Columns with which a blind label sheet begins, and what a label page exports."""

LABEL_PAGE = '<meta name="generator" content="bonwise label sheet">'
"""Tells a page for labelling from other pages; its labels are in a browser, where nothing can look."""

TASKS = '[\n{"data": {"sheet_key": "'
"""What a file of tasks for Label Studio begins with."""

_HEAD = 65536
"""Bytes at the beginning of a file that are looked at."""

_DOCUMENT = re.compile(r'\s*\{\s*"schema":\s*"bonwise\.')
_PAGE = re.compile(
    r'\s*<!DOCTYPE html>.*?(<meta name="generator" content="bonwise">'
    r"|content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-)",
    re.DOTALL,
)
_LABEL_PAGE = re.compile(rf"\s*<!DOCTYPE html>.*?{re.escape(LABEL_PAGE)}", re.DOTALL)
_LABEL_STUDIO = re.compile(r"<View><!-- bonwise label sheet -->")
_MARKDOWN = re.compile(r"## Audit of ")
_JUNIT = re.compile(r'(<\?xml[^>]*\?>\s*)?<testsuites name="bonwise audit"')
_SEPARATOR = re.compile(r"[,;\t]")


def refuse_foreign(path: str | Path, headers: Iterable[Sequence[str]] = (), *, force: bool = False) -> None:
    """Refuse to replace a file that bonwise did not write; a label sheet with a label filled in is never replaced.

    An empty file, a pipe and a device hold nothing that could be lost.

    Parameters
    ----------
    path : str or pathlib.Path
        Where something is to be written.
    headers : iterable of sequences of str
        Names with which the rows begin that are written there: columns of CSV, keys of JSON Lines.
    force : bool
        Whether to replace any other file, but no label sheet with a label filled in.

    Raises
    ------
    bonwise.errors.FileError
        With the path and what to do.
    """
    place = Path(path)
    with file_errors(place):
        if is_in_place(place) or not place.is_file():
            return
        with place.open("rb") as stream:
            head = stream.read(_HEAD).decode("utf-8-sig", errors="replace")
        headers = tuple(headers)
        # Who writes sheets compares the old one with the new one, and keeps the labels of the old one.
        if SHEET not in headers:
            _refuse_labels(place, head)
        if head and not force and not _is_own(head, headers):
            raise FileError(
                f"{path}: is there already, and does not look like a file that this command wrote",
                hint="give the output another name, or replace the file with --force",
            )


def is_label_page(path: Path) -> bool:
    """Tell whether a file is a page for labelling."""
    with file_errors(path), path.open("rb") as stream:
        return _LABEL_PAGE.match(stream.read(_HEAD).decode("utf-8-sig", errors="replace")) is not None


def _refuse_labels(path: Path, head: str) -> None:
    names = _names(head)
    what = ""
    if any(names[: len(sheet)] == sheet for sheet in (SHEET, BLIND_SHEET)) and _is_filled(path):
        what = "a label sheet with labels filled in"
    elif _LABEL_PAGE.match(head):
        what = "a page for labelling"
    elif '"sheet_key"' in head and '"annotations"' in head:
        what = "an export with labels of a label sheet"
    if what:
        raise FileError(f"{path}: is {what}, which is never replaced", hint="give the output another name")


def _is_own(head: str, headers: Iterable[Sequence[str]]) -> bool:
    if any(mark.match(head) for mark in (_DOCUMENT, _PAGE, _MARKDOWN, _JUNIT)):
        return True
    headers = tuple(headers)
    if SHEET in headers and (head.startswith(TASKS) or any(one.match(head) for one in (_LABEL_PAGE, _LABEL_STUDIO))):
        return True
    found = _names(head)
    return any(found[: len(header)] == tuple(header) for header in headers)


def _names(head: str) -> tuple[str, ...]:
    """Return the keys of the first line of JSON Lines, or the columns of CSV, perhaps saved by a spreadsheet."""
    line = head.partition("\n")[0].rstrip("\r")
    if not line.startswith("{"):
        return tuple(name.strip('"') for name in _SEPARATOR.split(line))
    try:
        return tuple(json.loads(line))
    except ValueError:
        # A line longer than the head; its first keys are in it.
        return tuple(re.findall(r'"(\w+)":', line))


def _is_filled(path: Path) -> bool:
    """Tell whether a label sheet holds a label."""
    import csv  # noqa: PLC0415 - few files that stand in the way are label sheets

    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        first = stream.readline()
        separator = _SEPARATOR.search(first)
        rows = csv.reader(stream, delimiter=separator[0] if separator else ",")
        try:
            at = _names(first).index("oracle_label")
            return any(len(row) > at and row[at].strip() for row in rows)
        except csv.Error:
            return True  # what cannot be read may hold labels
