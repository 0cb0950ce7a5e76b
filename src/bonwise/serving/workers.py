"""Several processes that serve the same address: started together, replaced when one dies, ended together."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bonwise.errors import UsageError
from bonwise.serving import app, client_keys, server
from bonwise.serving.config import read_config
from bonwise.serving.metrics import WorkerMetrics

logger = logging.getLogger("bonwise.serving")

_LOOK = 0.05
"""Seconds between two looks at the workers."""

_SHORT = 5.0
"""Seconds: a worker that lives no longer than this has not really begun."""

_TRIES = 3
"""So many workers in a row that have not really begun end the server."""


def serve_by_workers(
    config: str, door: socket.socket, run: str | None, count: int, *, ready: Callable[[], None] = lambda: None
) -> int:
    """Serve in several processes that share limits of keys, `ready` once all answer; return the exit code."""
    if sys.platform == "win32":
        raise UsageError("--workers needs a system that hands sockets on", hint="leave --workers out on Windows")
    app.ChatEndpoint(read_config(config), run)
    with _state(run) as state:
        limits, metrics = client_keys.KeyLimits(state / server.ACCOUNTS), WorkerMetrics(state / server.METRICS)
        try:
            limits.give_up()
            metrics.clear()
            command = [config, str(state), *([] if run is None else [run])]
            return _Workers(command, door, count, limits, metrics).run(ready)
        finally:
            metrics.close()
            limits.close()


@contextmanager
def _state(run: str | None) -> Iterator[Path]:
    if run is None:
        with tempfile.TemporaryDirectory(prefix="bonwise-serve-") as folder:
            yield Path(folder)
    else:
        with server.run_folder(run) as accounts:
            yield accounts.parent


class _Workers:
    """The processes, and what becomes of them."""

    def __init__(
        self,
        command: list[str],
        door: socket.socket,
        count: int,
        limits: client_keys.KeyLimits,
        metrics: WorkerMetrics,
    ) -> None:
        self._command, self._door, self._count = command, door, count
        self._limits, self._metrics = limits, metrics
        self._begun: dict[subprocess.Popen[bytes], float] = {}
        self._listens, self._tells = os.pipe()
        os.set_blocking(self._listens, False)
        self._stopping = False
        self._failed = False
        self._short = 0

    def run(self, ready: Callable[[], None]) -> int:
        """Start them, and look after them until all have ended; return the exit code."""
        taken = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self._stop) for one in taken}
        answering = 0
        try:
            for _ in range(self._count):
                self._start()
            while self._begun:
                if answering < self._count and not self._stopping:
                    answering += self._heard()
                    if answering >= self._count:
                        ready()
                self._look()
                time.sleep(_LOOK)
        finally:
            for one in self._begun:
                one.kill()
            os.close(self._listens)
            os.close(self._tells)
            for one_signal, handler in before.items():
                signal.signal(one_signal, handler)
        return 1 if self._failed else 0

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _heard(self) -> int:
        with contextlib.suppress(BlockingIOError):
            return len(os.read(self._listens, self._count))
        return 0

    def _start(self) -> None:
        door = self._door.fileno()
        command = [sys.executable, "-m", "bonwise.serving.worker", str(door), str(self._tells), *self._command]
        begun = subprocess.Popen(command, pass_fds=(door, self._tells))  # noqa: S603 - this package, this file
        self._begun[begun] = time.monotonic()

    def _look(self) -> None:
        if self._stopping and self._door.fileno() >= 0:
            # Nobody holds the door open any more but the workers, who close it when there is nobody left at it.
            self._door.close()
            for one in self._begun:
                one.terminate()
        for one in [one for one in self._begun if one.poll() is not None]:
            lived = time.monotonic() - self._begun.pop(one)
            self._limits.give_up(one.pid)
            self._metrics.end(one.pid)
            # One that was just being started knows no signals yet, and has no request.
            harmless = one.returncode == 0 or (one.returncode == -signal.SIGTERM and lived < _SHORT)
            self._failed = self._failed or (self._stopping and not harmless)
            if not self._stopping:
                self._replace(one, lived)

    def _replace(self, gone: subprocess.Popen[bytes], lived: float) -> None:
        logger.error("worker %d ended with %d and is replaced", gone.pid, gone.returncode)
        self._short = self._short + 1 if lived < _SHORT else 0
        if self._short >= _TRIES:
            logger.error("%d workers in a row ended within %g s: the server ends", _TRIES, _SHORT)
            self._failed = self._stopping = True
        else:
            self._start()
