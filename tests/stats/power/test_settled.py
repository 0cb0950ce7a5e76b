from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from auditing.tables import parts
from bonwise.auditing.more_labels import POWER, Settling, distance, gate_shift
from bonwise.testing import simulate


def test_by_hand():
    """100 prompts one standard error away: (1.96 + 1.2816)^2 x 100 + 1.96^2 / 2 = 1,053 prompts for 90 %."""
    study = Settling(1.0, 100, 100, 0.95)
    assert study.needed() == pytest.approx((1.959964 + 1.281552) ** 2 * 100 + 1.959964**2 / 2, abs=1e-3)
    assert study.chance(study.needed()) == pytest.approx(POWER)
    assert study.chance(100) == pytest.approx(stats.norm.cdf(math.sqrt(100 - 1.959964**2 / 2) / 10 - 1.959964))
    assert Settling(-1.0, 100, 100, 0.95).needed() == study.needed()


def test_clusters_are_the_units():
    """30 clusters of 90 prompts: three prompts come with every unit."""
    by_cluster, alone = Settling(2.0, 90, 30, 0.95), Settling(2.0, 30, 30, 0.95)
    assert by_cluster.needed() == pytest.approx(3 * alone.needed())
    assert by_cluster.chance(180) == pytest.approx(alone.chance(60))


def test_no_number_where_the_estimate_is_the_gate():
    """At the gate itself nothing settles the verdict but chance."""
    study = Settling(0.0, 100, 100, 0.95)
    assert study.needed() is None
    assert study.chance(10**6) == pytest.approx(0.025)


def test_ends_of_the_number():
    """The nearer end of the distance takes more prompts; a distance that may be 0 has no upper end."""
    rng = np.random.default_rng(1)
    gains, possible = rng.normal(0.2, 0.3, 200), np.full(200, 0.5)
    far, near = gate_shift(gains, possible, 0.0), gate_shift(gains, possible, 0.4)
    study = Settling(far.estimate * math.sqrt(200), 200, 200, 0.95)
    low, high = study.needed_between(far)
    assert low < study.needed() < high
    assert Settling(near.estimate * math.sqrt(200), 200, 200, 0.95).needed_between(near)[1] is None
    below = gate_shift(-gains, possible, 0.0)
    assert Settling(study.z, 200, 200, 0.95).needed_between(below) == pytest.approx((low, high))


def test_prompts_that_are_alike_tell_no_ends():
    """Where nothing varies the distance has no standard error."""
    alone = gate_shift(np.array([0.1, 0.1]), np.array([0.5, 0.5]), 0.3)
    assert Settling(1.0, 2, 2, 0.95).needed_between(alone) == (None, None)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 1)), min_size=3, max_size=12), st.floats(0, 1))
def test_a_plain_loop_agrees(pairs, gate):
    """Mean over standard deviation of gain - gate x possible gain, each prompt left out once."""
    over = [a - gate * b for a, b in pairs]

    def ratio(values):
        mean = sum(values) / len(values)
        square = sum(one * one for one in values) / len(values)
        spread = square - mean * mean
        return mean / math.sqrt(spread) if spread > 1e-9 * square and spread > 1e-9 else math.nan

    found = gate_shift(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]), gate)
    left = [ratio(over[:at] + over[at + 1 :]) for at in range(len(over))]
    if not all(map(math.isfinite, [*left, ratio(over)])):
        return
    mean = sum(left) / len(left)
    se = math.sqrt((len(left) - 1) / len(left) * sum((one - mean) ** 2 for one in left))
    assert (found.estimate, found.se) == pytest.approx((ratio(over), se), rel=1e-4, abs=1e-7)


def settled(n, gate, tables):
    """Return the share of simulated tables whose verdict is the right one at a gate."""
    truth = simulate("arena", n=60_000, seed=99).frame()
    above = bw.audit(truth)["recovery"].estimate > gate
    right = 0
    for seed in range(tables):
        found = bw.audit(simulate("arena", n=n, seed=seed).frame())["recovery"]
        right += found.low is not None and (found.low > gate if above else found.high < gate)
    return right / tables


@pytest.mark.parametrize("tables", [120, pytest.param(1000, marks=pytest.mark.slow)], ids=["thinned", "full"])
@pytest.mark.parametrize(("n", "gate"), [(60, 0.5), (100, 0.45), (200, 0.1)])
def test_simulated_audits_settle_as_often_as_is_said(n, gate, tables):
    """Over simulated tables: the chance by the true recovery and the true scatter is the share that is settled."""
    large = parts(bw.audit(simulate("arena", n=20_000, seed=99).frame())).judges["judge"].metrics["recovery"]
    study = Settling(distance(large, gate), 20_000, 20_000, 0.95)
    assert settled(n, gate, tables) == pytest.approx(study.chance(n), abs=0.03 + 2.6 * math.sqrt(0.25 / tables))
