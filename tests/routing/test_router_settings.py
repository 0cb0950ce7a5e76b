from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, UsageError
from bonwise.routing.control import FirstPass
from bonwise.routing.router import Router
from bonwise.routing.saved import SavedRouter
from bonwise.table.verdicts import Score
from selection.drawn_settings import LOCAL, length, routers

WIDTHS = st.lists(st.floats(0, 1), min_size=1, max_size=60)


def through_json(router):
    """Return the router that a file of its settings makes."""
    return Router.from_dict(json.loads(json.dumps(router.to_dict(), allow_nan=False)))


def unpickled(router):
    """Return what comes out of a pickle of it."""
    return pickle.loads(pickle.dumps(router))  # noqa: S301 - it was made here


WAYS = pytest.mark.parametrize("way", [through_json, unpickled, copy.copy, copy.deepcopy])


def routes_of(router, widths):
    """Route pools whose intervals have these widths."""
    return [
        router.consider(FirstPass([Score(0.5, low=0.5 - one / 2, high=0.5 + one / 2), Score(0.4)]), key=f"p{at}")
        for at, one in enumerate(widths)
    ]


@given(router=routers())
@WAYS
@settings(max_examples=30)
def test_settings_come_back(way, router):
    """Of any router: by a mapping through JSON, by a pickle, by a copy."""
    again = way(router)
    assert again.to_dict() == router.to_dict()
    assert (again.strong.version, again.among) == (router.strong.version, router.among)
    assert (again.second is None) == (router.second is None)
    assert again.report() == router.report()


@given(seed=st.integers(0, 99), share=st.floats(0.05, 1), cap=st.booleans(), before=WIDTHS, widths=WIDTHS)
@WAYS
@settings(max_examples=30)
def test_what_was_seen_stays_behind(way, seed, share, cap, before, widths):
    """A copy of a router that has seen pools routes as one just made, and does not count for the original."""
    steering = {"share": share, "seed": seed, "window": 20, "cap": cap}
    judge = bw.judge_from_spec("local:length")
    router = Router(judge, **steering)
    routes_of(router, before)
    report = router.report()
    again = way(router)
    assert again.report().seen == 0
    assert routes_of(again, widths) == routes_of(Router(judge, **steering), widths)
    assert router.report() == report


@given(
    judge=LOCAL,
    values=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    share=st.floats(0.05, 1),
    widths=WIDTHS,
)
@WAYS
@settings(max_examples=30)
def test_a_saved_router_comes_back(way, judge, values, share, widths):
    """The values of its study too, by which the very first pools are ranked; its file is needed no longer."""
    saved = SavedRouter.of("interval_width", share, max(values), np.sort(np.array(values)), judge="weak")
    router = Router(judge, saved)
    again = way(router)
    assert again.share == share
    assert routes_of(again, widths) == routes_of(Router(judge, saved), widths)
    assert again.to_dict() == router.to_dict()
    assert again.to_dict()["signal"]["schema"] == "bonwise.router/1"


@pytest.mark.parametrize(
    ("mapping", "said", "mend"),
    [
        ({}, "router has no strong", "state strong"),
        ([], "router must be a mapping, not list", "its keys are strong"),
        ({"strong": "local:length", "shares": 0.5}, "router has no key 'shares'", "share, among"),
        ({"strong": 5}, "router.strong must be a mapping, not int", "spec, base_url, seed"),
        ({"strong": {"spec": "local:length", "seed": "x"}}, "router.strong has the seed 'x'", "whole number"),
        ({"strong": "local:length", "seed": "x"}, "router.seed is 'x'", "whole number"),
        ({"strong": "local:length", "cap": 1}, "router.cap is 1", "true or false"),
        ({"strong": "local:length", "share": "half"}, "share is 'half'", "from 0 to 1"),
        ({"strong": "local:length", "signal": {"signal": "margin"}}, "router.signal is no saved router", "--save"),
    ],
)
def test_a_mapping_that_means_nothing_is_refused(mapping, said, mend):
    """With one line, and a hint that says how to mend it."""
    with pytest.raises(UsageError) as caught:
        Router.from_dict(mapping)
    assert said in caught.value.message
    assert mend in caught.value.hint


@pytest.mark.parametrize("name", ["strong", "second"])
def test_a_function_is_refused(name):
    """No plain value states it; a pickle does."""
    judges = {"strong": bw.Pointwise("openai/m"), "second": bw.Pointwise("openai/m"), name: length}
    router = Router(judges["strong"], "disagreement", second=judges["second"])
    with pytest.raises(BonwiseError, match=f"router.{name} is the Python function length"):
        router.to_dict()
    assert getattr(unpickled(router), name).function is length
