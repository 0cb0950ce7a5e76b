from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from auditing.tables import cohort, table
from bonwise.auditing.front import audit
from bonwise.errors import InputError
from stats import twins
from stats.pools import pools

JUDGE_ONLY = {"judge_between_share", "tie_rate", "top1_tie_rate"}
PROMPT = ([0.9, 0.5, 0.1], [1.0, 0.5, 0.0])


def without_labels(prompts, at):
    """Return the prompts, some of them without labels."""
    return [(s, [None] * len(s) if x in at else o) for x, (s, o) in enumerate(prompts)]


@pytest.mark.parametrize(("lacking", "method"), [(0, "complete"), (10, "complete"), (11, "labelled_only")])
def test_five_percent_may_lack_labels(lacking, method):
    """Of 200 prompts 10 without labels are dropped by name; 11 make the audit one of labelled prompts only."""
    found = audit(cohort(200, unlabelled=lacking))
    dropped = [(drop["prompt_id"], drop["reason"]) for drop in found.data["dropped"]]
    expected = [(f"p{x:07d}", "unlabelled") for x in range(200 - lacking, 200)]
    assert dropped == (expected if method == "complete" else [])
    assert found["recovery"].method == method
    assert found["recovery"].n == found.data["labelled_prompts"] == 200 - lacking
    assert found.data["prompts"] == (200 - lacking if method == "complete" else 200)


def test_prompts_dropped_for_want_of_labels_change_nothing_else():
    """An audit with 5 unlabelled prompts of 100 is that of the 95 others alone."""
    lacking, alone = audit(cohort(100, unlabelled=5)), audit(cohort(95))
    assert lacking.metrics == alone.metrics


def test_a_partly_labelled_prompt_is_not_labelled():
    """A prompt counts as labelled only when all its candidates are, and the partly labelled are counted."""
    partly = ([0.9, 0.5, 0.1], [1.0, None, 0.0])
    found = audit(table([PROMPT] * 8 + [partly] * 2))
    assert (found.data["prompts"], found.data["labelled_prompts"]) == (10, 8)
    assert found.data["partly_labelled_prompts"] == 2
    assert found["value_random"].estimate == pytest.approx(0.5)


def test_what_needs_no_labels_uses_every_prompt():
    """Judge-only metrics of a partly labelled table are complete and equal those of the fully labelled one."""
    partial, full = audit(cohort(200, unlabelled=100)), audit(cohort(200))
    for name, found in partial.metrics.items():
        if name in JUDGE_ONLY:
            assert found == full[name], name
            assert (found.method, found.n) == ("complete", 200)
        else:
            assert found.method == "labelled_only", name
            assert found.n <= 100


def test_label_metrics_are_those_of_the_labelled_prompts():
    """Figures against labels are those of an audit of the labelled prompts alone."""
    partial, alone = audit(cohort(200, unlabelled=100)), audit(cohort(100))
    for name in set(partial.metrics) - JUDGE_ONLY:
        assert partial[name] == alone[name].model_copy(update={"method": "labelled_only"}), name


def test_the_document_says_what_the_figures_describe():
    """A partly labelled audit says how many prompts are labelled and that why is unknown, with balance and bounds."""
    document = audit(cohort(200, unlabelled=100)).to_dict()
    assert any("100 of 200" in s and "unknown" in s for s in document["verdict"]["sentences"])
    assert document["bounds"].keys() == {"value_random", "value_judge", "value_oracle", "recovery", "gain"}
    assert document["balance"]
    assert "bounds" not in audit(cohort(200)).to_dict()


def test_no_gate_on_all_prompts_passes():
    """However high the estimate, a gate is inconclusive while part of the prompts is unlabelled; others pass."""
    found = audit(cohort(400, unlabelled=200))
    states = {
        gate.metric: gate.state for gate in found.check({"value_judge": 0.01, "recovery": -5, "tie_rate": 0.1}).gates
    }
    assert states == {"value_judge": "inconclusive", "recovery": "inconclusive", "tie_rate": "met"}
    assert {gate.state for gate in audit(cohort(400)).check({"value_judge": 0.01}).gates} == {"met"}


def test_balance_compares_the_scores_of_both_groups():
    """Balance gives the means of a feature with and without labels and a Welch interval of their difference."""
    # Mean scores .5 on 8 labelled prompts; .2 and .4 on the two others: difference .2, variance of the second
    # mean .02/2 = .01 with 1 degree of freedom, t = 12.7062: .2 -/+ 1.27062.
    low, high = ([0.3, 0.1], [None] * 2), ([0.5, 0.3], [None] * 2)
    found = audit(table([([0.6, 0.4], [1.0, 0.0])] * 8 + [low, high])).to_dict()["balance"]
    row = next(row for row in found if row["feature"] == "mean score")
    assert [row[key] for key in ("labelled", "unlabelled", "difference")] == pytest.approx([0.5, 0.3, 0.2])
    assert (row["low"], row["high"]) == pytest.approx((0.2 - 1.27062, 0.2 + 1.27062), abs=1e-5)


@given(pools(least=3, most=8), st.sets(st.integers(0, 7), min_size=1))
@settings(max_examples=60)
def test_bounds_hold_every_completion(prompts, lacking):
    """Whatever labels are hidden, the figures of the completed table lie within the worst-case bounds."""
    assume(2 <= sum(x not in lacking for x in range(len(prompts))) < len(prompts))
    bounds = audit(table(without_labels(prompts, lacking)), shape="ragged").judges["judge"].bounds
    truth = twins.metrics(prompts)
    for name in ("value_random", "value_judge", "value_oracle", "recovery"):
        if truth[name] is not None:
            assert bounds[name][0] - 1e-9 <= truth[name] <= bounds[name][1] + 1e-9, name


def test_bounds_of_values_are_worked_by_hand():
    """With 2 of 4 prompts unlabelled the mean value may be half of what is known, or that and a half more."""
    found = audit(table(without_labels([PROMPT] * 4, {0, 2}))).judges["judge"].bounds
    assert found["value_random"] == pytest.approx((0.25, 0.75))
    assert found["value_judge"] == pytest.approx((0.5, 1.0))


def test_random_labels_make_an_unbiased_audit():
    """Labelling half the prompts at random leaves the estimates within noise of the complete ones."""
    frame, rng = cohort(2000), np.random.default_rng(20261121)
    frame.loc[np.repeat(rng.random(2000) < 0.5, 4), "oracle_label"] = np.nan
    partial, full = audit(frame), audit(cohort(2000))
    gaps = [
        abs(partial[name].estimate - full[name].estimate) / partial[name].se
        for name in partial.metrics
        if partial[name].se and name != "level_bias"
    ]
    assert fmean(gaps) < 1
    assert max(gaps) < 4


def test_no_labels_at_all_is_refused():
    """Without a single completely labelled prompt there is nothing to audit, and the error says so."""
    nothing = table([([0.9, 0.1], [None, None])] * 3)
    some = table([([0.9, 0.1], [1.0, None])] * 3)
    for frame in (nothing, some):
        with pytest.raises(InputError, match="label"):
            audit(frame)
