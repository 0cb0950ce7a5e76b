"""One of several processes that serve the same address; `bonwise.serving.workers` starts it.

::

    python -m bonwise.serving.worker DOOR READY CONFIG STATE [RUN]

The first two are numbers of open files: the socket that listens, and a pipe that gets a byte when it is ready.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from bonwise.errors import BonwiseError
from bonwise.serving import app, client_keys, server
from bonwise.serving.config import read_config
from bonwise.serving.metrics import WorkerMetrics


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal comes, or until the process that started this one is gone; return the exit code."""
    door, ready, config, state, *run = arguments
    parent = os.getppid()
    server.log_to_standard_error()
    limits, metrics = (
        client_keys.KeyLimits(Path(state) / server.ACCOUNTS),
        WorkerMetrics(Path(state) / server.METRICS),
    )
    settings = read_config(config)
    endpoint = app.ChatEndpoint(settings, run[0] if run else None, limits)
    endpoint.metrics_of_others = metrics.of_others

    def tell() -> None:
        os.write(int(ready), b"1")
        os.close(int(ready))

    def each_second() -> bool:
        metrics.write(endpoint.records.metrics.values)
        return os.getppid() == parent

    try:
        with socket.socket(fileno=int(door)) as listening:
            return server.serve_here(endpoint, settings.limits, listening, ready=tell, each_second=each_second)
    finally:
        metrics.write(endpoint.records.metrics.values)
        metrics.close()
        limits.close()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BonwiseError as error:
        sys.stderr.write(f"bonwise: {error}\n")
        sys.exit(2)
