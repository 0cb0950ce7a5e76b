"""The label that unlabelled candidates are stated to have, where another candidate of their prompt has one."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.table.opening import open_table
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale
from bonwise.testing import simulate
from cli.commands import strict, typed


def rows(labels, judges=("judge",)):
    """Return a table of prompts, given as lists of labels, NaN where there is none."""
    return pd.DataFrame(
        [
            {
                "prompt_id": f"q{x}",
                "candidate": f"d{at}",
                "judge": judge,
                "judge_score": 1 / (1 + at),
                "oracle_label": label,
            }
            for judge in judges
            for x, prompt in enumerate(labels)
            for at, label in enumerate(prompt)
        ]
    )


def read(frame, **reading):
    """Return the labels of a table as they are read, and what was counted."""
    found = open_table(frame, ReadingOptions(**reading))
    return found.frame["oracle_label"].tolist(), found.unlabelled


NONE = math.nan


def test_golden_a_prompt_without_any_label_stays_unlabelled():
    """Of three prompts one has a gap, one none and one no label at all, which was not judged."""
    labels, counts = read(rows([[1, NONE, NONE], [1, 0, 1], [NONE, NONE, NONE]]), unlabelled_is=0)
    assert labels[:6] == [1, 0, 0, 1, 0, 1]
    assert np.isnan(labels[6:]).all()
    assert counts.sentence == (
        "2 of 6 candidates had no label and count as 0, as --unlabelled-is says; 1 without any label were not judged "
        "and stay unlabelled"
    )


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, NONE]), min_size=2, max_size=4), min_size=1, max_size=6))
def test_the_reading_is_that_of_loops(prompts):
    """Labels and counts are those of a loop over prompts, and the label of one judge's row is that of the other's."""
    prompts = [*prompts, [1.0, NONE]]
    frame = rows(prompts, ("first", "second"))
    # The second judge's rows repeat no label: it is the candidate's all the same.
    frame.loc[frame["judge"] == "second", "oracle_label"] = NONE
    labels, counts = read(frame, unlabelled_is=0.25, shape="ragged")
    expected, lacking, candidates, silent = [], 0, 0, 0
    for prompt in prompts:
        judged = [label for label in prompt if not math.isnan(label)]
        silent += not judged
        candidates += len(prompt) if judged else 0
        for label in prompt:
            lacking += bool(judged) and math.isnan(label)
            expected.append(0.25 if judged and math.isnan(label) else label)
    assert labels[: len(expected)] == pytest.approx(expected, nan_ok=True)
    assert (counts.value, counts.candidates, counts.of, counts.prompts) == (0.25, lacking, candidates, silent)
    second = labels[len(expected) :]
    blank = [math.isnan(label) for prompt in prompts for label in prompt]
    assert [label == 0.25 for label in second] == [
        was and not math.isnan(now) for was, now in zip(blank, expected, strict=True)
    ]


def retrieved(n=60, seed=1):
    """Return a table in which most candidates that are not relevant have no label."""
    frame = simulate("arena", n=n, seed=seed).frame()
    relevant = (frame["oracle_label"] > 0.7).astype(float)
    seen = (relevant == 1) | (np.random.default_rng(seed).random(len(frame)) < 0.3)
    seen |= ~frame["prompt_id"].duplicated()
    return frame.assign(oracle_label=relevant.where(seen))


def test_the_audit_is_that_of_a_table_with_these_labels():
    """Stated, the figures are those of a table in which the label is written."""
    frame = retrieved()
    stated = bw.audit(frame, unlabelled_is=0)
    assert stated.metrics == bw.audit(frame.fillna({"oracle_label": 0.0})).metrics
    assert stated.settings["unlabelled"]["candidates"] == int(frame["oracle_label"].isna().sum())


def test_nothing_is_assumed():
    """Not stated, no label is filled in, and nothing is said of any."""
    frame = rows([[1, NONE], [1, 0]])
    assert np.isnan(read(frame)[0][1])
    assert read(frame)[1] is None
    assert "unlabelled" not in bw.audit(frame).settings


def test_the_label_is_on_the_scale_as_it_is_written():
    """With labels from 1 to 5, 2 is a quarter; a label file is filled in like a table."""
    frame = rows([[5, NONE, 1]])
    assert read(frame, unlabelled_is=2, label_scale=Scale(1, 5))[0] == pytest.approx([1, 0.25, 0])
    labels = frame[["prompt_id", "candidate", "oracle_label"]].dropna()
    scores = frame.drop(columns="oracle_label")
    assert read(scores, labels=labels, unlabelled_is=2, label_scale=Scale(1, 5))[0] == pytest.approx([1, 0.25, 0])


@pytest.mark.parametrize("value", [math.nan, math.inf, "0", True])
def test_only_a_finite_number_is_a_label(value):
    """What is no finite number is refused."""
    with pytest.raises(UsageError, match="not a finite number"):
        ReadingOptions(unlabelled_is=value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--design", "uniform"], "a design says that labels were drawn"),
        (["--design", "cells"], "a design says that labels were drawn"),
        (["--oracle", "judge:judge"], "give --unlabelled-is or --oracle, not both"),
        (["--label-scale", "1:5"], "off the scale of the labels"),
        (["--propensity-col", "share"], "propensities say that labels were drawn"),
    ],
)
def test_what_contradicts_it_is_one_clear_error(capsys, tmp_path, more, says):
    """A stated draw, a judge as reference, and a label off the scale are refused with exit code 2."""
    frame = rows([[1, NONE, 1]] * 20)
    frame.assign(share=0.5).to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "s.csv", "--unlabelled-is", "0", *more)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_terminal_page_and_document_count_them(capsys, tmp_path):
    """A 0 that is typed is stated, counted in the text, on the page and in the JSON, and in what to type next."""
    scores, page = tmp_path / "s.csv", tmp_path / "a.html"
    retrieved().to_csv(scores, index=False)
    done = typed(capsys, "audit", scores, "--unlabelled-is", "0", "--json", "-", "--html", page)
    counted = strict(done.out)["settings"]["unlabelled"]
    lacking = int(retrieved()["oracle_label"].isna().sum())
    assert counted == {"value": 0.0, "candidates": lacking, "of": 240, "prompts": 0}
    says = f"{lacking} of 240 candidates had no label and count as 0, as --unlabelled-is says"
    for text in (done.err, page.read_text("utf-8").replace("<wbr>", "")):
        assert says in " ".join(text.split())
    assert "--unlabelled-is 0" in done.err.splitlines()[-1]


@pytest.mark.parametrize("command", ["route", "doctor"])
def test_other_commands_count_them_too(capsys, tmp_path, command):
    """What reads the table with the statement says how many it fills in."""
    retrieved(150).to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, command, tmp_path / "s.csv", "--unlabelled-is", "0")
    assert "of 600 candidates had no label and count as 0" in " ".join(done.out.split())


def test_doctor_and_audit_name_it_where_many_candidates_lack_labels(capsys, tmp_path):
    """A table with gaps everywhere: both name the flag as one thing that may be meant, and neither assumes it."""
    retrieved().to_csv(tmp_path / "s.csv", index=False)
    for command in ("doctor", "audit"):
        done = typed(capsys, command, tmp_path / "s.csv")
        assert "Where no label means not relevant, as in retrieval, --unlabelled-is 0 says so." in " ".join(
            done.out.split()
        )
    rows([[1, NONE]] * 30).to_csv(tmp_path / "none.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "none.csv")
    assert done.code == 2
    assert "--unlabelled-is 0 if no label means not relevant" in done.err


def test_prompts_that_were_not_judged_are_not_said_to_be_drawn(capsys, tmp_path):
    """Where prompts without any label remain, no command is proposed that states a draw."""
    frame = retrieved().assign(judge_score=simulate("arena", n=60, seed=1).frame()["oracle_label"])
    frame.loc[frame["prompt_id"].isin(frame["prompt_id"].unique()[:6]), "oracle_label"] = np.nan
    frame.to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "s.csv", "--unlabelled-is", "0")
    assert "Label the prompts that have no label, or leave them out of the table." in " ".join(done.out.split())
    assert "--design" not in done.out


def test_the_flag_is_written_as_it_is_read():
    """The flags of options read the table in the same way."""
    assert ReadingOptions(unlabelled_is=0).as_flags() == ["--unlabelled-is 0"]
    assert ReadingOptions().as_flags() == []
