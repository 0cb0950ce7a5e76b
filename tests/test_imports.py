"""What a process of the command line loads: imports are nearly all the time of a small audit."""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import pytest

from bonwise.testing import simulate

RUN = """
import contextlib, io, json, sys
from bonwise.cli.entry import run
with contextlib.redirect_stdout(io.StringIO()) as out:
    code = run(sys.argv[1:])
print(json.dumps({"code": code, "out": out.getvalue(), "modules": sorted(sys.modules)}))
"""

UNUSED = {
    *("scipy.optimize", "scipy.stats", "scipy.sparse", "scipy.linalg", "sklearn", "threadpoolctl"),
    *("matplotlib", "jinja2", "openai", "anthropic", "httpx", "httpx2", "asyncio", "sqlite3"),
    *("bonwise.auditing.aipw", "bonwise.auditing.weighted_metrics", "bonwise.auditing.drawn_labels"),
}
"""What a plain audit has no use for."""

UNUSED_FOLDERS = tuple(f"bonwise.{name}." for name in ("selection", "judges", "calls", "planning", "routing"))
"""Folders of which a plain audit has no use for any module."""

COMMANDS = {"demo", "doctor", "judge", "select", "audit", "compare", "route", "learn", "plan", "labels", "ledger"}


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Write 400 rows of scores and labels."""
    path = tmp_path_factory.mktemp("imports") / "scores.csv"
    simulate("arena", n=100, seed=1).frame().to_csv(path, index=False)
    assert len(pd.read_csv(path)) >= 400
    return path


def ran(*words):
    """Run a command in a process of its own; return what it loaded and printed."""
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["code"] == 0
    return set(found["modules"]), found["out"]


def test_an_audit_loads_only_what_it_uses(scores):
    """A plain audit has its figures, and of the heavy libraries pandas and special functions alone."""
    loaded, out = ran("audit", scores, "--full")
    assert "recovery" in out
    assert "level_bias" in out
    assert "pandas" in loaded
    assert loaded.isdisjoint(UNUSED)
    assert not [module for module in loaded if module.startswith(UNUSED_FOLDERS)]


@pytest.mark.parametrize("command", ["audit", "labels", "ledger", "select"])
def test_a_command_loads_no_other(command):
    """The help of one command is told by its module alone."""
    loaded, out = ran(command, "--help")
    assert f"Usage: bonwise {command}" in out
    assert f"bonwise.cli.{command}" in loaded
    assert loaded.isdisjoint(f"bonwise.cli.{other}" for other in COMMANDS - {command})


def test_help_of_all_names_every_command():
    """Without the name of a command the help lists all of them."""
    _, out = ran("--help")
    assert all(command in out for command in COMMANDS)


def test_the_end_of_a_process_searches_no_library_for_cycles():
    """The command line ends with every object set aside: else Python searches them all, for a fifth of the time."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))"
    ending = f"{code}\nfrom bonwise.cli.entry import main\nmain(['--version'])"
    done = subprocess.run([sys.executable, "-c", ending], capture_output=True, text=True, check=True)
    set_aside, left = map(int, done.stdout.split()[-2:])
    assert set_aside > 10_000
    assert left < set_aside / 10
