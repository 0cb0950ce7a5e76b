from __future__ import annotations

import numpy as np
import pytest

from auditing.tables import cohort, table
from auditing.test_logged import greedy_lines, labels_of, logged
from bonwise.auditing.audit import audit
from bonwise.auditing.compare import compare
from bonwise.auditing.doctor import doctor
from bonwise.auditing.studies.calibration import study_calibration
from bonwise.errors import InputError
from bonwise.planning.monitoring.monitor import monitor
from bonwise.planning.plans.plan import plan
from bonwise.planning.sampling.design_comparison import compare_designs


def strewn(frame, share=0.7, seed=20261123):
    """Hide labels of candidates at random."""
    out = frame.copy()
    out.loc[np.random.default_rng(seed).random(len(out)) >= share, "oracle_label"] = np.nan
    return out


def in_part(frame):
    """Count the labels of prompts that are labelled in part, and these prompts."""
    found = frame.groupby("prompt_id")["oracle_label"].agg(["count", "size"])
    partly = found[(found["count"] > 0) & (found["count"] < found["size"])]
    return int(partly["count"].sum()), len(partly)


def test_nothing_stated_says_how_many_labels_are_not_used():
    """Figures are those of whole prompts as before; one sentence counts the labels left out."""
    frame = strewn(cohort(300))
    found = audit(frame)
    labels, prompts = in_part(frame)
    unused = found.to_dict()["unused_labels"]
    of = int(frame["oracle_label"].notna().sum())
    assert (unused["labels"], unused["of"], unused["prompts"]) == (labels, of, prompts)
    assert found["recovery"].method == "labelled_only"
    assert unused["sentence"] in " ".join(str(found).split())
    assert "unused_labels" not in audit(cohort(200, unlabelled=100)).to_dict()


def test_bounds_use_labels_of_prompts_in_part():
    """A label that is there stays as it is: with one of two labels of half the prompts known, bounds move in."""
    # The first prompt has a pick of 1 and another of 0; the second a pick of 0.5, and what it lacks is from 0 to 1.
    found = audit(table([([0.9, 0.1], [1.0, 0.0]), ([0.9, 0.1], [0.5, None])])).judges["judge"].bounds
    assert found["value_judge"] == pytest.approx((0.75, 0.75))
    assert found["value_random"] == pytest.approx((0.375, 0.625))
    assert found["gain"] == pytest.approx((0.125, 0.375))
    assert found["value_oracle"] == pytest.approx((0.75, 1.0))


def test_what_rests_on_whole_prompts_says_what_it_leaves_out(tmp_path):
    """Studies, monitors, plans and comparisons count the labels that they do not use, and say why."""
    frame = strewn(cohort(300), share=0.9)
    labels, prompts = in_part(frame)
    said = f"{labels} of {int(frame['oracle_label'].notna().sum()):,} labels are not used"
    study = study_calibration(frame)
    watched = monitor(frame, question="precision", half_width=0.05)
    planned = plan(question="recovery>0", pilot=frame)
    for found in (study, watched, planned, doctor(frame)):
        text = " ".join(str(found).split())
        assert said in text, type(found)
        assert f"{prompts} prompts that are labelled in part" in text
    picks = [logged(tmp_path / name, greedy_lines(cohort(300))) for name in ("a.jsonl", "b.jsonl")]
    both = compare(*picks, labels=labels_of(frame))
    assert both.to_dict()["unused_labels"]["labels"] == labels
    assert said in " ".join(str(both).split())
    with pytest.raises(InputError, match=said):
        compare_designs(frame)
    few = cohort(300)
    few.loc[[0, 4, 8], "oracle_label"] = np.nan
    assert "9 of 1,197 labels are not used" in compare_designs(few, draws=2).sentences[-1]
