"""The GitHub Action's script and the pre-commit hook, as a build server would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bonwise.testing import simulate
from docs.pages import ROOT

SCRIPT = ROOT / "action" / "audit.sh"


@pytest.fixture
def audited(tmp_path):
    """Return a function that runs the script on tables whose names hold what a shell might trip over."""
    folder = tmp_path / "work"
    (folder / "evals" / "deep").mkdir(parents=True)
    good = simulate("arena", n=60, seed=1).frame()
    good.to_csv(folder / "evals" / "good one.csv", index=False)
    good.assign(oracle_label=good["oracle_label"] / 4).to_csv(
        folder / "evals" / "deep" / "bad; $(touch x).csv", index=False
    )
    good.to_csv(folder / "-n.csv", index=False)

    def run(files, gates="value_judge=0.4", arguments=""):
        output, summary = tmp_path / "output", tmp_path / "step.md"
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FILES": files,
            "GATES": gates,
            "ARGUMENTS": arguments,
            "REPORTS": "reports",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        done = subprocess.run(
            ["bash", str(SCRIPT)], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return (
            done,
            output.read_text("utf-8"),
            summary.read_text("utf-8") if summary.exists() else "",
            folder / "reports",
        )

    return run


def test_files_gates_and_reports(audited):
    """Patterns, blanks and signs of a shell in names; a page for each, one summary, one JUnit file."""
    done, output, summary, reports = audited(
        "  evals/**/*.csv\n\n-n.csv\n", "value_judge=0.4\nrecovery=-9", "--confidence=0.9"
    )
    assert done.returncode == 1, done.stderr
    assert output == "outcome=not met\n"
    names = {path.name for path in reports.iterdir()}
    assert names == {
        "summary.md",
        "gates.xml",
        "evals_good one.csv.html",
        "evals_deep_bad; $(touch x).csv.html",
        "-n.csv.html",
    }
    assert ET.parse(reports / "gates.xml").getroot().get("tests") == "6"  # noqa: S314 - written by this run
    assert summary.count("## Audit of") == 3
    assert not (reports.parent / "x").exists()
    page = (reports / "-n.csv.html").read_text("utf-8")
    assert "value_judge" in page


@pytest.mark.parametrize(
    ("files", "code", "outcome"),
    [("-n.csv", 0, "met"), ("absent.csv", 2, "bad input"), ("evals/*.csv\nabsent/*.csv", 2, "bad input")],
)
def test_the_outcome_is_told(audited, files, code, outcome):
    """The exit code is that of the command, and an output says it in words."""
    done, output, _, _ = audited(files)
    assert done.returncode == code, done.stderr
    assert output == f"outcome={outcome}\n"


def test_an_input_is_never_part_of_a_script():
    """Inputs reach the shell by its environment: one that is pasted into a script could be run."""
    text = (ROOT / "action.yml").read_text("utf-8")
    scripts = re.findall(r"run: (.*)", text)
    assert len(scripts) == 2
    assert not [one for one in scripts if "${{" in one]
    inputs = set(re.findall(r"^  (\w+):$", text.partition("outputs:")[0], re.MULTILINE))
    assert inputs == set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text))


def test_the_hook_brings_what_an_audit_needs():
    """pre-commit installs the package without extras, so the hook names what the extra would bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    assert re.findall(r'"([^"]+>=[^"]+)"', hook) == project["optional-dependencies"]["audit"]
    assert "entry: bonwise audit\n" in hook
