from __future__ import annotations

import pytest
import typer

from auditing.tables import two_judges
from bonwise.cli.shared_flags import command_of
from bonwise.errors import UsageError
from bonwise.studies.registration import study_of
from cli.commands import strict


@pytest.fixture
def scores(tmp_path):
    """Write a table of two judges and return its path."""
    path = tmp_path / "scores.csv"
    two_judges(40).to_csv(path, index=False)
    return path


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(command_of(study_of("calibration").command))
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_the_command_prints_and_writes_the_document_and_the_page(scores, tmp_path, capsys):
    """Exit 0, text with both judges, a document of the schema, and a page of its own."""
    document, page = tmp_path / "study.json", tmp_path / "study.html"
    assert run(scores, "--folds", "4", "--json", document, "--html", page) == 0
    said = capsys.readouterr().out
    assert "first: 40 labelled prompts" in said
    assert "changes 0 of 40 picks" in said
    found = strict(document.read_text(encoding="utf-8"))
    assert (found["study"], found["settings"]["folds"]) == ("calibration", 4)
    assert list(found["judges"]) == ["first", "second"]
    assert "<svg" in page.read_text(encoding="utf-8")


def test_covariates_scales_and_columns_are_understood(tmp_path, capsys):
    """Flags of the audit mean the same here, and --covariate may be repeated."""
    path, frame = tmp_path / "other.csv", two_judges(30)
    frame = frame.assign(size=range(len(frame)), age=1, judge_score=100 * frame["judge_score"])
    frame.rename(columns={"judge_score": "mark"}).to_csv(path, index=False)
    flags = ["--score-col", "mark", "--judge-scale", "0:100", "--covariate", "size", "--covariate", "age"]
    assert run(path, *flags, "--json", "-") == 0
    found = strict(capsys.readouterr().out)
    assert found["settings"]["covariates"] == ["size", "age"]
    assert found["judges"]["first"]["left_out"] == {}


def test_an_output_over_an_input_is_refused(scores):
    """The page does not replace the table."""
    with pytest.raises(UsageError, match="read or written"):
        run(scores, "--html", scores)
