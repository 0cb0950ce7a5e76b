from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bonwise.confidence.engine import VERDICTS
from bonwise.confidence.front import audit_confidence
from bonwise.errors import ColumnError, InputError, RowError, UsageError

# Three prompts of a and b.    p: a better    q: b better    r: equal
LABELS = pd.DataFrame(
    {"prompt_id": list("ppqqrr"), "candidate": list("ababab"), "oracle_label": [1, 0, 0, 1, 0.5, 0.5]}
)


def pairs(first, second, **columns):
    """Make the pairs file of one judge on the three prompts."""
    ends = {"prompt_id": list("pqr"), "judge": "j", "a": "a", "b": "b"}
    return pd.DataFrame({**ends, "shown_first": first, "shown_second": second, **columns})


def judge_of(frame, **asked):
    """Audit pairs and return what was found of their judge, passed through strict JSON."""
    document = audit_confidence(frame, labels=LABELS, **asked).to_dict()
    return json.loads(json.dumps(document, allow_nan=False))["judges"]["j"]


def test_each_order_is_a_statement_on_what_was_shown_first():
    """Shown first .9 for a is P = .9; shown second .7 for a is P = .3 for b, which was shown first."""
    found = judge_of(pairs([0.9, 0.1, 0.5], [0.7, 0.3, 0.5]))
    # p: (.9, won) and b first: (.3, lost).   q: (.1, lost) and b first: (.7, won).   r: left out twice.
    assert found["data"]["statements"] == 4
    assert found["data"]["dropped"] == {"oracle tie": 2}
    assert [one["statements"] for one in found["bins"]] == [1, 1, 0, 1, 1]
    assert [one["observed"]["estimate"] for one in found["bins"]] == [0, 0, None, 1, 1]
    assert found["metrics"]["brier"]["estimate"] == pytest.approx((0.01 + 0.09 + 0.01 + 0.09) / 4)
    assert found["metrics"]["accuracy"]["estimate"] == 1


def test_oracle_ties_may_count_half():
    """On equal labels either order counts one half, and how many do is said."""
    found = judge_of(pairs([0.9, 0.1, 0.9], [0.7, 0.3, None]), ties="half")
    assert found["data"]["oracle_ties_counted_half"] == 1
    assert found["data"]["dropped"] == {"nothing stated": 1}
    assert found["bins"][4]["observed"]["estimate"] == 0.75


def test_stated_levels_have_their_accuracy():
    """Verdicts with a stated confidence are right or wrong by level; they are no probabilities, and that is said."""
    found = judge_of(pairs([1, 1, 1], [1, 0, 0.5], confidence_first=[5, 5, 1], confidence_second=[3, 4, None]))
    # p: a first, a won: right at 5; b first, a won: right at 3.
    # q: a first, a won: wrong at 5; b first, b won: right at 4.
    assert {one["level"]: one["accuracy"]["estimate"] for one in found["levels"]} == {
        1: None,
        2: None,
        3: 1,
        4: 1,
        5: 0.5,
    }
    assert "bins" not in found
    assert found["metrics"]["brier"]["reason"] == VERDICTS


def test_a_plain_table_of_statements_is_enough():
    """Probability and outcome make an audit; without prompts every row is its own unit."""
    rng = np.random.default_rng(1)
    stated = rng.random(2000).round(3)
    frame = pd.DataFrame({"probability": stated, "outcome": (rng.random(2000) < stated).astype(int)})
    found = audit_confidence(frame, confidence=0.999).judges["judge"]
    assert found["data"]["prompts"] == 2000
    assert all(one["observed"]["low"] <= one["stated"] <= one["observed"]["high"] for one in found["bins"])
    clustered = audit_confidence(frame.assign(prompt_id=np.arange(2000) // 20)).judges["judge"]
    assert clustered["data"]["prompts"] == 100
    assert clustered["metrics"]["brier"]["estimate"] == found["metrics"]["brier"]["estimate"]


def test_coverage_of_stated_intervals():
    """The share of labels within the stated ends, which belong to it; rows without either are counted."""
    frame = pd.DataFrame(
        {
            "prompt_id": list("ppqqr"),
            "candidate": list("ababa"),
            "judge_score": 0.5,
            "low": [0.4, 0.4, 0.4, 0.4, None],
            "high": [0.6, 0.6, 0.6, 0.8, None],
            "oracle_label": [0.6, 0.7, None, 0.5, 0.5],
        }
    )
    document = audit_confidence(frame).to_dict()
    found = document["judges"]["judge"]
    assert document["kind"] == "intervals"
    assert found["data"]["dropped"] == {"nothing stated": 1, "no label": 1}
    assert found["metrics"]["coverage"]["estimate"] == pytest.approx(2 / 3)
    assert found["data"]["mean_width"] == pytest.approx((0.2 + 0.2 + 0.4) / 3)


REFUSED = {
    "nothing stated": (pd.DataFrame({"x": [1]}), {}, ColumnError, "no stated confidence"),
    "no labels": (pairs([1, 1, 1], [1, 1, 1]), {}, InputError, "no oracle labels"),
    "off range": (pairs([1.2, 1, 1], [1, 1, 1]), {"labels": LABELS}, RowError, "row 0: shown_first is 1.2"),
    "level": (
        pairs([1, 1, 1], [1, 1, 1], confidence_first=[6, 1, 1], confidence_second=1),
        {"labels": LABELS},
        RowError,
        "row 0: a stated confidence of 6",
    ),
    "ties": (pairs([1, 1, 1], [1, 1, 1]), {"labels": LABELS, "ties": "win"}, UsageError, "cannot be 'win'"),
    "only ties": (
        pd.DataFrame({"probability": [0.5], "outcome": [0.5]}),
        {},
        InputError,
        "no statement with an outcome",
    ),
}


@pytest.mark.parametrize(("frame", "asked", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_states_nothing_is_refused(frame, asked, error, words):
    """A table without statements, or with what is none, is refused in plain words."""
    with pytest.raises(error, match=words):
        audit_confidence(frame, **asked)


def test_the_text_says_what_became_of_ties():
    """The page prints the bins, the summaries and which way oracle ties went."""
    text = audit_confidence(pairs([0.9, 0.1, 0.9], [0.7, 0.3, None]), labels=LABELS).to_text(full=True)
    assert "oracle ties excluded" in text
    assert "P in [0.8, 1]" in text
    assert "mean bin error" in text
