"""Processes whose lines are read while they run."""

from __future__ import annotations

import subprocess

PATIENCE = 300.0
"""Seconds after which something hangs."""


def started(command, **more):
    """Start a command with its output in pipes.

    The pipes are read without a buffer: ``communicate`` reads past one, so what ``readline`` had read ahead,
    a line that came in the same moment as the one asked for, would be lost.
    """
    return subprocess.Popen(command, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def ended(process):
    """Wait for a process; return its exit code, and what it wrote to stdout and stderr since they were last read."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out.decode(), err.decode()
