from __future__ import annotations

import copy
from functools import cache

import pytest

import bonwise as bw
from bonwise.report.route_text import route_text
from routing.tables import weak_judge


@cache
def studied():
    """Return the document of one judge's study."""
    return bw.route(weak_judge(150), share=0.1).to_dict()


def document():
    """Return it to be changed."""
    return copy.deepcopy(studied())


@pytest.mark.parametrize(("lift", "shown"), [(-1e-6, "+0.0000"), (1e-6, "+0.0000"), (-0.0123, "-0.0123")])
def test_no_lift_is_a_negative_zero(lift, shown):
    """What rounds to 0 from below is a plain 0, for a signal and for the perfect order; the rest keep their sign."""
    told = document()
    signals = [one["shares"] for one in told["signals"].values()]
    for one in (one for shares in (*signals, told["perfect"]) for one in shares):
        one["lift"] = lift
    text = route_text(told)
    assert shown in text
    assert "-0.0000" not in text


def test_no_other_figure_is_a_negative_zero():
    """A threshold, a bound and an expected gain a rounding error below 0 are 0 too."""
    told = document()
    told["recommendation"]["threshold"] = -0.0
    for one in told["bound"]:
        one["bound"]["estimate"] = -1e-9
    gain = {"estimate": -1e-9, "low": None, "high": None}
    told["budget"] = {"mean_calls": 2, "strong_cost": 9, "sentence": "s.", "gain": gain}
    told["budget"] |= {"route_only": -1e-9, "redraw_only": -1e-9}
    text = " ".join(route_text(told).split())
    assert "those above 0," in text
    assert "-0.0000" not in text


def test_the_recommendation_says_of_what_it_captures_a_part():
    """Beside the part captured stands what it is a part of; without a figure neither is named."""
    told = document()
    told["recommendation"]["captured"] |= {"estimate": 0.38, "low": 0.32, "high": 0.44}
    assert ", capturing 38% [32%, 44%] of the possible lift." in " ".join(route_text(told).split())
    told["recommendation"]["captured"] |= {"estimate": None, "low": None, "high": None}
    assert "capturing" not in route_text(told)
