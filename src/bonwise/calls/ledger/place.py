"""Where a ledger lies, private and on a disk of this machine, and which processes hold it."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bonwise.calls.ledger.schema import DAMAGED, migrate
from bonwise.errors import LedgerError

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
    """Describe the process that asks."""
    pid = os.getpid()
    # A container of the same name sees other processes under the same numbers.
    seen = (socket.gethostname(), _text(Path("/etc/machine-id")), _link(_PROC / "self" / "ns" / "pid"))
    return Owner(" ".join(seen), _text(_PROC / "sys" / "kernel" / "random" / "boot_id"), pid, _started(pid) or "")


def is_alive(owner: Owner, heartbeat: float | None, here: Owner, now: float) -> bool:
    """Tell whether a lease of `owner` still binds, by its last sign of life; `here` asks. Times since 1970."""
    if not isinstance(heartbeat, (int, float)) or not isinstance(owner.pid, int):
        return False  # it has left, or its row is damaged
    heard = abs(now - heartbeat) <= SILENCE  # a sign from the future is of a clock that has been set back since
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
    asked = connection.execute("SELECT DISTINCT owner FROM call WHERE state = 'sent' AND batch IS NULL")
    return {owner for (owner,) in asked} - living


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


UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises: Python cannot decode what SQLite says of a damaged name."""

FILE_NAME = "ledger.sqlite"
_NETWORK = {
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "orangefs",
}
_NETWORK |= {"smb", "smb2", "smb3", "smbfs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"}
_LOCAL_DISK = "keep the run folder on a disk of this machine"

_USABLE = "check the disk and the permissions, or name another run folder"


def is_address(place: object) -> bool:
    """Tell whether something names a ledger on PostgreSQL."""
    return str(place).startswith(("postgresql://", "postgres://"))


def run_place(given: str | Path | None) -> Path | str | None:
    """Return a run folder as a path, and the address of a database as it is."""
    return given if given is None or is_address(given) else Path(given)


def holds_ledger(place: str | Path) -> bool:
    """Tell whether answers may be stored at a place."""
    return is_address(place) or ledger_file(place).is_file()


def ledger_file(path: str | Path) -> Path:
    """Return the file for a run folder, or the file itself, which has the suffix ``.sqlite``."""
    place = Path(path)
    if place.parts[:1] and place.parts[0] in {"postgresql:", "postgres:"}:
        raise LedgerError("--run names a folder, not a database", hint="name a database by --ledger, or ledger=")
    if place.suffix == ".sqlite" and not place.is_dir():
        return place
    # In this order: another process may make the folder between the two questions.
    if place.exists() and not place.is_dir():
        raise LedgerError(f"{place} is a file, no run folder", hint="name a folder, or a file that ends in .sqlite")
    return place / FILE_NAME


def prepare(file: Path, busy_timeout: float) -> None:
    """Make the file if there is none, and bring it to the current version; not on a network filesystem."""
    with as_ledger_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        _refuse_network(file)
        _create(file)
        with closing(connect(file, busy_timeout)) as connection:
            migrate(connection)
            _write_ahead(connection, busy_timeout)


def connect(file: Path, busy_timeout: float) -> sqlite3.Connection:
    """Open a connection whose commits are on the disk when they return; the file must exist."""
    # "rw" without "c": a file that has gone since must not be replaced by an empty one.
    where = f"{file.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(where, timeout=busy_timeout, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    return connection


def connect_leniently(file: Path, busy_timeout: float) -> sqlite3.Connection:
    """Open a connection that only reads, and reads a file that was cut off as far as it goes."""
    where = f"{file.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(where, timeout=busy_timeout, isolation_level=None, uri=True)
    connection.execute("PRAGMA writable_schema = ON")  # else SQLite refuses a file that is shorter than it says
    connection.execute("PRAGMA query_only = ON")
    return connection


def filesystem(path: Path, mounts: str) -> str:
    r"""Return the type of the filesystem that holds a path, by a table in the form of ``/proc/mounts``."""
    mount, kind = Path(), ""
    for line in mounts.splitlines():
        _, folder, type_, *_ = [*line.split(), "", "", ""]
        point = Path(folder.replace("\\040", " "))
        if folder and path.is_relative_to(point) and len(point.parts) >= len(mount.parts):
            mount, kind = point, type_
    return kind


@contextmanager
def as_ledger_errors(file: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into `LedgerError` that names the file."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"{file}: {error.message}", hint=error.hint) from None
    except (*UNREADABLE, OSError) as error:
        says = getattr(error, "strerror", None) or str(error)
        damaged = getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT")
        raise LedgerError(
            f"the ledger {file} cannot be used: {says}", hint=DAMAGED if damaged else _USABLE
        ) from error


def is_locked(error: sqlite3.Error) -> bool:
    """Tell whether an error says that another connection holds the file, and not that the disk fails."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _refuse_network(file: Path) -> None:
    table = Path("/proc/mounts")
    kind = filesystem(file.parent.resolve(), table.read_text(errors="replace")) if table.exists() else ""
    if kind in _NETWORK:
        raise LedgerError(f"on a network filesystem ({kind}), where several processes can spoil it", hint=_LOCAL_DISK)


def _create(file: Path) -> None:
    try:
        # SQLite gives its side files the mode of the file itself.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    if os.name == "posix":
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else a power failure may take the file's name with every answer in it
        finally:
            os.close(folder)


def _write_ahead(connection: sqlite3.Connection, busy_timeout: float) -> None:
    # SQLite does not wait by itself here when another process is opening the same new file.
    until = time.monotonic() + busy_timeout
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise LedgerError("on a filesystem that several processes cannot share", hint=_LOCAL_DISK)
        return


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
