from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.labels.recovery_variance import (
    by_strata,
    design_variance,
    drawn_recoveries,
    effective_sample_size,
    pilot_size,
    two_phase,
    variance_ratio,
    width_ratio,
)

VALUES = st.lists(st.integers(-3, 3).map(float), min_size=5, max_size=7)


@given(VALUES, st.integers(1, 2), st.integers(1, 3))
def test_the_formula_is_the_variance_over_all_samples(values, first, second):
    """Enumerating every stratified sample gives the variance of the weighted mean to 1e-12."""
    phi = np.array(values)
    found = np.array([0, 0] + [1] * (len(phi) - 2))
    counts, held = np.array([first, second]), np.bincount(found)
    means = [
        sum(held[h] / counts[h] * phi[list(part)].sum() for h, part in enumerate(sample)) / len(phi)
        for sample in product(combinations((0, 1), first), combinations(range(2, len(phi)), second))
    ]
    assert design_variance(phi, found, counts) == pytest.approx(np.var(means), abs=1e-12)


def test_draws_have_the_variance_of_the_formula():
    """With a constant denominator recoveries of 3,000 draws vary as the formula says, within 10 %."""
    rng = np.random.default_rng(1)
    found, counts = np.repeat([0, 1], [60, 40]), np.array([10, 20])
    gain, best = rng.normal(size=100) * (1 + 2 * found), np.ones(100)
    recoveries = drawn_recoveries((gain, best), by_strata(found, counts), 3000, (1,))
    assert recoveries.var() == pytest.approx(design_variance(gain, found, counts), rel=0.1)
    assert abs(recoveries.mean() - gain.mean()) < 4 * recoveries.std() / np.sqrt(3000)


def test_the_width_ratio_is_that_of_the_neyman_formula():
    """In proportion to N_h sd_h the ratio is sqrt(b + (1 - R2)(g - b)), g = (E sd)^2 / E sd^2."""
    prompts, sd = np.array([400, 100]), np.array([1.0, 4.0])
    counts = np.array([50, 50])
    g = 1.6**2 / (0.8 + 0.2 * 16)
    assert width_ratio(prompts, counts, sd) == pytest.approx(np.sqrt(g))
    assert width_ratio(prompts, counts, sd, 0.5) == pytest.approx(np.sqrt(0.2 + 0.5 * (g - 0.2)))


def test_a_stratum_without_a_draw_is_left_out():
    """All-tied prompts that no pair is drawn from change neither the ratio nor the effective sample size."""
    prompts, counts, sd = np.array([50, 30]), np.array([10, 0]), np.array([1.0, 0.0])
    assert width_ratio(prompts, counts, sd) == pytest.approx(1.0)
    assert effective_sample_size(prompts, counts) == pytest.approx(10)


def test_two_phases_label_as_many_as_asked_and_weigh_by_what_was_labelled():
    """Weights of the drawn prompts sum to all prompts, in each stratum."""
    rng = np.random.default_rng(1)
    found = rng.integers(0, 3, 300)
    draw = two_phase((rng.normal(size=300) * (1 + found), rng.random(300)), found, 90)
    taken, weights = draw(np.random.default_rng(2))
    assert taken.sum() == 90
    assert np.bincount(found, weights=weights * taken) == pytest.approx(np.bincount(found))


@pytest.mark.parametrize(("labels", "expected"), [(10, 10), (60, 20), (250, 50), (251, 51)])
def test_a_pilot_is_a_fifth_and_at_least_twenty(labels, expected):
    """A fifth of the labels rounded up, no fewer than 20, no more than there are."""
    assert pilot_size(labels) == expected


def test_a_comparison_with_no_variance_is_none():
    """Where draws at random never vary, or recovery is undefined, there is no ratio."""
    assert variance_ratio(np.ones(3), np.zeros(3), 0.0) is None
    assert variance_ratio(np.full(3, np.nan), np.ones(3), 0.0) is None


def test_recovery_of_labels_that_never_differ_is_undefined():
    """Without a label above the mean there is nothing to divide by."""
    nothing = np.zeros(4), np.zeros(4)
    found = drawn_recoveries(nothing, by_strata(np.zeros(4, dtype=int), np.array([2])), 3, (0,))
    assert np.isnan(found).all()
