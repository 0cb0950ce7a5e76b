"""Lemma 6 of Landesberg (2026): a monotone map of the scores keeps the picks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bonwise.studies.calibration.calibrators import cross_fitted, folds_of_prompts
from bonwise.studies.calibration.maps import isotonic_map
from bonwise.studies.calibration.pick_changes import pick_changes, rising_groups

LEVELS = 21


@st.composite
def pools(draw, least=2):
    """Draw scores on a grid of 21 levels, grouped by prompt, and the pool sizes."""
    sizes = np.array(draw(st.lists(st.integers(2, 6), min_size=least, max_size=15)))
    levels = draw(st.lists(st.integers(0, LEVELS - 1), min_size=int(sizes.sum()), max_size=int(sizes.sum())))
    return np.array(levels), sizes


@st.composite
def rising(draw, least):
    """Draw the heights of a map of the levels; each step is at least `least`."""
    steps = draw(st.lists(st.integers(least, 1000), min_size=LEVELS, max_size=LEVELS))
    return np.cumsum(steps) / 1000 - draw(st.integers(-5, 5))


@given(pools(), rising(1))
def test_a_strictly_rising_map_keeps_every_top(pool, heights):
    """The candidates at the top are the same ones, tied or not, on every prompt."""
    levels, sizes = pool
    whole, untied = pick_changes(levels / 20, heights[levels], sizes)
    assert whole.top_kept == whole.prompts == len(sizes)
    assert (whole.picks_changed, whole.picks_newly_tied, whole.ties_broken) == (0, 0, 0)
    assert untied.top_kept == untied.prompts


@given(pools(), rising(0))
def test_a_map_that_never_falls_keeps_the_raw_top_inside_the_new_one(pool, heights):
    """No pick changes and no tie is broken; a unique pick is kept or newly tied."""
    levels, sizes = pool
    whole, untied = pick_changes(levels / 20, heights[levels], sizes)
    assert (whole.picks_changed, whole.ties_broken) == (0, 0)
    assert untied.top_kept + untied.picks_newly_tied == untied.prompts


@given(pools(least=4), st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_cross_fitted_isotonic_calibration_changes_no_pick(pool, seed, folds):
    """One map serves a whole prompt, so that whatever the labels are no pick changes and no tie is broken."""
    levels, sizes = pool
    labels = np.random.default_rng(seed).random(len(levels)).round(1)
    owner = np.repeat(folds_of_prompts(len(sizes), folds, seed), sizes)
    calibrated = cross_fitted("isotonic", (levels / 20)[:, None], labels, owner, seed)
    whole, _ = pick_changes(levels / 20, calibrated, sizes)
    assert (whole.picks_changed, whole.ties_broken) == (0, 0)
    assert rising_groups(levels / 20, calibrated, owner) == len(np.unique(owner))


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), st.integers(0, 2**32 - 1))
def test_a_fitted_map_never_falls_between_the_values_it_saw(values, seed):
    """Heights at any values, seen or not, rise with the value to the last bit."""
    rng = np.random.default_rng(seed)
    fitted = isotonic_map(np.array(values), rng.standard_normal(len(values)))
    new = np.sort(np.concatenate([values, rng.uniform(-1100, 1100, 200)]))
    assert (np.diff(fitted.at(new)) >= 0).all()
