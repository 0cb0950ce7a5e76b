from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import typer

from bonwise.cli.judge_studies import route
from bonwise.errors import UsageError
from bonwise.routing.saved import SavedRouter
from cli.commands import strict
from routing.tables import weak_judge


@pytest.fixture
def scores(tmp_path):
    """Write a table of a weak judge and return its path."""
    path = tmp_path / "scores.csv"
    weak_judge(150).to_csv(path, index=False)
    return path


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(route)
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_the_command_prints_saves_and_writes_json(scores, tmp_path, capsys):
    """Exit 0, a page of text, a router that loads, and a document of the published schema."""
    router, document = tmp_path / "router.json", tmp_path / "route.json"
    assert run(scores, "--share", "0.1", "--save", router, "--json", document) == 0
    assert "The 10% of the prompts that it would send on are those with the highest" in capsys.readouterr().out
    assert SavedRouter.load(router).share == 0.1
    found = strict(document.read_text(encoding="utf-8"))
    assert found["schema"] == "bonwise.route/1"
    assert found["settings"]["share"] == 0.1
    assert 0.1 in [one["share"] for one in found["signals"]["margin"]["shares"]]


@pytest.mark.parametrize("lent", ["draws", "second judge"])
def test_a_saved_signal_that_one_judging_does_not_give_is_warned_of(tmp_path, capsys, lent):
    """Where the router needs draws or a second judge a line says so and names the flag; with that flag none does."""
    frame, which = weak_judge(300, draws=5 if lent == "draws" else 0).drop(columns="ci_width"), ()
    if lent == "second judge":
        near = (frame["oracle_label"] + np.random.default_rng(1).normal(0, 0.05, len(frame))).clip(0, 1)
        frame = pd.concat([frame, frame.assign(judge="near", judge_score=near)])
        which = ("--judge", "weak")
    scores, saved = tmp_path / "scores.csv", tmp_path / "router.json"
    frame.to_csv(scores, index=False)
    assert run(scores, "--save", saved, *which) == 0
    needs = {"draws": "several scores of each candidate", "second judge": "the scores of a second judge"}[lent]
    router, said = SavedRouter.load(saved), " ".join(capsys.readouterr().err.split())
    assert router.beyond_first_pass == (needs,)
    assert f"router.json routes by {router.signal}, which needs {needs}: " in said
    assert "add --first-pass-only" in said
    assert run(scores, "--save", saved, "--first-pass-only", *which) == 0
    assert "WARNING" not in capsys.readouterr().err
    assert SavedRouter.load(saved).beyond_first_pass == ()


def test_the_same_input_gives_the_same_bytes(scores, tmp_path):
    """Twice the same command: the same router and the same document."""
    for name in ("a", "b"):
        run(scores, "--save", tmp_path / f"{name}.router", "--json", tmp_path / f"{name}.json")
    for kind in ("router", "json"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_json_on_standard_output_stands_alone(scores, capsys):
    """With --json - the words go to standard error."""
    run(scores, "--json", "-")
    said = capsys.readouterr()
    assert strict(said.out)["judge"] == "weak"
    assert "The 25% of the prompts" in said.err


def test_columns_labels_and_exclusions_are_understood(tmp_path):
    """Flags of the audit mean the same here."""
    frame = weak_judge(100)
    labels = frame[["prompt_id", "candidate", "oracle_label"]].rename(columns={"oracle_label": "truth"})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    scores = frame.drop(columns="oracle_label").rename(columns={"judge_score": "points"})
    scores.to_csv(tmp_path / "s.csv", index=False)
    flags = ("--score-col", "points", "--label-col", "truth", "--exclude", "c2", "--first-pass-only", "--ragged")
    target = tmp_path / "route.json"
    assert run(tmp_path / "s.csv", "--labels", tmp_path / "labels.csv", *flags, "--json", target) == 0
    settings = json.loads(target.read_text(encoding="utf-8"))["settings"]
    assert settings["exclude"] == ["c2"]
    assert settings["shape"] == "ragged"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--rectangular", "--ragged"), "contradict"),
        (("--judge", "weak"), "none is saved"),
        (("--share", "2"), "share"),
        (("--json", "x.json", "--save", "x.json"), "read or written already"),
    ],
)
def test_flags_that_mean_nothing_are_refused(scores, flags, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError, match=words):
        run(scores, *flags)
