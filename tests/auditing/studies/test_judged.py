from __future__ import annotations

import pandas as pd

import bonwise as bw
from auditing.tables import cohort


def test_a_study_repeats_what_was_declared():
    """Columns, scales and labels left out are in a study's settings as in those of an audit."""
    frame = (
        cohort(30)
        .assign(judge_score=lambda all_: 100 * all_["judge_score"])
        .rename(columns={"judge_score": "points"})
    )
    labels = frame[["prompt_id", "candidate", "oracle_label"]]
    others = pd.DataFrame({"prompt_id": ["of another table"], "candidate": ["c0"], "oracle_label": [0.5]})
    given = {
        "labels": pd.concat([labels, others], ignore_index=True),
        "columns": {"judge_score": "points"},
        "judge_scale": bw.Scale(0, 100),
        "label_scale": bw.Scale(0, 1),
    }
    scores = frame.drop(columns="oracle_label")
    study = bw.study_requirements(scores, **given).to_dict()["settings"]
    audited = bw.audit(scores, **given).to_dict()["settings"]
    keys = ("columns", "judge_scale", "label_scale", "labels_left_out")
    assert {key: study[key] for key in keys} == {key: audited[key] for key in keys}
    assert study["columns"]["judge_score"] == "points"
    assert study["judge_scale"] == {"every judge": "0:100"}
    assert study["labels_left_out"] == {"prompts": 1, "rows": 1}


def test_a_study_says_nothing_of_what_was_not_declared():
    """Without scales, repeated scores and further labels the settings name none of them; with two draws they do."""
    plain = bw.study_requirements(cohort(30)).to_dict()["settings"]
    assert plain.keys().isdisjoint({"judge_scale", "label_scale", "labels_left_out", "draws", "reference"})
    twice = pd.concat([cohort(30).assign(draw=draw) for draw in (0, 1)], ignore_index=True)
    assert bw.study_requirements(twice).to_dict()["settings"]["draws"] == 2
