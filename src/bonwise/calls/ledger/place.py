"""Where a ledger lies: its file, made private, on a disk of this machine."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bonwise.calls.ledger.entries import DAMAGED
from bonwise.calls.ledger.owner import living_owners
from bonwise.calls.ledger.schema import is_older, migrate
from bonwise.errors import LedgerError

__all__ = [
    "OLDER",
    "UNREADABLE",
    "as_ledger_errors",
    "connect",
    "connect_leniently",
    "filesystem",
    "ledger_file",
    "prepare",
]

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
OLDER = "take an older copy of it, or begin a new run folder"
"""What is left to do with a file that cannot be repaired."""

_USABLE = "check the disk and the permissions, or name another run folder"


def ledger_file(path: str | Path) -> Path:
    """Return the file for a run folder, or the file itself.

    Raises
    ------
    bonwise.errors.LedgerError
        It is a file without the suffix ``.sqlite``.

    Examples
    --------
    >>> ledger_file("no/such/run").as_posix(), ledger_file("no/such/prod.sqlite").as_posix()
    ('no/such/run/ledger.sqlite', 'no/such/prod.sqlite')
    """
    place = Path(path)
    if place.is_dir() or (place.suffix != ".sqlite" and not place.exists()):
        return place / FILE_NAME
    if place.suffix != ".sqlite":
        raise LedgerError(f"{place} is a file, no run folder", hint="name a folder, or a file that ends in .sqlite")
    return place


def prepare(file: Path, busy_timeout: float) -> None:
    """Make the file if there is none, and bring it to the current version.

    Raises
    ------
    bonwise.errors.LedgerError
        It cannot be made or is not a ledger, a newer version made it, or it lies on a network filesystem.
    """
    with as_ledger_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        _refuse_network(file)
        _create(file)
        with closing(connect(file, busy_timeout)) as connection:
            if is_older(connection) and living_owners(connection):
                raise LedgerError(
                    "in use by an older bonwise", hint="wait until it has ended: then the file is upgraded"
                )
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
    r"""Return the type of the filesystem that holds a path, by a table in the form of ``/proc/mounts``.

    Examples
    --------
    >>> filesystem(Path("/mnt/a b/run"), r"/dev/sda / ext4 rw 0 0" + chr(10) + r"host:/x /mnt/a\040b nfs4 rw 0 0")
    'nfs4'
    """
    found, kind = Path(), ""
    for line in mounts.splitlines():
        _, folder, type_, *_ = [*line.split(), "", "", ""]
        point = Path(folder.replace("\\040", " "))
        if folder and path.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, type_
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
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise LedgerError("on a filesystem that several processes cannot share", hint=_LOCAL_DISK)
        return
