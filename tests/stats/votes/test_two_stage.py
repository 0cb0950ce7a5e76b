from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.votes import two_stage
from bonwise.votes.two_stage import allocate, first_stage_votes, screening, simulate_screening
from golden_tables import golden

CONCENTRATED = np.r_[np.full(3, 0.25), np.zeros(17)]
DIFFUSE = np.full(20, 0.0375)
EVEN = np.ones(20)
MARGINS = {"concentrated": CONCENTRATED, "diffuse": DIFFUSE}


@pytest.mark.parametrize("row", golden("votes_two_stage"), ids=lambda row: f"{row['votes']}-{row['margins']}")
def test_the_power_table(row):
    """1,500 repetitions meet every recorded figure within .03."""
    plan = screening(int(row["votes"]), 20, each=int(row["each"]))
    found = simulate_screening(MARGINS[row["margins"]], EVEN, plan)
    known = {name: row[name] for name in ("proportional", "two_stage", "mass_kept", "overlap") if row[name]}
    assert {name: getattr(found, name) for name in known} == {
        name: pytest.approx(float(value), abs=0.03) for name, value in known.items()
    }


def test_the_table_screens_as_the_rule_says():
    """Rows of 30 votes a type are those of ceil(10 ln 20)."""
    assert first_stage_votes(20) == 30
    assert screening(1000, 20) == screening(1000, 20, each=30)


def test_blocks_of_repetitions_change_nothing_but_the_draws(monkeypatch):
    """Repetitions made a few at a time count alike, and so many types at once need no more memory."""
    plan = screening(1000, 20)
    monkeypatch.setattr(two_stage, "_CHUNK_CELLS", 20 * 64)
    found = simulate_screening(CONCENTRATED, EVEN, plan)
    assert (found.proportional, found.two_stage) == pytest.approx((0.641, 0.989), abs=0.03)
    assert found.repetitions == 1500


def test_its_test_is_none_of_the_mean():
    """Margins of +.15 and -.15 that cancel are rejected in over half of the runs; no margin at all in about 5 %."""
    plan = screening(1500, 20)
    cancelling = simulate_screening(np.r_[np.full(10, 0.15), np.full(10, -0.15)], EVEN, plan)
    assert cancelling.two_stage > 0.5
    assert cancelling.proportional < 0.08
    nothing = simulate_screening(np.zeros(20), EVEN, plan)
    assert nothing.two_stage < 0.07
    assert nothing.mass_kept is None


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
