from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.stats.partial.cell_allocation import (
    FEWEST_WHOLE,
    CellAllocation,
    CellPopulation,
    allocate_cells,
    cell_strata,
)


def population(prompts, candidates=8, tied=0.3, seed=1):
    """Return prompts of which a share is tied, with a size measure that is lower there."""
    rng = np.random.default_rng(seed)
    apart = rng.random(prompts) >= tied
    return CellPopulation(
        np.full(prompts, candidates), apart, np.where(apart, 1.0, 0.1) * (0.2 + rng.random(prompts))
    )


@given(
    st.integers(200, 900),
    st.sampled_from([8, 9, 16]),
    st.sampled_from([0.0, 0.01, 0.3, 0.9]),
    st.floats(0, 1),
    st.integers(0, 20),
)
@settings(max_examples=60, deadline=None)
def test_every_draw_adds_up_and_can_be_estimated_from(prompts, candidates, tied, part, seed):
    """Strata are of one kind; two or more whole pools in each that has them; no label too many and few too few."""
    everyone = population(prompts, candidates, tied, seed)
    least = FEWEST_WHOLE * candidates
    labels = least + int(part * (prompts * candidates - least))
    found = cell_strata(everyone, labels)
    assert all(len(set(everyone.open[found == h].tolist())) == 1 for h in range(found.max() + 1))
    drawn = allocate_cells(everyone, found, labels)
    there, open_ = np.bincount(found), np.bincount(found, weights=everyone.open) > 0
    assert (drawn.whole + drawn.pairs <= there).all()
    assert (drawn.whole >= np.minimum(there, 2)).all()
    assert not drawn.pairs[~open_].any()
    assert (drawn.pairs != 1).all()
    used = candidates * drawn.whole.sum() + 2 * drawn.pairs.sum()
    assert labels - candidates - 6 * open_.sum() <= used <= labels
    assert drawn.whole.sum() >= min(FEWEST_WHOLE, prompts)


def test_six_tenths_of_the_labels_go_to_whole_pools_where_there_are_pairs_enough():
    """Of 1,200 labels, 720 in 90 pools of 8; the others are 240 pairs."""
    everyone = population(1000, tied=0.0)
    drawn = allocate_cells(everyone, cell_strata(everyone, 1200), 1200)
    assert (drawn.whole.sum(), drawn.pairs.sum()) == (90, 240)


def test_what_pairs_cannot_use_goes_to_whole_pools():
    """With 30 open prompts of 300 the budget is spent all the same."""
    everyone = population(300, tied=0.9)
    drawn = allocate_cells(everyone, cell_strata(everyone, 1200), 1200)
    assert 1200 - 8 * drawn.whole.sum() - 2 * drawn.pairs.sum() < 8 + 8
    assert drawn.whole.sum() > 90


def test_strata_of_tied_prompts_get_as_many_whole_pools_as_open_ones_of_their_size():
    """The lowest stratum is shared in proportion to prompts, not to sizes."""
    everyone = population(1000, tied=0.3)
    found = cell_strata(everyone, 1200)
    drawn = allocate_cells(everyone, found, 1200)
    tied = found == found[~everyone.open][0]
    assert drawn.whole[found[~everyone.open][0]] >= 0.6 * drawn.whole.max() * tied.sum() / (tied.sum() + 100)


def test_a_later_phase_keeps_what_was_drawn():
    """No stratum has fewer whole pools or pairs than before."""
    everyone = population(600)
    found = cell_strata(everyone, 700)
    first = allocate_cells(everyone, found, 700)
    second = allocate_cells(everyone, found, 1400, held=first)
    assert (second.whole >= first.whole).all()
    assert (second.pairs >= first.pairs).all()
    assert 8 * second.whole.sum() + 2 * second.pairs.sum() == pytest.approx(1400, abs=2 * 12)


def test_too_many_labels_and_fewer_than_were_drawn_are_refused():
    """The callers say it in words before."""
    everyone = population(100)
    found = cell_strata(everyone, 600)
    with pytest.raises(ValueError, match="801 labels"):
        allocate_cells(everyone, found, 801)
    held = CellAllocation(np.bincount(found), np.zeros(found.max() + 1, dtype=int))
    with pytest.raises(ValueError, match="600 labels"):
        allocate_cells(everyone, found, 600, held=held)
