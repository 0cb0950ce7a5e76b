"""Which period each pick falls into: a file, an hour, a day, a week, or as many picks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bonwise.auditing.watching.pick_log import TIME_KEYS, LoggedPick
from bonwise.data.wording import quoted
from bonwise.errors import UsageError

__all__ = ["BY_TIME", "DividedLog", "divided", "way_of"]

BY_TIME = {"hour": "%Y-%m-%d %Hh", "day": "%Y-%m-%d", "week": "%G-W%V"}
"""Periods of the clock, in UTC, and how they are named."""


@dataclass(frozen=True, eq=False)
class DividedLog:
    """Picks in the order of time, each in a period."""

    picks: tuple[LoggedPick, ...] = field(repr=False)
    period: npt.NDArray[np.int64] = field(repr=False)
    """From 0, never decreasing."""
    names: tuple[str, ...]
    """Of the periods."""
    left_out: int = 0
    """Picks at the end that do not fill a period yet."""

    def before(self, later: DividedLog) -> DividedLog:
        """Return these picks with later ones after them."""
        return DividedLog(
            (*self.picks, *later.picks),
            np.concatenate([self.period, later.period + len(self.names)]),
            (*self.names, *later.names),
            later.left_out,
        )


def way_of(by: str | int | None, time: str | None, picks: Sequence[LoggedPick]) -> tuple[str | int, str | None]:
    """Return what a period is, and the key that holds the time of a line where that matters.

    Without a word of the user, days where every line has one of `TIME_KEYS`, else files.

    Raises
    ------
    bonwise.errors.UsageError
        What is asked for does not fit, or no line holds a time.
    """
    if isinstance(by, str) and by.isdecimal():
        by = int(by)
    if isinstance(by, bool) or not (by is None or by == "file" or by in BY_TIME or (isinstance(by, int) and by >= 1)):
        raise UsageError(f"by is {quoted(by)}", hint=f"give file, {', '.join(BY_TIME)}, or a number of picks")
    key = time or next((one for one in TIME_KEYS if picks and all(one in pick.times for pick in picks)), None)
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
    """Divide picks into periods.

    Parameters
    ----------
    picks : sequence of LoggedPick
        In the order of the files; a time puts them into its own order.
    by, time
        As `way_of` returns them.
    """
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
