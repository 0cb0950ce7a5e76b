from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from bonwise.factors.latent_regression import PromptFactors, joined_coefficients

TAGGED = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])


def chain(seed, draws=8, prompts=15, rank=2, noise=0.5):
    """Return draws of a contrast and of prompts' factors, and properties of the prompts."""
    rng = np.random.default_rng(seed)
    z = np.column_stack([np.ones(prompts), np.arange(prompts) % 2, rng.standard_normal(prompts)])
    centre = z @ rng.standard_normal((3, rank)) + rng.standard_normal((prompts, rank))
    contrast = rng.standard_normal(rank) + 0.1 * rng.standard_normal((draws, rank))
    return contrast, centre + noise * rng.standard_normal((draws, prompts, rank)), z


def looped(contrast, prompts, z):
    """Return estimate and covariance once more: one prompt, one draw, one step at a time."""
    draws, count, rank = prompts.shape
    target = prompts[-1]
    for _ in range(2):
        turns = [orthogonal_procrustes(prompts[d], target)[0] for d in range(draws)]
        prompts = np.array([prompts[d] @ turns[d] for d in range(draws)])
        contrast = np.array([turns[d].T @ contrast[d] for d in range(draws)])
        target = sum(prompts) / draws
    spread = [
        sum(np.outer(b[p] - a[p], b[p] - a[p]) for a, b in pairwise(prompts)) / (2 * (draws - 1))
        for p in range(count)
    ]
    between = sum(
        np.outer(one[p] - one.mean(axis=0), one[p] - one.mean(axis=0)) for one in prompts for p in range(count)
    ) / (draws * count)
    shrunk = [one @ np.linalg.inv(between) for one in spread]
    if max(np.linalg.eigvals(one).real.max() for one in shrunk) > 0.9:
        return None
    fits, moved = [], []
    for d in range(draws):
        weights = np.zeros((z.shape[1], rank))
        centre = prompts[d].mean(axis=0)
        for _ in range(250):
            # Each prompt moves towards what its tags expect; then the tags are fitted again.
            pulled = [prompts[d][p] + shrunk[p] @ (weights.T @ z[p] - centre) for p in range(count)]
            weights = np.linalg.lstsq(z, np.array(pulled), rcond=None)[0]
        fits.append(weights)
        moved.append(np.array([prompts[d][p] - shrunk[p] @ centre for p in range(count)]))
    betas = np.array([fit @ one for fit, one in zip(fits, contrast, strict=True)])
    width = z.shape[1]
    bread = sum(np.kron(np.outer(z[p], z[p]), np.eye(rank) - shrunk[p]) for p in range(count))
    inverse, fit, c = np.linalg.inv(bread), sum(fits) / draws, contrast.mean(axis=0)
    meat, single = np.zeros((width, width)), np.zeros((width, width))
    for p in range(count):
        residual = sum(one[p] for one in moved) / draws - (np.eye(rank) - shrunk[p]) @ fit.T @ z[p]
        lever = np.array([c @ (inverse @ np.kron(z[p], np.eye(rank)[k])).reshape(width, rank).T for k in range(rank)])
        meat += np.outer(lever.T @ residual, lever.T @ residual)
        single += lever.T @ spread[p] @ lever
    values, vectors = np.linalg.eigh(np.cov(betas.T) - single)
    shared = sum(max(value, 0) * np.outer(v, v) for value, v in zip(values, vectors.T, strict=True))
    return betas.mean(axis=0), meat * count / (count - width) + shared


def test_a_case_worked_by_hand():
    """Four prompts at 0, 0, 2, 2 of which each draw moves by a half.

    Steps of 1 give a variance of 1 / 2, that of all is 1 + 1 / 4, so 0.4 of it is open. The mean is 1. The first two
    prompts were pulled from x to 0 = 0.6 x + 0.4, the others from y to 2 = 0.6 y + 0.4.
    """
    up = np.array([0.5, -0.5, 2.5, 1.5])[:, None]
    down = np.array([-0.5, 0.5, 1.5, 2.5])[:, None]
    found = PromptFactors.of(np.ones((4, 1)), np.array([up, down, up, down]))
    assert found.spread.ravel() == pytest.approx([0.5] * 4)
    assert found.shrunk.ravel() == pytest.approx([0.4] * 4)
    coefficients = found.regression(TAGGED)
    assert coefficients.estimate == pytest.approx([-2 / 3, 10 / 3])
    assert coefficients.influences == pytest.approx(np.zeros((4, 2)), abs=1e-12)
    assert coefficients.explained.mean() > 0.8


def test_known_factors_give_least_squares_with_standard_errors_hc1():
    """Draws that do not differ leave nothing open: the figures are those of statsmodels."""
    statsmodels = pytest.importorskip("statsmodels.api")
    contrast, prompts, z = chain(3, noise=0.0)
    contrast[:] = contrast[0]
    found = PromptFactors.of(contrast, prompts).regression(z)
    expected = statsmodels.OLS(prompts[0] @ contrast[0], z).fit(cov_type="HC1")
    assert found.estimate == pytest.approx(expected.params)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(expected.bse)
    assert found.explained == pytest.approx(np.full(len(contrast), expected.rsquared_adj))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_plain_loops_find_the_same(seed):
    """Prompts moved and tags fitted in turn, until nothing changes."""
    contrast, prompts, z = chain(seed)
    again = looped(contrast, prompts, z)
    if again is None:
        return
    found = PromptFactors.of(contrast, prompts).regression(z)
    assert found.estimate == pytest.approx(again[0], rel=1e-6, abs=1e-8)
    assert found.covariance == pytest.approx(again[1], rel=1e-6, abs=1e-8)


def test_signs_and_order_of_the_skills_change_nothing():
    """A chain may swap two skills, or turn one round, from one draw to the next."""
    contrast, prompts, z = chain(5)
    plain = PromptFactors.of(contrast, prompts).regression(z)
    contrast[2:4] *= [-1, 1]
    prompts[2:4] *= [-1, 1]
    contrast[6:], prompts[6:] = contrast[6:, ::-1], prompts[6:, :, ::-1]
    turned = PromptFactors.of(contrast, prompts).regression(z)
    assert turned.estimate == pytest.approx(plain.estimate, rel=0.02, abs=0.01)
    assert PromptFactors.of(contrast, prompts).gaps == pytest.approx(np.einsum("dk,dpk->dp", contrast, prompts))


def test_prompts_without_weight_and_those_left_out_count_alike():
    """Of both, only the mean of all prompts is used."""
    contrast, prompts, z = chain(7)
    factors = PromptFactors.of(contrast, prompts)
    rows = np.arange(10)
    weight = np.arange(15) < 10
    one, other = factors.only(rows).regression(z[rows]), factors.regression(z, weight)
    assert one.estimate == pytest.approx(other.estimate)
    assert one.covariance == pytest.approx(other.covariance)
    assert one.explained == pytest.approx(other.explained)


def test_joined_regressions_keep_their_variances():
    """Two regressions side by side have the covariances of each, and one between them."""
    contrast, prompts, z = chain(9)
    factors = PromptFactors.of(contrast, prompts)
    parts = [factors.regression(z[:, :2]), factors.regression(z[:, [0, 2]])]
    whole = joined_coefficients(parts)
    assert whole.estimate == pytest.approx(np.concatenate([one.estimate for one in parts]))
    between = whole.influences.T @ whole.influences
    assert between[:2, :2] == pytest.approx(parts[0].influences.T @ parts[0].influences)
    assert np.linalg.eigvalsh(whole.covariance).min() > -1e-9
