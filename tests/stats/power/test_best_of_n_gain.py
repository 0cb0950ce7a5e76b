from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.planning.normal_picks import (
    complete_contrast,
    largest_of_normals,
    recovery_residual,
    score_correlation,
    two_label_contrast,
    two_picks,
    win_share,
)
from bonwise.stats.beliefs import best_of_normals
from bonwise.stats.sample_size import correlation_pairs, critical_value, mean_units, paper_votes
from golden_tables import golden


def pools(n, r, prompts, seed):
    """Draw labels and scores, jointly normal within prompts."""
    chance = np.random.default_rng(seed)
    labels = chance.standard_normal((prompts, n))
    return labels, r * labels + np.sqrt(1 - r * r) * chance.standard_normal((prompts, n))


def picked(labels, scores):
    """Return the picks' labels."""
    return labels[np.arange(len(labels)), scores.argmax(axis=1)]


@pytest.mark.parametrize(
    ("n", "e", "v"), [(2, 0.5642, 0.6817), (4, 1.0294, 0.4917), (8, 1.4236, 0.3729), (16, 1.7660, 0.2950)]
)
def test_the_largest_of_normals_has_the_known_moments(n, e, v):
    """Mean and variance as integrated numerically elsewhere, the mean as in the posterior of the best."""
    found = largest_of_normals(n)
    assert found == pytest.approx((e, v), abs=5e-5)
    assert found[0] == pytest.approx(best_of_normals(np.zeros((1, n)), np.ones((1, n))).regret[0], abs=1e-8)


def looped(n, r):
    """Add up mean and second moment of both contrasts over the highest score and a lower one, by plain loops."""
    step = 0.05
    complete, two, second = 0.0, [0.0, 0.0], 0.0
    below = mean = square = 0.0  # of a standard normal value below x: chance, and parts of its first two moments
    for i in range(-160, 160):
        x = step * (i + 0.5)
        part = step * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        half = (below + part / 2, mean + part * x / 2, square + part * x * x / 2)
        chance = n * part * half[0] ** (n - 1)
        if half[0] > 1e-12:
            low, spread = half[1] / half[0], max(0.0, half[2] / half[0] - (half[1] / half[0]) ** 2)
            apart = (x - low) * (n - 1) / n
            complete += chance * r * apart
            second += chance * (r * r * (apart**2 + spread * (n - 1) / n**2) + (1 - r * r) * (1 - 1 / n))
            two[0] += chance * r * (x - low)
            two[1] += chance * (r * r * ((x - low) ** 2 + spread) + 2 * (1 - r * r))
        below, mean, square = below + part, mean + part * x, square + part * x * x
    return (complete, second - complete**2), (two[0], two[1] - two[0] ** 2)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 32), st.floats(-1, 1))
def test_contrasts_are_the_sums_of_a_plain_loop(n, r):
    """Mean and variance of both, from the law of the highest score and of one below it, added up value by value."""
    complete, two = looped(n, r)
    assert complete_contrast(n, r) == pytest.approx(complete, abs=4e-3)
    assert two_label_contrast(n, r) == pytest.approx(two, abs=3e-3)


@settings(deadline=None, max_examples=25)
@given(st.floats(-0.98, 0.98))
def test_the_residual_of_two_candidates_has_a_closed_form(r):
    """With n = 2 the pick's and the best label's contrasts are halves of one difference of normals."""
    closed = math.pi * (1 + r * r) / 2 - 2 * r * (math.asin(r) + r * math.sqrt(1 - r * r))
    assert recovery_residual(2, r) == pytest.approx(closed, abs=1e-5)


@pytest.mark.parametrize("row", golden("plan_best_of_n"), ids=lambda row: f"{row['candidates']}-{row['within_r']}")
def test_prompts_and_labels_are_those_of_the_golden_table(row):
    """Both designs, to the printed digit."""
    n, r = int(row["candidates"]), float(row["within_r"])
    for design, contrast, each in (("complete", complete_contrast, n), ("two_label", two_label_contrast, 2)):
        prompts = mean_units(contrast(n, r).standardised, 0.9, 0.95, 1)
        printed = row[f"{design}_prompts"]
        assert round(prompts, len(printed.partition(".")[2])) == float(printed)
        assert round(each * prompts) == int(row[f"{design}_labels"])


@pytest.mark.parametrize(
    ("n", "printed"), [(4, {0.5: 182, 0.55: 76, 0.6: 40, 0.7: 16}), (8, {0.5: 78, 0.55: 33, 0.6: 18, 0.7: 7})]
)
def test_prompts_for_a_correlation_are_those_of_the_notes(n, printed):
    """Fisher's z against .4, rounded up."""
    for r, prompts in printed.items():
        found = correlation_pairs(np.arctanh(r) - np.arctanh(0.4), 0.9, 0.95) / (n - 1)
        assert int(np.ceil(found)) == prompts


@pytest.mark.parametrize(("n", "r"), [(2, 0.3), (4, 0.5), (8, 0.1)])
def test_contrasts_have_the_moments_of_drawn_pools(n, r):
    """Mean and variance of both designs' contrasts, and of recovery's influence, in 200,000 prompts."""
    labels, scores = pools(n, r, 200_000, 3)
    pick, mean = picked(labels, scores), labels.mean(axis=1)
    chance = np.random.default_rng(4)
    other = (scores.argmax(axis=1) + chance.integers(1, n, len(labels))) % n
    drawn = pick - labels[np.arange(len(labels)), other]
    for found, d in ((complete_contrast(n, r), pick - mean), (two_label_contrast(n, r), drawn)):
        assert found.mean == pytest.approx(d.mean(), abs=0.015)
        assert found.variance == pytest.approx(d.var(), rel=0.02)
    best = labels.max(axis=1) - mean
    influence = (pick - mean - r * best) / best.mean()
    assert recovery_residual(n, r) == pytest.approx(influence.var(), rel=0.02)


@pytest.mark.parametrize(
    ("n", "r", "prompts", "two_label"), [(4, 0.4, 34, False), (8, 0.4, 37, True), (4, 0.2, 222, True)]
)
def test_planned_studies_have_the_power_planned(n, r, prompts, two_label):
    """The gate's one-sided test rejects in .9 of 3,000 simulated studies, within .89 to .92."""
    labels, scores = pools(n, r, prompts * 3000, 11)
    pick, rows = picked(labels, scores), np.arange(len(labels))
    other = labels[rows, (scores.argmax(axis=1) + np.random.default_rng(5).integers(1, n, len(rows))) % n]
    d = (pick - (other if two_label else labels.mean(axis=1))).reshape(3000, prompts)
    z = d.mean(axis=1) / (d.std(axis=1, ddof=1) / np.sqrt(prompts))
    assert 0.88 <= np.mean(z > critical_value(0.95, 1)) <= 0.92


def test_a_planned_correlation_is_found_with_the_power_planned():
    """Fisher's test of within_r against .4 rejects in .9 of 3,000 studies of 40 prompts with within_r .6."""
    labels, scores = pools(4, 0.6, 40 * 3000, 12)
    apart = [x.reshape(3000, 40, 4) - x.reshape(3000, 40, 4).mean(axis=2, keepdims=True) for x in (labels, scores)]
    total = [(a * b).sum(axis=(1, 2)) for a, b in ((apart[0], apart[1]), (apart[0], apart[0]), (apart[1], apart[1]))]
    z = (np.arctanh(total[0] / np.sqrt(total[1] * total[2])) - np.arctanh(0.4)) * np.sqrt(40 * 3 - 2)
    assert 0.88 <= np.mean(z > critical_value(0.95, 1)) <= 0.92


@pytest.mark.parametrize("row", golden("plan_two_judges"), ids=lambda row: f"{row['r_a']}-{row['r_b']}")
def test_two_judges_are_those_of_simulated_prompts(row):
    """Prompts, discordant ones and preferences within 1.5 % of a large simulation, 6 % of the notes' smaller one."""
    r_a, r_b = float(row["r_a"]), float(row["r_b"])
    e, v = largest_of_normals(8)
    found, mean = two_picks(8, r_a, r_b, 0.5), (r_a - r_b) * e
    squares = sum(r * r * (v + e * e) + 1 - r * r for r in (r_a, r_b))
    prompts = mean_units(mean / np.sqrt(squares - 2 * found.product - mean**2), 0.9, 0.95, 2)
    preferences = paper_votes(win_share(8, r_a, r_b, 0.5) - 0.5, 0.9, 0.95)
    figures = {"prompts": prompts, "discordant": prompts * found.disagree, "preferences": preferences}
    for name, value in figures.items():
        assert value == pytest.approx(float(row[name]), rel=0.015)
        assert value == pytest.approx(float(row[f"notes_{name}"]), rel=0.06)


@pytest.mark.parametrize(
    ("n", "r_a", "r_b", "errors"), [(2, 0.3, 0.7, 0.0), (4, 0.9, 0.85, 0.8), (8, 0.2, -0.3, -0.5)]
)
def test_two_picks_hold_elsewhere_too(n, r_a, r_b, errors):
    """Disagreement, product and wins equal those of 200,000 drawn prompts."""
    chance = np.random.default_rng(9)
    labels = chance.standard_normal((200_000, n))
    first = chance.standard_normal(labels.shape)
    second = errors * first + np.sqrt(1 - errors**2) * chance.standard_normal(labels.shape)
    a, b = r_a * labels + np.sqrt(1 - r_a**2) * first, r_b * labels + np.sqrt(1 - r_b**2) * second
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] == pytest.approx(score_correlation(r_a, r_b, errors), abs=0.005)
    apart = a.argmax(axis=1) != b.argmax(axis=1)
    y_a, y_b = picked(labels, a), picked(labels, b)
    found = two_picks(n, r_a, r_b, errors)
    assert found.disagree == pytest.approx(apart.mean(), abs=0.005)
    assert found.product == pytest.approx(np.mean(y_a * y_b), abs=0.02)
    assert win_share(n, r_a, r_b, errors) == pytest.approx(np.mean((y_a > y_b)[apart]), abs=0.008)


def test_judges_that_are_all_but_one_are_refused():
    """The integrals are not trusted there."""
    with pytest.raises(ValueError, match="nearly the same judge"):
        two_picks(4, 0.9, 0.9, 1.0)
