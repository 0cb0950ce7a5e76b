"""What a judge prefers at equal label: by hand, against plain loops, and where the truth is known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from auditing import equal_label_twin as twin
from auditing.equal_label_laws import LAWS, effect_and_costs, truth
from bonwise.auditing.equal_label import FOLDS, group_picks, label_terms, mean_in_ties, preference_cost, score_effects
from bonwise.stats.jackknife import from_left_out
from bonwise.stats.laws import student_quantile
from stats.nominal import assert_covered


def columns(prompts):
    """Lay prompts out as the statistics take them: scores, labels, attribute, sizes."""
    cells = np.array([one for prompt in prompts for one in prompt], dtype=float)
    return cells[:, 0], cells[:, 1], cells[:, 2], np.array([len(prompt) for prompt in prompts])


def fitted(prompts):
    """Fit the effect of the attribute."""
    scores, labels, values, sizes = columns(prompts)
    return score_effects(scores, labels, values[:, None], sizes)


def test_effect_worked_by_hand():
    """Three pairs with equal labels: differences of score 1, 3, 2 over differences of length 1, 2, 1 give 9 / 6."""
    prompts = [[(1, 5, 1), (0, 5, 0)], [(3, 7, 2), (0, 7, 0)], [(2, 5, 1), (0, 5, 0)]]
    found = fitted(prompts)
    assert found.slopes[0] == pytest.approx(1.5, abs=1e-9)
    assert found.sd == pytest.approx(np.sqrt((1 + 9 + 4) / 2 / 3))  # squares of half differences, twice; 3 degrees
    assert found.left_out[0] == pytest.approx([8 / 5, 3 / 2, 7 / 5], abs=1e-9)


def test_label_is_taken_out_by_hand():
    """Score = 2 label + length exactly, length up where the label is: adjusted 1, unadjusted more."""
    prompts = [[(3, 1, 1), (0, 0, 0)], [(1, 0, 1), (0, 0, 0)], [(2, 1, 0), (2, 0, 2)]]
    scores, labels, values, sizes = columns(prompts)
    assert fitted(prompts).slopes[0] == pytest.approx(1, abs=1e-9)
    # differences: scores 3, 1, 0, lengths 1, 1, -2: (3 + 1) / 6
    alone = score_effects(scores, 0 * labels, values[:, None], sizes)
    assert alone.slopes[0] == pytest.approx(4 / 6, abs=1e-9)


def test_nothing_varies_at_equal_label():
    """An attribute that the label determines has no effect of its own, nor has one that is the same in a prompt."""
    assert np.isnan(fitted([[(1, 1, 1), (0, 0, 0)]] * 6).slopes[0])
    assert np.isnan(fitted([[(1, 1, 4), (0, 0, 4)]] * 6).slopes[0])


def test_cost_worked_by_hand():
    """Every judge's pick is the longer one; without the effect of 1 per unit the better one is picked."""
    prompt = [(0.5 + 1, 0, 1), (1, 1, 0)]
    others = [[(2, 1, 2), (0, 1, 0)], [(1, 0, 1), (0, 0, 0)]]
    prompts = [prompt] * 5 + others * 10
    scores, labels, values, sizes = columns(prompts)
    found = preference_cost(scores, labels, values, sizes, fitted(prompts))
    # slopes near 1 in every fold: the five prompts are picked right, each gaining 1 of a possible .5
    assert found.picks_changed >= 5
    assert found.costs.estimate.tolist() == pytest.approx([5 / 2.5, 5 / 25])


def test_tied_candidates_stay_tied():
    """Of tied candidates the mean is taken out, so that no preference breaks a tie."""
    assert mean_in_ties(np.array([1.0, 1, 2, 1]), np.array([0.0, 4, 9, 5]), np.array([3, 1])).tolist() == [2, 2, 9, 5]
    prompts = [[(1, 0, 5), (1, 1, 0)]] * 8 + [[(1, 1, 1), (0, 1, 0)]] * 8
    scores, labels, values, sizes = columns(prompts)
    found = preference_cost(scores, labels, values, sizes, fitted(prompts))
    assert found.costs.estimate.tolist() == [0, 0]


def test_terms_of_labels():
    """Up to ten labels have indicators; more are joined by straight pieces, exact for any straight line."""
    assert label_terms(np.arange(10.0)).values.shape == (10, 9)
    assert label_terms(np.full(4, 3.0)).values.shape == (4, 0)
    labels = np.random.default_rng(1).random(50)
    kind, values = label_terms(labels)
    assert kind == "pieces"
    line = np.linalg.lstsq(np.column_stack([np.ones(50), values]), labels, rcond=None)
    assert line[1].sum() == pytest.approx(0, abs=1e-12)


cell = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(-2, 2))
tables = st.lists(st.lists(cell, min_size=2, max_size=4), min_size=6, max_size=12)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_effects_are_those_of_the_twin(prompts):
    """The slope and its jackknife error are those of dense least squares with each prompt deleted in turn."""
    levels = sorted({label for prompt in prompts for _, label, _ in prompt})
    found = fitted(prompts)
    assume(found.sd > 0 and np.isfinite(found.left_out).all() and (found.sd_left_out > 0).all())
    jackknifed = from_left_out(found.slopes / found.sd, found.left_out / found.sd_left_out)
    assert (jackknifed.estimate[0], jackknifed.se[0]) == pytest.approx(
        twin.in_sd(prompts, levels), rel=1e-6, abs=1e-7
    )


@given(tables, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_costs_are_those_of_the_twin(prompts, seed):
    """Costs are those of loops over prompts, each with the slope that the other folds gave."""
    scores, labels, values, sizes = columns(prompts)
    found = fitted(prompts)
    folds = np.random.default_rng([seed, len(prompts)]).permutation(len(prompts)) % FOLDS
    slopes = np.array([found.slopes_without(folds == fold)[0] for fold in range(FOLDS)])
    assume(np.isfinite(slopes).all() and np.isfinite(found.slopes[0]))
    for fold in range(FOLDS):
        rest = [prompt for x, prompt in enumerate(prompts) if folds[x] != fold]
        levels = sorted({label for prompt in prompts for _, label, _ in prompt})
        assert slopes[fold] == pytest.approx(twin.slope(rest, levels), rel=1e-6, abs=1e-7)
    assume(any(len({label for _, label, _ in prompt}) > 1 for prompt in prompts))
    cost = preference_cost(scores, labels, values, sizes, found, seed=seed)
    assert cost.costs.estimate == pytest.approx(twin.costs(prompts, slopes[folds]), abs=1e-7)


@given(tables)
@settings(max_examples=40, deadline=None)
def test_group_picks_are_those_of_loops(prompts):
    """Shares of picks and of best labels that fall on a group, over prompts that hold it and others."""
    scores, labels, values, sizes = columns(prompts)
    found = group_picks(scores, labels, values > 0, sizes)
    mixed = [prompt for prompt in prompts if 0 < sum(value > 0 for _, _, value in prompt) < len(prompt)]
    if not mixed:
        assert found is None
        return
    shares = []
    for column in (0, 1):
        tops = [[one for one in prompt if one[column] == max(other[column] for other in prompt)] for prompt in mixed]
        shares.append(sum(sum(one[2] > 0 for one in top) / len(top) for top in tops) / len(mixed))
    assert found.shares.estimate.tolist() == pytest.approx([*shares, shares[0] - shares[1]])
    assert (found.prompts, found.candidates) == (len(mixed), sum(one[2] > 0 for prompt in mixed for one in prompt))


def test_clusters_are_the_units():
    """Copies of a prompt in its cluster leave the slope and its error as they are."""
    rng = np.random.default_rng(5)
    labels, longer = rng.integers(0, 3, 160).astype(float), rng.standard_normal(160)
    scores, sizes = labels + 0.3 * longer + rng.standard_normal(160), np.full(40, 4)
    alone = score_effects(scores, labels, longer[:, None], sizes)
    twice = [np.concatenate([values, values]) for values in (scores, labels, longer)]
    clusters = np.tile(np.arange(40), 2)
    both = score_effects(twice[0], twice[1], twice[2][:, None], np.full(80, 4), clusters)
    assert both.left_out == pytest.approx(alone.left_out, abs=1e-9)
    one = preference_cost(scores, labels, longer, sizes, alone)
    other = preference_cost(*twice, np.full(80, 4), both, clusters)
    assert other.costs.estimate == pytest.approx(one.costs.estimate)
    assert other.costs.se == pytest.approx(one.costs.se)


SEED = 20261123
NAMES = ("effect", "recovery", "label")
FULL, THIN = 2000, 60


def simulated(law, planted, prompts, replications):
    """Return estimates, shape (replications, 3), and how often each interval holds the truth."""
    exact = truth(law, planted)
    estimates, hits, detected = [], Counter(), 0
    for replication in range(replications):
        rng = np.random.default_rng([SEED, replication, prompts])
        found = effect_and_costs(*LAWS[law](rng, prompts, planted))
        estimates.append(found[0])
        for name, value, se, df, true in zip(NAMES, *found, exact, strict=True):
            half = student_quantile(0.95, df) * se
            # Where no pick changes the bound is not this one, see the audit.
            hits[name] += abs(value - true) <= half or se == 0
            detected += name == "effect" and abs(value) > half
    return np.array(estimates), hits, detected


@pytest.mark.parametrize("planted", [0.0, 0.5])
@pytest.mark.parametrize("law", LAWS)
def test_planted_effects_are_found(law, planted):
    """A thinned simulation: bias within noise, and coverage that may be nominal."""
    estimates, hits, _ = simulated(law, planted, 120, THIN)
    error = estimates[:, 0].std() / np.sqrt(THIN)
    assert abs(estimates[:, 0].mean() - truth(law, planted)[0]) < 4 * error
    assert_covered({"effect": hits["effect"]}, THIN)
    assert hits["recovery"] >= 0.85 * THIN


def test_no_effect_is_truth_zero():
    """Where nothing is planted the effect over very many prompts is 0, however length goes along with the label."""
    for law in LAWS:
        assert abs(truth(law, 0.0)[0]) < 0.01, law
        assert truth(law, 0.5)[0] > 0.1, law


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [60, 150, 600])
@pytest.mark.parametrize("planted", [0.0, 0.5])
@pytest.mark.parametrize("law", LAWS)
def test_coverage(law, planted, prompts):
    """Intervals of the effect hold the truth in 93 to 97 % of tables, of costs in 88 % or more."""
    estimates, hits, detected = simulated(law, planted, prompts, FULL)
    spread = np.maximum(estimates.std(axis=0), 1e-12)
    bias = (estimates.mean(axis=0) - truth(law, planted)) / spread
    print(law, planted, prompts, {n: hits[n] / FULL for n in NAMES}, bias.round(2), detected / FULL)  # noqa: T201
    assert_covered({"effect": hits["effect"]}, FULL)
    assert_covered({name: hits[name] for name in NAMES[1:]}, FULL, least=0.88, most=1.0)
    assert abs(bias[0]) < 0.15
    if planted == 0:
        assert_covered({"rejected": detected}, FULL, least=0.03, most=0.07)
