"""Counts of labels: for votes, for a gain over random picks, for two judges, and where looks are taken."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, multivariate_normal

from bonwise.errors import UsageError
from bonwise.planning.normal_picks import (
    complete_contrast,
    largest_of_normals,
    recovery_residual,
    score_correlation,
    two_label_contrast,
    two_picks,
    win_share,
)
from bonwise.planning.sizing import Clusters, OneCluster, gain_stopping
from bonwise.stats.beliefs import best_of_normals
from bonwise.stats.repeated_looks import EARLIEST, squared_critical
from bonwise.stats.sample_size import (
    correlation_pairs,
    correlation_power,
    critical_value,
    detectable_margin,
    equal_mean_units,
    equal_votes,
    equal_votes_power,
    mean_power,
    mean_units,
    paper_margin,
    paper_votes,
    paper_votes_power,
    votes,
    votes_power,
)
from golden_tables import golden


@pytest.mark.parametrize("row", golden("plan_paper_votes"), ids=lambda row: row["row"])
@pytest.mark.parametrize(("level", "confidence"), [("05", 0.95), ("01", 0.99)])
def test_the_paper_s_table_1_follows_from_equation_8(row, level, confidence):
    """Each printed number is equation 8, to the nearest, at some margin that is printed as the row's."""
    delta, printed = float(row["delta"]), int(row[f"votes_{level}"])
    ends = [paper_votes(delta + shift, 0.9, confidence) for shift in (0.0005, -0.0005)]
    assert ends == pytest.approx([float(row[f"low_{level}"]), float(row[f"high_{level}"])], abs=0.06)
    assert round(ends[0]) <= printed <= round(ends[1])


def test_the_paper_s_known_margins_give_its_numbers():
    """Unrounded margins give the printed votes exactly, and .072 gives 506.7."""
    known = {0.047274: (1175, 1664), 0.18735: (75, 106), 0.28495: (32, 46), 0.08152: (395, 560)}
    for delta, printed in known.items():
        assert tuple(round(paper_votes(delta, 0.9, c)) for c in (0.95, 0.99)) == printed
    assert paper_votes(0.072, 0.9, 0.95) == pytest.approx(506.7, abs=0.05)
    assert paper_votes(0.0373961, 0.9, 0.95) == pytest.approx(1878.38, abs=0.01)
    assert paper_votes(0.5, 0.9, 0.95) == pytest.approx(2.62685576536 * 4, rel=1e-10)


@pytest.mark.parametrize("row", golden("plan_paper_clusters"), ids=lambda row: f"{row['regime']}-{row['rho']}")
def test_the_paper_s_table_3_follows_from_unrounded_votes(row):
    """Equation 10 gives the printed inflation and votes, and no number where the paper prints none."""
    raw = paper_votes(float(row["delta"]), 0.9, 0.95)
    found = OneCluster(float(row["rho"])).inflated(raw)
    assert round(raw) == int(row["independent"])
    if not row["votes"]:
        assert found is None
        return
    assert round(found / raw, 3) == float(row["inflation"])
    assert round(found) == int(row["votes"])


@pytest.mark.parametrize("row", golden("plan_exact_votes"), ids=lambda row: row["delta"])
def test_the_exact_test_has_the_power_and_the_numbers_of_the_golden_table(row):
    """Power at equation 8 rounded up, the first enough and the one from which on all are."""
    delta, n = float(row["delta"]), int(row["n_paper"])
    assert math.ceil(paper_votes(delta, 0.9, 0.95)) == n
    assert float(votes_power(delta, n, 0.95)) == pytest.approx(float(row["power"]), abs=5e-4)
    if row["first"]:
        assert votes(delta, 0.9, 0.95) == (int(row["first"]), int(row["settled"]))


def exact_power(delta, n, confidence):
    """Sum the probabilities of all counts at which the binomial test rejects."""
    tail = 1 - confidence
    p = 0.5 + delta
    return sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if binomtest(k, n, 0.5).pvalue <= tail * (1 + 1e-12)
    )


@settings(max_examples=40)
@given(st.floats(0.01, 0.45), st.integers(1, 60), st.sampled_from([0.9, 0.95, 0.99]))
def test_votes_power_is_the_sum_over_rejecting_counts(delta, n, confidence):
    """The closed form equals the plain loop."""
    assert float(votes_power(delta, n, confidence)) == pytest.approx(exact_power(delta, n, confidence), abs=1e-10)


@pytest.mark.parametrize(("delta", "power"), [(0.3, 0.9), (0.15, 0.8), (0.45, 0.95), (0.12, 0.9)])
def test_the_window_misses_no_number(delta, power):
    """All numbers up to five times the answer, looked at one by one, give the same two."""
    found = votes(delta, power, 0.95)
    enough = votes_power(delta, np.arange(1, 5 * found.settled), 0.95) >= power
    assert found.first == 1 + int(np.argmax(enough))
    assert found.settled == 2 + int(np.flatnonzero(~enough)[-1])


def equal_power(bound, n, confidence):
    """Sum the probabilities under a fair coin of all counts at which both one-sided tests reject."""
    return sum(
        math.comb(n, k) * 0.5**n
        for k in range(n + 1)
        if binomtest(k, n, 0.5 - bound, "greater").pvalue <= 1 - confidence
        and binomtest(k, n, 0.5 + bound, "less").pvalue <= 1 - confidence
    )


@settings(max_examples=40)
@given(st.floats(0.05, 0.45), st.integers(1, 60))
def test_equivalence_power_is_the_sum_over_counts_where_both_tests_reject(bound, n):
    """The closed form equals the plain loop."""
    assert float(equal_votes_power(bound, n, 0.95)) == pytest.approx(equal_power(bound, n, 0.95), abs=1e-9)


def test_equivalence_numbers_are_the_smallest():
    """Every number from `settled` on has the power; the one before has not."""
    found = equal_votes(0.1, 0.9, 0.95)
    later = equal_votes_power(0.1, np.arange(found.settled, 3 * found.settled), 0.95)
    assert later.min() >= 0.9
    assert equal_votes_power(0.1, found.settled - 1, 0.95) < 0.9
    assert equal_votes_power(0.1, found.first, 0.95) >= 0.9


@given(st.floats(0.02, 2.0), st.floats(0.55, 0.98), st.sampled_from([1, 2]))
def test_size_and_power_of_a_mean_are_inverse(standardised, power, sides):
    """At the number asked for the power is what was asked for; the other tail of two adds next to nothing."""
    n = mean_units(standardised, power, 0.95, sides)
    assert mean_power(standardised, n, 0.95, sides) == pytest.approx(power, abs=2e-4)


def test_other_inverses():
    """Margins, correlations and bounds return where they came from."""
    assert paper_margin(paper_votes(0.07, 0.8, 0.9), 0.8, 0.9) == pytest.approx(0.07)
    assert paper_votes_power(0.07, paper_votes(0.07, 0.8, 0.95), 0.95) == pytest.approx(0.8, abs=1e-6)
    pairs = correlation_pairs(np.arctanh(0.5) - np.arctanh(0.4), 0.9, 0.95)
    assert correlation_power(0.5, 0.4, pairs, 0.95) == pytest.approx(0.9)
    assert equal_mean_units(0.2, 0.9, 0.95) == pytest.approx((2 * 1.6448536 / 0.2) ** 2, rel=1e-6)
    margin = detectable_margin(405, 0.9, 0.95)
    assert votes_power(margin, 405, 0.95) >= 0.9 > votes_power(margin - 1e-6, 405, 0.95)
    assert detectable_margin(3, 0.9, 0.95) is None


@given(st.floats(1, 1e5), st.integers(1, 9), st.floats(0, 1))
def test_effective_labels_of_many_clusters_return(independent, size, correlation):
    """Inflated and made effective again is the same."""
    clusters = Clusters(size, correlation)
    assert clusters.effective(clusters.inflated(independent)) == pytest.approx(independent)


@given(st.floats(1, 1e3), st.floats(0, 9e-4))
def test_effective_labels_of_one_cluster_return(independent, correlation):
    """The same for equation 10, as long as it has an answer."""
    one = OneCluster(correlation)
    assert one.effective(one.inflated(independent)) == pytest.approx(independent)


def test_a_cluster_of_raters_has_the_variance_that_the_design_effect_says():
    """Simulated votes of three raters with a shared leaning scatter by 1 + 2 rho as much."""
    chance = np.random.default_rng(20261122)
    leaning = chance.beta(2, 2, size=(4000, 50))  # of votes on one prompt: rho = 1 / (2 + 2 + 1)
    means = chance.binomial(3, leaning).sum(axis=1) / 150
    assert means.var() * 150 / 0.25 == pytest.approx(Clusters(3, 0.2).factor, rel=0.08)


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
    with pytest.raises(UsageError, match="nearly the same judge"):
        two_picks(4, 0.9, 0.9, 1.0)


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


def looped_of_two_picks(n, r_a, r_b, rho):
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
    disagree, product = looped_of_two_picks(n, r_a, r_b, rho)
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


@pytest.mark.parametrize(("theta", "confidence"), [(0.241, 0.95), (0.119, 0.95), (0.15, 0.99)])
def test_stopping_is_that_of_a_walk_looked_at_after_every_prompt(theta, confidence):
    """A plain loop over 300 walks, each step one prompt, has the mean and the worst tenth of the coarse looks."""
    target = mean_units(theta, 0.9, confidence, 1)
    found, chance, stopped = gain_stopping(theta, target, confidence), np.random.default_rng(5), []
    bound = np.sqrt(squared_critical(np.arange(1.0, 12 * target + 400), target, confidence))
    for _ in range(300):
        walk, m = 0.0, 0
        for step in chance.standard_normal(len(bound)):
            walk, m = walk + theta + step, m + 1
            if m >= EARLIEST and abs(walk) > bound[m - 1] * np.sqrt(m):
                break
        stopped.append(m)
    assert np.mean(stopped) == pytest.approx(np.mean(found.mean), rel=0.08)
    assert np.quantile(stopped, 0.9) == pytest.approx(found.late, rel=0.15)


@pytest.mark.parametrize("r", [0.05, 0.1, 0.2, 0.4, 0.8])
def test_no_study_stops_before_the_sequence_starts(r):
    """200 prompts at least, the worst tenth no sooner, and a larger effect never later."""
    theta, larger = (complete_contrast(4, one).standardised for one in (r, 1.1 * r))
    found, sooner = (gain_stopping(one, mean_units(one, 0.9, 0.95, 1), 0.95) for one in (theta, larger))
    assert EARLIEST <= found.mean[0] <= found.mean[1]
    assert found.late >= EARLIEST
    assert sooner.mean[0] <= found.mean[1]
