from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.watching.drift import Looks, look_size


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
