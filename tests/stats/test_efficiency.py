from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.efficiency import MEASURES, Spent, efficiency, efficiency_difference

# Landesberg (2026), Table 16: judge and setting, prompts, recovery, tokens, gain per 1,000 tokens.
TABLE_16 = {
    "mini pointwise": (100, 0.262, 199_087, 0.01055),
    "mini round robin": (100, 0.123, 478_549, 0.00206),
    "five pointwise": (40, 0.798, 180_389, 0.01303),
    "five round robin": (40, 0.686, 370_950, 0.00545),
}

COSTS = st.lists(
    st.tuples(st.floats(-0.3, 0.5), st.floats(0.2, 0.9), st.integers(1, 9), st.integers(100, 4000)),
    min_size=4,
    max_size=12,
)


def spent_of(rows):
    """Make columns of rows of gain, room, answers and tokens."""
    return Spent(*np.array(rows, dtype=float).T)


def plain(rows):
    """Compute every measure of rows in plain Python."""
    gain, room, calls, tokens = (math.fsum(column) for column in zip(*rows, strict=True))
    n = len(rows)
    return {
        "calls_per_prompt": calls / n,
        "tokens_per_prompt": tokens / n,
        "gain_per_call": gain / calls,
        "gain_per_1000_tokens": gain / (tokens / 1000),
        "recovery_per_call": gain / room / (calls / n),
        "recovery_per_1000_tokens": gain / room / (tokens / n / 1000),
    }


@pytest.mark.parametrize("judge", ["mini", "five"])
def test_table_16_is_one_room_for_gain_whatever_the_setting(judge):
    """Gain per 1,000 tokens times tokens is the total gain: both settings of a judge leave the same room M - R."""
    rooms = []
    for setting in ("pointwise", "round robin"):
        prompts, recovery, tokens, gain_per_1000 = TABLE_16[f"{judge} {setting}"]
        gain = gain_per_1000 * tokens / 1000 / prompts
        rooms.append(gain / recovery)
        spent = Spent(*(np.full(prompts, value) for value in (gain, gain / recovery, 4.0, tokens / prompts)))
        found = efficiency(spent, 0.95)
        assert found["gain_per_1000_tokens"].estimate == pytest.approx(gain_per_1000)
        assert found["recovery_per_1000_tokens"].estimate == pytest.approx(recovery / (tokens / prompts / 1000))
    assert rooms[0] == pytest.approx(rooms[1], rel=0.005)


def test_measures_are_those_worked_by_hand():
    """Gains .2, 0, .1 of rooms .2, .3, .1 with 4, 4, 2 calls of 500 tokens each."""
    spent = spent_of([(0.2, 0.2, 4, 2000), (0.0, 0.3, 4, 2000), (0.1, 0.1, 2, 1000)])
    found = {name: e.estimate for name, e in efficiency(spent, 0.95).items() if not name.startswith("recovery")}
    assert found == pytest.approx(
        {
            "calls_per_prompt": 10 / 3,
            "tokens_per_prompt": 5000 / 3,
            "gain_per_call": 0.3 / 10,
            "gain_per_1000_tokens": 0.3 / 5,
        }
    )


@given(rows=COSTS)
def test_measures_and_errors_equal_plain_loops(rows):
    """Each measure is its ratio of sums, its standard error the plain leave-one-out one."""
    n, expected = len(rows), plain(rows)
    left = [plain(rows[:at] + rows[at + 1 :]) for at in range(n)]
    for name, found in efficiency(spent_of(rows), 0.95).items():
        if found.estimate is None:
            continue
        assert found.estimate == pytest.approx(expected[name], rel=1e-9, abs=1e-12)
        values = [one[name] for one in left]
        error = math.sqrt((n - 1) / n * math.fsum((value - fmean(values)) ** 2 for value in values))
        if found.se:
            assert found.se == pytest.approx(error, rel=1e-6, abs=1e-12)


@given(rows=COSTS)
def test_a_set_differs_from_itself_by_nothing(rows):
    """The paired difference of a set and itself is 0, with no spread."""
    for found in efficiency_difference(spent_of(rows), spent_of(rows), 0.95).values():
        assert found.estimate in (None, 0.0)
        assert found.se in (None, 0.0)


def test_what_is_unknown_or_free_has_a_reason():
    """Without counts, or with none spent, a measure is undefined and says why."""
    free = np.zeros(3)
    unknown = efficiency(Spent(free + 0.1, free + 0.2, None, free, no_answers="not said"), 0.95)
    assert (unknown["calls_per_prompt"].estimate, unknown["gain_per_call"].reason) == (None, "not said")
    assert unknown["gain_per_1000_tokens"].reason == "no tokens were used"
    assert unknown["tokens_per_prompt"].estimate == 0.0


def test_intervals_cover_the_truth():
    """Over 400 samples of 150 prompts, 95 % intervals of each measure and of its difference hold the truth."""
    rng = np.random.default_rng(20261121)
    hits = dict.fromkeys(MEASURES, 0)
    paired = dict.fromkeys(MEASURES, 0)
    truth = {
        "calls_per_prompt": 6.0,
        "tokens_per_prompt": 1800.0,
        "gain_per_call": 0.1 / 6,
        "gain_per_1000_tokens": 0.1 / 1.8,
        "recovery_per_call": 0.25 / 6,
        "recovery_per_1000_tokens": 0.25 / 1.8,
    }
    for _ in range(400):
        sets = []
        for _ in range(2):
            calls = 4 + rng.poisson(2.0, 150)
            room = rng.uniform(0.2, 0.6, 150)
            gain = 0.25 * room + rng.normal(0, 0.15, 150)
            sets.append(Spent(gain, room, calls.astype(float), 300.0 * calls))
        found, difference = efficiency(sets[0], 0.95), efficiency_difference(*sets, 0.95)
        for name in MEASURES:
            hits[name] += found[name].low <= truth[name] <= found[name].high
            paired[name] += difference[name].low <= 0 <= difference[name].high
    assert all(366 <= count <= 394 for count in (*hits.values(), *paired.values())), (hits, paired)
