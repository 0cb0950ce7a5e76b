"""Verdicts alone: the 44 LLMBar judges against plain counting, and what cannot be studied."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict

import pandas as pd
import pytest

from bonwise.errors import InputError, UsageError
from bonwise.studies.label_strategy.front import study_verdicts

ROLES = {
    "verdicts": ["winner_order1", "winner_order2"],
    "oracle": "gold",
    "prompt": ["dataset", "item"],
    "judge": ["llm", "strategy"],
}
TINY = pd.DataFrame({"item": range(4), "one": [1, 1, 2, "tie"], "two": [1, 2, 2, 2], "gold": [1, 1, 2, 2]})


@pytest.fixture(scope="module")
def path(shared):
    """Return the LLMBar verdicts."""
    return shared / "data" / "llmbar_verdicts.csv.gz"


@pytest.fixture(scope="module")
def study(path):
    """Study the LLMBar verdicts."""
    return study_verdicts(path, **ROLES)


@pytest.fixture(scope="module")
def counted(path):
    """Count what each judge said, row by row; a row without both verdicts is passed over."""
    counts = defaultdict(lambda: defaultdict(int))
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            one, two, gold = row["winner_order1"], row["winner_order2"], row["gold"]
            if not (one and two):
                continue
            mine = counts[f"{row['llm']} / {row['strategy']}"]
            one, two, gold = (int(float(cell)) for cell in (one, two, gold))
            mine["pairs"] += 1
            mine["first"] += one == gold
            mine["second"] += two == gold
            mine["tied"] += one != two
            mine["right"] += one == two == gold
            mine["shown first"] += (one == 1) + (two == 2)
    return counts


@pytest.mark.shared
def test_every_llmbar_judge_is_as_counted(study, counted):
    """Agreement of one order and of both, ties, accuracy of decided verdicts, order effect: all as plain counting."""
    assert set(study.judges) == set(counted)
    assert len(counted) == 44
    for name, judge in study.judges.items():
        c, ways, n = counted[name], judge["ways"], counted[name]["pairs"]
        expected = {
            ("first_order", "agreement"): c["first"] / n,
            ("second_order", "agreement"): c["second"] / n,
            ("both_orders", "agreement"): (c["right"] + c["tied"] / 2) / n,
            ("both_orders", "tie_rate"): c["tied"] / n,
            ("both_orders", "accuracy_decided"): c["right"] / (n - c["tied"]),
            ("first_order", "tie_rate"): 0.0,
        }
        for (way, metric), value in expected.items():
            assert ways[way][metric]["estimate"] == pytest.approx(value, abs=1e-12), (name, way, metric)
        # A pair gives the first shown two chances; it wins half of them where order does nothing.
        assert judge["order"]["first_shown_advantage"]["estimate"] == pytest.approx(c["shown first"] / n - 1)
        assert judge["order"]["flips"]["estimate"] == pytest.approx(c["tied"] / n)
        less = judge["minus_both_orders"]["first_order"]["agreement"]
        assert less["estimate"] == pytest.approx((c["first"] - c["second"]) / 2 / n)


@pytest.mark.shared
def test_both_columns_name_candidates_as_in_the_first_order(study):
    """No judge of LLMBar agrees with the labels in one column and against them in the other."""
    for name, judge in study.judges.items():
        first, second = (judge["ways"][way]["agreement"]["estimate"] for way in ("first_order", "second_order"))
        assert abs(first - second) < 0.07, name


@pytest.mark.shared
def test_two_orders_say_which_verdicts_to_trust(study):
    """GPT-4 with rules is right in .871 of the verdicts that both orders say, in .845 with ties counting one half."""
    ways = study.judges["GPT-4 / Vanilla"]["ways"]["both_orders"]
    assert ways["accuracy_decided"]["estimate"] == pytest.approx(0.871, abs=5e-4)
    assert ways["agreement"]["estimate"] == pytest.approx(0.845, abs=5e-4)
    falcon = study.judges["Falcon / CoT"]["order"]["flips"]
    assert falcon["low"] < falcon["estimate"] < falcon["high"]
    assert falcon["estimate"] == pytest.approx(0.873, abs=5e-4)


@pytest.mark.shared
def test_the_document_is_strict_json(study):
    """The document holds no NaN, and the frame a row for each way and metric of each judge."""
    document = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert (document["study"], document["kind"]) == ("label-strategy", "verdicts")
    assert len(study.to_frame()) == 44 * (3 * 3 + 2)


def test_a_tie_in_one_order_and_a_verdict_in_the_other():
    """A verdict beside a tie decides; verdicts that contradict each other tie."""
    found = study_verdicts(TINY, verdicts=["one", "two"], oracle="gold", prompt=["item"]).judges["judge"]
    both = {metric: one["estimate"] for metric, one in {**found["ways"]["both_orders"]}.items()}
    assert both == {"tie_rate": 0.25, "agreement": 0.875, "accuracy_decided": 1.0}
    assert found["order"]["flips"]["estimate"] == 0.5


def test_one_column_has_no_order_effect():
    """With one verdict column nothing is said of orders."""
    found = study_verdicts(TINY, verdicts=["one"], oracle="gold", prompt=["item"])
    assert found.judges["judge"]["order"] is None
    assert set(found.judges["judge"]["ways"]) == {"first_order"}
    assert "flips" not in str(found)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"verdicts": ["one", "one"]}, "verdict column 'one' is named twice"),
        ({"verdicts": ["one", "gold"]}, "verdict column 'gold' is a label column too"),
        ({"verdicts": ["item"]}, "verdict column 'item' is a prompt column too"),
        ({"verdicts": ["one", "two"], "judge": ["two"]}, "verdict column 'two' is a judge column too"),
        ({"verdicts": ["one", "two"], "pair": ["gold", "one"]}, "verdict column 'one' is a pair column too"),
    ],
)
def test_a_verdict_column_is_named_once_and_is_nothing_else(roles, message):
    """The same column as both orders would make any judge proof against the order; the label, any judge right."""
    with pytest.raises(UsageError, match=message) as refused:
        study_verdicts(TINY, **{"oracle": "gold", "prompt": ["item"], **roles})
    assert refused.value.hint
    assert "\n" not in str(refused.value)


def test_three_columns_are_refused():
    """There are two orders."""
    with pytest.raises(InputError, match="3 verdict columns"):
        study_verdicts(TINY, verdicts=["one", "two", "one"], oracle="gold", prompt=["item"])


@pytest.mark.shared
def test_llmbar_judges_on_different_pairs_are_said_not_to_compare(study):
    """Four of the 44 judges were asked about 885 pairs, the others about 419: the document and the text warn."""
    said = "Judges were asked about 419 to 885 pairs, not all about the same: compare only those with the same pairs."
    assert study.to_dict()["sentences"] == [said]
    assert said in " ".join(str(study).split())


def beside_each_other(*judges):
    """Return what is said of judges together; each is a list of items, a negative one without a verdict."""
    rows = [
        {"who": f"j{at}", "item": abs(item), "one": 1 if item > 0 else None, "gold": 1}
        for at, items in enumerate(judges)
        for item in items
    ]
    found = study_verdicts(pd.DataFrame(rows), verdicts=["one"], oracle="gold", prompt=["item"], judge=["who"])
    return list(found.to_dict()["sentences"])


def test_rows_left_out_make_no_other_pairs():
    """Judges of the same rows compare, also where one of them gave no verdict on some."""
    assert beside_each_other([1, 2, 3], [3, 2, 1]) == []
    assert beside_each_other([1, 2, 3], [1, -2, 3]) == []
    assert beside_each_other([1, 2, 3]) == []


def test_judges_of_as_many_other_pairs_do_not_compare():
    """As many pairs are not the same pairs."""
    (said,) = beside_each_other([1, 2, 3], [2, 3, 4])
    assert said.startswith("Judges were asked about 3 pairs each, not all about the same: ")
    (said,) = beside_each_other([1, 2, 3], [2, 3])
    assert said.startswith("Judges were asked about 2 to 3 pairs, ")


def test_pairs_of_one_prompt_are_told_apart():
    """Other pairs of the same prompts are other pairs."""
    rows = pd.DataFrame({"who": ["a", "a", "b", "b"], "item": 1, "pair": [1, 2, 1, 3], "one": 1, "gold": 1})
    roles = {"verdicts": ["one"], "oracle": "gold", "prompt": ["item"], "judge": ["who"], "pair": ["pair"]}
    assert len(study_verdicts(rows, **roles).sentences) == 1
    assert not study_verdicts(rows.assign(pair=[1, 2, 1, 2]), **roles).sentences
