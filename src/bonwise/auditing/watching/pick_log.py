"""Files of picks in the order of time, each line with its period."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bonwise.data.lines import json_lines
from bonwise.data.wording import quoted
from bonwise.documents.refusal import refusal
from bonwise.documents.watched_pick import WatchedLine
from bonwise.errors import FileError, RowError, UsageError

__all__ = ["TIME_KEYS", "LoggedPick", "files_of", "read_log"]

TIME_KEYS = ("timestamp", "created_at", "time")
"""Keys of a line that are taken for its time where all lines have one."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

_MILLISECONDS = 1e11
"""Seconds since 1970 do not get that far before the year 5138."""

_HINT = 'a line needs prompt_id, ids of all candidates, and best: one of ids, or null; such as {"ids": ["a", "b"]}'


@dataclass(frozen=True, slots=True)
class LoggedPick:
    """A line of a log."""

    file: str
    row: int
    line: WatchedLine = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    """Of the policy, as the line says them."""
    times: Mapping[str, Any] = field(repr=False)
    """What the line says of its time, by key."""

    @property
    def where(self) -> str:
        """The file and the row, for messages."""
        return f"{self.file}, row {self.row}"

    def time(self, key: str) -> datetime:
        """Return when it was picked, in UTC.

        Raises
        ------
        bonwise.errors.RowError
            The key is missing, or its value is not a time.
        """
        value = self.times.get(key)
        found = None if value is None else _time(value)
        if found is None:
            said = "is missing" if value is None else f"is {quoted(value)}, not a time"
            raise RowError(
                f"{self.where}: {quoted(key)} {said}",
                hint="write ISO 8601, such as 2026-11-03T08:00:00Z, or seconds since 1970; or give --by file",
            )
        return found


def files_of(named: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the files that are named, patterns such as ``picks/*.jsonl`` replaced by their files in order of name.

    Raises
    ------
    bonwise.errors.FileError
        A pattern that fits no file.
    bonwise.errors.UsageError
        A file that is named twice.
    """
    found: list[Path] = []
    for one in [named] if isinstance(named, str | Path) else named:
        if glob.has_magic(str(one)) and not Path(one).exists():
            matching = sorted(glob.glob(str(one)))  # noqa: PTH207 - a pattern may be absolute
            if not matching:
                raise FileError(f"{one}: no file fits this pattern", hint="check the folder")
            found += map(Path, matching)
        else:
            found.append(Path(one))
    places = [os.path.realpath(path) for path in found]
    for path, place in zip(found, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(
                f"{path} is given twice", hint="name each file once; quote a pattern that follows --baseline"
            )
    return tuple(found)


def read_log(files: Sequence[Path], time: str | None) -> list[LoggedPick]:
    """Read the lines of several files.

    Parameters
    ----------
    files : sequence of pathlib.Path
    time : str, optional
        A key that holds the time of a line, beside `TIME_KEYS`.

    Raises
    ------
    bonwise.errors.RowError
        A line that is not a pick.
    bonwise.errors.UsageError
        Files whose names hold dates that do not follow each other.
    """
    _refuse_other_order(files)
    keys = (*TIME_KEYS, *([time] if time else []))
    return [pick for path in files for pick in _lines(path, keys)]


def _lines(path: Path, keys: Sequence[str]) -> Iterator[LoggedPick]:
    for row, record in json_lines(path):
        try:
            line = WatchedLine.model_validate(record)
        except ValidationError as error:
            said = refusal(error, record, whole="the line")
            raise RowError(f"{path}, row {row}: {said}", hint=_HINT) from None
        times = {key: record[key] for key in keys if record.get(key) is not None}
        yield LoggedPick(str(path), row, line, record.get("settings") or {}, times)


def _refuse_other_order(files: Sequence[Path]) -> None:
    dates = [found[0] if (found := _DATE.search(path.name)) else None for path in files]
    if None in dates:
        return
    for (first, earlier), (second, later) in pairwise(zip(files, dates, strict=True)):
        if str(later) < str(earlier):
            raise UsageError(
                f"{second} comes after {first}, and its name says that it is earlier",
                hint="name files in the order of time; quote a pattern that follows --baseline",
            )


def _time(value: object) -> datetime | None:
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) > _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
