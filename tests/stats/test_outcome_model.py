"""What is learned of labels from scores, from which features, and how far it is trusted."""

from __future__ import annotations

import inspect
from statistics import fmean, pstdev
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as SklearnRidge

from auditing import aipw_twin
from auditing.aipw_twin import five
from bonwise.errors import UsageError
from bonwise.stats.partial.label_features import OUTCOMES, label_features, outcomes
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample, fold_of
from bonwise.stats.partial.outcome_model import FOLDS, Ridge, choose_model, cross_fit, power_tuning, share_explained
from bonwise.stats.sums import prompt_sums
from stats.pools import arrays, pools

RNG = np.random.default_rng(20261122)


class Memory:
    """A model that repeats what it was taught, and 9 for all else."""

    def fit(self, X, y):
        """Remember."""
        self.taught = {tuple(row): value for row, value in zip(X.tolist(), y.tolist(), strict=True)}

    def predict(self, X):
        """Repeat."""
        return np.array([self.taught.get(tuple(row), 9.0) for row in X.tolist()])


class Nothing:
    """A model that predicts no number."""

    def fit(self, X, y):
        """Learn nothing."""

    def predict(self, X):
        """Say nothing."""
        return np.full(len(X), np.nan)


def problem(prompts=60, labels=40, *, further=True):
    """Make features, a draw, outcomes and folds."""
    scores, T = RNG.random(3 * prompts), RNG.random(3 * prompts)
    features = label_features(scores, np.full(prompts, 3), [T] if further else [])
    sample = LabelSample.uniform(RNG.permutation(np.arange(prompts) < labels))
    draw = ScaledSample.of(sample)
    return features, draw, RNG.random((labels, 5)), fold_of(RNG.random((2, prompts)), draw.rows, FOLDS, 0)


def test_ridge_agrees_with_the_normal_equations():
    """The slope solves (X'WX + (1 + .001 m) I) b = X'Wy with weights of mean 1, the intercept free."""
    X, y, weight = RNG.standard_normal((50, 3)), RNG.standard_normal(50), RNG.random(50) + 0.1
    other = SklearnRidge(alpha=1 + 0.001 * 50, tol=1e-12).fit(X, y, sample_weight=weight / weight.mean())
    assert Ridge().fit(X, y, sample_weight=weight).predict(X) == pytest.approx(other.predict(X), abs=1e-10)


def test_ridge_does_not_depend_on_the_unit_of_weights():
    """Weights in other units give the same predictions, and equal ones the unweighted fit."""
    X, y = RNG.standard_normal((30, 2)), RNG.standard_normal((30, 4))
    plain = Ridge().fit(X, y).predict(X)
    assert Ridge().fit(X, y, sample_weight=np.full(30, 7.0)).predict(X) == pytest.approx(plain, abs=1e-12)


def test_no_prompt_is_predicted_from_its_own_labels():
    """A model that remembers everything has never seen the prompt that it predicts."""
    features, draw, Y, folds = problem()
    assert (cross_fit(Memory(), features, draw, Y, folds, brief=False) == 9.0).all()


def test_cross_fitting_cannot_be_switched_off():
    """No argument says how many folds there are, or whether there are any."""
    from bonwise.auditing.partial_metrics import partial_estimates  # noqa: PLC0415 - the door that users come through

    for function in (cross_fit, partial_estimates):
        assert not {"n_folds", "cross_fit", "crossfit", "k"} & set(inspect.signature(function).parameters)
    assert FOLDS == 5


@pytest.mark.parametrize("further", [True, False])
def test_unlike_labels_change_only_the_other_folds(further):
    """Another label of a prompt leaves the predictions of its own fold as they are."""
    features, draw, Y, folds = problem(further=further)
    before = cross_fit(Ridge(), features, draw, Y, folds, brief=False)
    changed = Y.copy()
    changed[0] += 5.0
    after = cross_fit(Ridge(), features, draw, changed, folds, brief=False)
    same = folds == folds[draw.rows[0]]
    assert np.array_equal(before[same], after[same])
    assert not np.isclose(before[~same], after[~same]).any()


def test_a_model_without_weights_is_fitted_without_them():
    """A regressor whose fit takes no weights is used as it is; one that takes them gets them."""
    features, draw, Y, folds = problem()
    by_weights = cross_fit(LinearRegression(), features, draw, Y, folds, brief=True)

    class Plain:
        def fit(self, X, y):
            self.inner = LinearRegression().fit(X, y)

        def predict(self, X):
            return self.inner.predict(X)

    assert cross_fit(Plain(), features, draw, Y, folds, brief=True) == pytest.approx(by_weights, abs=1e-9)


def test_a_model_that_predicts_no_number_is_refused():
    """A prediction that is no finite number is an error that names the model."""
    with pytest.raises(UsageError, match="Nothing"):
        cross_fit(Nothing(), *problem(), brief=False)


def test_folds_follow_the_prompts_not_their_order():
    """Prompts keep their folds however the table is sorted, labelled and unlabelled ones fill them evenly."""
    columns, order = RNG.random((3, 101)), RNG.permutation(101)
    labelled = np.arange(101) < 33
    folds = fold_of(columns, np.flatnonzero(labelled), FOLDS, 3)
    moved = fold_of(columns[:, order], np.flatnonzero(labelled[order]), FOLDS, 3)
    assert np.array_equal(moved, folds[order])
    for some in (labelled, ~labelled):
        counts = np.bincount(folds[some], minlength=FOLDS)
        assert np.ptp(counts) <= 1


def test_another_seed_gives_other_folds():
    """The seed decides which prompts fold together."""
    columns, rows = RNG.random((1, 50)), np.arange(50)
    assert not np.array_equal(fold_of(columns, rows, FOLDS, 0), fold_of(columns, rows, FOLDS, 1))


@pytest.mark.parametrize(
    ("further", "labels", "name", "covariates"),
    [
        (True, 29, "stand-in", 3),
        (True, 30, "ridge", 4),
        (True, 99, "ridge", 4),
        (True, 100, "ridge", 12),
        (False, 99, "labels only", 0),
        (False, 100, "ridge", 8),
    ],
)
def test_the_number_of_labels_chooses_the_model(further, labels, name, covariates):
    """Few labels carry no model, some a small one, many all covariates; the reason names the number."""
    chosen = choose_model(problem(further=further)[0], labels)
    assert (chosen.name, len(chosen.covariates)) == (name, covariates)
    assert f"{labels} labelled prompts" in chosen.reason


def test_a_given_model_needs_ten_labels():
    """A model of the caller's is used from ten labels on, and not in silence."""
    features = problem()[0]
    assert choose_model(features, 10, LinearRegression()).name == "LinearRegression"
    few = choose_model(features, 9, LinearRegression())
    assert few.name == "stand-in"
    assert "LinearRegression would need 10" in few.reason


def test_one_labelled_prompt_is_one():
    """The reason counts a single labelled prompt as one."""
    features = label_features(np.array([0.9, 0.1]), np.array([2]))
    assert choose_model(features, 1).reason.startswith("1 labelled prompt, fewer than")


def spread_of(values):
    """Return the standard deviation of values rounded as ties are."""
    return pstdev([round(v, 9) for v in values])


@given(prompts=pools())
def test_stand_ins_are_what_the_outcomes_would_be(prompts):
    """With T in the place of the labels, the features are Tbar, p1, p2, top-1 and hit of every prompt."""
    scores, further, sizes = arrays(prompts)
    found = label_features(scores, sizes, [further])
    assert found.stand_ins == pytest.approx(np.array([five(*prompt) for prompt in prompts]), abs=1e-9)
    assert found.spread == pytest.approx([spread_of(T) for _, T in prompts], abs=1e-7)
    assert found.imputed == 0


@given(prompts=pools())
def test_features_of_the_audited_judge(prompts):
    """Top, mean, spread, ties, square, product and range agree with plain loops."""
    scores, _, sizes = arrays(prompts)
    found = label_features(scores, sizes)
    for row, tied, (S, _) in zip(found.judge, found.all_tied, prompts, strict=True):
        top, mean, spread, count = max(S), fmean(S), spread_of(S), sum(round(s, 9) == round(max(S), 9) for s in S)
        wanted = [top, mean, spread, float(count == len(S)), float(count > 1), mean**2, spread * mean, top - min(S)]
        assert row == pytest.approx(wanted, abs=1e-7)
        assert tied == (count == len(S))
    assert not found.further
    assert found.covariates("random", brief=True)[1].shape == (len(prompts), 8)


@given(prompts=pools())
def test_what_ties_give_away(prompts):
    """Where the judge ties all candidates, its gain is 0 and its top-1 accuracy 1 / K, whatever the labels say."""
    scores, labels, sizes = arrays(prompts)
    known, Y = label_features(scores, sizes).known(), outcomes(prompt_sums(scores, labels, sizes))
    stated = ~np.isnan(known)
    assert known[stated] == pytest.approx(Y[stated], abs=1e-12)
    assert stated[:, OUTCOMES.index("judge_gain")].tolist() == [
        len({round(s, 9) for s in S}) == 1 for S, _ in prompts
    ]


def test_two_further_judges_are_averaged():
    """T is the mean over the further judges."""
    scores, sizes = np.array([0.9, 0.1, 0.5, 0.5]), np.array([2, 2])
    one, two = np.array([0.2, 0.4, 0.1, 0.9]), np.array([0.6, 0.2, 0.3, 0.1])
    both = label_features(scores, sizes, [one, two])
    assert both.stand_ins.tolist() == label_features(scores, sizes, [(one + two) / 2]).stand_ins.tolist()


def test_a_judge_that_skips_a_candidate_says_nothing_of_its_prompt():
    """Candidates are compared by the same judges: one that skipped a candidate drops out for that prompt alone."""
    scores, sizes = np.array([0.9, 0.1, 0.5, 0.4]), np.array([2, 2])
    one, two = np.array([0.2, 0.4, 0.1, 0.9]), np.array([0.6, np.nan, 0.3, 0.1])
    found = label_features(scores, sizes, [one, two])
    assert found.stand_ins[0] == pytest.approx(five([0.9, 0.1], [0.2, 0.4]))
    assert found.stand_ins[1] == pytest.approx(five([0.5, 0.4], [0.2, 0.5]))
    assert found.imputed == 0


def test_missing_scores_are_means_with_an_indicator():
    """A prompt that no further judge scored in full gets the means of the others, and is counted."""
    scores, sizes = np.array([0.9, 0.1, 0.5, 0.4, 0.3, 0.2]), np.array([2, 2, 2])
    found = label_features(scores, sizes, [np.array([0.2, 0.4, 0.1, 0.9, np.nan, 0.5])])
    assert found.imputed == 1
    assert found.stand_ins[2] == pytest.approx(found.stand_ins[:2].mean(axis=0))
    names, columns = found.covariates("judge_gain", brief=True)
    assert names == ("further_pick", "further_best", "further_spread", "further_missing")
    assert columns[:, 3].tolist() == [0.0, 0.0, 1.0]


def test_a_further_judge_without_scores_is_none():
    """Scores that are all missing leave the audited judge alone."""
    found = label_features(np.array([0.9, 0.1]), np.array([2]), [np.array([np.nan, 0.3])])
    assert not found.further
    assert found.imputed == 0


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("brief", [True, False])
def test_covariates_are_named(outcome, brief):
    """Every column has a name of its own, and every outcome sees its own stand-in."""
    rng = np.random.default_rng(1)
    found = label_features(rng.random(12), np.full(3, 4), [rng.random(12)])
    names, columns = found.covariates(outcome, brief=brief)
    assert len(set(names)) == len(names) == columns.shape[1]
    own = found.stand_ins[:, OUTCOMES.index(outcome)]
    assert any(np.array_equal(own, column) for column in columns.T)
    assert len(names) <= 4 or not brief


@given(prompts=pools(least=2), seed=st.integers(0, 9))
def test_without_further_judges_their_features_are_gone(prompts, seed):
    """Features of the audited judge alone do not depend on whether others scored."""
    scores, _, sizes = arrays(prompts)
    T = np.random.default_rng(seed).random(len(scores))
    assert np.array_equal(label_features(scores, sizes, [T]).alone().judge, label_features(scores, sizes).judge)


RHOS = st.sampled_from([-1.0, 0.0, 0.3, 1.0])


@st.composite
def fits(draw):
    """Draw predictions, outcomes and a sample with unequal weights."""
    rng, n = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.integers(3, 30))
    labelled = rng.permutation(n) < draw(st.integers(2, n))
    strata = rng.integers(0, draw(st.integers(1, 3)), n)
    sample = draw(
        st.sampled_from(
            [LabelSample.realised(labelled, strata), LabelSample(labelled, rng.uniform(0.1, 1.0, n), None)]
        )
    )
    truth = rng.standard_normal((n, 5))
    m = draw(st.sampled_from([0.0, 0.3, 1.0, 2.0])) * truth + draw(st.sampled_from([0.0, 0.5])) * rng.random((n, 5))
    return SimpleNamespace(m=m, Y=truth[labelled], draw=ScaledSample.of(sample))


def columns_of(fit, rho):
    """Return the outcomes and the contrast that Y1 and Y2 share, predicted and seen, as lists of columns."""
    phi = np.array([0.0, 1.0, -rho, 0.0, 0.0])
    directions = [phi if k in (1, 2) else np.eye(5)[k] for k in range(5)]
    seen = dict(zip(fit.draw.rows.tolist(), fit.Y, strict=True))
    for d in directions:
        predicted = [float(row @ d) for row in fit.m]
        yield predicted, [float(seen[x] @ d) if x in seen else None for x in range(len(fit.m))]


@given(fits(), RHOS)
@settings(max_examples=150)
def test_weights_of_the_model_agree_with_plain_loops(fit, rho):
    """The weight of every outcome is that of the loops over its definition, one for Y1 and Y2."""
    found = power_tuning(fit.m, fit.Y, fit.draw, rho)
    expected = [aipw_twin.tuning(m, Y, fit.draw.q.tolist()) for m, Y in columns_of(fit, rho)]
    assert found == pytest.approx(expected, abs=1e-9)
    assert found[1] == found[2]


@given(fits(), RHOS)
@settings(max_examples=60)
def test_what_a_model_explains_agrees_with_plain_loops(fit, rho):
    """The share explained is one minus the weighted variance of what is left over that of what was seen."""
    weights = fit.draw.weight.tolist()
    phi = np.array([0.0, 1.0, -rho, 0.0, 0.0])

    def variance(values):
        middle = aipw_twin.weighted_mean(values, weights)
        return aipw_twin.weighted_mean([(v - middle) ** 2 for v in values], weights)

    seen, left = (fit.Y @ phi).tolist(), ((fit.Y - fit.m[fit.draw.rows]) @ phi).tolist()
    found = share_explained(fit.m[fit.draw.rows], fit.Y, fit.draw, phi)
    assert found == pytest.approx(max(0.0, 1 - variance(left) / variance(seen)))


def test_predictions_that_cancel_have_no_weight():
    """Where the predicted gains differ by rounding alone from rho times each other, the model has no weight there."""
    T = np.array([0.15, 0.4, 0.3, 0.0]) / 2
    m = np.column_stack([T, -T, T + 1e-17 * np.arange(4), T, T])
    sample = LabelSample.uniform(np.array([True, False, True, False]))
    Y = np.array([[0.0, 0.0, 0.0, 0.5, 0.5], [0.1, -0.025, 0.025, 0.0, 0.0]])
    assert power_tuning(m, Y, ScaledSample.of(sample), -1.0)[1] == 0.0


def test_what_does_not_vary_is_not_explained():
    """There is no share of a variance that is 0."""
    fit = ScaledSample.of(LabelSample.uniform(np.array([True, True, False])))
    assert share_explained(np.zeros((2, 5)), np.ones((2, 5)), fit, np.eye(5)[0]) is None
