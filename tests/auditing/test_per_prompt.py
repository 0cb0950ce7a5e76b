from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from auditing.tables import cohort, table, two_judges
from bonwise.auditing.front import audit
from stats.pools import pools


def test_rows_worked_by_hand():
    """Each row names pick, best, their labels, the loss, the ties and the margin; the worst comes first."""
    prompts = [
        ([0.9, 0.5], [1.0, 0.0]),  # right: loses nothing, margin .4
        ([0.1 + 0.2, 0.3, 0.1], [0.2, 0.6, 1.0]),  # c0 and c1 tied: .4 expected, c2 best: loses .6
        ([0.2, 0.8], [0.7, 0.7]),  # nothing to lose
    ]
    rows = audit(table(prompts), shape="ragged").per_prompt().to_dict("records")
    assert [row["prompt_id"] for row in rows] == ["p001", "p000", "p002"]
    worst = rows[0]
    assert (worst["pick"], worst["best"], worst["tied"], worst["margin"]) == ("c0 | c1", "c2", 2, 0.0)
    assert (worst["value_pick"], worst["value_best"], worst["gain_lost"]) == pytest.approx((0.4, 1.0, 0.6))
    assert (rows[1]["pick"], rows[1]["margin"], rows[1]["gain_lost"]) == ("c0", pytest.approx(0.4), 0.0)
    assert rows[2]["best"] == "c0 | c1"


@given(pools(least=2, most=8))
@settings(max_examples=50)
def test_losses_add_up_to_what_the_audit_says(prompts):
    """The mean loss is value_oracle - value_judge, and rows stand from the greatest loss to the least."""
    found = audit(table(prompts), shape="ragged")
    rows = found.per_prompt()
    lost = found["value_oracle"].estimate - found["value_judge"].estimate
    assert rows["gain_lost"].mean() == pytest.approx(lost, abs=1e-12)
    assert (rows["gain_lost"].diff().dropna() <= 0).all()
    assert (rows["gain_lost"] >= -1e-12).all()
    assert (rows["tied"] > 1).mean() == pytest.approx(found["top1_tie_rate"].estimate)


def test_unlabelled_prompts_come_last_without_values():
    """A prompt without labels keeps its pick and margin, has no values, and stands at the end."""
    rows = audit(cohort(50, unlabelled=10)).per_prompt()
    assert rows["gain_lost"].isna().tolist() == [False] * 40 + [True] * 10
    assert rows["value_pick"].isna().sum() == 10
    assert (rows["pick"] != "").all()
    assert np.isfinite(rows["margin"]).all()


def test_every_judge_has_its_rows():
    """With two judges each prompt has a row of each."""
    rows = audit(two_judges(30)).per_prompt()
    assert rows.groupby("judge").size().to_dict() == {"first": 30, "second": 30}
