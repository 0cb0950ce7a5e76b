"""Files of picks in the order of time: each line, what is read of it, and the period it falls into."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict, ValidationError

from bonwise.auditing.logged_picks import Name, PickLine
from bonwise.errors import FileError, RowError, UsageError
from bonwise.printable import quoted
from bonwise.report import blocks, samples
from bonwise.results import NonNegative, Number, Record
from bonwise.strict_json import refusal
from bonwise.table.text_files import log_lines
from bonwise.table.words import words_of_pools


class ComparedPair(Record):
    """Two candidates that were compared. Further keys are not read."""

    model_config = ConfigDict(extra="ignore")

    order_effect: Number | None = None
    """How much more the first one earned when shown first."""


class WatchedLine(PickLine):
    """One line of a log of picks. Further keys are not read."""

    tied: list[Name] | None = None
    """Candidates that share the top score."""
    unscored: dict[str, str] | None = None
    """Why candidates were not scored."""
    comparisons: list[ComparedPair] | None = None
    cost: NonNegative | None = None
    """US dollars."""
    text: str | None = None
    """What was picked."""


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
        """Return when it was picked, in UTC."""
        value = self.times.get(key)
        moment = None if value is None else _time(value)
        if moment is None:
            trouble = "is missing" if value is None else f"is {quoted(value)}, not a time"
            raise RowError(
                f"{self.where}: {quoted(key)} {trouble}",
                hint="write ISO 8601, such as 2026-11-03T08:00:00Z, or seconds since 1970; or give --by file",
            )
        return moment


def files_of(named: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the named files, of patterns in order of name; a pattern without a file, or a file twice, is refused."""
    files: list[Path] = []
    for pattern in [named] if isinstance(named, str | Path) else named:
        if glob.has_magic(str(pattern)) and not Path(pattern).exists():
            matching = sorted(glob.glob(str(pattern)), key=_age)  # noqa: PTH207 - a pattern may be absolute
            if not matching:
                raise FileError(f"{pattern}: no file fits this pattern", hint="check the folder")
            files += map(Path, matching)
        else:
            files.append(Path(pattern))
    places = [os.path.realpath(path) for path in files]
    for path, place in zip(files, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(
                f"{path} is given twice", hint="name each file once; quote a pattern that follows --baseline"
            )
    return tuple(files)


def _age(name: str) -> tuple[str, int]:
    """Sort by name; of a rotated log the highest number is the oldest."""
    rotated = re.fullmatch(r"(.*\.(?:jsonl|ndjson|json|log))\.(\d{1,4})(?:\.gz)?", name, re.DOTALL)
    return (rotated[1], -int(rotated[2])) if rotated else (name, 0)


def read_log(files: Sequence[Path], time: str | None) -> tuple[list[LoggedPick], tuple[str, ...]]:
    """Read several files and say which lines were not whole; refuses changed, copied and disordered ones."""
    _refuse_other_order(files)
    keys, before = (*TIME_KEYS, *([time] if time else [])), {path: path.stat() for path in files if path.exists()}
    lines = {path: list(_lines(path, keys)) for path in files}
    for path, old in before.items():
        now = path.stat() if path.exists() else None
        if now is None or not os.path.samestat(now, old) or now.st_size < old.st_size:
            raise FileError(f"{path}: was replaced or cut while it was read", hint="run the command again")
    picks = {path: [line for line in lines[path] if isinstance(line, LoggedPick)] for path in files}
    _refuse_copies({path: own[0] for path, own in picks.items() if own})
    unread = tuple(line for path in files for line in lines[path] if isinstance(line, str))
    return [pick for path in files for pick in picks[path]], unread


def _refuse_copies(first: Mapping[Path, LoggedPick]) -> None:
    """Refuse two files of one log that begin alike: both hold its lines while it is rotated or compressed."""
    begun: dict[str, Path] = {}
    for path in sorted(first):
        of = begun.setdefault(str((first[path].line, first[path].settings, first[path].times)), path)
        if of != path and str(path).startswith(str(of)):
            raise FileError(f"{path}: begins as {of} does, so one is a copy", hint="name one of them, or run again")


def _lines(path: Path, keys: Sequence[str]) -> Iterator[LoggedPick | str]:
    for row, record in log_lines(path):
        if isinstance(record, str):
            yield record
            continue
        try:
            line = WatchedLine.model_validate(record)
        except ValidationError as error:
            trouble = refusal(error, record, whole="the line")
            raise RowError(f"{path}, row {row}: {trouble}", hint=_HINT) from None
        times = {key: record[key] for key in keys if record.get(key) is not None}
        yield LoggedPick(str(path), row, line, record.get("settings") or {}, times)


def _refuse_other_order(files: Sequence[Path]) -> None:
    dates = [date[0] if (date := _DATE.search(path.name)) else None for path in files]
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
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) > _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


BY_TIME = {"hour": "%Y-%m-%d %Hh", "day": "%Y-%m-%d", "week": "%G-W%V"}
"""Periods of the clock, in UTC, and how they are named."""


_MAY_DIFFER = frozenset({"seed"})
"""Settings that differ between lines of one policy."""


@dataclass(frozen=True, eq=False)
class DividedLog:
    """Picks in the order of time, each in a period."""

    picks: tuple[LoggedPick, ...] = field(repr=False)
    period: np.typing.NDArray[np.int64] = field(repr=False)
    """From 0, never decreasing."""
    names: tuple[str, ...]
    """Of the periods."""
    left_out: int = 0
    """Picks at the end that do not fill a period yet."""
    unread: tuple[str, ...] = ()
    """Lines that were not written whole, and why."""

    def before(self, later: DividedLog) -> DividedLog:
        """Return these picks with later ones after them."""
        return DividedLog(
            (*self.picks, *later.picks),
            np.concatenate([self.period, later.period + len(self.names)]),
            (*self.names, *later.names),
            later.left_out,
            later.unread,
        )

    def since(self, period: str) -> DividedLog:
        """Return the picks from a period on; a period that is not there is a UsageError."""
        if period not in self.names:
            ends = " to ".join(dict.fromkeys(quoted(name) for name in (*self.names[:1], *self.names[-1:])))
            raise UsageError(
                f"no period is named {quoted(period)}",
                hint=f"name one of the log's periods, {ends}" if ends else "the log has no whole period yet",
            )
        at = self.names.index(period)
        start = int(np.searchsorted(self.period, at))
        return replace(self, picks=self.picks[start:], period=self.period[start:] - at, names=self.names[at:])

    def changes(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the periods whose picks have other settings than those before, and which."""
        changed: dict[int, set[str]] = {}
        settings: Mapping[str, object] = self.picks[0].settings if self.picks else {}
        for at, pick in zip(self.period.tolist(), self.picks, strict=True):
            own = pick.settings
            if own != settings:
                keys = {key for key in own.keys() | settings.keys() if own.get(key) != settings.get(key)}
                changed.setdefault(at, set()).update(keys - _MAY_DIFFER)
                settings = own
        for at, keys in changed.items():
            if keys:
                yield self.names[at], sorted(keys)


def way_of(by: str | int | None, time: str | None, picks: Sequence[LoggedPick]) -> tuple[str | int, str | None]:
    """Return what a period is, and the key of a line's time; days where every line has a time, else files."""
    if isinstance(by, str) and by.isdecimal():
        by = int(by)
    if isinstance(by, bool) or not (by is None or by == "file" or by in BY_TIME or (isinstance(by, int) and by >= 1)):
        raise UsageError(f"by is {quoted(by)}", hint=f"give file, {', '.join(BY_TIME)}, or a number of picks")
    key = time or next((word for word in TIME_KEYS if picks and all(word in pick.times for pick in picks)), None)
    if by is None:
        by = "day" if key else "file"
    if by not in BY_TIME:
        if time is not None:
            raise UsageError(f"a time is named, and periods by {by} need none", hint="drop --time, or give --by day")
        return by, None
    if key is None:
        raise UsageError(
            f"periods by {by} need a time in each line", hint=f"name its key with --time, or write {TIME_KEYS[0]!r}"
        )
    return by, key


def divided(picks: Sequence[LoggedPick], by: str | int, time: str | None) -> DividedLog:
    """Divide picks, in the order of the files or of a time, into periods; `by` and `time` are as of `way_of`."""
    if isinstance(by, int):
        whole = len(picks) - len(picks) % by
        period = np.arange(whole, dtype=np.int64) // by
        names = tuple(f"picks {at * by + 1:,} to {at * by + by:,}" for at in range(whole // by))
        return DividedLog(tuple(picks[:whole]), period, names, len(picks) - whole)
    if time is None:
        return _named(picks, [pick.file for pick in picks], _short([pick.file for pick in picks]))
    times: list[datetime] = [pick.time(time) for pick in picks]
    order = sorted(range(len(picks)), key=times.__getitem__)
    labels = [times[at].strftime(BY_TIME[by]) for at in order]
    return _named([picks[at] for at in order], labels, {label: label for label in labels})


def _named(picks: Sequence[LoggedPick], keys: Sequence[str], names: dict[str, str]) -> DividedLog:
    places = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    period = np.array([places[key] for key in keys], dtype=np.int64)
    return DividedLog(tuple(picks), period, tuple(names[key] for key in places))


def _short(files: Sequence[str]) -> dict[str, str]:
    """Name files without folder and ending where that tells them apart."""
    stems = {file: Path(file).name.removesuffix(".gz").rpartition(".")[0] or file for file in dict.fromkeys(files)}
    return stems if len(set(stems.values())) == len(stems) else {file: file for file in stems}


def latest_picks(
    log: DividedLog, labels: Mapping[tuple[str, str], float], pools: str | Path | None
) -> Iterator[blocks.Row]:
    """Yield picks of the last period, the lowest label first, or the lowest score where none is labelled."""
    latest = [pick.line for pick in log.picks[int(np.searchsorted(log.period, len(log.names) - 1)) :]]
    picks = [(str(line.prompt_id), str(line.best), line) for line in latest if line.best is not None]
    scores = [dict(zip(map(str, line.ids), line.scores or (), strict=False)).get(best) for _, best, line in picks]
    held = [labels.get((prompt, best)) for prompt, best, _ in picks]
    order_by = scores if all(label is None for label in held) else held
    worst = sorted((value, at) for at, value in enumerate(order_by) if value is not None)[: samples.MOST]
    wanted = {picks[at][0] for _, at in worst}
    known = {str(pick.line.prompt_id) for pick in log.picks}
    words = dict(words_of_pools(pools, wanted, known, "the log")) if pools is not None and wanted else {}
    for _, at in worst:
        prompt, best, line = picks[at]
        own = {name: labels[prompt, name] for name in map(str, line.ids) if (prompt, name) in labels}
        texts = {} if line.text is None else {best: line.text}
        figures = (held[at], max(own.values(), default=None), scores[at])
        yield from samples.sample(prompt, figures, words, {"picked": [best]}, own, texts)
