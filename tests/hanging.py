"""An end for what would run for hours, far beyond what it takes on any machine."""

from __future__ import annotations

import signal
from contextlib import contextmanager

import pytest

PATIENCE = 120.0
"""Seconds of processor time, which other work on the machine hardly changes: a hundred times what is needed."""


@contextmanager
def ended_if_hanging():
    """Fail what takes that much; where the system cannot count it, let it run."""
    if not hasattr(signal, "ITIMER_VIRTUAL"):
        yield
        return

    def fail(_number, _frame):
        pytest.fail(f"no end after {PATIENCE:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
