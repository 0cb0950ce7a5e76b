from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stacks.procedure import best_by_gain, pick_gains

POOL = st.lists(
    st.tuples(st.sampled_from([None, 0.0, 0.1 + 0.2, 0.3, 1.0]), st.floats(-2, 2)), min_size=1, max_size=5
)


def plain_gain(pool):
    """Pick the highest score, ties in expectation; where there is none, anyone."""
    known = [score for score, _ in pool if score is not None]
    top = max((round(one, 9) for one in known), default=None)
    picked = [label for score, label in pool if top is None or (score is not None and round(score, 9) == top)]
    return sum(picked) / len(picked) - sum(label for _, label in pool) / len(pool)


@given(st.lists(POOL, min_size=1, max_size=6))
def test_gains_are_those_of_a_plain_loop(pools):
    """Ties, gaps and pools without any score."""
    flat = [cell for pool in pools for cell in pool]
    scores = np.array([[np.nan if score is None else score] for score, _ in flat])
    labels = np.array([label for _, label in flat])
    found = pick_gains(scores, labels, np.array([len(pool) for pool in pools]))
    assert found[:, 0].tolist() == pytest.approx([plain_gain(pool) for pool in pools], abs=1e-12)


def test_equally_good_columns_share():
    """No tie goes to the first."""
    assert best_by_gain(np.array([[1.0, 1.0, 0.5], [0.0, 2.0, 1.0]])).tolist() == [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
