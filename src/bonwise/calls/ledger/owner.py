"""Which process holds a lease, and whether it still lives."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SILENCE", "Owner", "dead_owners", "is_alive", "living_owners", "this_process", "unclean_owners"]

SILENCE = 900.0
"""Seconds without a sign of life after which a process that cannot be looked at counts as dead."""

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """One process, told apart from every other one that ever ran."""

    host: str
    """The machine, and the part of its processes that can see each other."""
    boot: str
    """Changes when the machine starts anew; empty where it is not known."""
    pid: int
    started: str
    """When the process began, since the machine started; empty where it is not known."""


def this_process() -> Owner:
    """Describe the process that asks.

    Examples
    --------
    >>> this_process() == this_process()
    True
    """
    pid = os.getpid()
    # A container of the same name sees other processes under the same numbers.
    seen = (socket.gethostname(), _text(Path("/etc/machine-id")), _link(_PROC / "self" / "ns" / "pid"))
    return Owner(" ".join(seen), _text(_PROC / "sys" / "kernel" / "random" / "boot_id"), pid, _started(pid) or "")


def is_alive(owner: Owner, heartbeat: float | None, here: Owner, now: float) -> bool:
    """Tell whether a lease of `owner` still binds.

    Parameters
    ----------
    owner : Owner
        Who holds the lease.
    heartbeat : float or None
        Its last sign of life, in seconds since 1970; None where it has left.
    here : Owner
        Who asks.
    now : float
        Seconds since 1970.

    Examples
    --------
    >>> here = this_process()
    >>> is_alive(here, 0.0, here, 1.0), is_alive(here, None, here, 1.0)
    (True, False)
    """
    if not isinstance(heartbeat, (int, float)) or not isinstance(owner.pid, int):
        return False  # it has left, or its row is damaged
    heard = now - heartbeat <= SILENCE
    if owner.host != here.host:
        return heard
    if owner.boot != here.boot:
        return False
    started = _started(owner.pid)
    if started is not None and owner.started:
        return started == owner.started
    return _exists(owner.pid) and heard


def dead_owners(connection: sqlite3.Connection) -> set[int]:
    """Return the owners of sent calls which live no more."""
    living = living_owners(connection)
    return {owner for (owner,) in connection.execute("SELECT DISTINCT owner FROM call WHERE state = 'sent'")} - living


def unclean_owners(connection: sqlite3.Connection) -> set[int]:
    """Return the owners that ended without leaving the ledger."""
    living = living_owners(connection)
    return {owner for (owner,) in connection.execute("SELECT id FROM owner WHERE heartbeat IS NOT NULL")} - living


def living_owners(connection: sqlite3.Connection) -> set[int]:
    """Return the owners that have the ledger open."""
    here, now = this_process(), time.time()
    rows = connection.execute("SELECT id, host, boot, pid, started, heartbeat FROM owner WHERE heartbeat IS NOT NULL")
    return {number for number, *owner, heard in rows if is_alive(Owner(*owner), heard, here, now)}


def _started(pid: int) -> str | None:
    """Return when a process began; None where it is not shown, a word that is no time where it has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    # A killed process stays listed until its parent has asked for its end.
    return "ended" if fields[0] in {b"Z", b"X"} else fields[19].decode()


def _exists(pid: int) -> bool:
    if os.name == "nt":
        return True  # there, os.kill would not ask but end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
