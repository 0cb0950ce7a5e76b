from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bonwise.errors import UsageError
from bonwise.planning.plans.plan import plan
from bonwise.planning.plans.questions import QUESTIONS

EFFECTS = {
    "recovery>0": {"candidates": 4, "within_r": 0.3},
    "recovery": {"candidates": 4, "within_r": 0.3, "half_width": 0.1},
    "within_r>=r0": {"candidates": 4, "within_r": 0.5, "r0": 0.4},
    "a-vs-b": {"candidates": 8, "within_r": 0.5, "rival_r": 0.4},
    "margin": {"effect": 0.1},
    "equivalence": {"effect": 0.1},
}
KEYS = (
    *("schema", "question", "settings", "design", "sides", "prompts", "labels", "cost", "mde", "interval"),
    *("verdict", "sentences", "power_table", "sequential"),
)


def test_every_question_is_tried_here():
    """The table of this file names every question there is."""
    assert set(EFFECTS) == set(QUESTIONS)


@pytest.mark.parametrize("question", EFFECTS)
def test_the_document_holds_its_keys_and_no_nan(question):
    """All keys of the schema, strict JSON, and the settings and version repeated."""
    document = plan(question=question, **EFFECTS[question]).to_dict()
    assert set(KEYS) <= set(document)
    assert document["schema"] == "bonwise.plan/1"
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["settings"].get("power", 0.9) == 0.9
    assert ("power" in document["settings"]) == (question != "recovery")
    assert document["settings"]["version"]
    assert document["settings"].items() >= EFFECTS[question].items()
    assert document["cost"] is None
    assert document["verdict"] == "feasible"


@pytest.mark.parametrize(
    ("question", "sides"),
    [("recovery>0", 1), ("within_r>=r0", 1), ("a-vs-b", 2), ("margin", 2), ("recovery", 2), ("equivalence", 1)],
)
def test_sides_are_those_of_the_gates(question, sides):
    """One-sided as a gate, two-sided where either may win and for an interval."""
    assert plan(question=question, **EFFECTS[question]).sides == sides


@pytest.mark.parametrize("question", EFFECTS)
def test_the_power_at_the_planned_labels_is_what_was_asked_for(question):
    """The planned row of the table has the power; a quarter of the labels has far less, twice as many more."""
    found = plan(question=question, **EFFECTS[question])
    shown = "half_width" if question == "recovery" else "power"
    rows = {row["labels"]: row[shown] for row in found.power_table}
    values = [rows[labels] for labels in sorted(rows)]
    if question == "recovery":
        assert 0.099 <= rows[found.labels] <= 0.1
        assert values == sorted(values, reverse=True)
        return
    assert 0.9 <= rows[found.labels] <= 0.93
    assert values == sorted(values)
    assert values[0] < 0.5
    assert values[-1] > 0.98


@pytest.mark.parametrize("question", EFFECTS)
def test_the_smallest_detectable_effect_is_the_one_planned_for(question):
    """With the planned labels it is the planned effect, but for rounding up."""
    found = plan(question=question, **EFFECTS[question])
    planned = {
        "recovery>0": 0.3,
        "recovery": 0.1,
        "within_r>=r0": 0.5,
        "a-vs-b": found.effect.get("difference"),
        "margin": 0.1,
        "equivalence": 0.1,
    }[question]
    assert found.mde == pytest.approx(planned, rel=0.03)
    fewer = plan(question=question, **EFFECTS[question], labels=found.labels // 3)
    assert fewer.mde > found.mde


def test_the_design_of_recovery_above_0_is_two_labels_by_default():
    """It takes fewer labels than the complete design, which may be asked for."""
    two = plan(question="recovery>0", candidates=4, within_r=0.2)
    complete = plan(question="recovery>0", candidates=4, within_r=0.2, design="complete")
    assert (two.design, two.prompts, two.labels) == ("two_label", 223, 446)
    assert (complete.design, complete.prompts, complete.labels) == ("complete", 148, 592)
    assert complete.raw == pytest.approx({"prompts": 147.43, "labels": 589.72}, abs=0.01)


def test_a_margin_is_planned_exactly_and_as_in_the_paper():
    """The second number of the exact test, or equation 8, raw and rounded up."""
    assert plan(question="margin", effect=0.072).labels == 529
    paper = plan(question="margin", effect=0.072, method="paper")
    assert (paper.labels, paper.sides) == (507, 2)
    assert paper.raw["labels"] == pytest.approx(506.7, abs=0.05)


def test_one_cluster_follows_equation_10():
    """1,174 votes at rho .0001; at .001 no number is enough, and the plan says so."""
    asked = {"question": "margin", "effect": 0.05, "method": "paper", "one_cluster": True}
    assert plan(**asked, icc=0.0001).labels == 1174
    never = plan(**asked, icc=0.001)
    assert (never.verdict, never.labels, never.prompts, never.mde) == ("infeasible", None, None, None)
    assert any("more than 10,000" in one for one in never.sentences)
    assert never.sequential is None


def test_raters_cost_the_design_effect():
    """Three votes a prompt that correlate by .25 take half as many again, on half the prompts."""
    one, three = plan(question="margin", effect=0.1), plan(question="margin", effect=0.1, raters=3, icc=0.25)
    assert three.design_effect == 1.5
    assert three.labels == math.ceil(one.labels * 1.5 / 3) * 3
    assert three.prompts == math.ceil(one.labels / 2)
    both = plan(question="recovery>0", candidates=4, within_r=0.3, raters=2, icc=1.0)
    assert both.prompts == plan(question="recovery>0", candidates=4, within_r=0.3).prompts


def test_ties_are_votes_that_decide_nothing():
    """With a fifth of them as many more votes are collected."""
    assert plan(question="margin", effect=0.1, tie_rate=0.2).labels == math.ceil(274 / 0.8)


def test_only_discordant_prompts_are_labelled():
    """Graded: two labels each; preferences: one each, and more prompts."""
    graded = plan(question="a-vs-b", **EFFECTS["a-vs-b"])
    asked = plan(question="a-vs-b", **EFFECTS["a-vs-b"], design="discordant_preference", method="paper")
    assert graded.labels == 2 * math.ceil(graded.raw["labels"] / 2)
    assert graded.raw["labels"] / 2 / graded.raw["prompts"] == pytest.approx(graded.effect["disagree"])
    assert 1.4 < asked.labels / (graded.labels / 2) < 1.8


def test_prices_make_a_cost():
    """Labels, and one score of every candidate a judge."""
    found = plan(question="recovery>0", candidates=4, within_r=0.3, label_cost=0.5, judge_cost=0.01)
    assert found.cost == pytest.approx(0.5 * found.labels + 0.01 * 4 * found.prompts)
    both = plan(question="a-vs-b", **EFFECTS["a-vs-b"], judge_cost=0.01)
    assert both.cost == pytest.approx(0.01 * 16 * both.prompts)


@pytest.mark.parametrize(
    ("there", "verdict"),
    [({"labels": 749}, "feasible"), ({"labels": 748}, "underpowered"), ({"prompts": 500}, "underpowered")],
)
def test_the_verdict_compares_with_what_there_is(there, verdict):
    """Feasible to the last label, else underpowered, never called equal."""
    found = plan(question="margin", effect=0.06, **there)
    assert found.verdict == verdict
    assert any("non-detection is not equivalence" in one for one in found.sentences)
    assert found.equivalence["labels"] > found.labels
    assert any(f"{found.equivalence['labels']:,} labels" in one for one in found.sentences)


def test_stopping_early_keeps_a_reserve():
    """15 to 20 % sooner on average, twice as many in reserve, and the prior's rule of thumb within its bounds."""
    found = plan(question="margin", effect=0.1).sequential
    assert found == {"fixed": 274, "mean": [219, 233], "reserve": 548, "prior": pytest.approx(12.5)}
    priors = [plan(question="margin", effect=effect).sequential["prior"] for effect in (0.01, 0.49)]
    assert priors == [50.0, 1.0]
    assert plan(question="margin", effect=0.1, raters=2, icc=0.3).sequential is None
    assert plan(question="within_r>=0.4", candidates=4, within_r=0.5).sequential is None


@pytest.mark.parametrize(("sides", "low", "high"), [(2, 0.78, 0.88), (1, 0.95, 1.08)])
def test_the_mean_stopping_time_is_as_stated(sides, low, high):
    """A two-sided normal-mixture sequence on a drifting walk stops after the stated part of the fixed number."""
    chance = np.random.default_rng(31)
    drift = {1: 1.6448536, 2: 1.9599640}[sides] + 1.2815516
    t = np.arange(1, 2001) / 2000 * 4
    walk = np.cumsum(chance.normal(drift * t[0], np.sqrt(t[0]), (600, len(t))), axis=1)
    rho2 = 12.0
    bound = np.sqrt(2 * (t * rho2 + 1) / rho2 * np.log(np.sqrt(t * rho2 + 1) / 0.05))
    crossed = np.abs(walk) >= bound
    stopped = np.where(crossed.any(axis=1), t[crossed.argmax(axis=1)], t[-1])
    assert low <= stopped.mean() <= high
    assert np.quantile(stopped, 0.9) <= 2.0


def test_a_question_states_its_threshold():
    """within_r>=0.4 is within_r>=r0 with r0 .4; blanks and case do not matter."""
    stated = plan(question="within_r >= 0.4", candidates=4, within_r=0.5)
    assert stated.to_dict() == plan(question="Within_r>=r0", candidates=4, within_r=0.5, r0=0.4).to_dict()
    assert stated.prompts == 182


def test_a_plan_prints_as_a_page():
    """str() gives the verdict, the counts and the sentences; repr stays short."""
    found = plan(question="recovery>0", candidates=4, within_r=0.3)
    text = str(found)
    assert text.startswith("Plan for recovery>0: feasible")
    assert "192" in text
    assert "One-sided" in text
    assert len(repr(found)) < 300


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"question": "best?"}, "unknown question.*recovery>0, recovery, within_r>=r0, a-vs-b, margin, equivalence"),
        ({"question": "recovery>0", "candidates": 4}, "needs within_r"),
        ({"question": "recovery", "candidates": 4, "within_r": 0.3}, "needs half_width"),
        ({"question": "margin"}, "needs effect"),
        ({"question": "margin", "effect": 0.0}, "effect is 0.0"),
        ({"question": "margin", "effect": 0.6}, "effect is 0.6"),
        ({"question": "margin", "effect": float("nan")}, "effect is nan"),
        ({"question": "margin", "effect": 0.1, "candidates": 4}, "candidates means nothing to the question margin"),
        ({"question": "margin", "effect": 0.1, "judge_cost": 1.0}, "judge_cost means nothing"),
        ({"question": "margin", "effect": 0.1, "raters": 3}, "resemble each other is not said"),
        ({"question": "margin", "effect": 0.1, "icc": 0.3}, "one rater"),
        ({"question": "margin", "effect": 0.1, "icc": 0.3, "raters": 2, "one_cluster": True}, "contradict"),
        ({"question": "margin", "effect": 0.1, "method": "score"}, "unknown method"),
        ({"question": "margin", "effect": 0.1, "power": 1.0}, "power is 1.0"),
        ({"question": "margin", "effect": 0.1, "labels": 2.5}, "labels is 2.5"),
        ({"question": "margin", "effect": 0.1, "tie_rate": 1.0}, "tie_rate is 1.0"),
        ({"question": "recovery>0", "candidates": 1, "within_r": 0.3}, "candidates is 1"),
        ({"question": "recovery>0", "candidates": 4, "within_r": 0.3, "design": "pairs"}, "unknown design"),
        ({"question": "recovery>0", "candidates": 4, "within_r": 0.3, "method": "paper"}, "about votes"),
        ({"question": "recovery>0", "candidates": 4, "within_r": 0.3, "tie_rate": 0.1}, "tie_rate means nothing"),
        ({"question": "recovery", "candidates": 4, "within_r": 0.3, "half_width": 0.1, "power": 0.8}, "power means"),
        ({"question": "within_r>=0.5", "candidates": 4, "within_r": 0.5}, "not above r0"),
        ({"question": "within_r>=0.4", "candidates": 4, "within_r": 0.5, "raters": 2, "icc": 0.1}, "raters means"),
        ({"question": "a-vs-b", "candidates": 4, "within_r": 0.5, "rival_r": 0.5}, "no difference to find"),
        (
            {"question": "a-vs-b", "candidates": 4, "within_r": 0.95, "rival_r": 0.94, "error_correlation": 0.99},
            "all but one judge",
        ),
        ({"question": "equivalence", "effect": 0.1, "method": "paper"}, "about votes"),
        ({"question": "equivalence", "pilot": "28/50"}, "from a bound"),
        ({"question": "margin", "effect": 0.1, "pilot": "28/50"}, "both a pilot and effect"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(asked, words):
    """One line that says what is wrong and how to mend it."""
    with pytest.raises(UsageError, match=words) as refused:
        plan(**asked)
    assert refused.value.hint
    assert "\n" not in str(refused.value)
