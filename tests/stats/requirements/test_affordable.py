from __future__ import annotations

import numpy as np
import pytest

from bonwise.studies.requirements.noisy_oracle import affordable


def test_a_table_within_the_limits_is_used_whole():
    """Nothing is left out of a table that can be afforded."""
    found = affordable(np.full(1000, 4), 0)
    assert found.kept.all()
    assert found.too_large == 0


@pytest.mark.parametrize("limits", [{"cells": 400}, {"pairs": 600}])
def test_a_larger_table_is_drawn_from_up_to_the_limit(limits):
    """As many prompts as the limit holds, drawn by the seed."""
    sizes = np.full(1000, 4)
    kept = affordable(sizes, 0, **limits).kept
    assert kept.sum() == 100
    assert (kept == affordable(sizes, 0, **limits).kept).all()
    assert (kept != affordable(sizes, 1, **limits).kept).any()


def test_two_prompts_are_kept_whatever_they_cost():
    """Pools beyond every limit still leave two prompts, for an interval."""
    assert affordable(np.full(10, 5000), 0).kept.sum() == 2


def test_a_pool_that_breaks_a_limit_alone_is_set_aside_and_costs_no_other():
    """Beside one pool of 2,100 all 1,499 others are used, and the one is counted."""
    sizes = np.full(1500, 4)
    sizes[700] = 2100
    found = affordable(sizes, 0)
    assert found.too_large == 1
    assert found.kept.sum() == 1499
    assert not found.kept[700]


def test_prompts_that_were_not_drawn_are_not_called_too_large():
    """Of a table with one pool beyond the limit that is drawn from too, the one alone is counted as too large."""
    sizes = np.full(1000, 4)
    sizes[7] = 500
    found = affordable(sizes, 0, cells=400)
    assert found.too_large == 1
    assert found.kept.sum() == 100
    assert not found.kept[7]


def test_every_prompt_has_the_same_chance_whatever_its_size():
    """Pools of 40 among pools of 4 are drawn as often as those, and the number drawn is always the same."""
    sizes = np.where(np.arange(200) < 20, 40, 4)
    drawn = np.array([affordable(sizes, seed, cells=800).kept for seed in range(400)])
    number = int(800 / sizes.mean())
    assert set(drawn.sum(axis=1).tolist()) == {number}
    assert drawn[:, :20].mean() == pytest.approx(number / 200, abs=0.03)
