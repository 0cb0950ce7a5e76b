from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.sums import Sums, prompt_sums
from stats import twins
from stats.pools import arrays, as_prompts, pools


def estimates(prompts, rule=None):
    """Estimate every metric of the prompts."""
    return estimate(ESTIMANDS, prompt_sums(*arrays(prompts)), rule or IntervalRule())


def values(found):
    """Return the bare estimates."""
    return {name: e.estimate for name, e in found.items()}


def plain_values(prompts):
    """Compute every metric from totals, None where it is undefined."""
    totals = Sums(*prompt_sums(*arrays(prompts)).sum(axis=1))
    found = {e.name: float(e.of(totals)) for e in ESTIMANDS}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def assert_equal(found, expected, **tolerance):
    """Compare metric by metric, None being equal to None only."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert found[name] is None, name
        else:
            assert found[name] == pytest.approx(value, **tolerance), name


@given(pools())
@settings(max_examples=300)
def test_metrics_equal_their_definitions(prompts):
    """Sums and totals give what the definitions give in plain loops, undefined where those are undefined."""
    assert_equal(plain_values(prompts), twins.metrics(prompts), rel=1e-9, abs=1e-9)


def may_be_0(e):
    """Tell whether an interval does not exclude 0."""
    return e.low is None or e.low <= 0 <= e.high


@given(pools(least=2))
def test_only_wild_ratios_are_withheld(prompts):
    """An estimate is the metric itself; only a ratio whose denominator may be 0 is withheld, with that reason."""
    found, plain = estimates(prompts), plain_values(prompts)
    for name, e in found.items():
        if e.estimate is None and plain[name] is not None:
            assert name in {"recovery", "inflation"}
            assert e.reason.removeprefix("unbounded: ") == "denominator not distinguishable from 0"
        else:
            assert e.estimate == (None if plain[name] is None else pytest.approx(plain[name], abs=1e-12)), name
            assert e.estimate is not None or "undefined" in e.reason


@given(pools(most=1))
def test_a_single_prompt_has_estimates_and_no_intervals(prompts):
    """From one prompt every metric that exists is estimated, none has an interval, and each says why."""
    for name, e in estimates(prompts).items():
        assert (e.low, e.high, e.se) == (None, None, None), name
        assert e.reason, name


def test_a_possible_gain_that_may_be_0_withholds_recovery():
    """Three prompts in ten with anything to gain leave the mean possible gain indistinct from 0; ten do not."""
    flat, right, wrong = ([0.9, 0.1], [0.5, 0.5]), ([0.9, 0.1], [0.7, 0.5]), ([0.9, 0.1], [0.5, 0.7])
    withheld = estimates([flat] * 7 + [right] * 2 + [wrong])["recovery"]  # mean .03, t(9) times its se .0345
    assert withheld.reason == "denominator not distinguishable from 0"
    assert estimates([right] * 9 + [wrong])["recovery"].estimate == pytest.approx(0.8)


@given(pools(least=2, most=12))
def test_standard_errors_equal_the_plain_jackknife(prompts):
    """Each standard error is that of the metrics recomputed without prompt x, for every x."""
    found, without = estimates(prompts), twins.left_out(prompts)
    for name, e in found.items():
        se = twins.jackknife_se([rest[name] for rest in without])
        if e.estimate is None or e.n < 2:
            assert e.se is None, name
        elif e.reason is None:
            assert e.se == pytest.approx(se, rel=1e-9, abs=1e-9), name
        else:
            assert e.low is None, name


OPPOSED = [
    ([0, 0, 0, 0, 0, 0.05], [0, 0, 0, 0, 0.3, 0]),
    ([0, 0, 0, 0.3], [0, 0, 0, 0]),
    ([0, 0, 0], [0, 0, 0.1]),
    ([0, 0.05], [0, 0.05]),
]
"""Prompts whose global_r lies below 0 by its jackknife interval and covers 0 by its bootstrap interval."""


@given(pools(least=2, most=5))
@example(OPPOSED)
@settings(max_examples=25)
def test_bootstrap_equals_the_plain_resampling(prompts):
    """With the same generator, interval and standard error are those of recomputed resamples."""
    plain, rule = estimates(prompts), IntervalRule("bootstrap", resamples=20, seed=7)
    found, again = estimates(prompts, rule), twins.resampled(prompts, 20, 7)
    for name, e in found.items():
        replicates = [row[name] for row in again]
        if e.interval != "bootstrap":
            assert None in replicates or plain[name].interval in {None, "exact", "clopper-pearson"}, name
            continue
        assert e.se == pytest.approx(np.std(replicates, ddof=1), rel=1e-9, abs=1e-9), name
        assert (e.low, e.high) == pytest.approx(np.quantile(replicates, [0.025, 0.975]), rel=1e-9, abs=1e-9)


def test_512_prompts_of_32_verdicts_equal_the_definitions():
    """Large pools with labels of only 0 and 1, where most pairs are tied, agree with the plain loops."""
    rng = np.random.default_rng(20261121)
    labels = (rng.random((512, 32)) < 0.3).astype(float)
    scores = np.round(0.3 * labels + 0.7 * rng.random((512, 32)), 1)
    prompts = as_prompts(scores, labels)
    assert_equal(plain_values(prompts), twins.metrics(prompts), rel=1e-9)
    assert_equal(values(estimates(prompts)), twins.metrics(prompts), rel=1e-9)


@given(pools(least=2), pools(least=2))
def test_order_of_prompts_does_not_matter(some, others):
    """Metrics and standard errors are those of a set of prompts, whatever their order and sizes."""
    forward, backward = estimates(some + others), estimates(others[::-1] + some[::-1])
    assert_equal(values(forward), values(backward), rel=1e-9, abs=1e-9)
    standard_errors = [{name: e.se for name, e in found.items()} for found in (forward, backward)]
    assert_equal(*standard_errors, rel=1e-6, abs=1e-9)
