from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.stats.partial.outcome_model import power_tuning, share_explained
from stats import aipw_twin

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
