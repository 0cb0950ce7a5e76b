"""Recipes applied to a copy of the package, which is then run in processes of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

_MAIN = "from bonwise.cli.entry import main; main()"


def copy_of_package(folder):
    """Copy the package, its prompts and the pages of its metrics; return the folder of the copy."""
    # Compiled files go along: they are good as long as the sources keep their time.
    shutil.copytree(ROOT / "src" / "bonwise", folder / "src" / "bonwise")
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    shutil.copytree(ROOT / "docs" / "estimands", folder / "docs" / "estimands")
    return folder


def section(heading):
    """Return what stands under a heading of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def diffs_of(heading):
    """Return the edits that stand under a heading of CONTRIBUTING.md."""
    found = re.findall(r"^```diff\n(.*?)^```", section(heading), re.MULTILINE | re.DOTALL)
    assert found, heading
    return found


def edit(root, diff):
    """Make the edits of a diff; the lines of each hunk must be in the file, in one place."""
    for name, hunks in re.findall(r"^\+\+\+ (\S+)\n(.*?)(?=^\+\+\+ |\Z)", diff, re.MULTILINE | re.DOTALL):
        path = root / name
        text = path.read_text("utf-8")
        for hunk in re.split(r"^@@\n", hunks, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] or "\n" for line in lines if line[0] in " -\n")
            after = "".join(line[1:] or "\n" for line in lines if line[0] in " +\n")
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


def ran(copy, *words, plugins=()):
    """Run a command of the copy, with folders of plug-ins; return what it printed to standard output."""
    done = _run(copy, words, plugins)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answered(copy, code, plugins=()):
    """Run some Python with the copy, with folders of plug-ins; return what it printed."""
    done = _python(copy, ("-c", code), plugins)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(copy, *words, plugins=()):
    """Run a command that is refused, with folders of plug-ins; return what it said."""
    done = _run(copy, words, plugins)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def _run(copy, words, plugins):
    return _python(copy, ("-c", _MAIN, *map(str, words)), plugins)


def _python(copy, words, plugins):
    path = os.pathsep.join(map(str, (copy / "src", *plugins)))
    return subprocess.run(
        [sys.executable, "-W", "error", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=copy,
        env={**os.environ, "PYTHONPATH": path, "MPLCONFIGDIR": str(copy / "mpl"), "COLUMNS": "200"},
    )
