from __future__ import annotations

import json

import pytest

from auditing.tables import cohort
from bonwise.auditing.front import audit
from bonwise.errors import UsageError
from bonwise.table.scales import Scale


def test_declared_scales_are_repeated():
    """The document says which scales were declared, and the figures are those of the values mapped to [0, 1]."""
    frame = cohort(60)
    plain = audit(frame)
    stretched = frame.assign(judge_score=frame["judge_score"] * 100, oracle_label=1 + 4 * frame["oracle_label"])
    found = audit(stretched, judge_scale=Scale(0, 100), label_scale=Scale(1, 5))
    settings = found.to_dict()["settings"]
    assert settings["judge_scale"] == {"every judge": "0:100"}
    assert settings["label_scale"] == "1:5"
    for name, e in plain.metrics.items():
        assert found[name].estimate == pytest.approx(e.estimate, abs=1e-9), name
    assert "judge_scale" not in plain.to_dict()["settings"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 0.3},
        {"confidence": 1.0},
        {"interval": "bca"},
        {"resamples": 1},
        {"seed": -1},
        {"shape": "square"},
        {"target": "leaderboard"},
        {"thresholds": {"within_r_useful": float("nan")}},
        {"thresholds": {"nonsense": 0.5}},
        {"oracle": "human"},
    ],
    ids=json.dumps,
)
def test_wrong_settings_are_refused(wrong):
    """A setting that means nothing is one clear error with a way out."""
    with pytest.raises(UsageError) as refused:
        audit(cohort(20), **wrong)
    assert refused.value.hint


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gate_is_a_number(value):
    """A gate at no number is refused."""
    with pytest.raises(UsageError, match="finite"):
        audit(cohort(20)).check({"recovery": value})


def test_one_name_need_not_be_a_list():
    """A single candidate name is a name, not a list of letters."""
    frame = cohort(40)
    assert audit(frame, exclude="c3").metrics == audit(frame, exclude=["c3"]).metrics
    assert audit(frame, control="c3").to_dict()["settings"]["control"] == ["c3"]
