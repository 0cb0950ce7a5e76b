from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as SklearnRidge

from bonwise.errors import UsageError
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample, fold_of
from bonwise.stats.partial.outcome_model import FOLDS, Ridge, choose_model, cross_fit

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
    from bonwise.auditing.aipw import partial_estimates  # noqa: PLC0415 - the door that users come through

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
