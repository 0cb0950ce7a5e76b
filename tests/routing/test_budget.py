from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import InputError, UsageError
from bonwise.routing.budget import split_budget
from bonwise.routing.front import route
from bonwise.routing.judged_prompts import judged_prompts
from bonwise.table.panel import lay_out
from bonwise.table.score_table import ScoreTable
from routing.tables import weak_judge


def prompts_of(frame):
    """Return the judged prompts of a table of one judge."""
    table = ScoreTable.from_frame(frame)
    return judged_prompts(table, lay_out(table)[0])


@pytest.fixture(scope="module")
def judged():
    """Return 300 prompts of three candidates with six scores each."""
    return prompts_of(weak_judge(300, draws=6))


def test_a_cheap_stronger_judge_takes_all_and_a_dear_one_nothing(judged):
    """At the price of one call routing alone is best; at 100,000 calls all goes into redraws."""
    cheap, dear = split_budget(judged, 5, 1.0), split_budget(judged, 5, 1e5)
    assert cheap.share == 1.0
    assert "Routing alone" in cheap.sentence
    assert dear.further_calls == pytest.approx(2, abs=0.01)
    assert dear.gain.estimate == pytest.approx(dear.redraw_only, abs=1e-3)


def test_the_split_is_at_least_as_good_as_either_use_alone(judged):
    """The plug-in maximum includes both ends, and the budget is kept."""
    for cost in (5.0, 20.0, 80.0):
        found = split_budget(judged, 9, cost)
        assert found.gain.estimate >= max(found.route_only, found.redraw_only) - 1e-12
        assert 3 + found.share * cost + (1 - found.share) * found.further_calls <= 9 + 1e-9
        assert found.gain.n == 300


def test_prompts_labelled_with_unequal_chances_split_as_all_prompts_do():
    """Wide prompts labelled nine times as often: the share is one of all prompts, with their rows or without."""
    frame = weak_judge(1500, draws=5, seed=4)
    wide = frame.groupby("prompt_id")["ci_width"].transform("mean") > 0.3
    frame["propensity"] = np.where(wide, 0.9, 0.1)
    drawn = np.repeat(np.random.default_rng(0).uniform(size=1500), 3) < frame["propensity"]
    part = frame.assign(oracle_label=frame["oracle_label"].where(drawn))
    truth = split_budget(prompts_of(frame.drop(columns="propensity")), 8, 20.0)
    for rows in (part, part[drawn]):
        found = split_budget(prompts_of(rows), 8, 20.0)
        assert found.route_only == pytest.approx(truth.route_only, rel=0.15)
        assert found.share == pytest.approx(truth.share, abs=0.06)


def test_where_nothing_can_be_gained_nothing_is_spent():
    """Labels that are all equal leave no use for either, at any price."""
    flat = prompts_of(weak_judge(150, draws=4).assign(oracle_label=0.5))
    for cost in (3.0, 20.0):
        found = split_budget(flat, 8, cost)
        assert (found.share, found.further_calls, found.gain.estimate) == (0.0, 0.0, 0.0)
        assert "Spend nothing" in found.sentence


def test_a_split_starts_from_one_draw_whatever_the_study_rests_on():
    """Redraws follow a first draw: a table scored by the mean of its draws is split as one of its draws alone."""
    frame = weak_judge(150, draws=4).drop(columns="judge_score")
    mean = frame.assign(judge_score=frame[[f"draw_{k}" for k in range(4)]].mean(axis=1))
    alone, scored = (route(one, mean_calls=6, strong_cost=20) for one in (frame, mean))
    assert scored.source_of("prompts")["weak"].prompts.first == "score"
    assert scored["weak"].budget == alone["weak"].budget


def test_ragged_pools_are_split_too():
    """Pools of different sizes: the first scores are counted as they are."""
    frame = weak_judge(200, draws=4)
    short = (frame["candidate"] == "c2") & (frame["prompt_id"] >= "p0100")
    found = split_budget(prompts_of(frame[~short]), 4, 10.0)
    assert 2.5 + found.share * 10 + (1 - found.share) * found.further_calls <= 4 + 1e-9


@pytest.mark.parametrize(
    ("rows", "draws", "budget", "cost", "words"),
    [
        (100, 0, 8, 20, "without 3 scores"),
        (100, 2, 8, 20, "without 3 scores"),
        (60, 4, 8, 20, "fewer than the 75"),
        (100, 4, 3, 20, "nothing beyond"),
        (100, 4, 8, 0, "price"),
    ],
)
def test_what_cannot_be_split_is_refused(rows, draws, budget, cost, words):
    """Too few draws or labels, no calls to spend and no price are each one clear error."""
    with pytest.raises(InputError, match=words):
        split_budget(prompts_of(weak_judge(rows, draws=draws)), budget, cost)


def test_the_study_carries_the_split_and_prints_it():
    """`route` takes both figures of a budget or neither; text and document hold the split."""
    study = route(weak_judge(150, draws=4), mean_calls=6, strong_cost=20)
    assert study.to_dict()["budget"]["strong_cost"] == 20
    assert "Of 6 calls per prompt" in str(study)
    with pytest.raises(UsageError, match="joint budget"):
        route(weak_judge(150, draws=4), mean_calls=6)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pilot_like_20000", "one_model_20000"])
def test_a_pilot_of_500_splits_as_the_prototypes_did(shared, name):
    """At 5 calls a routed prompt routing alone; at 80, of 6 to 10 calls, at most 7.5 % are routed (ceilings.md 2)."""
    frame = pd.read_parquet(shared / "data" / "simulated" / f"{name}.parquet").iloc[:2000]
    judged = prompts_of(frame)
    assert [split_budget(judged, calls, 5.0).share for calls in (6, 8)] == pytest.approx([0.4, 0.8])
    dear = [split_budget(judged, calls, 80.0) for calls in (6, 8, 10)]
    assert max(one.share for one in dear) <= 0.075
    assert np.diff([one.gain.estimate for one in dear]).min() > 0
