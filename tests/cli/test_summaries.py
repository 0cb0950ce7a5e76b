from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from auditing.tables import cohort
from bonwise.auditing.front import audit
from bonwise.cli.build_server import write_junit, write_markdown
from bonwise.errors import FileError, UsageError


@pytest.fixture(scope="module")
def document():
    """Return an audit's document with a gate."""
    found = audit(cohort(30))
    return found.check({"recovery": 0.1})


@pytest.fixture(autouse=True)
def no_build(monkeypatch):
    """Run as if no build server had started the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def test_the_summary_is_written_and_added_to_the_build(document, tmp_path, monkeypatch):
    """The file holds the summary; the build's file keeps what earlier steps wrote and gains the summary."""
    steps = tmp_path / "steps.md"
    steps.write_text("An earlier step, without a line end", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(steps))
    write_markdown(document, tmp_path / "audit.md")
    text = document.to_markdown()
    assert (tmp_path / "audit.md").read_text("utf-8") == text
    assert steps.read_text("utf-8") == f"An earlier step, without a line end\n\n{text}"


def test_one_file_gets_the_summary_once(document, tmp_path, monkeypatch):
    """A target that is the build's own file is written, not also added to."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "audit.md"))
    write_markdown(document, tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text("utf-8") == document.to_markdown()


def test_a_dash_is_standard_output(document, capsys):
    """Both go to standard output for a dash."""
    write_markdown(document, "-")
    assert capsys.readouterr().out == document.to_markdown()
    write_junit(document, "-")
    assert ET.fromstring(capsys.readouterr().out.encode()).tag == "testsuites"  # noqa: S314 - of our own making


@pytest.mark.parametrize("write", [write_markdown, write_junit])
def test_a_file_that_cannot_be_written_is_one_error(document, tmp_path, write):
    """An absent folder is named in one line."""
    with pytest.raises(FileError, match=r"absent: no such folder"):
        write(document, tmp_path / "absent" / "out")


def test_a_build_file_that_cannot_be_written_is_named(document, tmp_path, monkeypatch, capsys):
    """The summary is written all the same; one line names the file and the variable that names it."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    write_markdown(document, tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text("utf-8") == document.to_markdown()
    said = capsys.readouterr().err
    assert "is a folder, not a file (GITHUB_STEP_SUMMARY names this file)" in said
    assert said.count("\n") == 1


def test_junit_needs_gates(tmp_path):
    """Without a gate nothing is written, and the flag that states one is named."""
    with pytest.raises(UsageError, match="--fail-under"):
        write_junit(audit(cohort(30)), tmp_path / "gates.xml")
    assert not (tmp_path / "gates.xml").exists()


def test_gates_are_written(document, tmp_path):
    """The file is XML with a test case a gate."""
    write_junit(document, tmp_path / "gates.xml")
    root = ET.parse(tmp_path / "gates.xml").getroot()  # noqa: S314 - of our own making
    assert [case.get("name") for case in root.iter("testcase")] == ["recovery > 0.1"]
