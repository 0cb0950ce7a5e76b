from __future__ import annotations

import numpy as np
import pytest

from bonwise.stats.requirements.affordable import affordable


def test_a_table_within_the_limits_is_used_whole():
    """Nothing is left out of a table that can be afforded."""
    assert affordable(np.full(1000, 4), 0).all()


@pytest.mark.parametrize("limits", [{"cells": 400}, {"pairs": 600}])
def test_a_larger_table_is_drawn_from_up_to_the_limit(limits):
    """As many prompts as the limit holds, drawn by the seed."""
    sizes = np.full(1000, 4)
    kept = affordable(sizes, 0, **limits)
    assert kept.sum() == 100
    assert (kept == affordable(sizes, 0, **limits)).all()
    assert (kept != affordable(sizes, 1, **limits)).any()


def test_two_prompts_are_kept_whatever_they_cost():
    """Pools beyond every limit still leave two prompts, for an interval."""
    assert affordable(np.full(10, 5000), 0).sum() == 2
