"""How far a long computation is: one line on a terminal, and none where nobody looks on or nothing takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from shutil import get_terminal_size
from time import monotonic

PATIENCE = 2.0
"""Seconds that a computation takes before anything is shown."""

PAUSE = 0.25
"""Seconds between two changes of the line."""


@dataclass(eq=False, slots=True)
class _Count:
    what: str
    total: int
    done: int = 0


class _Line(threading.local):
    """The line of a thread: the computations that are under way, the outermost first."""

    def __init__(self) -> None:
        self.counts: list[_Count] = []
        self.first = self.began = self.shown_at = self.ended = float("-inf")
        self.width = 0

    def open(self, count: _Count) -> None:
        if not self.counts:
            self.began = monotonic()
            if self.began > self.ended + PAUSE:  # else it is a further part of what has been going on
                self.first = self.began
        self.counts.append(count)

    def close(self, count: _Count) -> None:
        self.counts.remove(count)
        if not self.counts:
            self.ended = monotonic()
            if self.width:
                self.write("")

    def show(self) -> None:
        now = monotonic()
        if now < self.first + PATIENCE or now < self.shown_at + PAUSE:
            return
        self.shown_at = now
        parts = ", ".join(f"{count.what} {count.done:,} of {count.total:,}" for count in self.counts)
        self.write(f"bonwise: {parts}, {time_left(self.share(), 1.0, now - self.began)}")

    def share(self) -> float:
        """Return the part of the outermost computation that is done, steps begun within it included."""
        done, weight = 0.0, 1.0
        for count in self.counts:
            done += weight * count.done / count.total
            weight /= count.total
        return done

    def write(self, text: str) -> None:
        """Write over what stands in the line; a text that is too long would leave lines behind."""
        text = text[: get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{text.ljust(self.width)}" + ("" if text else "\r"))
        sys.stderr.flush()
        self.width = len(text)


_LINE = _Line()


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Count the steps of a computation, each time what is yielded is called; slow ones show a line on a terminal."""
    if total < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _=1: None
        return
    count = _Count(what, total)
    _LINE.open(count)

    def step(steps: int = 1) -> None:
        count.done = min(count.done + steps, total)
        _LINE.show()

    try:
        yield step
    finally:
        _LINE.close(count)


def time_left(done: float, total: float, seconds: float) -> str:
    """Say how long the rest takes where so much was done in so many seconds."""
    if not done:
        return "time left unknown"
    left = max(total - done, 0) * seconds / done
    return f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"
