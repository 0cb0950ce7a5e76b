from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.stats.votes.two_stage import allocate, screening, simulate_screening

CONCENTRATED = np.r_[np.full(3, 0.25), np.zeros(17)]
DIFFUSE = np.full(20, 0.0375)
EVEN = np.ones(20)
POWER = {  # votes: concentrated proportional and two-stage, diffuse proportional and two-stage
    700: (0.481, 0.843, 0.521, 0.098),
    1000: (0.641, 0.989, 0.637, 0.293),
    1500: (0.826, 0.998, 0.815, 0.615),
    2500: (0.961, 0.999, 0.961, 0.901),
}


@pytest.mark.parametrize(("votes", "expected"), POWER.items())
def test_the_power_table(votes, expected):
    """1,500 repetitions meet the published power of both allocations within .03, in both regimes."""
    plan = screening(votes, 20)
    found = [simulate_screening(margins, EVEN, plan) for margins in (CONCENTRATED, DIFFUSE)]
    powers = [power for one in found for power in (one.proportional, one.two_stage)]
    assert powers == pytest.approx(expected, abs=0.03)
    assert found[0].mass_kept == pytest.approx(0.88, abs=0.03)
    assert found[1].mass_kept == pytest.approx(0.20)
    assert found[0].overlap == pytest.approx(0.53, abs=0.03)
    assert found[1].overlap == pytest.approx(0.12, abs=0.03)


def test_ten_votes_of_screening():
    """With 10 votes a type and 500 in all: .371 to .806 where concentrated, .366 to .235 where diffuse."""
    plan = screening(500, 20, each=10)
    conc, diffuse = (simulate_screening(margins, EVEN, plan) for margins in (CONCENTRATED, DIFFUSE))
    assert (conc.proportional, conc.two_stage) == pytest.approx((0.371, 0.806), abs=0.03)
    assert (diffuse.proportional, diffuse.two_stage) == pytest.approx((0.366, 0.235), abs=0.03)


def test_its_test_is_none_of_the_mean():
    """Margins of +.15 and -.15 that cancel are rejected in over half of the runs; no margin at all in about 5 %."""
    plan = screening(1500, 20)
    cancelling = simulate_screening(np.r_[np.full(10, 0.15), np.full(10, -0.15)], EVEN, plan)
    assert cancelling.two_stage > 0.5
    assert cancelling.proportional < 0.08
    nothing = simulate_screening(np.zeros(20), EVEN, plan)
    assert nothing.two_stage < 0.07
    assert np.isnan(nothing.mass_kept)


def test_what_the_stages_spend():
    """20 types take 30 votes each and four are kept; too few votes, or one type, are refused in words."""
    plan = screening(1000, 20)
    assert (plan.each, plan.first_stage, plan.second_stage, plan.kept) == (30, 600, 400, 4)
    with pytest.raises(UsageError, match="takes 600 votes and leaves none of 600"):
        screening(600, 20)
    with pytest.raises(UsageError, match="two types"):
        screening(600, 1)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=2, max_size=9), st.integers(1, 60), st.data()
)
def test_the_second_stage_spends_all_on_the_kept(types, votes, data):
    """All votes go to the kept types, which no other exceeds, and each gets its fair part within one vote."""
    kept = data.draw(st.integers(1, len(types)))
    wins, weights = (np.array(column, dtype=float) for column in zip(*types, strict=True))
    found = allocate(wins, np.full(len(types), 9.0), weights, kept=kept, second_stage=votes)
    squares = (wins / 9 - 0.5) ** 2
    assert found.sum() == votes
    got = np.flatnonzero(found)
    assert len(got) <= kept
    if len(got) == kept:
        others = np.setdiff1d(np.arange(len(types)), got)
        assert squares[got].min() >= squares[others].max(initial=0) - 1e-9
        fair = votes * weights[got] / weights[got].sum()
        assert (np.abs(found[got] - fair) < 1 + 1e-9).all()


def test_equal_types_are_told_apart_by_the_seed():
    """Of two equal types each is kept by some seed: their order decides nothing."""
    alike = np.full(2, 8.0)
    chosen = {
        int(np.argmax(allocate(alike, np.full(2, 10.0), np.ones(2), kept=1, second_stage=5, seed=seed)))
        for seed in range(20)
    }
    assert chosen == {0, 1}
