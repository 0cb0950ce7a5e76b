"""Whether the process behind a lease still lives."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bonwise.calls.ledger import place as owner
from bonwise.calls.ledger.place import SILENCE, is_alive, this_process

HERE = this_process()
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="start times are read from /proc")


def lives(of, heartbeat=0.0, now=0.0):
    """Ask about an owner from this process."""
    return is_alive(of, heartbeat, HERE, now)


@linux
def test_this_process_lives_however_long_it_is_silent():
    """A process of this machine that runs holds its leases, whatever its last sign of life."""
    assert lives(HERE, heartbeat=0.0, now=10 * SILENCE)


def test_an_owner_that_has_left_is_dead():
    """No sign of life at all is how a process says that it gave its leases back."""
    assert not lives(HERE, heartbeat=None)


def test_another_boot_of_this_machine_is_dead():
    """No process outlives a restart of its machine, even under the same number."""
    assert not lives(replace(HERE, boot="another"))


@linux
def test_a_number_given_to_another_process_is_dead():
    """The same process number with another start time is another process."""
    assert not lives(replace(HERE, started="1"))


@linux
def test_a_killed_process_is_dead_before_its_parent_has_asked():
    """A process that ended and is still listed as a zombie holds no lease."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    begun = replace(HERE, pid=child.pid, started=owner._started(child.pid))
    alive = lives(begun)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    dead = not lives(begun)
    child.communicate()
    assert alive
    assert dead


@pytest.mark.parametrize(("silent", "alive"), [(SILENCE - 1, True), (SILENCE + 1, False)])
def test_a_process_elsewhere_lives_while_it_is_heard(silent, alive):
    """A process that cannot be looked at is judged by its last sign of life."""
    assert lives(replace(HERE, host="elsewhere"), heartbeat=0.0, now=silent) is alive


@pytest.mark.parametrize(("silent", "alive"), [(SILENCE - 1, True), (SILENCE + 1, False)])
def test_where_start_times_are_not_shown_a_process_must_be_heard_too(monkeypatch, silent, alive):
    """A process number alone may have been given away, so it counts only with a recent sign of life."""
    monkeypatch.setattr(owner, "_started", lambda _: None)
    assert lives(replace(HERE, started=""), heartbeat=0.0, now=silent) is alive


def test_where_start_times_are_not_shown_a_missing_number_is_dead(monkeypatch):
    """A process number that no process has is a dead owner."""
    monkeypatch.setattr(owner, "_started", lambda _: None)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not lives(replace(HERE, pid=child.pid, started=""))
