from __future__ import annotations

import pandas as pd
import pytest

import bonwise as bw


@pytest.fixture(scope="module")
def table():
    """Return pools with a candidate whose name is made of the names of others."""
    rows = [
        (f"p{p}", name, (p * 7 + at * 3) % 10 / 10, at % 3 / 2)
        for p in range(30)
        for at, name in enumerate(["a", "b", "ab", "x", "y"])
    ]
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])


def pairs(table):
    """Return verdicts on the pair x and y of every prompt."""
    prompts = sorted(set(table["prompt_id"]))
    won = {"shown_first": [1, 0] * (len(prompts) // 2), "shown_second": [1, 1] * (len(prompts) // 2)}
    return pd.DataFrame({"prompt_id": prompts, "a": "x", "b": "y", **won})


@pytest.mark.parametrize(
    "of",
    [
        bw.audit,
        bw.route,
        bw.study_requirements,
        bw.study_calibration,
        lambda table, exclude: bw.study_label_strategy(table, verdicts=pairs(table), exclude=exclude),
        lambda table, exclude: bw.study_mix(table, control="x", exclude=exclude),
        lambda table, exclude: bw.draw_labels(table, labels=10, exclude=exclude),
    ],
)
def test_one_name_is_a_list_of_one(table, of):
    """A candidate to leave out is named alone or in a list; its letters are no names."""
    alone, listed = (of(table, exclude=given).to_dict()["settings"]["exclude"] for given in ("ab", ["ab"]))
    assert list(alone) == list(listed) == ["ab"]


def test_what_is_no_name_is_refused(table):
    """A number is no name of a candidate."""
    with pytest.raises(bw.errors.UsageError, match="exclude takes a name or several, not 3"):
        bw.audit(table, exclude=3)
