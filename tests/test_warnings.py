from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
