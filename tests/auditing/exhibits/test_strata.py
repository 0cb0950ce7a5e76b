from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from auditing.tables import cohort, parts, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.result_exhibits import ColumnLeftOut
from bonwise.auditing.strata import METRICS, strata
from bonwise.table.score_table import ScoreTable


def of(frame, **options):
    """Return the strata of a frame's only judge, by column, and the columns left out."""
    found = audit(frame, **options)
    judge = next(iter(parts(found).judges.values()))
    panel = judge.labelling.panel.keep(judge.labelling.labelled)
    shown, left_out = strata(found.table, panel, confidence=0.95)
    return {one["column"]: one["rows"] for one in shown}, {one["column"]: one["reason"] for one in left_out}


def by_prompt(frame, values):
    """Return one value per prompt as a column, in the order of the prompts."""
    codes = pd.factorize(frame["prompt_id"])[0]
    return np.array([*values, None], dtype=object)[:-1][codes]


def test_a_stratum_is_the_audit_of_its_prompts():
    """The metrics of a value are those of an audit of its prompts alone, intervals too."""
    frame = cohort(120)
    frame["topic"] = by_prompt(frame, ["maths"] * 50 + ["law"] * 70)
    rows, _ = of(frame)
    assert [(row["value"], row["kind"], row["prompts"]) for row in rows["topic"]] == [
        ("law", "value", 70),
        ("maths", "value", 50),
    ]
    for row in rows["topic"]:
        alone = audit(frame[frame["topic"] == row["value"]])
        for name in METRICS:
            for key in ("estimate", "low", "high"):
                expected = getattr(alone[name], key)
                assert row["metrics"][name][key] == pytest.approx(expected, abs=1e-9), (name, key)


def test_numbers_with_many_values_are_cut_in_three():
    """More than 12 numbers are three groups of about as many prompts, named by their ends; written as text or not."""
    frame = cohort(90)
    frame["words"] = by_prompt(frame, range(100, 1000, 10))
    frame["typed"] = by_prompt(frame, [str(one) for one in range(100, 1000, 10)])
    frame["few"] = by_prompt(frame, [0.5, 1.0, 2.0] * 30).astype(float)
    rows, _ = of(frame)
    for column in ("words", "typed"):
        assert [(row["value"], row["kind"], row["prompts"]) for row in rows[column]] == [
            ("100 to 390", "range", 30),
            ("400 to 690", "range", 30),
            ("700 to 990", "range", 30),
        ]
    assert [row["value"] for row in rows["few"]] == ["0.5", "1", "2"]


def test_blank_and_rare_values_are_counted_apart():
    """Blank cells are a row of their own; values of fewer than 10 prompts stand together, and every prompt counts."""
    frame = cohort(100)
    frame["topic"] = by_prompt(frame, ["a"] * 40 + ["b"] * 30 + ["c"] * 5 + ["d"] * 5 + [""] * 10 + [None] * 10)
    rows, _ = of(frame)
    assert [(row["value"], row["kind"], row["prompts"]) for row in rows["topic"]] == [
        ("a", "value", 40),
        ("b", "value", 30),
        ("(other 2 values)", "other", 10),
        ("(blank)", "blank", 20),
    ]


def test_a_rare_value_alone_keeps_its_name():
    """A single rare value is no other values."""
    frame = cohort(40)
    frame["topic"] = by_prompt(frame, ["a"] * 35 + ["b"] * 5)
    assert [row["value"] for row in of(frame)[0]["topic"]] == ["a", "b"]


def test_columns_that_say_nothing_are_left_out_with_the_reason():
    """What differs within prompts, is the same everywhere, is blank, or is free text is left out by name."""
    frame = cohort(40)
    frame["policy"] = frame["candidate"]
    frame["same"] = "x"
    frame["empty"] = ""
    frame["free"] = by_prompt(frame, [f"text {at}" for at in range(40)])
    frame["half"] = np.where(frame["candidate"] == "c0", None, "x")
    rows, left_out = of(frame)
    assert rows == {}
    assert left_out == {
        "policy": "it differs within prompts",
        "same": "it has the same value for every prompt",
        "empty": "it is blank",
        "free": "it has more than 12 values, which are not numbers",
        "half": "it differs within prompts",
    }


def test_only_so_many_columns_are_shown():
    """Beyond 20 columns the others are named, not shown."""
    frame = cohort(30)
    for at in range(23):
        frame[f"k{at:02d}"] = by_prompt(frame, ["a", "b"] * 15)
    rows, left_out = of(frame)
    assert len(rows) == 20
    assert left_out == dict.fromkeys(("k20", "k21", "k22"), "20 columns are shown already")


def test_candidates_that_are_left_out_do_not_speak():
    """A column that differs only in an excluded candidate, or in another judge's rows, is constant for this judge."""
    frame = two_judges(40)
    frame["topic"] = by_prompt(frame, ["a", "b"] * 20)
    frame.loc[frame["candidate"] == "c3", "topic"] = "?"
    frame.loc[frame["judge"] == "second", "topic"] = frame["candidate"]
    found = audit(frame, exclude="c3")
    shown = {
        name: strata(found.table, judge.labelling.panel, confidence=0.9)
        for name, judge in parts(found).judges.items()
    }
    assert [row["value"] for row in shown["first"][0][0]["rows"]] == ["a", "b"]
    assert shown["second"] == ([], [ColumnLeftOut(column="topic", reason="it differs within prompts")])


def test_without_labelled_prompts_every_column_is_left_out():
    """Where no prompt is labelled completely no stratum has a figure, and each column says so."""
    frame = cohort(12)
    frame["topic"] = by_prompt(frame, ["a", "b"] * 6)
    found = audit(frame)
    panel = parts(found).judges["judge"].labelling.panel
    none = panel.keep(np.zeros(12, dtype=bool))
    assert strata(found.table, none, confidence=0.95) == (
        [],
        [ColumnLeftOut(column="topic", reason="no prompt is labelled completely")],
    )


def test_values_that_are_no_texts_are_written_out(tmp_path):
    """Lists, truth values and large numbers of a file are grouped by how they read."""
    frame = cohort(30)
    frame["tags"] = by_prompt(frame, ["[1, 2]", "[3]"] * 15)
    frame["flag"] = by_prompt(frame, [True, False] * 15)
    frame["size"] = by_prompt(frame, [1234567, 7654321, None] * 10)
    path = tmp_path / "scores.jsonl"
    lines = frame.to_json(orient="records", lines=True).replace('"[1, 2]"', "[1, 2]").replace('"[3]"', "[3]")
    path.write_text(lines, "utf-8")
    rows, _ = of(ScoreTable.read(path))
    assert [row["value"] for row in rows["tags"]] == ["[1, 2]", "[3]"]
    assert {row["value"].lower() for row in rows["flag"]} == {"true", "false"}
    assert [row["value"] for row in rows["size"]] == ["1234567", "7654321", "(blank)"]
