from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.bill import Bill
from bonwise.selection.selection import Comparison, Routed, Selection
from bonwise.selection.totals import UNASKED, Totals

SETTINGS = {
    "judge": "j",
    "judge_version": "1",
    "strategy": "greedy",
    "seed": 0,
    "parameters": [],
    "on_failure": "owe",
    "version": "1.2.3",
}


def selection(**more):
    """Return a pick of two candidates."""
    given = {
        "prompt_id": "p",
        "best": "a",
        "best_id": "a",
        "index": 0,
        "text": "the text",
        "ids": ("a", "b"),
        "scores": (1.0, None),
        "ranking": ("a",),
        "tied": (),
        "decided_by": "score",
        "unscored": {"b": "empty answer"},
        "settings": SETTINGS,
        "stopped": "every candidate was scored once",
    }
    return Selection(**{**given, **more})


def totals(*picks):
    """Return the totals of picks."""
    found = Totals()
    for pick in picks:
        found.note(pick)
    return found.record().to_dict()


def test_counts_are_those_of_the_picks():
    """Pools, candidates, ties, reasons and failures are counted."""
    found = totals(
        selection(),
        selection(decided_by="tie-break", tied=("a", "b"), unscored={}),
        selection(decided_by="owed", best_id=None, index=None, failure="no answer", unscored={"a": "x", "b": "x"}),
    )
    assert (found["pools"], found["candidates"], found["picked"], found["tied"]) == (3, 6, 2, 1)
    assert found["decided_by"] == {"score": 1, "tie-break": 1, "owed": 1}
    assert found["unscored"] == {"x": 2, "empty answer": 1}
    assert found["failures"] == {"no answer": 1}


def test_an_unknown_cost_hides_no_other():
    """The cost is that of the pools whose cost is known, and the others are counted; tokens are of all."""
    bills = Bill(calls=1, input_tokens=5, cost=0.5), Bill(calls=2, input_tokens=7, cost=None), Bill(from_ledger=3)
    found = totals(*(selection(bill=bill) for bill in bills))
    assert (found["cost"], found["unpriced"]) == (0.5, 1)
    assert (found["calls"], found["answers"], found["input_tokens"]) == (3, 6, 12)


def test_order_and_routes_are_summed():
    """The order effect is the mean over pairs in both orders; what a router sent and changed is counted."""
    pairs = (Comparison("a", "b", 1.0, 0.0), Comparison("a", "b", 0.5, 1.0), Comparison("a", "b", None, None))
    sent = Routed("strong", 0.3, "signal above", first_pick="b")
    kept = Routed(None, 0.1, "signal below", first_pick="a")
    found = totals(selection(comparisons=pairs, routed=sent), selection(routed=kept))
    assert found["order"] == {"pairs": 2, "advantage": 0.5, "differing": 1, "without_verdict": 1}
    assert found["routed"] == {"seen": 2, "sent": 1, "changed": 1, "reasons": {"signal above": 1, "signal below": 1}}


def test_a_lead_of_whichever_was_shown_differs():
    """A pair differs with its order where being shown first helped, and where it hurt."""
    pairs = (Comparison("a", "b", 0.5, 1.0), Comparison("a", "b", 0.5, -1.0), Comparison("a", "b", 1.0, 0.0))
    assert totals(selection(comparisons=pairs))["order"]["differing"] == 2


def test_a_change_of_strength_is_none_of_side():
    """Pairs where one candidate is preferred in both orders, or where rounding alone differs, do not differ."""
    pairs = (Comparison("a", "b", 0.8, 0.2), Comparison("a", "b", 0.5, 1e-16), Comparison("a", "b", 0.55, 0.1))
    assert totals(selection(comparisons=pairs))["order"]["differing"] == 1


def test_a_second_opinion_that_agrees_changes_nothing():
    """A pool that was sent on and kept its first pick is sent, and not changed."""
    agreed = Routed("strong", 0.3, "signal above", first_pick="a")
    found = totals(selection(routed=agreed))["routed"]
    assert (found["sent"], found["changed"]) == (1, 0)


def test_one_candidate_ties_with_nobody():
    """A tie takes two: a single best candidate is none."""
    assert totals(selection(tied=("a",)), selection(tied=("a", "b")))["tied"] == 1


@pytest.mark.parametrize("how", sorted(UNASKED))
def test_where_no_strategy_came_to_its_end_none_stopped(how):
    """Why a strategy stopped is counted of the pools that it decided, and of no others."""
    found = totals(selection(decided_by=how), selection(stopped="time"))
    assert found["stopped"] == {"time": 1}


def test_a_known_reason_keeps_its_name():
    """A reason that has its place is counted there also when all places are taken."""
    others = (selection(unscored={"b": f"request {at} refused"}) for at in range(150))
    found = totals(selection(), *others, selection())["unscored"]
    assert (found["empty answer"], found["other reasons"]) == (2, 51)


def test_reasons_are_bounded():
    """A thousand reasons that all differ take a hundred places and one for the others."""
    found = totals(*(selection(unscored={"b": f"request {at} refused"}) for at in range(1000)))
    assert len(found["unscored"]) == 101
    assert sum(found["unscored"].values()) == 1000


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=60))
def test_latencies_are_exact_to_a_hundredth(seconds):
    """The quantile is the latency of the pool at that place, within 1 % (and a thousandth of a second)."""
    found = totals(*(selection(latency=one) for one in seconds))["latency"]
    for name, part in (("half", 0.5), ("most", 0.95)):
        exact = sorted(seconds)[math.ceil(part * len(seconds)) - 1]
        assert math.isclose(found[name], exact, rel_tol=0.011, abs_tol=0.002)
    assert math.isclose(found["mean"], math.fsum(seconds) / len(seconds), abs_tol=0.001)
    assert found["longest"] == round(max(seconds), 3)


def test_totals_of_nothing_are_json():
    """Without a pool the figures are 0 or null."""
    assert json.loads(json.dumps(totals(), allow_nan=False))["latency"] is None
