from __future__ import annotations

import numpy as np

from bonwise.stats.partial.label_sample import fold_of


def test_equal_columns_do_not_cancel():
    """Prompts that two equal columns tell apart keep their fold whatever their order."""
    rng = np.random.default_rng(3)
    column = rng.random(40)
    order = rng.permutation(40)
    there = fold_of(np.array([column, column]), np.arange(40), 5, 0)
    back = fold_of(np.array([column, column])[:, order], np.arange(40), 5, 0)
    assert there[order].tolist() == back.tolist()
    assert np.bincount(there).tolist() == [8] * 5
