"""In a build: several files, summaries, the GitHub Action's script and the pre-commit hook."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from auditing.tables import cohort
from bonwise.auditing.front import audit
from bonwise.cli.build_server import write_junit, write_markdown
from bonwise.errors import FileError, UsageError
from bonwise.testing import simulate
from cli.commands import typed
from docs.pages import ROOT

# An audit of several files: each by itself, the gravest exit code, one report for a build server.


GATE = ("--fail-under", "value_judge=0.4")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write three tables and return their names: gates are met in the first, not in the second, open in the third."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    good = simulate("arena", n=80, seed=1).frame()
    bad = good.assign(oracle_label=good["oracle_label"] / 4)
    few = good[good["prompt_id"].isin(good["prompt_id"].unique()[:6])]
    for name, frame in {"good.csv": good, "bad.csv": bad, "few.csv": few}.items():
        frame.to_csv(name, index=False)
    return ["good.csv", "bad.csv", "few.csv"]


@pytest.mark.parametrize(
    ("some", "code"),
    [
        (["good.csv"], 0),
        (["bad.csv"], 1),
        (["few.csv"], 3),
        (["good.csv", "few.csv"], 3),
        (["few.csv", "bad.csv", "good.csv"], 1),
        (["bad.csv", "absent.csv", "few.csv"], 2),
    ],
)
def test_the_gravest_exit_code(capsys, files, some, code):
    """Bad input, then a gate that is not met, then one that is open."""
    done = typed(capsys, "audit", *some, *GATE)
    assert done.code == code
    for name in some:
        assert f"Audit of {name}" in done.out or (name == "absent.csv" and "absent.csv: no such file" in done.err)


def test_what_is_printed_is_that_of_each(capsys, files):
    """One after the other, as each alone prints it."""
    alone = [typed(capsys, "audit", name, *GATE).out for name in files]
    assert typed(capsys, "audit", *files, *GATE).out == "".join(alone)


def test_reports_hold_every_file(capsys, files, tmp_path):
    """One JUnit file with a suite for each, and one summary; what could not be read stands there too."""
    reports = ("--junit", "gates.xml", "--markdown", "summary.md")
    assert typed(capsys, "audit", *files, "absent.csv", *GATE, *reports).code == 2
    root = ET.parse(tmp_path / "gates.xml").getroot()  # noqa: S314 - written by this test
    assert [suite.get("name") for suite in root] == [*files, "absent.csv"]
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert [summary.count(f"## Audit of {name}") for name in files] == [1, 1, 1]
    assert "absent.csv" in summary
    assert typed(capsys, "audit", *files, *GATE, *reports).code == 1  # its own reports are replaced


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--json", "out.json"), "--json holds what is found in one file, and 3 are given"),
        (("--html", "out.html"), "--html holds what is found in one file"),
        (("--per-prompt", "rows.csv"), "--per-prompt holds what is found in one file"),
        (("--markdown", "-"), "write the report to a file"),
        (("--junit", "good.csv"), "good.csv is read or written already"),
        (("--junit", "absent/gates.xml"), "absent"),
        (("good.csv",), "good.csv is given twice"),
        (("--confidence", "2"), "confidence"),
    ],
)
def test_what_cannot_be_is_refused_before_anything(capsys, files, more, said):
    """One sentence, exit 2, nothing printed or written."""
    done = typed(capsys, "audit", *files, *GATE, *more)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_report_of_somebody_else_is_kept(capsys, files, tmp_path):
    """As with one file."""
    (tmp_path / "gates.xml").write_text("mine", "utf-8")
    assert typed(capsys, "audit", *files, *GATE, "--junit", "gates.xml").code == 2
    assert (tmp_path / "gates.xml").read_text("utf-8") == "mine"


@pytest.fixture(scope="module")
def document():
    """Return an audit's document with a gate."""
    found = audit(cohort(30))
    return found.check({"recovery": 0.1})


@pytest.fixture
def no_build(monkeypatch):
    """Run as if no build server had started the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.mark.usefixtures("no_build")
def test_the_summary_is_written_and_added_to_the_build(document, tmp_path, monkeypatch):
    """The file holds the summary; the build's file keeps what earlier steps wrote and gains the summary."""
    steps = tmp_path / "steps.md"
    steps.write_text("An earlier step, without a line end", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(steps))
    write_markdown(document, tmp_path / "audit.md")
    text = document.to_markdown()
    assert (tmp_path / "audit.md").read_text("utf-8") == text
    assert steps.read_text("utf-8") == f"An earlier step, without a line end\n\n{text}"


@pytest.mark.usefixtures("no_build")
def test_one_file_gets_the_summary_once(document, tmp_path, monkeypatch):
    """A target that is the build's own file is written, not also added to."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "audit.md"))
    write_markdown(document, tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text("utf-8") == document.to_markdown()


@pytest.mark.usefixtures("no_build")
def test_a_dash_is_standard_output(document, capsys):
    """Both go to standard output for a dash."""
    write_markdown(document, "-")
    assert capsys.readouterr().out == document.to_markdown()
    write_junit(document, "-")
    assert ET.fromstring(capsys.readouterr().out.encode()).tag == "testsuites"  # noqa: S314 - of our own making


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("write", [write_markdown, write_junit])
def test_a_file_that_cannot_be_written_is_one_error(document, tmp_path, write):
    """An absent folder is named in one line."""
    with pytest.raises(FileError, match=r"absent: no such folder"):
        write(document, tmp_path / "absent" / "out")


@pytest.mark.usefixtures("no_build")
def test_a_build_file_that_cannot_be_written_is_named(document, tmp_path, monkeypatch, capsys):
    """The summary is written all the same; one line names the file and the variable that names it."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    write_markdown(document, tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text("utf-8") == document.to_markdown()
    said = capsys.readouterr().err
    assert "is a folder, not a file (GITHUB_STEP_SUMMARY names this file)" in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("no_build")
def test_junit_needs_gates(tmp_path):
    """Without a gate nothing is written, and the flag that states one is named."""
    with pytest.raises(UsageError, match="--fail-under"):
        write_junit(audit(cohort(30)), tmp_path / "gates.xml")
    assert not (tmp_path / "gates.xml").exists()


@pytest.mark.usefixtures("no_build")
def test_gates_are_written(document, tmp_path):
    """The file is XML with a test case a gate."""
    write_junit(document, tmp_path / "gates.xml")
    root = ET.parse(tmp_path / "gates.xml").getroot()  # noqa: S314 - of our own making
    assert [case.get("name") for case in root.iter("testcase")] == ["recovery > 0.1"]


# The GitHub Action's script and the pre-commit hook, as a build server would run them.


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
