from __future__ import annotations

import json

import pandas as pd
import pytest

from auditing.tables import golden
from bonwise.auditing.front import audit

pytestmark = pytest.mark.shared

PROTOTYPE = {  # the metrics' names in arena_like_5000.metrics.json
    "r": "global_r",
    "rw": "within_r",
    "alpha": "attenuation",
    "pnt": "sign_agreement",
    "peff_all": "effective_agreement",
    "peff_ond": "effective_agreement_decided",
    "tieS": "tie_rate",
    "tieO": "oracle_tie_rate",
    "tau": "kendall_tau",
    "rec": "recovery",
    "pcs": "top1_accuracy",
    "hit": "hit_rate",
    "top1tie": "top1_tie_rate",
    "btwS": "judge_between_share",
    "btwO": "oracle_between_share",
    "Vr": "value_random",
    "Vj": "value_judge",
    "Vo": "value_oracle",
}


@pytest.fixture(scope="module")
def scores(shared):
    """Return the path of the arena sample."""
    return shared / "data" / "arena100" / "scores.csv"


@pytest.fixture(scope="module")
def arena(scores):
    """Audit the arena sample without its deliberately bad candidate."""
    return audit(scores, exclude=["unhelpful"])


@pytest.mark.parametrize("row", golden("arena100_metrics.csv"), ids=lambda row: row["metric"])
def test_arena_metrics_are_golden(arena, row):
    """Each metric of the arena sample is the golden figure to 1e-5."""
    assert arena[row["metric"]].estimate == pytest.approx(float(row["value"]), abs=1e-5)


def test_arena_prompts_are_counted_and_dropped_with_reasons(arena):
    """99 prompts of 4 candidates are complete; one lacks a candidate and one is partly labelled."""
    dropped = {drop["prompt_id"]: drop["reason"] for drop in arena.data["dropped"]}
    assert dropped == {"arena_22": "lacks base", "arena_127": "partly labelled"}
    assert (arena.data["prompts"], arena.data["candidates"], arena.data["rows"]) == (99, 4, 396)
    assert (arena.data["labelled_prompts"], arena.data["partly_labelled_prompts"]) == (99, 0)
    assert {found.method for found in arena.metrics.values()} == {"complete"}


def test_arena_recovery_has_its_interval(arena):
    """Recovery is .21 with a Fieller interval of about .08 to .34."""
    assert arena["recovery"].interval == "fieller"
    assert (arena["recovery"].low, arena["recovery"].high) == pytest.approx((0.08, 0.34), abs=0.01)


@pytest.mark.parametrize("interval", ["default", "bootstrap"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_and_columns_says_nothing(scores, interval, seed):
    """Shuffled rows and columns give the same document bit for bit, resampled intervals too."""
    frame = pd.read_csv(scores)
    shuffled = frame.sample(frac=1, random_state=seed).sample(frac=1, axis=1, random_state=seed)
    documents = [
        audit(one, exclude=["unhelpful"], interval=interval, resamples=100, seed=5).to_dict()
        for one in (frame, shuffled)
    ]
    for part in ("metrics", "verdict", "data"):
        assert documents[0][part] == documents[1][part]


@pytest.mark.parametrize("row", golden("arena100_control.csv"), ids=lambda row: row["metric"])
def test_a_deliberately_bad_candidate_flatters_the_judge(scores, row):
    """With the control put back recovery and correlation are the higher golden figures, beside the plain ones."""
    controlled = audit(scores, control=["unhelpful"])
    with_control = controlled.to_dict()["with_control"][row["metric"]]
    assert controlled[row["metric"]].estimate == pytest.approx(float(row["without"]), abs=5e-4)
    assert with_control["estimate"] == pytest.approx(float(row["with"]), abs=5e-4)


def test_a_control_left_out_is_the_same_as_excluded(arena, scores):
    """The plain figures of a controlled audit are those of an audit that leaves the candidate out."""
    assert audit(scores, control=["unhelpful"]).metrics == arena.metrics


def test_the_simulated_cohort_is_golden(shared):
    """Every metric of the simulated 5,000 prompts is that of the prototype to 1e-6."""
    folder = shared / "data" / "simulated"
    expected = json.loads((folder / "arena_like_5000.metrics.json").read_text())
    found = audit(folder / "arena_like_5000.csv.gz")
    for theirs, ours in PROTOTYPE.items():
        assert found[ours].estimate == pytest.approx(expected[theirs], abs=1e-6), ours
