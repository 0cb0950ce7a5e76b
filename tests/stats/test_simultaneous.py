from __future__ import annotations

from math import sqrt
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from bonwise.auditing import simultaneous
from bonwise.auditing.simultaneous import UnitInfluences, aligned, joint_confidence, pick_influences
from golden_tables import golden

DRAWS = 200


def critical(confidence):
    """Return the critical value of the normal law."""
    return norm.ppf(0.5 + confidence / 2)


def correlated(estimates, correlation, units=400):
    """Return influences that have one correlation between every two, exactly."""
    rng = np.random.default_rng(7)
    basis, _ = np.linalg.qr(rng.standard_normal((units, estimates + 1)))
    return (sqrt(1 - correlation) * basis[:, 1:] + sqrt(correlation) * basis[:, :1]).T


KINDS = {"each": "simultaneous", "lower": "after", "differences": "differences"}
"""What holds, by the word of the table."""


@pytest.mark.parametrize("row", golden("simultaneous"), ids=lambda row: "-".join([*row.values()][:3]))
def test_critical_values_are_those_of_published_tables(row):
    """Dunnett's and Tukey's critical values, and those of independent estimates."""
    found = joint_confidence(correlated(int(row["estimates"]), float(row["correlation"])), 0.95)
    assert critical(found[KINDS[row["kind"]]]) == pytest.approx(float(row["critical"]), abs=0.04)


def test_estimates_that_vary_alike_are_one():
    """Copies of one judge need no wider interval; the draws leave a little of their own error."""
    alike = np.tile(np.random.default_rng(1).standard_normal(50), (20, 1))
    found = joint_confidence(alike, 0.95)
    assert found.simultaneous == pytest.approx(0.95, abs=0.005)
    assert found.after == pytest.approx(0.95, abs=0.005)
    assert found.differences == 0.95


def test_a_single_pair_has_its_pointwise_interval():
    """One difference is compared with nothing else."""
    assert joint_confidence(correlated(2, 0.3), 0.9).differences == 0.9


def test_an_estimate_that_nothing_moves_counts_as_independent():
    """Its bound for prompts that are all alike can fail on its own."""
    still = correlated(2, 0)
    still[1] = 0
    assert joint_confidence(still, 0.95).simultaneous == pytest.approx(0.95**0.5, abs=0.004)


def test_the_scale_of_the_influences_changes_nothing():
    """Only correlations count; the same seed gives the same draws."""
    some = correlated(4, 0.2)
    first, second = joint_confidence(some, 0.95, seed=3), joint_confidence(1000 * some, 0.95, seed=3)
    assert (first.simultaneous, first.after, first.differences) == pytest.approx(
        (second.simultaneous, second.after, second.differences), abs=1e-9
    )
    assert joint_confidence(some, 0.95, seed=4) != first


def by_loops(influences, confidence, seed):
    """Return the joint confidences with the covariance, its Cholesky factor and the maxima in plain loops."""
    count, units = len(influences), len(influences[0])
    covariance = [
        [sum(influences[k][u] * influences[j][u] for u in range(units)) for j in range(count)] for k in range(count)
    ]
    factor = [[0.0] * count for _ in range(count)]
    for k in range(count):
        for j in range(k + 1):
            rest = covariance[k][j] - sum(factor[k][i] * factor[j][i] for i in range(j))
            factor[k][j] = sqrt(rest) if j == k else rest / factor[j][j]
    normal = np.random.default_rng(seed).standard_normal((count, DRAWS))
    each, lower, apart = [], [], []
    for draw in range(DRAWS):
        error = [sum(factor[k][j] * normal[j][draw] for j in range(k + 1)) for k in range(count)]
        z = [error[k] / sqrt(covariance[k][k]) for k in range(count)]
        each.append(max(abs(one) for one in z))
        lower.append(max(z))
        spread = [
            abs(error[k] - error[j]) / sqrt(covariance[k][k] + covariance[j][j] - 2 * covariance[k][j])
            for k in range(count)
            for j in range(k)
        ]
        apart.append(max(spread))
    tail = (1 - confidence) / 2
    quantiles = (np.quantile(each, confidence), np.quantile(lower, 1 - tail), np.quantile(apart, confidence))
    return [max(2 * norm.cdf(c) - 1, confidence) for c in quantiles]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(3, 5), st.integers(8, 20), st.sampled_from([0.8, 0.9, 0.95]), st.integers(0, 2**16), st.floats(0.1, 3)
)
def test_joint_confidence_has_a_twin_in_plain_loops(count, units, confidence, seed, spread):
    """The triangular factor by QR is the Cholesky factor of the covariance."""
    rng = np.random.default_rng(seed)
    influences = rng.standard_normal((count, units)) + spread * rng.standard_normal(units)
    with mock.patch.object(simultaneous, "_DRAWS", DRAWS):
        found = joint_confidence(influences, confidence, seed=seed)
    expected = by_loops(influences.tolist(), confidence, seed)
    assert [found.simultaneous, found.after, found.differences] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**16), st.booleans(), st.booleans())
def test_influences_have_a_twin_in_plain_loops(prompts, seed, clustered, weighted):
    """Gain and recovery move by what a prompt adds to their linear approximation."""
    rng = np.random.default_rng(seed)
    gains, possible = rng.normal(size=prompts), rng.uniform(0.1, 1, prompts)
    weights = rng.uniform(0.5, 2, prompts) if weighted else np.ones(prompts)
    clusters = rng.integers(0, 3, prompts) if clustered else np.arange(prompts)
    found = pick_influences(gains, possible, clusters if clustered else None, weights if weighted else None)
    total = sum(weights)
    gain = sum(w * g for w, g in zip(weights, gains, strict=True)) / total
    room = sum(w * p for w, p in zip(weights, possible, strict=True)) / total
    expected = {"gain": {}, "recovery": {}}
    for g, p, w, cluster in zip(gains, possible, weights, clusters, strict=True):
        parts = {"gain": w * (g - gain) / total, "recovery": w * (g - gain / room * p) / room / total}
        for name, part in parts.items():
            expected[name][cluster] = expected[name].get(cluster, 0.0) + part
    for name, by_cluster in expected.items():
        assert found[name].tolist() == pytest.approx([by_cluster[c] for c in sorted(by_cluster)], abs=1e-12)


def test_judges_on_other_prompts_are_aligned_by_prompt():
    """Names of prompts, in whatever order, and judges that share none of them."""
    values = ({"gain": np.array([1.0, 2.0])}, {"gain": np.array([3.0, 4.0])}, {"gain": np.array([5.0])})
    units = (["a", "b"], ["b", "c"], ["d"])
    judges = [
        UnitInfluences(np.array(names, dtype=object), found) for names, found in zip(units, values, strict=True)
    ]
    assert aligned(judges, "gain").tolist() == [[1, 2, 0, 0], [0, 3, 4, 0], [0, 0, 0, 5]]


def test_without_anything_to_gain_recovery_has_no_influence():
    """Labels that are equal in each prompt leave nothing to recover."""
    assert [*pick_influences(np.zeros(3), np.zeros(3))] == ["gain"]
