"""Statistics of a drift, and false alarms within a year: thinned here, in full under ``-m slow``."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import bonwise as bw
from bonwise.watching.courses import highest_share, level_over, lowest_recovery, lowest_share, neighbour_correlation
from bonwise.watching.drift import (
    STAKES,
    Looks,
    _spans,
    bounded_evidence,
    first_alarm,
    look_size,
    normal_scores,
    scores_evidence,
)
from watching.labelled_laws import LAWS, bound_alarm, recovery_alarm, tie_alarm
from watching.laws import SIX, alarm_day, picks_of
from watching.logs import write_log


def test_evidence_by_hand():
    """One score of 2 in a year of 10: E = exp(4 / 4) / sqrt 2, averaged with nine bets that have not begun."""
    found = scores_evidence(np.array([2.0]), 10)
    assert np.exp(found.log_e[0]) == pytest.approx((math.e / math.sqrt(2) + 9) / 10, rel=1e-12)
    one_sided = scores_evidence(np.array([2.0]), 10, "below")
    half = math.e / math.sqrt(2) * 2 * stats.norm.cdf(-2 / math.sqrt(2))
    assert np.exp(one_sided.log_e[0]) == pytest.approx((half + 9) / 10, rel=1e-12)


def _likelihood_ratio(shift, total, count):
    """Return the likelihood ratio of one shift, times its prior density."""
    return stats.norm.pdf(shift) * math.exp(shift * total - count * shift**2 / 2)


def test_a_bet_is_the_likelihood_ratio_of_a_drawn_shift():
    """The closed form is the integral over shifts; of one half of them with twice the weight."""
    scores = np.array([0.4, 1.3, 2.2])
    for sides, low, high, times in (("both", -9, 9, 1), ("above", 0, 9, 2), ("below", -9, 0, 2)):
        expected = 0.0
        for start in range(3):
            total, count = scores[start:].sum(), 3 - start
            worth, _ = integrate.quad(_likelihood_ratio, low, high, args=(total, count))
            expected += times * worth / 3
        assert np.exp(scores_evidence(scores, 3, sides).log_e[-1]) == pytest.approx(expected, rel=1e-8)


@settings(max_examples=40)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=9), st.integers(2, 5))
def test_evidence_in_plain_loops(values, year):
    """An average over the starts of the year at hand; a new year forgets the one before."""
    found = scores_evidence(np.array(values), year)
    bounded = bounded_evidence(np.array(values) / 3, 1.0, year)
    for at in range(len(values)):
        first = at // year * year
        bets, wealth = [], []
        for start in range(first, at + 1):
            total, count = sum(values[start : at + 1]), at + 1 - start
            bets.append(math.exp(total**2 / (2 * (1 + count))) / math.sqrt(1 + count))
            products = [math.prod(1 + stake * one / 3 for one in values[start : at + 1]) for stake in STAKES]
            wealth.append(sum(products) / len(products))
        waiting = year - (at - first + 1)
        assert math.exp(found.log_e[at]) == pytest.approx((sum(bets) + waiting) / year, rel=1e-9)
        assert math.exp(bounded.log_e[at]) == pytest.approx((sum(wealth) + waiting) / year, rel=1e-9)
        assert bets[found.start[at] - first] == pytest.approx(max(bets), rel=1e-9)


def test_still_scores_rarely_alarm():
    """Of 800 years of independent normal scores at most 5 % alarm, two-sided and one-sided."""
    scores = np.random.default_rng(20261129).normal(size=(800, 120))
    for sides in ("both", "below"):
        alarms = (scores_evidence(scores, 120, sides).log_e >= np.log(20)).any(axis=1).mean()
        assert alarms < 0.05 + 2 * math.sqrt(0.05 * 0.95 / 800)
        assert alarms > 0.002


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_a_bounded_stream_without_a_gain_rarely_alarms(share):
    """Shares of 10 picks whose mean is the bound itself: of 300 years at most 5 % alarm."""
    gains = np.random.default_rng(7).binomial(10, share, (300, 120)) / 10 - share
    alarms = (bounded_evidence(gains, share, 120).log_e >= np.log(20)).any(axis=1)
    assert alarms.mean() < 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


def test_the_first_alarm_stays():
    """The first look at which the evidence suffices, whatever comes after it."""
    assert first_alarm(np.log([1.0, 30.0, 0.1]), 0.05) == 1
    assert first_alarm(np.log([1.0, 19.9]), 0.05) is None


def test_a_mean_of_equal_days_is_student_s_interval():
    """Days of .2, .4, .3, .3 and ten picks each: .3 +- t(3) sd / 2."""
    level = level_over(np.array([2.0, 4.0, 3.0, 3.0]), np.full(4, 10.0), np.full(4, 10.0), 0.95)
    half = stats.t.ppf(0.975, 3) * np.std([0.2, 0.4, 0.3, 0.3], ddof=1) / 2
    assert (level.estimate, level.low, level.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half), rel=1e-9)


def test_a_level_without_an_interval_says_why():
    """Too few days, days that are all alike, and no pick at all."""
    assert (
        level_over(np.array([1.0, 2.0]), np.full(2, 5.0), np.full(2, 5.0), 0.95).reason
        == "an interval needs 3 periods"
    )
    assert level_over(np.zeros(5), np.full(5, 5.0), np.full(5, 5.0), 0.95).reason == "all periods are alike"
    assert level_over(np.zeros(5), np.zeros(5), np.zeros(5), 0.95).estimate is None


def test_bounds_by_hand():
    """No hit of 400: 1 - .025^(1/400); a recovery less t times its standard error, and of no loss in 60 draws."""
    assert highest_share(0.0, 0.0, 400, 0.025) == pytest.approx(1 - 0.025 ** (1 / 400), rel=1e-9)
    assert lowest_share(1.0, 0.0, 400, 0.025) == pytest.approx(0.025 ** (1 / 400), rel=1e-9)
    student = 0.6 + stats.t.ppf(0.025, 99) * 0.08
    assert lowest_recovery(0.6, 0.08, 100, 100.0, 0.025) == pytest.approx(student, rel=1e-9)
    assert lowest_recovery(-0.1, 0.0, 100, 60.0, 0.025) == pytest.approx(-0.1, rel=1e-9)
    assert lowest_recovery(1.0, 0.0, 100, 60.0, 0.025) == pytest.approx(0.025 ** (1 / 60), rel=1e-9)


def test_a_look_begins_with_its_first_pick_by_hand():
    """Of picks 1, 1, 2, 0, 3 looks of two are days 0 and 1, day 2, and day 4: a day without picks opens none."""
    assert _spans(np.array([1, 1, 2, 0, 3]), 2, 0, 5) == [(0, 1), (2, 2), (4, 4)]
    assert _spans(np.array([1, 1, 2, 0, 3]), 2, 3, 5) == [(4, 4)]


def test_striking_neighbours_are_told():
    """Blocks of days are, of 20 days or more; independent days are not."""
    assert neighbour_correlation(np.repeat([1.0, 2.0, 1.0, 2.0], 10)) == pytest.approx(0.9, abs=0.1)
    assert neighbour_correlation(np.random.default_rng(3).normal(size=60)) is None
    # Of 20 days that rise evenly: 565.25 of a sum of squares of 665.
    assert neighbour_correlation(np.arange(20.0)) == pytest.approx(565.25 / 665)
    assert neighbour_correlation(np.arange(19.0)) is None


@pytest.mark.parametrize("name", ["tie rate", "margin", "order effect", "length"])
def test_intervals_hold_over_correlated_picks(name):
    """With 30 days whose picks depend on each other the intervals hold at the stated rate."""
    law, held = SIX[name], []
    for replication in range(200):
        u, v, day = picks_of(law, 30, np.random.default_rng((11, replication)))
        sums = [np.bincount(day, weights=values) for values in (u, v)]
        level = level_over(*sums, np.bincount(day), 0.95, share=law.kind == "share")
        held.append(level.low <= law.level <= level.high)
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


def test_the_size_of_a_look_by_hand():
    """Three quarters of the median of 100, 120 and 20, days without a pick left out; never below 1."""
    assert look_size(np.array([100, 120, 0, 20])) == 75
    assert look_size(np.array([1, 1])) == 1
    assert look_size(np.array([0, 0])) == 1


def test_small_periods_are_joined_and_the_baseline_ends_where_it_was_said():
    """Days of 4, 4, 1 | 1, 2, 4, 1 picks and looks of 3: the last day of the baseline joins no watched day."""
    period = np.repeat(np.arange(7), [4, 4, 1, 1, 2, 4, 1])
    looks = Looks.of(np.ones(len(period)), np.ones(len(period)), period, periods=7, baseline=3)
    assert looks.size == 3
    assert looks.baseline == 2
    assert list(zip(looks.first.tolist(), looks.last.tolist(), strict=True)) == [(0, 0), (1, 1), (3, 4), (5, 5)]
    assert looks.v.tolist() == [3.0] * 4


@given(st.lists(st.integers(0, 9), min_size=2, max_size=12), st.integers(0, 99))
def test_each_look_holds_picks_of_its_periods_once(numbers, seed):
    """In plain loops: spans are those of a running count, and a look uses picks of its periods once."""
    baseline = len(numbers) // 2
    period = np.repeat(np.arange(len(numbers)), numbers)
    # Powers of 2 name the picks in their sum.
    u = 2.0 ** np.arange(len(period))
    looks = Looks.of(u, np.ones(len(period)), period, periods=len(numbers), baseline=baseline, seed=seed)
    expected = []
    for start, end in ((0, baseline), (baseline, len(numbers))):
        held, first = 0, start
        for day in range(start, end):
            if held == 0:
                first = day
            held += numbers[day]
            if held >= looks.size:
                expected.append((first, day))
                held = 0
    assert list(zip(looks.first.tolist(), looks.last.tolist(), strict=True)) == expected
    for (first, last), total in zip(expected, looks.u.tolist(), strict=True):
        taken = [at for at in range(len(period)) if int(total) >> at & 1]
        assert len(taken) == looks.size
        assert all(first <= period[at] <= last for at in taken)


def test_later_periods_change_no_earlier_look():
    """With more days the looks so far stay what they were."""
    chance = np.random.default_rng(1)
    period = np.repeat(np.arange(40), chance.integers(1, 30, 40))
    u = chance.normal(size=len(period))
    whole = Looks.of(u, np.ones(len(u)), period, periods=40, baseline=10, seed=3)
    early = period < 25
    part = Looks.of(u[early], np.ones(early.sum()), period[early], periods=25, baseline=10, seed=3)
    assert whole.u[: len(part.u)] == pytest.approx(part.u)


def test_scores_by_hand():
    """The highest of four: p = draw / 4; level with one of three below none: p = (0 + 2 draw) / 4."""
    ones = np.ones(4)
    top = normal_scores(np.array([0.0, 1, 2, 9]), ones, 3, np.array([0.5]))
    assert top[0] == pytest.approx(1.1503494, abs=1e-6)
    tied = normal_scores(np.array([0.0, 1, 2, 2]), ones, 3, np.array([0.8]))
    assert tied[0] == pytest.approx(stats.norm.ppf(1 - 0.4), abs=1e-9)


def test_a_ratio_is_ranked_by_its_distance_from_the_level():
    """R = 12 / 12 = 1: u - v is 1, -1, -1, 1, so the last is level with the first above two others."""
    found = normal_scores(np.array([3.0, 1, 3, 5]), np.array([2.0, 2, 4, 4]), 3, np.array([0.5]))
    assert found[0] == pytest.approx(stats.norm.ppf(1 - 0.5 * 2 / 4), abs=1e-9)


@given(st.lists(st.integers(0, 4), min_size=3, max_size=9), st.integers(0, 99), st.booleans())
def test_scores_in_plain_loops(values, seed, ratio):
    """Every score is the quantile of a rank that loops count."""
    chance = np.random.default_rng(seed)
    weights = chance.integers(1, 4, len(values)).astype(float) if ratio else np.ones(len(values))
    draws = chance.random(len(values) - 1)
    found = normal_scores(np.array(values, dtype=float), weights, 1, draws)
    for at in range(1, len(values)):
        level = sum(values[: at + 1]) / sum(weights[: at + 1])
        apart = [values[i] - level * weights[i] for i in range(at + 1)]
        above = sum(one > apart[at] + 1e-9 for one in apart)
        equal = sum(abs(one - apart[at]) <= 1e-9 for one in apart)
        p = (above + draws[at - 1] * equal) / (at + 1)
        assert found[at - 1] == pytest.approx(stats.norm.ppf(1 - p), abs=1e-6)


@pytest.mark.parametrize("law", ["rare", "heavy"])
def test_scores_of_a_still_stream_are_independent_and_normal(law):
    """Of 400 streams of rare events or of heavy tails: uniform ranks, and no correlation of neighbours."""
    chance = np.random.default_rng(20261128)
    shape = (400, 40)
    u = chance.poisson(0.3, shape).astype(float) if law == "rare" else np.exp(2 * chance.normal(size=shape))
    scores = normal_scores(u, np.ones(shape), 5, chance.random((400, 35)))
    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001
    products = (scores[:, 1:] * scores[:, :-1]).ravel()
    assert abs(products.mean()) < 4 / np.sqrt(len(products))


# False alarms within a year and delays of all signals together: thinned here, in full under ``-m slow``.


SHARE = 0.05 / 7
THIN, FULL = 8, 200


def false_alarms(replications, baseline, days, **changes):
    """Return the share of streams of six signals that raise any alarm although nothing changes."""
    alarms = [
        any(
            alarm_day(replace(law, **changes), baseline + days, baseline, (3, baseline, one, at), SHARE, days)
            is not None
            for at, law in enumerate(SIX.values())
        )
        for one in range(replications)
    ]
    return float(np.mean(alarms))


def most(replications):
    """Return what a chance of .05 exceeds once in a thousand times."""
    return 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / replications)


def test_a_short_year_of_six_still_signals_rarely_alarms():
    """Days of correlated picks after a baseline of a week, a year of 60 looks."""
    assert false_alarms(THIN, 7, 60) <= most(THIN)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", [7, 30])
@pytest.mark.parametrize(
    "changes", [{}, {"traffic": "weekly"}, {"traffic": "growing"}, {"traffic": "shrinking"}], ids=str
)
def test_a_year_of_six_still_signals_rarely_alarms(baseline, changes):
    """Days of correlated picks, under even and under changing traffic, 365 daily looks."""
    assert false_alarms(FULL, baseline, 365, **changes) <= most(FULL)


def test_a_large_shift_is_seen_within_ten_days():
    """A tie rate of 4 % that becomes 12 %, after thirty days of baseline and thirty still ones."""
    law = replace(SIX["tie rate"], level=0.04, after=3.0, at=60)
    found = [alarm_day(law, 75, 30, (5, one), SHARE) for one in range(10)]
    assert all(day is not None and day >= 60 for day in found)
    assert np.median(found) - 60 + 1 <= 10


@pytest.mark.slow
def test_rare_events_of_days_with_changing_traffic_do_not_pass_for_drift():
    """Without looks of one size every such stream alarmed: an unscored share of .5 % while traffic grows tenfold."""
    law = replace(SIX["unscored share"], traffic="growing", picks=50)
    alarms = [alarm_day(law, 395, 30, (9, one), SHARE) is not None for one in range(FULL)]
    assert np.mean(alarms) <= SHARE + 3.1 * math.sqrt(SHARE / FULL)


# False alarms of recovery and of bounds of an audit within a year: thinned here, in full under ``-m slow``.


THIN_OF_FALSE_ALARMS, FULL_OF_FALSE_ALARMS = 30, 400


def most_of_false_alarms(replications):
    """Return what the share of one signal exceeds once in a thousand times."""
    return SHARE + 3.1 * math.sqrt(SHARE * (1 - SHARE) / replications)


@pytest.mark.parametrize("law", ["uniform labels", "recovery near 1"])
def test_a_short_year_of_still_recovery_rarely_alarms(law):
    """Five labelled picks a day, by ranks and against an audit of 50 prompts, a year of 60 looks."""
    assert np.mean(
        [recovery_alarm(LAWS[law], 14, 60, (23, one)) for one in range(THIN_OF_FALSE_ALARMS)]
    ) <= most_of_false_alarms(THIN_OF_FALSE_ALARMS)
    assert np.mean(
        [bound_alarm(LAWS[law], 50, 60, (29, one)) for one in range(THIN_OF_FALSE_ALARMS)]
    ) <= most_of_false_alarms(THIN_OF_FALSE_ALARMS)


def test_a_short_year_of_still_ties_rarely_alarms():
    """A rare tie rate against an audit of 50 prompts, many of which see no tie."""
    assert np.mean(
        [tie_alarm(0.02, 50, 60, (31, one)) for one in range(THIN_OF_FALSE_ALARMS)]
    ) <= most_of_false_alarms(THIN_OF_FALSE_ALARMS)


@pytest.mark.slow
@pytest.mark.parametrize("law", list(LAWS))
def test_a_year_of_still_recovery_rarely_alarms(law):
    """365 daily looks, by ranks after one and two weeks."""
    for baseline in (7, 14):
        assert np.mean(
            [recovery_alarm(LAWS[law], baseline, 365, (37, one)) for one in range(FULL_OF_FALSE_ALARMS)]
        ) <= most_of_false_alarms(FULL_OF_FALSE_ALARMS)


@pytest.mark.slow
@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("prompts", [50, 200])
def test_a_year_of_recovery_against_an_audit_rarely_alarms(law, prompts):
    """365 daily looks."""
    assert np.mean(
        [bound_alarm(LAWS[law], prompts, 365, (41, one)) for one in range(FULL_OF_FALSE_ALARMS)]
    ) <= most_of_false_alarms(FULL_OF_FALSE_ALARMS)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.02, 0.2])
@pytest.mark.parametrize("prompts", [50, 200])
def test_a_year_of_ties_against_an_audit_rarely_alarms(level, prompts):
    """365 daily looks."""
    assert np.mean(
        [tie_alarm(level, prompts, 365, (43, one)) for one in range(FULL_OF_FALSE_ALARMS)]
    ) <= most_of_false_alarms(FULL_OF_FALSE_ALARMS)


def perfect_audit(scale=1.0, **reading):
    """Return an audit of 40 prompts whose judge recovers everything."""
    labels = np.random.default_rng(3).random((40, 3)).round(2)
    rows = [
        {"prompt_id": f"a{prompt}", "candidate": str(at), "score": value, "oracle_label": scale * value}
        for prompt, mine in enumerate(labels)
        for at, value in enumerate(mine)
    ]
    return bw.audit(pd.DataFrame(rows), **reading)


def test_an_audit_without_a_loss_bounds_recovery(tmp_path):
    """A judge that lost nothing in 40 prompts may be right 97 times of 100; one right 40 times of 100 has fallen."""
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(perfect_audit().to_dict()), encoding="utf-8")
    for right, status in ((0.97, "not moved"), (0.4, "moved")):
        folder = tmp_path / str(right)
        labels = pd.DataFrame(write_log(folder, 60, picks=8, right=right))
        found = bw.watch(f"{folder}/*.jsonl", baseline=path, labels=labels).signals["recovery"]
        assert (found.method, found.baseline.estimate, found.status) == ("bound", 1.0, status)


def test_an_audit_of_labels_on_another_scale_is_no_baseline_of_recovery(tmp_path):
    """Labels from 0 to 5 bound no loss: recovery has the first periods of the log, with the reason."""
    path = tmp_path / "audit.json"
    labels = pd.DataFrame(write_log(tmp_path / "p", 30, picks=8))
    path.write_text(json.dumps(perfect_audit(5.0).to_dict()), encoding="utf-8")
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=path, labels=labels).signals["recovery"]
    assert found.method == "ranks"
    assert "--label-scale" in found.baseline_source
    declared = perfect_audit(5.0, label_scale=bw.Scale(0, 5))
    path.write_text(json.dumps(declared.to_dict()), encoding="utf-8")
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=path, labels=labels).signals["recovery"]
    assert found.method == "bound"
