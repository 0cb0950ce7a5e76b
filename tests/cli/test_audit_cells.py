from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bonwise.testing import simulate
from cli.commands import strict, typed

SEED = 20261123


def strewn(frame, share=0.7, seed=SEED):
    """Hide the labels of candidates at random."""
    out = frame.copy()
    out.loc[np.random.default_rng(seed).random(len(out)) >= share, "oracle_label"] = np.nan
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with scores of which 70 % are labelled."""
    monkeypatch.chdir(tmp_path)
    strewn(simulate("arena", n=300, seed=4).frame()).to_csv("scores.csv", index=False)
    return tmp_path


@pytest.fixture
def arena(shared, tmp_path, monkeypatch):
    """Return all labels of the arena sample's complete prompts, with 70 % of them in a file of the working folder."""
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(shared / "data" / "arena100" / "scores.csv").query("candidate != 'unhelpful'")
    known = frame.groupby("prompt_id")["oracle_label"].transform(lambda labels: labels.notna().sum() == 4)
    frame = frame[known].reset_index(drop=True)
    strewn(frame).to_csv("scores.csv", index=False)
    return frame


def audited(capsys, *more, code=0):
    """Audit the scores of the working folder, and return the document and the words."""
    done = typed(capsys, "audit", "scores.csv", "--json", "found.json", *more)
    assert done.code == code, done.err
    return strict(Path("found.json").read_text("utf-8")), " ".join(done.out.split())


@pytest.mark.shared
def test_arena_with_seven_labels_of_ten(arena, capsys):
    """Most labels stand in prompts labelled in part; with the statement each counts, and intervals narrow."""
    nothing, said = audited(capsys)
    stated, text = audited(capsys, "--design", "cells")
    labels = int(pd.read_csv("scores.csv")["oracle_label"].notna().sum())
    unused, cells = nothing["unused_labels"], stated["labelled_cells"]
    assert unused["of"] == cells["labels"] == labels
    assert unused["labels"] == labels - cells["labels_of_whole_prompts"] > 0.6 * labels
    assert unused["sentence"] in said
    assert f"{labels} of 396 candidates are labelled, each with the same chance, as stated" in text
    assert cells["contradictions"] == []
    arena.to_csv("all.csv", index=False)
    full = strict(typed(capsys, "audit", "all.csv", "--json", "-").out)["metrics"]
    for name in ("recovery", "gain", "value_judge", "value_random", "value_oracle", "within_r"):
        alone, found = nothing["metrics"][name], stated["metrics"][name]
        assert found["method"] == "cells"
        assert found["low"] <= full[name]["estimate"] <= found["high"], name
        assert found["high"] - found["low"] < alone["high"] - alone["low"], name


def test_a_statement_is_shown_everywhere(folder, capsys):
    """Text, Markdown and page show who was labelled; the exit code of a gate on all prompts is settled."""
    document, text = audited(
        capsys,
        "--full",
        "--design",
        "cells",
        "--fail-under",
        "value_judge=0.01",
        "--markdown",
        "a.md",
        "--html",
        "a.html",
    )
    for shown in (text, (folder / "a.md").read_text("utf-8"), (folder / "a.html").read_text("utf-8")):
        assert "Who was labelled" in shown
        assert "top-scored candidates" in shown
    assert [gate["state"] for gate in document["gates"]] == ["met"]
    assert audited(capsys, "--fail-under", "value_judge=0.01", "--force", code=3)


def test_a_model_of_who_was_labelled_is_named(folder, capsys):
    """Figures that rest on a fitted model say so in the sentence that says whom they describe."""
    document, text = audited(capsys, "--design", "cells-by-score")
    assert document["labelled_cells"]["statement"] == "model"
    assert "given the model of who was labelled" in text


def test_propensities_of_candidates_need_no_flag(folder, capsys):
    """A column that differs within prompts states how candidates were labelled, and a flag beside it is refused."""
    frame = pd.read_csv("scores.csv")
    chances = np.where(np.arange(len(frame)) % 2, 0.68, 0.72)
    frame.assign(propensity=chances).to_csv("scores.csv", index=False)
    document, _ = audited(capsys)
    assert document["labelled_cells"]["statement"] == "propensities"
    done = typed(capsys, "audit", "scores.csv", "--design", "cells")
    assert done.code == 2
    assert "a propensity column, and a design beside it" in done.err


def test_help_names_the_statements(capsys):
    """The help of the audit names both statements on candidates."""
    text = " ".join(typed(capsys, "audit", "--help").out.split())
    assert "cells-by-score" in text.replace("│ │ ", "").replace("- ", "-")


def test_a_monitor_refuses_a_statement_on_candidates(folder, capsys):
    """Its rule counts whole prompts, so it says where these labels count."""
    done = typed(capsys, "monitor", "scores.csv", "--half-width", "0.1", "--design", "cells")
    assert done.code == 2
    assert "bonwise audit --design cells" in done.err
