from __future__ import annotations

import shlex

import pandas as pd
import pytest
import typer

from bonwise.cli.shared_flags import command_of
from bonwise.errors import UsageError
from bonwise.planning.front import COMMAND
from bonwise.testing import simulate
from cli.commands import strict, typed


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(command_of(COMMAND))
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_the_house_s_command_runs(capsys):
    """Exit 0, a page that names the verdict, the design and the labels, and power .9 by default."""
    assert run("--question", "recovery>0", "--candidates", "4", "--within-r", "0.3") == 0
    said = capsys.readouterr().out
    assert "Plan for recovery>0: feasible" in said
    assert "power 0.9" in said
    assert "two_label, 1-sided" in said
    assert "192" in said


@pytest.mark.parametrize(
    "flags",
    [
        ("recovery", "--candidates", "4", "--within-r", "0.3", "--half-width", "0.1"),
        ("within_r>=0.4", "--candidates", "4", "--within-r", "0.5"),
        ("a-vs-b", "--candidates", "8", "--within-r", "0.5", "--rival-r", "0.4", "--error-correlation", "0.5"),
        ("margin", "--effect", "0.06", "--labels", "500", "--method", "paper", "--label-cost", "0.4"),
        ("margin", "--pilot", "28/50", "--tie-rate", "0.1", "--raters", "3", "--icc", "0.2"),
        ("equivalence", "--effect", "0.05", "--power", "0.8", "--confidence", "0.9", "--prompts", "10"),
        ("margin", "--effect", "0.05", "--one-cluster", "--icc", "0.01"),
    ],
)
def test_an_answer_is_exit_0_whatever_it_says(flags, tmp_path, capsys):
    """Feasible, underpowered or infeasible: the plan is what was asked for."""
    target = tmp_path / "plan.json"
    assert run("--question", *flags, "--json", target) == 0
    found = strict(target.read_text(encoding="utf-8"))
    assert found["schema"] == "bonwise.plan/1"
    assert found["verdict"] in capsys.readouterr().out


def test_json_on_standard_output_stands_alone(capsys):
    """With --json - the words go to standard error."""
    run("--question", "margin", "--effect", "0.1", "--json", "-")
    said = capsys.readouterr()
    assert strict(said.out)["labels"] == 274
    assert "Plan for margin" in said.err


def test_a_pilot_is_a_file_with_columns_of_its_own(tmp_path, capsys):
    """The column flags, judge and exclusion mean what they mean in an audit."""
    frame = simulate("arena", n=60, seed=3).frame().rename(columns={"judge_score": "points", "oracle_label": "truth"})
    frame.assign(who="j").to_csv(tmp_path / "p.csv", index=False)
    flags = ("--score-col", "points", "--label-col", "truth", "--judge-col", "who", "--judge", "j", "--exclude", "c3")
    assert run("--question", "recovery>0", "--pilot", tmp_path / "p.csv", *flags, "--json", "-") == 0
    found = strict(capsys.readouterr().out)
    assert found["pilot"]["prompts"] == 60
    assert found["pilot"]["judges"] == ["j"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--question", "which?"), "the questions are recovery>0"),
        (("--question", "margin", "--effect", "0.1", "--method", "score"), "unknown method"),
        (("--question", "margin", "--effect", "2"), "effect is 2"),
        (("--question", "margin", "--pilot", "28/50", "--judge", "j"), "judge has no meaning"),
        (("--question", "margin", "--pilot", "28/50", "--score-col", "s"), "columns has no meaning"),
        (("--question", "margin", "--effect", "0.1", "--pair-col", "a,b"), "pair_col has no meaning"),
        (("--question", "margin", "--pilot", "28/50", "--ties", "often"), "ties cannot count as 'often'"),
        (("--question", "margin", "--pilot", "x.csv", "--json", "x.csv"), "read or written already"),
    ],
)
def test_flags_that_mean_nothing_are_refused(flags, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError) as refused:
        run(*flags)
    assert words in str(refused.value)


def test_a_pilot_of_votes_names_its_columns_and_what_its_ties_are(tmp_path, capsys):
    """--verdict-col, --pair-col and --ties read the file, are in the settings and go on to the next command."""
    rows = ["left,right,better"] + ["x,y,a"] * 20 + ["y,x,b"] * 10 + ["x,y,tie"] * 5 + ["y,x,a"] * 12
    (tmp_path / "v.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    flags = ("--verdict-col", "better", "--pair-col", "left,right", "--ties", "drop")
    assert run("--question", "margin", "--pilot", tmp_path / "v.csv", *flags, "--json", "-") == 0
    said = capsys.readouterr()
    found = strict(said.out)
    assert (found["pilot"]["wins"], found["pilot"]["votes"], found["pilot"]["ties"]) == (30, 42, 5)
    assert found["settings"]["pair_col"] == ["left", "right"]
    (line,) = found["commands"]
    assert "--verdict-col better --pair-col left,right --ties drop" in line
    assert line in said.err


@pytest.mark.parametrize("design", ["two_label", "complete"])
def test_what_is_said_to_be_typed_next_can_be_typed(design, tmp_path, monkeypatch, capsys):
    """Draw, fill the sheet in, audit: the printed commands run as they stand."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=120, seed=3).frame()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    flags = ("--candidates", "4", "--within-r", "0.4", "--design", design)
    run("--question", "recovery>0", *flags, "--json", "-")
    draw, audit = (shlex.split(line)[1:] for line in strict(capsys.readouterr().out)["commands"])
    assert typed(capsys, *draw).code == 0
    keys = ["prompt_id", "candidate"]
    sheet = pd.read_csv("labels.csv").drop(columns="oracle_label")
    sheet.merge(frame[[*keys, "oracle_label"]], on=keys).to_csv("labels.csv", index=False)
    audited = typed(capsys, *audit)
    assert audited.code in {0, 1, 3}
    gate = {"two_label": "gain > 0: ", "complete": "recovery > 0%: "}[design]
    assert gate in audited.out
