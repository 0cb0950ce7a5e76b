from __future__ import annotations

import numpy as np
import pytest

from bonwise.auditing.aipw import partial_estimates
from bonwise.labels.recovery_variance import recovery_deviations, score_residuals
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.partial.label_features import label_features, outcomes
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import prompt_sums
from stats.second_judge import replications


@pytest.fixture(scope="module")
def pools():
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


def test_deviations_sum_to_nothing(pools):
    """Phi is Y1 - rho Y2 with the rho at which it sums to 0."""
    Y = pools[4]
    rho, phi = recovery_deviations(Y)
    assert rho == pytest.approx(Y[:, 1].mean() / Y[:, 2].mean())
    assert phi.sum() == pytest.approx(0, abs=1e-9)


def test_few_labels_leave_everything_without_a_second_judge(pools):
    """Below 100 labels and without further judges the model is none and phi is left as it is."""
    scores, _, sizes, _, Y = pools
    found = score_residuals(Y, label_features(scores, sizes), some(2000, 60), seed=0)
    assert found.model == "labels only"
    assert found.left.tolist() == recovery_deviations(Y)[1].tolist()


@pytest.mark.parametrize("labels", [20, 60, 250, 2000])
def test_a_second_judge_takes_variance_off(pools, labels):
    """Whatever the model, what it leaves varies less than phi, and is phi less one multiple of its predictions."""
    scores, second, sizes, _, Y = pools
    found = score_residuals(Y, label_features(scores, sizes, [second]), some(2000, labels), seed=0)
    assert found.left.var() < (0.75 if labels > 100 else 0.95) * recovery_deviations(Y)[1].var()


def test_the_estimate_of_an_audit_varies_as_the_residuals_say(pools):
    """The variance of recovery over 60 samples of 250 labels is that of the residuals' mean, within 3 errors."""
    scores, second, sizes, sums, Y = pools
    features, values, expected = label_features(scores, sizes, [second]), [], []
    for at in range(60):
        labelled = some(2000, 250, at)
        found = partial_estimates(sums[:, labelled], features, LabelSample.uniform(labelled), IntervalRule(), seed=at)
        values.append(found.metrics["recovery"].estimate)
        left = score_residuals(Y, features, labelled, seed=at).left
        expected.append((1 / 250 - 1 / 2000) * left.var(ddof=1) / Y[:, 2].mean() ** 2)
    ratio = np.var(values, ddof=1) / np.mean(expected)
    assert abs(ratio - 1) < 3 * np.sqrt(2 / 59)
