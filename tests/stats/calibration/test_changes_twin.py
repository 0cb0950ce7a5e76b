"""What calibration changes, once more in plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import NOT_DISTINGUISHABLE
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.level_bias import largest_bias
from bonwise.stats.sums import prompt_sums
from bonwise.studies.calibration.pick_changes import pick_changes, tie_break_agreement
from bonwise.studies.calibration.refits import relative_change
from bonwise.testing import simulate
from stats.twins import metrics

GLOBAL_R = [e for e in ESTIMANDS if e.name == "global_r"]


@st.composite
def scored(draw):
    """Draw ragged pools of raw scores, calibrated scores and labels on small grids."""
    sizes = np.array(draw(st.lists(st.integers(2, 5), min_size=2, max_size=12)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = int(sizes.sum())
    return rng.integers(0, 4, cells) / 4, rng.integers(0, 6, cells) / 6, rng.integers(0, 3, cells) / 2, sizes


def prompts_of(sizes, *columns):
    """Yield each prompt's lists."""
    ends = np.cumsum(sizes)
    for last, size in zip(ends.tolist(), sizes.tolist(), strict=True):
        yield tuple(column[last - size : last].tolist() for column in columns)


def tops(values):
    """Return the positions of the highest value."""
    return {i for i, value in enumerate(values) if value == max(values)}


@given(scored())
def test_pick_changes_are_those_of_sets(case):
    """Each count is that of a plain loop over sets of candidates."""
    raw, calibrated, _, sizes = case
    pairs = [(tops(one), tops(other)) for one, other in prompts_of(sizes, raw, calibrated)]
    for found, some in zip(
        pick_changes(raw, calibrated, sizes), (pairs, [p for p in pairs if len(p[0]) == 1]), strict=True
    ):
        assert found.to_dict() == {
            "prompts": len(some),
            "picks_changed": sum(not a & b for a, b in some),
            "picks_newly_tied": sum(len(a) == 1 and a < b for a, b in some),
            "ties_broken": sum(bool(a & b) and not a <= b for a, b in some),
            "top_kept": sum(a == b for a, b in some),
        }


def broken(prompts):
    """Count the raw ties that are told apart where labels differ, and those that go the labels' way."""
    agree = pairs = 0
    for raw, calibrated, labels in prompts:
        for i, j in combinations(range(len(raw)), 2):
            product = (calibrated[i] - calibrated[j]) * (labels[i] - labels[j])
            pairs += raw[i] == raw[j] and product != 0
            agree += raw[i] == raw[j] and product > 0
    return agree / pairs if pairs else None


@given(scored())
def test_tie_breaks_are_those_of_a_loop_over_pairs(case):
    """The share and its jackknife error are those of a loop that leaves each prompt out."""
    raw, calibrated, labels, sizes = case
    prompts = list(prompts_of(sizes, raw, calibrated, labels))
    found = tie_break_agreement(raw, calibrated, labels, sizes, confidence=0.95)
    assert found.estimate == (pytest.approx(broken(prompts)) if broken(prompts) is not None else None)
    left_out = [broken(prompts[:x] + prompts[x + 1 :]) for x in range(len(prompts))]
    if found.se:
        n = len(prompts)
        around = sum((one - np.mean(left_out)) ** 2 for one in left_out)
        assert found.se == pytest.approx(((n - 1) / n * around) ** 0.5)


@given(st.integers(5, 20), st.integers(0, 2**32 - 1))
def test_a_relative_change_is_that_of_a_loop(prompts, seed):
    """Ratio less 1 and jackknife error are those of a loop that leaves each prompt out."""
    rng = np.random.default_rng(seed)
    labels = rng.random((prompts, 3))
    raw = labels + 0.2 * rng.standard_normal(labels.shape)
    after = raw + 0.2 * rng.standard_normal(labels.shape)
    sizes = np.full(prompts, 3)
    sums = [prompt_sums(one.ravel(), labels.ravel(), sizes) for one in (after, raw)]
    found = relative_change(GLOBAL_R, sums[0], sums[1], IntervalRule())["global_r"]

    def ratio(kept):
        now, before = (
            metrics([(one[x].tolist(), labels[x].tolist()) for x in kept])["global_r"] for one in (after, raw)
        )
        return now / before - 1

    every = range(prompts)
    left_out = [ratio([x for x in every if x != gone]) for gone in every]
    if found.estimate is not None:
        assert found.estimate == pytest.approx(ratio(every), abs=1e-8)
        assert found.se == pytest.approx(((prompts - 1) ** 2 / prompts * np.var(left_out, ddof=1)) ** 0.5, rel=1e-6)


def test_nothing_is_divided_by_a_metric_that_may_be_0():
    """Where the raw correlation cannot be told from 0 there is no relative change, and a reason."""
    rng = np.random.default_rng(0)
    raw, labels, sizes = rng.random(80), rng.random(80), np.full(20, 4)
    sums = prompt_sums(raw, labels, sizes)
    found = relative_change(GLOBAL_R, sums, sums, IntervalRule())["global_r"]
    assert (found.estimate, found.reason) == (None, NOT_DISTINGUISHABLE)


def test_the_largest_bias_is_worked_by_hand():
    """Candidate a is off by 0 and .2, b by .4 and .2: b is the worst with .3, se .1."""
    labels = np.array([0.5, 0.5, 0.5, 0.7])
    residuals, names = np.array([0.0, 0.4, 0.2, 0.2]), np.array([0, 1, 0, 1])
    found = largest_bias(residuals, labels, np.array([2, 2]), names, confidence=0.95)
    assert (found.estimate, found.se, found.n) == (pytest.approx(0.3), pytest.approx(0.1), 2)


def test_without_recurring_names_there_is_no_level():
    """Candidates that each are in one prompt have no mean to be off."""
    drawn = simulate("arena", n=10, seed=1)
    labels = drawn.labels.ravel()
    found = largest_bias(labels, labels, np.full(10, 4), np.arange(40), confidence=0.95)
    assert found.estimate is None
    assert "recur" in found.reason
