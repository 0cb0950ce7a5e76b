from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bonwise.stats.preference import PREFERENCE_METRICS, preference_jackknife

VALUES = st.sampled_from([0.0, 0.5, 1.0])
BINARY = st.sampled_from([0.0, 1.0])


@st.composite
def verdicts(draw, values=VALUES, most=14):
    """Draw pairs as (J, O, prompt, context), several pairs a prompt, two prompts or more, each in one context."""
    home = draw(st.lists(st.integers(0, 3), min_size=2, max_size=7))
    prompts = [0, 1, *draw(st.lists(st.integers(0, len(home) - 1), max_size=most))]
    return [(draw(values), draw(values), prompt, home[prompt]) for prompt in prompts]


def arrays(pairs):
    """Lay pairs out as the arrays that the estimator takes."""
    return tuple(np.array(column) for column in zip(*pairs, strict=True))


def estimated(pairs):
    """Return the estimates by name."""
    return dict(zip(PREFERENCE_METRICS, preference_jackknife(*arrays(pairs)).estimate, strict=True))


def over(numerator, denominator):
    """Divide, or say that it cannot be done."""
    return numerator / denominator if abs(denominator) > 1e-12 else math.nan


def reach(*variances):
    """Return the most that a covariance can be, nothing where a variance is but rounding."""
    return math.sqrt(math.prod(variances)) if min(variances) > 1e-12 else 0.0


def twin(pairs):
    """Work the metrics out once more in plain loops, from the definitions, one context after the other."""
    n = len(pairs)

    def split(first, second):
        between = within = 0.0
        means = [fmean(pair[at] for pair in pairs) for at in (first, second)]
        for x in {pair[3] for pair in pairs}:
            mine = [pair for pair in pairs if pair[3] == x]
            own = [fmean(pair[at] for pair in mine) for at in (first, second)]
            between += len(mine) / n * (own[0] - means[0]) * (own[1] - means[1])
            within += sum((pair[first] - own[0]) * (pair[second] - own[1]) for pair in mine) / n
        return between, within

    cov, var_O, var_J = split(0, 1), split(1, 1), split(0, 0)
    return {
        "agreement": fmean(1 - abs(pair[0] - pair[1]) for pair in pairs),
        "judge_tie_rate": fmean(pair[0] == 0.5 for pair in pairs),
        "phi": over(sum(cov), reach(sum(var_J), sum(var_O))),
        "phi_within": over(cov[1], reach(var_J[1], var_O[1])),
        "covariance": sum(cov),
        "covariance_between": cov[0],
        "covariance_within": cov[1],
        "covariance_between_share": over(cov[0], sum(cov)),
        "oracle_variance": sum(var_O),
        "oracle_variance_between": var_O[0],
        "oracle_variance_within": var_O[1],
        "oracle_between_share": over(var_O[0], sum(var_O)),
    }


@given(verdicts())
@settings(max_examples=150)
def test_estimates_are_those_of_plain_loops(pairs):
    """Every metric is the definition, worked out context by context."""
    found, expected = estimated(pairs), twin(pairs)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@given(verdicts())
@example([(0.0, 0.0, 0, 0), (0.0, 0.5, 1, 1), (0.0, 0.0, 0, 0), (0.5, 1.0, 0, 0), (0.5, 0.5, 1, 1)])
@settings(max_examples=80)
def test_errors_are_those_of_leaving_prompts_out(pairs):
    """A standard error is that of the estimates with each prompt's pairs deleted in turn."""
    found = preference_jackknife(*arrays(pairs))
    prompts = sorted({pair[2] for pair in pairs})
    n = len(prompts)
    left = [twin([pair for pair in pairs if pair[2] != prompt]) for prompt in prompts]
    for name, se in zip(PREFERENCE_METRICS, found.se, strict=True):
        values = [one[name] for one in left]
        expected = math.sqrt((n - 1) / n * sum((v - fmean(values)) ** 2 for v in values))
        assert se == pytest.approx(expected, abs=1e-7, nan_ok=True), name


def test_one_prompt_has_no_error():
    """A single prompt has estimates and no standard error, and no warning on the way."""
    found = preference_jackknife(*arrays([(1.0, 1.0, 0, 0), (0.0, 1.0, 0, 0)]))
    assert found.estimate[0] == 0.5
    assert np.isnan(found.se).all()


@given(verdicts(most=40))
@settings(max_examples=150)
def test_totals_are_between_plus_within(pairs):
    """Covariance and oracle variance are the sum of their two parts to 1e-12."""
    found = estimated(pairs)
    for name in ("covariance", "oracle_variance"):
        assert found[name] == pytest.approx(found[f"{name}_between"] + found[f"{name}_within"], abs=1e-12)
    assert found["oracle_variance_between"] >= -1e-12
    assert found["oracle_variance_within"] >= -1e-12


@given(verdicts(values=BINARY, most=40))
@settings(max_examples=150)
def test_binary_variance_is_spread_of_rates_plus_noise(pairs):
    """For an oracle without ties Var(O) = Var(P) + E[P (1 - P)], P the rate of its context (equation 6)."""
    found = estimated(pairs)
    rates = {x: fmean(pair[1] for pair in pairs if pair[3] == x) for x in {pair[3] for pair in pairs}}
    P = [rates[pair[3]] for pair in pairs]
    assert found["oracle_variance_between"] == pytest.approx(fmean(p * p for p in P) - fmean(P) ** 2, abs=1e-12)
    assert found["oracle_variance_within"] == pytest.approx(fmean(p * (1 - p) for p in P), abs=1e-12)


def test_a_table_worked_by_hand():
    """Two contexts of four pairs: all of the judge's covariance lies between, and it chooses at random within."""
    # Context 0: O = 1 1 1 0, J = 1 1 1 1, so rates 3/4 and 1. Context 1: O = 0 0 0 1, J = 0 0 0 0: 1/4 and 0.
    oracle, judge = [1, 1, 1, 0, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0, 0, 0]
    found = estimated([(float(j), float(o), x, x // 4) for x, (j, o) in enumerate(zip(judge, oracle, strict=True))])
    assert found["agreement"] == 0.75
    assert found["phi"] == pytest.approx(0.5)  # (3/8 - 1/4) / (1/2 * 1/2)
    assert found["covariance"] == pytest.approx(1 / 8)
    assert found["covariance_between"] == pytest.approx(1 / 8)  # deviations of rates: +-1/4 times +-1/2
    assert found["covariance_within"] == pytest.approx(0)
    assert found["covariance_between_share"] == pytest.approx(1)
    assert found["oracle_variance"] == pytest.approx(1 / 4)
    assert found["oracle_variance_between"] == pytest.approx(1 / 16)
    assert found["oracle_variance_within"] == pytest.approx(3 / 16)  # 3/4 * 1/4 in either context
    assert math.isnan(found["phi_within"])  # the judge never varies within a context


def test_a_tie_counts_half():
    """A tied verdict agrees by half with either oracle, and is counted as a tie."""
    found = estimated([(0.5, 1.0, 0, 0), (0.5, 0.0, 1, 0), (1.0, 1.0, 2, 0), (0.0, 0.5, 3, 0)])
    assert found["agreement"] == pytest.approx((0.5 + 0.5 + 1 + 0.5) / 4)
    assert found["judge_tie_rate"] == 0.5


@given(verdicts(values=BINARY, most=30))
@settings(max_examples=60)
def test_phi_within_is_the_correlation_of_deviations(pairs):
    """phi_within is the correlation once each context's own rates were taken off; with one context it is phi."""
    judge, oracle, _, context = arrays(pairs)
    for x in np.unique(context):
        judge[context == x] -= judge[context == x].mean()
        oracle[context == x] -= oracle[context == x].mean()
    expected = over(judge @ oracle, math.sqrt((judge @ judge) * (oracle @ oracle)))
    assert estimated(pairs)["phi_within"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
    one = estimated([(j, o, at, 0) for j, o, at, _ in pairs])
    assert one["phi_within"] == pytest.approx(one["phi"], abs=1e-9, nan_ok=True)


@given(verdicts())
@settings(max_examples=60)
def test_turning_every_pair_round_changes_nothing(pairs):
    """Which candidate comes first is a convention: 1 - J and 1 - O have the same figures."""
    turned = [(1 - j, 1 - o, prompt, context) for j, o, prompt, context in pairs]
    for name, value in estimated(pairs).items():
        assert estimated(turned)[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@given(verdicts(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_and_names_say_nothing(pairs, rng):
    """Shuffled pairs under other numbers for prompts and contexts have the same estimates and errors."""
    renamed = [(j, o, 10 + 7 * prompt, 9 - context) for j, o, prompt, context in pairs]
    rng.shuffle(renamed)
    plain, other = preference_jackknife(*arrays(pairs)), preference_jackknife(*arrays(renamed))
    assert other.estimate == pytest.approx(plain.estimate, abs=1e-9, nan_ok=True)
    assert other.se == pytest.approx(plain.se, abs=1e-7, nan_ok=True)


def test_perfect_and_contrary_judges():
    """A judge that says what the oracle says has phi 1, one that says the contrary -1, within contexts too."""
    pairs = [(float(x % 3 == 0), float(x % 3 == 0), x, x % 2) for x in range(24)]
    perfect, contrary = estimated(pairs), estimated([(1 - j, o, p, x) for j, o, p, x in pairs])
    for name in ("phi", "phi_within"):
        assert perfect[name] == pytest.approx(1)
        assert contrary[name] == pytest.approx(-1)
    assert (perfect["agreement"], contrary["agreement"]) == (1, 0)
