"""Estimates for all prompts from labels of some, corrected by what a model learned."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from auditing.aipw_twin import estimates, freedom
from bonwise.auditing.label_interval import degrees_of_freedom, influence
from bonwise.auditing.partial_metrics import partial_estimates
from bonwise.errors import UsageError
from bonwise.labels.recovery_variance import recovery_deviations, score_residuals
from bonwise.stats.catalog import OF_PICKS, VALUES
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.partial.label_features import label_features, outcomes
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate
from stats.pools import GRID, arrays, pools
from stats.second_judge import replications

SEED = 20261122
RULE = IntervalRule()
ESTIMANDS = OF_PICKS
LINEAR = {
    "value_random": [1, 0, 0, 0, 0],
    "value_judge": [1, 1, 0, 0, 0],
    "value_oracle": [1, 0, 1, 0, 0],
    "gain": [0, 1, 0, 0, 0],
    "top1_accuracy": [0, 0, 0, 1, 0],
    "hit_rate": [0, 0, 0, 0, 1],
}


@dataclass
class Table:
    """Scores of one judge and maybe a second, labels, pool sizes."""

    scores: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    further: np.ndarray | None = None

    def audit(self, sample, *, rule=RULE, **more):
        """Estimate from the labels that a sample keeps."""
        cells = np.repeat(sample.labelled, self.sizes)
        sums = prompt_sums(self.scores[cells], self.labels[cells], self.sizes[sample.labelled])
        others = [] if self.further is None else [self.further]
        return partial_estimates(sums, label_features(self.scores, self.sizes, others), sample, rule, **more)

    def shuffled(self, order):
        """Return the table with its prompts in another order."""
        cells = np.split(np.arange(len(self.scores)), np.cumsum(self.sizes)[:-1])
        at = np.concatenate([cells[x] for x in order])
        further = None if self.further is None else self.further[at]
        return Table(self.scores[at], self.labels[at], self.sizes[order], further)


def ragged(prompts, seed, *, further=True):
    """Make pools of 2 to 5 candidates with labels that both judges see dimly."""
    rng = np.random.default_rng([SEED, seed])
    sizes = rng.integers(2, 6, prompts)
    labels = np.clip(np.repeat(rng.normal(0.6, 0.15, prompts), sizes) + rng.normal(0, 0.1, sizes.sum()), 0, 1)
    scores = np.round(np.clip(labels + rng.normal(0, 0.2, sizes.sum()), 0, 1), 1)
    T = labels + rng.normal(0, 0.1, sizes.sum())
    return Table(scores, labels, sizes, T if further else None)


def uniform(prompts, labels, seed):
    """Label some prompts at random."""
    return LabelSample.uniform(np.random.default_rng([SEED, 1, seed]).permutation(prompts) < labels)


@st.composite
def small_tables(draw, *, further):
    """Draw a small table with a sample: uniform, stratified, or independent with propensities of its own."""
    prompts = draw(pools(least=4, most=16, candidates=(2, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = len(prompts)
    scores, labels, sizes = arrays(prompts)
    T = rng.choice(GRID, len(scores)) if further else None
    labelled = rng.permutation(n) < draw(st.integers(2, n - 1))
    kind = draw(st.sampled_from(["uniform", "stratified", "independent"]))
    if kind == "uniform":
        sample = LabelSample.uniform(labelled)
    elif kind == "stratified":
        sample = LabelSample.realised(labelled, rng.integers(0, 3, n))
    else:
        sample = LabelSample(labelled, rng.uniform(0.2, 1.0, n), None)
    return Table(scores, labels, sizes, T), prompts, sample


def assert_twin(drawn):
    """Hold means, variances, degrees of freedom and tuning against the plain loops."""
    table, prompts, sample = drawn
    found = table.audit(sample)
    further = None if table.further is None else np.split(table.further, np.cumsum(table.sizes)[:-1])
    strata = [0] * len(prompts) if sample.strata is None else sample.strata.tolist()
    labels = sample.labelled.tolist(), sample.propensity.tolist()
    means, C, pulls, lam = estimates(prompts, further, *labels, strata, independent=sample.strata is None)
    assert found.fit.tuning == pytest.approx(lam, abs=1e-6)
    for name, contrast in LINEAR.items():
        one, variance = found.metrics[name], contrast @ C @ contrast
        low, high = (-1.0, 1.0) if name == "gain" else (0.0, 1.0)
        assert one.estimate == pytest.approx(min(max(np.dot(contrast, means), low), high), abs=1e-9)
        # Labels that are all alike have a bound or nothing, whatever is predicted around them.
        if variance > 1e-8 and sample.ess >= 2 and one.law is not None and one.interval != "exact":
            assert one.se == pytest.approx(math.sqrt(variance), rel=1e-6)
            d = [float(v) for v in np.array(pulls).T @ contrast]
            assert one.law.df == pytest.approx(freedom(d, variance), rel=1e-5)
    assert_ratio(found.metrics["recovery"], means, C, pulls)


def assert_ratio(one, means, C, pulls):
    """Compare recovery with the plain loops."""
    if one.low is None:
        return
    rho = means[1] / means[2]
    direction = np.array([0, 1, -rho, 0, 0]) / means[2]
    variance = direction @ C @ direction
    assert one.estimate == pytest.approx(min(rho, 1.0), abs=1e-9)
    if variance > 1e-8 and one.interval == "fieller":
        law = getattr(one.law, "ratio", one.law)  # above one half the ratio's law is a part of it
        assert [law.caa, law.cab, law.cbb] == pytest.approx([C[1, 1], C[1, 2], C[2, 2]], abs=1e-12)
        assert one.se == pytest.approx(math.sqrt(variance), rel=1e-6)
        assert law.df == pytest.approx(freedom([float(v) for v in np.array(pulls).T @ direction], variance), rel=1e-5)


@settings(max_examples=40)
@given(small_tables(further=False))
def test_labels_alone_agree_with_plain_loops(drawn):
    """Without further judges and with few labels, A, C and df are those of the loops."""
    assert_twin(drawn)


@settings(max_examples=40)
@given(small_tables(further=True))
def test_scores_that_stand_in_agree_with_plain_loops(drawn):
    """With a further judge and fewer than 30 labels, its scores are the predictions: A, C, df and lam agree."""
    assert_twin(drawn)


@pytest.mark.parametrize("further", [True, False])
@pytest.mark.parametrize("prompts", [1, 2, 25, 60, 150])
def test_with_all_labels_nothing_changes(prompts, further):
    """With every label, estimates and intervals are those of complete data, whatever the model."""
    table = ragged(prompts, prompts, further=further)
    found = table.audit(LabelSample.uniform(np.ones(prompts, dtype=bool))).metrics
    wanted = estimate(ESTIMANDS, prompt_sums(table.scores, table.labels, table.sizes), RULE)
    for name, one in wanted.items():
        got = found[name]
        assert (got.method, got.n, got.ess, got.reason) == ("aipw", prompts, prompts, one.reason)
        for key in ("estimate", "low", "high", "se"):
            assert getattr(got, key) == pytest.approx(getattr(one, key), abs=1e-12)


@given(prompts=pools(least=2), seed=st.integers(0, 9))
def test_with_all_labels_the_influence_values_are_the_outcomes(prompts, seed):
    """With every label, A is Y and C its complete-data covariance, for any predictions and any strata."""
    Y, rng = outcomes(prompt_sums(*arrays(prompts))), np.random.default_rng(seed)
    sample = LabelSample.realised(np.ones(len(Y), dtype=bool), rng.integers(0, 3, len(Y)))
    found = influence(rng.standard_normal(Y.shape), Y, ScaledSample.of(sample))
    assert found.means == pytest.approx(Y.mean(axis=0), abs=1e-12)
    assert found.covariance == pytest.approx(np.cov(Y.T) / len(Y), abs=1e-12)


@settings(max_examples=40)
@given(small_tables(further=False))
def test_uniform_labels_alone_have_the_complete_data_variance(drawn):
    """Uniform labels without a model give mean and standard error of the labelled prompts alone."""
    table, _, sample = drawn
    found = table.audit(LabelSample.uniform(sample.labelled)).metrics
    for name in LINEAR:
        alone = found[name].labelled_only
        assert found[name].estimate == pytest.approx(alone.estimate, abs=1e-12)
        assert found[name].se == pytest.approx(alone.se, abs=1e-9)


@pytest.mark.parametrize(("prompts", "labels"), [(60, 20), (200, 60), (400, 150)])
@pytest.mark.parametrize("further", [True, False])
def test_gains_and_recovery_follow_from_the_values(prompts, labels, further):
    """Gain is the difference of two values, and recovery the ratio of two differences."""
    found = ragged(prompts, 3, further=further).audit(uniform(prompts, labels, 3)).metrics
    random, judge, oracle = (found[f"value_{who}"].estimate for who in ("random", "judge", "oracle"))
    assert found["gain"].estimate == pytest.approx(judge - random, abs=1e-12)
    assert found["recovery"].estimate == pytest.approx((judge - random) / (oracle - random), abs=1e-10)


@pytest.mark.parametrize("labels", [25, 60, 150])
@pytest.mark.parametrize("kind", ["uniform", "stratified", "independent"])
def test_the_order_of_the_prompts_does_not_matter(labels, kind):
    """A table sorted otherwise gives the same estimates and intervals."""
    table, rng, n = ragged(300, 4), np.random.default_rng(SEED), 300
    labelled, order = uniform(n, labels, 4).labelled, rng.permutation(n)
    strata, pi = rng.integers(0, 4, n), rng.uniform(0.2, 0.9, n)
    made = {
        "uniform": lambda at: LabelSample.uniform(labelled[at]),
        "stratified": lambda at: LabelSample.realised(labelled[at], strata[at]),
        "independent": lambda at: LabelSample(labelled[at], pi[at], None),
    }[kind]
    before, after = table.audit(made(np.arange(n))), table.shuffled(order).audit(made(order))
    for name, one in before.metrics.items():
        other = after.metrics[name]
        assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high), abs=1e-9)
    assert before.narrowed == pytest.approx(after.narrowed, abs=1e-9)


def test_a_second_judge_narrows_the_interval():
    """A judge that sees the labels narrows recovery's interval, by the share that is said."""
    table, sample = ragged(600, 5), uniform(600, 150, 5)
    with_it = table.audit(sample)
    without = Table(table.scores, table.labels, table.sizes).audit(sample)
    width, wider = (one.metrics["recovery"].high - one.metrics["recovery"].low for one in (with_it, without))
    assert with_it.narrowed == pytest.approx(1 - width / wider, abs=0.03)  # their folds differ
    assert with_it.narrowed > 0.08
    assert with_it.fit.share_explained > without.fit.share_explained
    assert without.narrowed is None


@pytest.mark.parametrize("model", [LinearRegression(), GradientBoostingRegressor(n_estimators=20, max_depth=2)])
def test_a_regressor_of_scikit_learn_may_be_given(model):
    """Any regressor takes the place of the ridge, is copied and never fitted itself, and comes to like estimates."""
    table, sample = ragged(400, 6), uniform(400, 120, 6)
    found, usual = table.audit(sample, model=model), table.audit(sample)
    assert found.fit.choice.name == type(model).__name__
    assert not hasattr(model, "n_features_in_")
    for name, one in found.metrics.items():
        assert one.estimate == pytest.approx(usual.metrics[name].estimate, abs=3 * usual.metrics[name].se)


def test_scores_that_are_missing_are_counted():
    """Prompts that the further judge skipped stay in, and a note counts them."""
    table, sample = ragged(300, 7), uniform(300, 120, 7)
    table.further[np.repeat(np.arange(300) < 40, table.sizes)] = np.nan
    found = table.audit(sample)
    assert "further_missing" in found.fit.choice.covariates
    assert any("40 prompts" in note for note in found.notes)
    assert found.narrowed > 0


def test_one_labelled_prompt_has_no_interval():
    """One label gives estimates without intervals, and says why."""
    found = ragged(2000, 8, further=False).audit(uniform(2000, 1, 8)).metrics
    for name in LINEAR:
        assert found[name].low is None
        assert "single prompt" in found[name].reason
        assert found[name].estimate == found[name].labelled_only.estimate, "no residue of rounding"


def test_no_labels_are_refused():
    """Without any label there is nothing to estimate."""
    table = ragged(5, 9)
    with pytest.raises(UsageError, match="no prompt is labelled"):
        table.audit(LabelSample(np.zeros(5, dtype=bool), np.full(5, 0.5), None))


def alike(prompts, sample, *, further=None):
    """Audit prompts that all look the same."""
    table = Table(np.tile([0.9, 0.1], prompts), np.tile([0.8, 0.2], prompts), np.full(prompts, 2), further)
    return table.audit(sample).metrics


def test_labels_that_do_not_vary_are_bounded():
    """Where labelled prompts are alike and were drawn uniformly, the exact bound of complete data holds."""
    found = alike(30, uniform(30, 10, 10))
    random = found.pop("value_random")
    assert (random.estimate, random.low, random.reason) == (0.5, None, random.labelled_only.reason)
    for one in found.values():
        assert (one.interval, one.low, one.high) == ("exact", one.labelled_only.low, one.labelled_only.high)


def test_labels_that_do_not_vary_say_nothing_under_unequal_propensities():
    """Where labelled prompts are alike but were not drawn alike, there is no interval, with a reason."""
    sample = LabelSample(uniform(30, 10, 11).labelled, np.linspace(0.2, 0.8, 30), None)
    for name, one in alike(30, sample).items():
        assert one.low is None
        assert ("by construction" if name == "value_random" else "alike") in one.reason


def test_prompts_without_a_gap_leave_recovery_undefined():
    """Where all labels of the labelled prompts are equal, recovery says what it needs."""
    table = Table(np.tile([0.9, 0.1], 30), np.full(60, 0.5), np.full(30, 2))
    assert "labels differ" in table.audit(uniform(30, 10, 12)).metrics["recovery"].reason


def test_an_interval_without_end_is_said_in_words():
    """Where the gap of the oracle cannot be told from 0, recovery is unbounded and says so."""
    labels = np.full(60, 0.5)
    labels[:2] = 0.9, 0.1
    table = Table(np.tile([0.9, 0.1], 30), labels, np.full(30, 2))
    found = table.audit(LabelSample.uniform(np.arange(30) < 12)).metrics["recovery"]
    assert found.estimate is None
    assert re.fullmatch(r"unbounded: denominator .* from 0; the ratio itself is 1", found.reason)


def test_strata_without_labels_are_noted():
    """A stratum in which nothing is labelled is spoken for by others, which a note says."""
    table, strata = ragged(90, 13), np.repeat([0, 1, 2], 30)
    labelled = (np.arange(90) % 3 == 0) & (strata < 2)
    found = table.audit(LabelSample.realised(labelled, strata))
    assert any("30 prompts" in note for note in found.notes)
    assert found.metrics["recovery"].low is not None
    assert found.metrics == table.audit(LabelSample.realised(labelled, strata.clip(max=1))).metrics


def test_a_stratum_without_labels_is_no_sample():
    """A sample whose stratum nothing stands for is a mistake of whoever made it, not a figure."""
    table, strata = ragged(6, 13), np.repeat([0, 1], 3)
    with pytest.raises(ValueError, match="a stratum holds no labelled prompt"):
        table.audit(LabelSample(strata == 0, np.where(strata == 0, 1.0, np.nan), strata))


def test_one_huge_weight_leaves_no_interval():
    """Where the weights are worth fewer than two labels there is no interval, and the reason says so."""
    table, labelled = ragged(200, 16), uniform(200, 20, 16).labelled
    pi = np.where(np.cumsum(labelled) == 1, 1e-6, 0.5)
    found = table.audit(LabelSample(labelled, pi, None)).metrics
    for name, one in found.items():
        assert (one.low, one.bounds(0.9)) == (None, None), name
    assert found["value_judge"].reason.startswith("no interval: the weights are worth 1.0 labels")
    assert found["value_judge"].estimate is not None


def test_the_bootstrap_gives_way():
    """With partial labels intervals come from influence values; a note says so to who asks for the bootstrap."""
    table, sample = ragged(120, 14), uniform(120, 40, 14)
    found, usual = table.audit(sample, rule=IntervalRule(kind="bootstrap")), table.audit(sample)
    assert any("bootstrap" in note for note in found.notes)
    assert found.metrics == usual.metrics


def test_intervals_stand_at_any_confidence():
    """A law answers at other confidences, within the range of the metric."""
    found = ragged(120, 15).audit(uniform(120, 40, 15)).metrics
    for name, one in found.items():
        low, high = one.bounds(0.8)
        assert one.low <= low <= high <= one.high, name
        assert one.bounds(0.95) == pytest.approx((one.low, one.high))
    assert found["recovery"].interval == "fieller"
    assert found["gain"].interval == "jackknife"


class Noise:
    """A model that predicts noise."""

    def __init__(self):
        self.rng = np.random.default_rng(SEED)

    def __deepcopy__(self, memo):
        """Share one stream of noise."""
        return self

    def fit(self, X, y):
        """Learn nothing."""

    def predict(self, X):
        """Predict noise."""
        return 0.1 * self.rng.standard_normal(len(X))


def linear_world(prompts, rng):
    """Make pairs whose outcomes are linear in what the further judge says, with noise of every prompt's own."""
    T = rng.uniform(0.25, 0.75, (prompts, 2))
    scores = T + 0.3 * rng.standard_normal((prompts, 2))
    slope, level = rng.choice([0.5, 1.5], (prompts, 1)), 0.03 * rng.standard_normal((prompts, 1))
    middle = T.mean(axis=1, keepdims=True)
    labels = middle + level + 0.8 * slope * (T - middle)
    chance = np.clip(0.4 + 0.8 * (np.abs(T[:, 0] - T[:, 1]) - 1 / 6), 0.1, 0.9)
    return Table(scores.ravel(), labels.ravel(), np.full(prompts, 2), T.ravel()), chance


def biases(model, *, right, replications, prompts=400):
    """Return how many Monte-Carlo standard errors the mean estimates are off."""
    s = Sums(*_all_sums(linear_world(400_000, np.random.default_rng([SEED, 2]))[0]))
    truth = {"value_judge": s.J.mean(), "gain": (s.J - s.R).mean()}
    truth["recovery"] = truth["gain"] / (s.M - s.R).mean()
    found = {name: [] for name in truth}
    for replication in range(replications):
        rng = np.random.default_rng([SEED, 3, replication])
        table, chance = linear_world(prompts, rng)
        stated = chance if right else np.full(prompts, 0.4)
        metrics = table.audit(LabelSample(rng.random(prompts) < chance, stated, None), model=model).metrics
        for name, values in found.items():
            values.append(metrics[name].estimate)
    return {
        name: (np.mean(values) - truth[name]) / (np.std(values) / math.sqrt(replications))
        for name, values in found.items()
    }


def _all_sums(table):
    return prompt_sums(table.scores, table.labels, table.sizes)


@pytest.mark.parametrize(
    ("model", "replications"),
    [
        (LinearRegression(), 25),
        (None, 100),
        pytest.param(LinearRegression(), 400, marks=pytest.mark.slow),
        pytest.param(None, 400, marks=pytest.mark.slow),
    ],
)
def test_a_right_model_makes_up_for_wrong_propensities(model, replications):
    """With propensities that are wrong and a linear model that is right, the bias is below 2 standard errors."""
    found = biases(model, right=False, replications=replications)
    assert max(map(abs, found.values())) < 2, found


@pytest.mark.parametrize("replications", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_right_propensities_make_up_for_a_model_of_noise(replications):
    """With a model that predicts noise and propensities that are right, the bias is below 2 standard errors."""
    found = biases(Noise(), right=True, replications=replications)
    assert max(map(abs, found.values())) < 2, found


def test_wrong_propensities_and_a_model_of_noise_are_off():
    """The check of double robustness can fail: with both wrong the bias is plain."""
    assert abs(biases(Noise(), right=False, replications=100)["gain"]) > 4


def without_gap(share, prompts, rng):
    """Make pools of four of which a share has equal labels."""
    table = simulate("arena", n=prompts, seed=int(rng.integers(1 << 31)))
    flat = rng.random((prompts, 1)) < share
    labels = np.where(flat, table.labels.mean(axis=1, keepdims=True), table.labels)
    return prompt_sums(table.scores.ravel(), labels.ravel(), np.full(prompts, 4))


def held_without_gap(replications):
    """Count how often recovery's interval holds the truth, or says that it is unbounded, at 40 prompts."""
    truth = simulate("arena", n=1).population["recovery"]
    held = unbounded = 0
    for replication in range(replications):
        rng = np.random.default_rng([SEED, 4, replication])
        one = estimate(VALUES, without_gap(0.9, 40, rng), RULE)["recovery"]
        if one.low is None:
            unbounded += one.reason is not None
            held += 1
        else:
            held += one.low <= truth <= one.high
    return held, unbounded


@pytest.mark.parametrize(
    "replications", [pytest.param(300, id="thin"), pytest.param(2000, id="full", marks=pytest.mark.slow)]
)
def test_fieller_survives_prompts_without_a_gap(replications):
    """With 90 % of 40 prompts without any gap, intervals hold the truth or say they have no end in 99 % of cases."""
    held, unbounded = held_without_gap(replications)
    assert held >= 0.99 * replications
    assert unbounded > 0.5 * replications


@pytest.mark.parametrize(("labels", "expected"), [(40, 10.0), (50, 12.5), (51, 3.0)])
def test_few_labels_keep_a_quarter_of_their_degrees(labels, expected):
    """One label that pulls alone leaves 3 degrees of freedom, but of 50 labels or fewer not less than a quarter."""
    pulls = np.zeros(labels)
    pulls[0] = 1.0
    assert degrees_of_freedom(pulls, 1.0) == pytest.approx(expected)


@pytest.fixture(scope="module")
def pools_of_residuals():
    """Simulate 2,000 pools with a second judge: scores, second scores, sizes, sums and outcomes."""
    (drawn,) = replications(2000, 1, seed=11, kind="T1")
    scores, second = drawn.scores.ravel(), drawn.second.ravel()
    sums = prompt_sums(scores, drawn.labels.ravel(), drawn.sizes)
    return scores, second, drawn.sizes, sums, outcomes(sums)


def some(n, labels, seed=0):
    """Draw so many prompts."""
    labelled = np.zeros(n, dtype=bool)
    labelled[np.random.default_rng(seed).choice(n, labels, replace=False)] = True
    return labelled


def test_deviations_sum_to_nothing(pools_of_residuals):
    """Phi is Y1 - rho Y2 with the rho at which it sums to 0."""
    Y = pools_of_residuals[4]
    rho, phi = recovery_deviations(Y)
    assert rho == pytest.approx(Y[:, 1].mean() / Y[:, 2].mean())
    assert phi.sum() == pytest.approx(0, abs=1e-9)


def test_few_labels_leave_everything_without_a_second_judge(pools_of_residuals):
    """Below 100 labels and without further judges the model is none and phi is left as it is."""
    scores, _, sizes, _, Y = pools_of_residuals
    found = score_residuals(Y, label_features(scores, sizes), some(2000, 60), seed=0)
    assert found.model == "labels only"
    assert found.left.tolist() == recovery_deviations(Y)[1].tolist()


@pytest.mark.parametrize("labels", [20, 60, 250, 2000])
def test_a_second_judge_takes_variance_off(pools_of_residuals, labels):
    """Whatever the model, what it leaves varies less than phi, and is phi less one multiple of its predictions."""
    scores, second, sizes, _, Y = pools_of_residuals
    found = score_residuals(Y, label_features(scores, sizes, [second]), some(2000, labels), seed=0)
    assert found.left.var() < (0.75 if labels > 100 else 0.95) * recovery_deviations(Y)[1].var()


def test_the_estimate_of_an_audit_varies_as_the_residuals_say(pools_of_residuals):
    """The variance of recovery over 60 samples of 250 labels is that of the residuals' mean, within 3 errors."""
    scores, second, sizes, sums, Y = pools_of_residuals
    features, values, expected = label_features(scores, sizes, [second]), [], []
    for at in range(60):
        labelled = some(2000, 250, at)
        found = partial_estimates(sums[:, labelled], features, LabelSample.uniform(labelled), IntervalRule(), seed=at)
        values.append(found.metrics["recovery"].estimate)
        left = score_residuals(Y, features, labelled, seed=at).left
        expected.append((1 / 250 - 1 / 2000) * left.var(ddof=1) / Y[:, 2].mean() ** 2)
    ratio = np.var(values, ddof=1) / np.mean(expected)
    assert abs(ratio - 1) < 3 * np.sqrt(2 / 59)
