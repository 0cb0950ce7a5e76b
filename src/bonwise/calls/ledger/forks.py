"""No connection is open while a process forks: SQLite would spoil a file that both sides hold."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

__all__ = ["Forking", "watch"]


class Forking(Protocol):
    """Something that holds a connection."""

    def pause(self) -> None:
        """Close the connection between two pieces of work, and begin no other."""
        ...

    def resume(self) -> None:
        """Go on, in the process that forked."""
        ...

    def restart(self) -> None:
        """Begin anew, in the new process: locks and threads of the old one do not exist there."""
        ...


_watched: weakref.WeakSet[Forking] = weakref.WeakSet()
_paused: list[Forking] = []


def watch(holder: Forking) -> None:
    """Close the holder's connection whenever the process forks."""
    _watched.add(holder)


def _before() -> None:
    for holder in list(_watched):
        holder.pause()
        _paused.append(holder)


def _in_parent() -> None:
    while _paused:
        _paused.pop().resume()


def _in_child() -> None:
    while _paused:
        _paused.pop().restart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
