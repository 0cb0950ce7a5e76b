from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    """The folder of examples holds the first one a new user is sent to."""
    assert "audit_a_file.py" in {example.name for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_without_a_key(example, tmp_path):
    """An example ends well from any folder, without arguments or keys, prints something and leaves nothing behind."""
    done = subprocess.run(
        [sys.executable, "-W", "error", example],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path / "mpl")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_first_example_shows_an_audit_and_a_gate(tmp_path):
    """The first example prints the table, the verdict and the state of a gate."""
    example = next(example for example in EXAMPLES if example.name == "audit_a_file.py")
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True, cwd=tmp_path)
    for words in ("against oracle labels", "recovery", "best-of-n: it recovers", "recovery > 10%: met"):
        assert words in done.stdout, words
    assert len(example.read_text("utf-8").splitlines()) < 40
