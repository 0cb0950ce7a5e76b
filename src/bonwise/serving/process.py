"""How the endpoint is started: what it needs is checked first, then it serves until it is told to stop."""

from __future__ import annotations

import logging
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from bonwise.errors import UsageError
from bonwise.serving.app import ChatEndpoint
from bonwise.serving.config import ServeConfig
from bonwise.serving.key_limits import KeyLimits
from bonwise.serving.server import serve_here

__all__ = ["ACCOUNTS", "METRICS", "log_to_standard_error", "run_folder", "serve_alone"]

ACCOUNTS = "serve.sqlite"
"""What each key has spent, in the run folder."""

METRICS = "serve-metrics.sqlite"
"""What each worker has counted since the server was started."""

_LOCK = "serve.lock"


def log_to_standard_error() -> None:
    """Write one line per request, and what goes wrong."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    logging.getLogger("bonwise.serving").setLevel(logging.INFO)


@contextmanager
def run_folder(run: str) -> Iterator[Path]:
    """Make a run folder where there is none, and keep other servers out of it; yield the file of accounts.

    Raises
    ------
    bonwise.errors.UsageError
        It cannot be used, or another server uses it.
    """
    folder = Path(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(folder / _LOCK, timeout=0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"--run {run} cannot be used: {error}", hint="name another folder") from error
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise UsageError(f"another bonwise serve uses --run {run}", hint="name another folder") from error
        yield folder / ACCOUNTS
    finally:
        lock.close()


def serve_alone(
    config: ServeConfig, door: socket.socket, run: str | None, *, ready: Callable[[], None] = lambda: None
) -> int:
    """Serve in this process; return the exit code.

    Parameters
    ----------
    config : ServeConfig
    door : socket.socket
        Listens.
    run : str, optional
        Run folder.
    ready : callable
        Called when requests are answered and signals are heard.

    Raises
    ------
    bonwise.errors.BonwiseError
        A setting that cannot be used, or no key for a service.
    """
    with nullcontext(None) if run is None else run_folder(run) as accounts:
        limits = KeyLimits(accounts)
        try:
            # Those of a server that was killed: what they cost nobody knows.
            limits.give_up()
            return serve_here(ChatEndpoint(config, run, limits), config.limits, door, ready=ready)
        finally:
            limits.close()
