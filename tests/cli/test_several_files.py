"""An audit of several files: each by itself, the gravest exit code, one report for a build server."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from bonwise.testing import simulate
from cli.commands import typed

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
