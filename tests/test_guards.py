"""Guards of the tests: no socket to another machine, warnings are errors, parts of a run make the whole."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parent / "conftest.py"
OUTSIDE = ("192.0.2.1", 80)  # reserved for documentation: nobody answers

SWALLOWS = """
import contextlib, socket
def test_swallows():
    with contextlib.suppress(Exception):
        socket.create_connection(("192.0.2.1", 80), timeout=0.1)
"""
NEEDS_SHARED = "def test_needs(shared):\n    assert (shared / 'data').is_dir()\n"


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_no_test_reaches_another_machine(method, outside_attempts):
    """Connecting to an outside address raises before anything is sent, and is counted."""
    with contextlib.closing(socket.socket()) as sock, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        getattr(sock, method)(OUTSIDE)
    assert outside_attempts == [OUTSIDE]
    outside_attempts.clear()


def test_loopback_stays_open():
    """A server on this machine can be reached."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
        server.accept()[0] as answering,
    ):
        answering.sendall(b"here")
        assert client.recv(4) == b"here"


def run_one(folder, source, *flags, **environment):
    """Run one test file under the conftest of this folder; return what pytest printed."""
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_it.py").write_text(source)
    usual = ["-q", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *usual, *flags, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
    )
    return done.stdout


def test_a_swallowed_attempt_still_fails_the_test(tmp_path):
    """A test that catches the guard's error does not pass."""
    assert "tried to connect" in run_one(tmp_path, SWALLOWS)


@pytest.mark.parametrize(("required", "outcome"), [("0", "1 skipped"), ("1", "1 error")])
def test_absent_shared_data_is_said(tmp_path, required, outcome):
    """Without the shared data a test is skipped with the variable to set, or fails where it is required."""
    out = run_one(tmp_path, NEEDS_SHARED, BONWISE_SHARED=str(tmp_path), BONWISE_REQUIRE_SHARED=required)
    assert outcome in out
    assert "set BONWISE_SHARED" in out


TESTS = Path(__file__).parent

WARNED = """
import warnings
import pytest

@pytest.mark.parametrize("module", ["bonwise", "bonwise.stats.sums", "bonwiser", "pandas.core", "test_warned"])
def test_warned(module):
    exec("import warnings; warnings.warn('old', FutureWarning)", {"__name__": module})
"""


@pytest.mark.parametrize(
    ("setting", "errors"),
    [
        ("", {"bonwise", "bonwise.stats.sums", "bonwiser", "pandas.core", "test_warned"}),
        ("own", {"bonwise", "bonwise.stats.sums"}),
    ],
)
def test_which_warnings_are_errors(tmp_path, setting, errors):
    """Every warning is an error; where it is said so, only one about the code of bonwise."""
    (tmp_path / "test_warned.py").write_text(WARNED, encoding="utf-8")
    settings = ["-c", TESTS.parent / "pyproject.toml", "-p", "conftest", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS), "BONWISE_WARNINGS": setting},
    )
    failed = {
        line.partition("[")[2].partition("]")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")
    }
    assert failed == errors, done.stdout + done.stderr
    assert f"{len(errors)} failed" in done.stdout


MANY = """
import pytest
@pytest.mark.parametrize("number", range(40))
def test_number(number):
    print(f"ran {number};")
"""


def test_parts_of_a_run_make_the_whole(tmp_path):
    """Each test is in one part, the number of the part turns over, and two runs of a part are the same."""
    runs = [run_one(tmp_path, MANY, "-s", "--part", f"{at}/3") for at in (0, 1, 2, 5)]
    parts = [set(re.findall(r"ran (\d+);", run)) for run in runs]
    assert all(parts)
    assert parts[3] == parts[2]
    assert sorted(map(int, [number for part in parts[:3] for number in part])) == list(range(40))


def test_what_would_begin_too_late_is_skipped(tmp_path):
    """No time at all leaves nothing to run, and says so."""
    assert "not begun: 0 minutes are over" in run_one(tmp_path, "def test_late(): pass\n", "--minutes", "0")
    assert "1 passed" in run_one(tmp_path, "def test_in_time(): pass\n", "--minutes", "5")
