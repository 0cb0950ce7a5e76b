"""The verdict does not depend on the unit of the labels; figures in label units say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import cohort, table
from bonwise.errors import RowError
from bonwise.table.scales import Scale


def biased(bias, *, n=60, seed=4):
    """Return a table whose judge scores one candidate too high, by so much of the label scale."""
    frame = cohort(n, seed)
    noise = np.random.default_rng(seed).standard_normal(len(frame))
    score = frame["oracle_label"] + bias * (frame["candidate"] == frame["candidate"].iloc[0]) + 0.05 * noise
    return frame.assign(judge_score=-score.rank() + len(frame) if bias < 0 else score.rank() - 0.5 * len(frame))


def verdicts(frame, **asked):
    """Return level and checks for both targets."""
    found = [bw.audit(frame, target=target, **asked).verdict for target in ("best-of-n", "system")]
    return [(one.level, dict(one.checks)) for one in found]


@pytest.mark.parametrize("bias", [0.0, 0.08, 0.5])
def test_labels_times_100_give_the_same_verdict(bias):
    """Whether the level passes depends on the bias in units of the label scale, not on its unit."""
    frame = biased(bias)
    assert verdicts(frame.assign(oracle_label=100 * frame["oracle_label"])) == verdicts(frame)
    assert verdicts(frame)[0][1]["level"] == {0.0: "pass", 0.08: "inconclusive", 0.5: "fail"}[bias]


@given(
    scale=st.floats(0.01, 1e4),
    shift=st.sampled_from([0.0, -3.0, 20.0]),
    bias=st.sampled_from([0.0, 0.04, 0.08, 0.2]),
    seed=st.integers(0, 50),
)
@settings(max_examples=60)
def test_no_scale_of_the_labels_changes_a_verdict(scale, shift, bias, seed):
    """Labels stretched or shifted give the same levels and checks, for picks and for systems."""
    frame = biased(bias, n=30, seed=seed)
    assert verdicts(frame.assign(oracle_label=scale * frame["oracle_label"] + shift)) == verdicts(frame)


def test_the_sentence_states_the_threshold_in_label_points():
    """Of ratings from 1 to 5 the threshold is a twentieth of 4 points; of a declared scale, of the scale."""
    frame = biased(0.0)
    labels = 4 * (frame["oracle_label"] - frame["oracle_label"].min())
    ratings = frame.assign(oracle_label=1 + labels / (frame["oracle_label"].max() - frame["oracle_label"].min()))
    assert "0.2 label points (5% of their range)" in bw.audit(ratings).verdict.of_checks()["level"]
    declared = bw.audit(ratings, label_scale=Scale(1, 5)).verdict.of_checks()["level"]
    assert "0.05 label points." in declared


def test_labels_that_are_all_alike_have_a_threshold():
    """Without a range the threshold is as if the scale had width 1."""
    found = bw.audit(table([([0.1, 0.5, 0.9], [3, 3, 3])] * 30))
    assert found.verdict.checks["level"] == "pass"


def test_a_reference_judge_sets_the_scale():
    """With another judge as the reference the unit is the range of that judge's scores."""
    frame = biased(0.0)
    both = [frame.assign(judge="mine"), frame.assign(judge="other", judge_score=100 * frame["oracle_label"])]
    found = bw.audit(pd.concat(both, ignore_index=True).drop(columns="oracle_label"), oracle="judge:other")
    assert "score points (5% of their range)" in found.verdict.of_checks()["level"]


def test_scores_from_0_to_1_stand_beside_ratings():
    """Every metric is given, those of labels in label points, and the words say which unit is which."""
    frame = cohort(80)
    ratings = frame.assign(oracle_label=1 + (4 * frame["oracle_label"]).round())
    found, alike = bw.audit(ratings), bw.audit(ratings, label_scale=Scale(1, 5))
    for name in found.metrics:
        in_points = {"value_random": 4, "value_judge": 4, "value_oracle": 4, "gain": 4, "level_bias": 4}
        factor, shift = in_points.get(name, 0.25 if name == "attenuation" else 1), name.startswith("value_")
        assert found[name].estimate == pytest.approx(factor * alike[name].estimate + shift, abs=1e-9), name
    assert found.verdict.level == alike.verdict.level
    assert found.verdict.checks == alike.verdict.checks
    assert found.data.label_range == [ratings["oracle_label"].min(), 5]
    joined = " ".join(str(found).split())
    assert "both stay as they are. Values, gain and the level bias are in label points" in joined
    assert "score_range" not in alike.data
    assert "both stay as they are" not in str(alike)


def test_labels_from_0_to_1_beside_larger_scores_are_refused():
    """Labels or chances: both could be meant, so the message asks for the scales."""
    frame = cohort(30)
    with pytest.raises(RowError, match="another scale"):
        bw.audit(frame.assign(judge_score=100 * frame["judge_score"]))


def test_a_reference_on_another_scale_names_its_unit():
    """Beside a reference judge with ratings the unit is that judge's."""
    frame = cohort(40)
    both = [frame.assign(judge="mine"), frame.assign(judge="other", judge_score=1 + 4 * frame["oracle_label"])]
    found = bw.audit(pd.concat(both, ignore_index=True).drop(columns="oracle_label"), oracle="judge:other")
    joined = " ".join(str(found).split())
    assert "and the scores of other from" in joined
    assert "the level bias are in points of other; attenuation is in score points per point of other." in joined
