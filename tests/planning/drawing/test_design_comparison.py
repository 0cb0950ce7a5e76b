from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import InputError
from bonwise.planning.drawing.design_comparison import compare_designs
from bonwise.testing import simulate


def two_judges(n, seed=1):
    """Return a simulated labelled table with a second, stronger judge."""
    frame = simulate("arena", n=n, seed=seed).frame().assign(judge="first")
    noise = np.random.default_rng(seed).normal(0, 0.11, len(frame))
    return pd.concat([frame, frame.assign(judge="second", judge_score=frame["oracle_label"] + noise)])


@pytest.fixture(scope="module")
def found():
    """Compare designs on a simulated arena with a second judge."""
    return compare_designs(two_judges(2000), judge="first", shares=[0.25, 0.5], draws=60, seed=1)


def test_labels_at_random_are_what_all_is_held_against(found):
    """Their ratio is 1 and has no draws of its own."""
    assert [one.labels_only for one in found.designs["uniform"]] == [1.0, 1.0]
    assert all(one.drawn is None for one in found.designs["uniform"])
    assert [one.labels for one in found.designs["rule"]] == [500, 1000]


def test_the_rule_saves_what_its_design_promises(found):
    """By variance: margin above 1, the rule below .65, with the second judge below .45, the optimum lowest."""
    at = {name: one[0] for name, one in found.designs.items()}
    assert at["margin"].labels_only > 1.3
    assert at["rule"].labels_only < 0.65
    assert at["rule_further"].labels_only < 0.45
    assert at["optimum"].labels_only == min(one.labels_only for one in at.values())
    assert at["rule_further"].with_scores < at["rule_further"].labels_only
    assert at["uniform"].with_scores < 0.65


def test_draws_agree_with_the_formula(found):
    """Each simulated ratio lies within four Monte-Carlo errors of the first-order one; of neyman the pilot costs."""
    for name, designs in found.designs.items():
        for one in designs:
            if one.drawn is not None and name != "neyman":
                assert abs(one.drawn.ratio - one.labels_only) < 4 * one.drawn.se + 0.02, name


def test_the_proxy_chain_has_intervals_and_shares_explained(found):
    """Each link has an interval by prompt, and its square as the share explained."""
    links = found.to_dict()["proxy_chain"]
    first = links[0]
    assert (first["from"], first["to"]) == ("judge_spread", "oracle_spread")
    assert first["correlation"]["low"] < first["correlation"]["estimate"] < first["correlation"]["high"]
    assert first["explained"] == pytest.approx(first["correlation"]["estimate"] ** 2)
    assert 0 <= first["explained_low"] <= first["explained"] <= first["explained_high"]
    assert {link["from"] for link in links} == {
        "judge_spread",
        "oracle_spread",
        "rule",
        "further_spread",
        "rule_further",
    }


def test_the_document_is_strict_and_the_page_says_what_nobody_can_do(found):
    """JSON without NaN; designs that look at labels are marked."""
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["schema"] == "bonwise.label_designs/1"
    assert [name for name, one in document["designs"].items() if not one["feasible"]] == ["label_spread", "optimum"]
    assert "optimum *" in str(found)
    assert "nobody can draw by them" in str(found)


def test_the_same_seed_gives_the_same_figures_whatever_the_order_of_rows():
    """Shuffled rows give the same document."""
    frame = two_judges(150)
    documents = [
        compare_designs(one, judge="first", shares=[0.3], draws=5).to_dict()
        for one in (frame, frame.sample(frac=1, random_state=3))
    ]
    assert documents[0] == documents[1]


def test_few_prompts_have_no_model():
    """Below a hundred prompts the column of the model is null, and said to be."""
    found = compare_designs(simulate("arena", n=60, seed=1).frame(), shares=[0.5], draws=5)
    assert found.designs["rule"][0].with_scores is None
    assert "too few prompts to fit" in str(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"shares": [0.0]}, "between 0 and 1"),
        ({"shares": [0.2, 0.2]}, "each once"),
        ({"shares": [0.01]}, "are 0 to label"),
        ({"draws": 1}, "at least 2"),
        ({"seed": -1}, "seed"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, words):
    """One line says what is wrong."""
    with pytest.raises(InputError, match=words):
        compare_designs(simulate("arena", n=40, seed=1).frame(), **arguments)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(oracle_label=f["oracle_label"].where(f.index > 40)), "are not completely labelled"),
        (lambda f: f.assign(oracle_label=0.5), "never differ"),
        (lambda f: f.assign(judge_score=0.5), "recovery is 0 in every prompt"),
    ],
)
def test_labels_that_say_nothing_are_refused(change, words):
    """Missing labels, labels that never differ, and a judge that ties everything."""
    with pytest.raises(InputError, match=words):
        compare_designs(change(simulate("arena", n=40, seed=1).frame()))


@pytest.mark.shared
def test_the_arena_sample_is_compared(shared):
    """On 99 labelled prompts margin is no better than random, and the optimum is best at every share."""
    found = compare_designs(
        shared / "data" / "arena100" / "scores.csv", exclude=["unhelpful"], shares=[0.25, 0.5], draws=20
    )
    assert found.counts["prompts"] == 99
    assert found.counts["recovery"] == pytest.approx(0.2126, abs=5e-4)
    for at in range(2):
        ratios = {name: one[at].labels_only for name, one in found.designs.items()}
        assert ratios["margin"] > 1
        assert ratios["optimum"] == min(ratios.values())
