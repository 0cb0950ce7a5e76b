"""How many more labels would settle what is open."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from auditing.tables import parts
from bonwise.auditing.what_if import POWER, Settling, distance, gate_shift, projected
from bonwise.stats import estimation
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.laws import (
    EffectiveShare,
    Exact,
    Fieller,
    FisherZ,
    Percentile,
    RecoveryNearOne,
    Student,
    Turned,
    student_quantile,
)
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


def under(law, *, estimate, se=0.1, n=100, confidence=0.95):
    """Return an estimate with a law."""
    return estimation.under(law, confidence, estimate=estimate, se=se, n=n)


def test_four_times_the_prompts_halve_the_scatter():
    """By hand: a quarter of each variance, and 4 (df + 1) - 1 degrees of freedom."""
    found = projected(under(Fieller(0.2, 0.5, 0.04, 0.01, 0.02, 19.0), estimate=0.4), 4, 0.95)
    assert found.law == Fieller(0.2, 0.5, 0.01, 0.0025, 0.005, 79.0)
    assert (found.n, found.se, found.estimate) == (400, 0.05, 0.4)
    student = projected(under(Student(0.4, 0.1, 9.0, (-1, 1)), estimate=0.4), 4, 0.9)
    half = student_quantile(0.9, 39.0) * 0.05
    assert (student.low, student.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-12)
    correlation = projected(under(FisherZ(0.6, 0.08, 9.0), estimate=0.6), 4, 0.9)
    ends = [math.tanh(math.atanh(0.6) + side * student_quantile(0.9, 39.0) * 0.04 / 0.64) for side in (-1, 1)]
    assert (correlation.low, correlation.high) == pytest.approx(ends, abs=1e-12)


def test_degrees_of_freedom_stay_between_3_and_the_prompts_less_1():
    """Few prompts leave at least 3 degrees of freedom, or one less than the prompts."""
    now = under(Student(0.4, 0.1, 99.0, (-1, 1)), estimate=0.4)
    assert projected(now, 0.02, 0.95).law.df == 1.0
    heavy = under(Student(0.4, 0.1, 3.0, (-1, 1)), estimate=0.4)
    assert projected(heavy, 0.5, 0.95).law.df == 3.0


def test_other_laws():
    """A bootstrap draws together, prompts that are all alike are counted, a recovery near 1 keeps both laws."""
    replicates = np.array([0.1, 0.3, 0.5])
    drawn = projected(under(Percentile(replicates), estimate=0.3), 4, 0.9)
    assert drawn.law.replicates == pytest.approx([0.2, 0.3, 0.4])
    alike = projected(under(Exact(1.0, 30, (0.0, 1.0)), estimate=1.0), 2, 0.95)
    assert alike.low == pytest.approx(1 - (1 - 0.025 ** (1 / 60)))
    near = RecoveryNearOne(Fieller(0.45, 0.5, 0.04, 0.01, 0.02, 19.0), EffectiveShare(0.1, 0.2, 19.0))
    law = projected(under(near, estimate=0.9), 100, 0.95).law
    assert (law.ratio.caa, law.lost.se, law.lost.df) == pytest.approx((0.0004, 0.02, 1999))


def test_what_cannot_be_projected():
    """Without an estimate, or a law that is known, there is nothing; an unbounded interval is undefined."""
    assert projected(Estimate.undefined("undefined", 10), 2, 0.95) is None
    assert projected(Estimate(0.4, None, None, None, 1, None, reason="no interval"), 2, 0.95) is None
    other = under(Turned(Fieller(0.2, 0.5, 0.001, 0.0, 0.001, 19.0), 1.0), estimate=0.6)
    assert projected(other, 2, 0.95) is None
    now = under(Fieller(0.2, 0.5, 0.01, 0.0, 0.01, 99.0), estimate=0.4)
    assert projected(now, 0.1, 0.95).reason == NOT_DISTINGUISHABLE


def recovery(audit):
    """Return the recovery of an audit with what is known of it."""
    return parts(audit).judges["judge"].metrics["recovery"]


def test_as_many_prompts_change_nothing():
    """At ratio 1 interval and law are those there are."""
    now = recovery(bw.audit(simulate("arena", n=80, seed=4).frame()))
    same = projected(now, 1, 0.95)
    assert same.law is now.law
    assert (same.low, same.high, same.n) == (now.low, now.high, now.n)


def fieller_by_search(a, b, caa, cab, cbb, t):
    """Return the ratios that a test does not reject, found by bisection from the estimate outwards."""

    def rejected(rho):
        return (a - rho * b) ** 2 > t**2 * (caa - 2 * rho * cab + rho**2 * cbb)

    ends = []
    for step in (-1.0, 1.0):
        inside, outside = a / b, a / b + step
        while not rejected(outside):
            outside += step
        for _ in range(80):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
        ends.append(inside)
    return ends


@given(
    gains=st.lists(st.floats(-1, 1), min_size=8, max_size=20).filter(lambda values: np.ptp(values) > 0.1),
    ratio=st.floats(1.0, 30.0),
    seed=st.integers(0, 2**31),
)
def test_a_plain_loop_projects_the_same(gains, ratio, seed):
    """Means, sums of products and a search for the ends give the projected interval."""
    rng = np.random.default_rng(seed)
    room = [abs(one) + 0.5 + rng.uniform(0, 0.2) for one in gains]
    n = len(gains)
    a, b = sum(gains) / n, sum(room) / n
    caa = cab = cbb = 0.0
    for x, y in zip(gains, room, strict=True):
        caa += (x - a) ** 2 / (n - 1) / n
        cab += (x - a) * (y - b) / (n - 1) / n
        cbb += (y - b) ** 2 / (n - 1) / n
    df = n - 1.0
    now = under(Fieller(a, b, caa, cab, cbb, df), estimate=a / b, n=n)
    found = projected(now, ratio, 0.95)
    if found.low is None:
        return
    t = student_quantile(0.95, min(max((df + 1) * ratio - 1, 3), round(n * ratio) - 1))
    ends = fieller_by_search(a, b, caa / ratio, cab / ratio, cbb / ratio, t)
    assert [found.low, found.high] == pytest.approx(ends, abs=1e-7)


def test_distance_of_a_ratio_and_of_others():
    """By hand: (0.2 - 0.5 x 0.5) / sqrt(0.04 - 0.01 + 0.005); a half over its standard error for what is no ratio."""
    ratio = Fieller(0.2, 0.5, 0.04, 0.01, 0.02, 19.0)
    want = (0.2 - 0.25) / math.sqrt(0.04 - 2 * 0.5 * 0.01 + 0.25 * 0.02)
    assert distance(under(ratio, estimate=0.4), 0.5) == pytest.approx(want)
    assert distance(under(RecoveryNearOne(ratio, EffectiveShare(0.1, 0.1, 9.0)), estimate=0.9), 0.5) == pytest.approx(
        want
    )
    assert distance(Estimate.undefined("undefined", 3), 0.5) is None
    assert distance(under(Exact(1.0, 30, (0.0, 1.0)), estimate=1.0, se=math.nan), 0.5) is None


@pytest.mark.parametrize(("n", "times", "off"), [(60, 4, 0.06), (100, 4, 0.06), (240, 0.25, 0.1)])
def test_the_projected_half_width_is_that_of_other_tables(n, times, off):
    """Over simulated tables: the mean half-width that is projected is the real one to 6 %, for fewer prompts 10 %."""
    there, real = [], []
    for seed in range(60):
        there.append(projected(recovery(bw.audit(simulate("arena", n=n, seed=seed).frame())), times, 0.95))
        real.append(bw.audit(simulate("arena", n=round(n * times), seed=seed + 1000).frame())["recovery"])
    mean = [np.mean([one.high - one.low for one in some if one.low is not None]) for some in (there, real)]
    assert mean[0] / mean[1] == pytest.approx(1, abs=off)
