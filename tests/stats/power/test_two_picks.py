from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from bonwise.planning.normal_picks import score_correlation, two_picks, win_share

CORRELATIONS = st.floats(-0.9, 0.9)


def density(x):
    """Return the standard normal density."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@settings(max_examples=30, deadline=None)
@given(CORRELATIONS, CORRELATIONS, CORRELATIONS)
def test_two_candidates_follow_from_the_angles_between_three_normals(r_a, r_b, errors):
    """With n = 2 disagreement is an angle and a win an orthant, both in closed form."""
    rho = score_correlation(r_a, r_b, errors)
    assume(abs(rho) < 0.9)
    apart = math.acos(rho) / math.pi
    assert two_picks(2, r_a, r_b, errors).disagree == pytest.approx(apart, abs=1e-7)
    ahead = 1 / 8 + (math.asin(r_a) - math.asin(r_b) - math.asin(rho)) / (4 * math.pi)
    assert win_share(2, r_a, r_b, errors) == pytest.approx(2 * ahead / apart, abs=2e-3)


def below_mean(joint, score, top):
    """Sum up, over a rival's score below `top`, its density given the own score, and the label's mean there."""
    rho, on_own, on_other = joint
    spread, step = math.sqrt(1 - rho * rho), 0.02
    chance = mean = 0.0
    t = top - step / 2  # downwards, so that no cell reaches beyond `top`
    while t > rho * score - 6 * spread:
        part = density((t - rho * score) / spread) / spread * step
        chance += part
        mean += part * (on_own * score + on_other * t)
        t -= step
    return chance, mean


def looped(n, r_a, r_b, rho):
    """Add up disagreement and product of labels over a grid of both scores."""
    rest, step = 1 - rho * rho, 0.3
    on_a, on_b = (r_a - rho * r_b) / rest, (r_b - rho * r_a) / rest
    left = 1 - on_a * r_a - on_b * r_b
    grid = [step * i for i in range(-18, 19)]
    law = multivariate_normal([0.0, 0.0], [[1.0, rho], [rho, 1.0]])
    disagree = product = 0.0
    for a in grid:
        for b in grid:
            below, both = float(law.cdf([a, b])), float(law.pdf([a, b]))
            if below <= 0:
                continue
            same = n * both * below ** (n - 1) * step**2
            product += same * ((on_a * a + on_b * b) ** 2 + left)
            weight = n * (n - 1) * density(a) * density(b) * below ** (n - 2) * step**2
            if weight < 1e-9:
                continue
            mine, label_a = below_mean((rho, on_a, on_b), a, b)
            other, label_b = below_mean((rho, on_b, on_a), b, a)
            disagree += weight * mine * other
            product += weight * label_a * label_b
    return disagree, product


@settings(max_examples=3, deadline=None)
@example(2, 0.625, 0.2109375, 0.0)
@given(st.integers(2, 9), st.floats(0.1, 0.8), st.floats(-0.3, 0.8), st.floats(-0.5, 0.7))
def test_two_picks_are_the_sums_of_a_plain_loop(n, r_a, r_b, errors):
    """Disagreement and product equal those added up cell by cell over a coarse grid."""
    rho = score_correlation(r_a, r_b, errors)
    assume(abs(rho) < 0.75)
    found = two_picks(n, r_a, r_b, errors)
    disagree, product = looped(n, r_a, r_b, rho)
    assert found.disagree == pytest.approx(disagree, abs=1e-4)
    assert found.product == pytest.approx(product, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(CORRELATIONS, CORRELATIONS, CORRELATIONS, st.integers(2, 8))
def test_judges_that_change_places_change_sides(r_a, r_b, errors, n):
    """Disagreement and product stay, wins become losses."""
    assume(abs(score_correlation(r_a, r_b, errors)) < 0.9)
    one, other = two_picks(n, r_a, r_b, errors), two_picks(n, r_b, r_a, errors)
    assert np.array(one) == pytest.approx(np.array(other), abs=1e-9)
    assert win_share(n, r_a, r_b, errors) + win_share(n, r_b, r_a, errors) == pytest.approx(1.0, abs=2e-3)
