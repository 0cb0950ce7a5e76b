"""The scripted model that benchmarks ask: a server of its own process on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(latency: float = 0.0) -> Iterator[str]:
    """Answer every request after so many seconds; yield the address."""
    command = [sys.executable, "-m", "bonwise.testing.server", "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
