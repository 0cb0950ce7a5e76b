from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import typer

from bonwise.cli.monitor import monitor
from bonwise.errors import UsageError
from bonwise.testing import simulate
from cli.commands import strict


@pytest.fixture
def files(tmp_path):
    """Write scores, labels and votes; return the folder."""
    table = simulate("arena", n=300, seed=8).frame()
    table.drop(columns="oracle_label").to_csv(tmp_path / "scores.csv", index=False)
    table[["prompt_id", "candidate", "oracle_label"]].to_csv(tmp_path / "labels.csv", index=False)
    table.rename(columns={"judge_score": "points"}).to_csv(tmp_path / "both.csv", index=False)
    winners = np.where(np.random.default_rng(1).random(200) < 0.7, "model_a", "model_b")
    pd.DataFrame({"winner": winners, "prompt_id": range(200)}).to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(monitor)
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("flags", "code", "verdict"),
    [
        (("--half-width", "0.1", "--planned", "170"), 0, "stop: precise enough"),
        (("--half-width", "0.01"), 3, "continue"),
        (("--significance",), 0, "stop: better"),
        (("--question", "significance", "--than", "0.7"), 1, "stop: not better"),
    ],
)
def test_the_exit_code_says_what_to_do(files, capsys, flags, code, verdict):
    """0 stop: better or precise enough, 1 stop: not better, 3 continue; the page says it in words."""
    assert run(files / "labels.csv", "--scores", files / "scores.csv", *flags) == code
    assert f"Verdict: {verdict}" in capsys.readouterr().out.splitlines()


def test_labels_beside_the_scores_are_enough(files, capsys):
    """A file that holds both needs no second one; columns are named as everywhere; JSON stands alone."""
    assert run(files / "both.csv", "--score-col", "points", "--half-width", "0.1", "--json", "-") == 0
    said = capsys.readouterr()
    document = strict(said.out)
    assert (document["schema"], document["data"]["labelled_prompts"]) == ("bonwise.monitor/1", 300)
    assert "stop: precise enough" in said.err


def test_votes_are_watched(files, capsys):
    """The column of the votes says what is asked; one vote a prompt is checked."""
    flags = ("--question", "preference", "--verdict-col", "winner", "--margin", "0.2", "--prompt-col", "prompt_id")
    assert run(files / "votes.csv", *flags, "--json", files / "m.json") == 0
    assert strict((files / "m.json").read_text(encoding="utf-8"))["verdict"] == "stop: better"
    assert "votes for first over second" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "was not said"),
        (("--half-width", "0.1", "--significance"), "2 questions at once"),
        (("--half-width", "-1"), "above 0"),
        (("--half-width", "0.1", "--rectangular", "--ragged"), "contradict"),
        (("--verdict-col", "winner", "--label-col", "x"), "--candidate-col .* means nothing"),
        (("--half-width", "0.1", "--first-look", "5"), "too early"),
    ],
)
def test_flags_that_mean_nothing_are_refused(files, flags, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError, match=words):
        run(files / "both.csv", *flags)


def test_a_stop_for_the_labelled_prompts_alone_is_undecided(files, capsys):
    """With half the prompts unlabelled a stop exits 3, until the draw is stated to be uniform."""
    labels = pd.read_csv(files / "labels.csv").iloc[:600]
    labels.to_csv(files / "half.csv", index=False)
    flags = (files / "half.csv", "--scores", files / "scores.csv", "--half-width", "0.2")
    assert run(*flags) == 3
    assert "Verdict: stop: precise enough, for the 150 labelled prompts" in capsys.readouterr().out.splitlines()
    assert run(*flags, "--design", "uniform") == 0
    assert "Verdict: stop: precise enough" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ["labels.csv", "scores.csv", "todo.csv"])
def test_no_input_is_overwritten(files, name):
    """The document does not go where the labels, the scores or the design came from."""
    (files / "todo.csv").write_text("prompt_id\n", encoding="utf-8")
    before = (files / name).read_bytes()
    flags = ("--scores", files / "scores.csv", "--half-width", "0.1", "--design", files / "todo.csv")
    with pytest.raises(UsageError, match="is read or written already"):
        run(files / "labels.csv", *flags, "--json", files / name)
    assert (files / name).read_bytes() == before


def test_what_was_typed_is_what_is_named(files):
    """A flag that means nothing is named as it was typed."""
    with pytest.raises(UsageError, match=r"--scores\) means nothing for preference"):
        run(files / "votes.csv", "--verdict-col", "winner", "--scores", files / "scores.csv")
    with pytest.raises(UsageError, match=r"preference needs verdict_col \(--verdict-col\)"):
        run(files / "votes.csv", "--question", "preference")
