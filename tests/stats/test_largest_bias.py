from __future__ import annotations

import numpy as np
import pytest

from bonwise.stats.level_bias import largest_bias


def test_a_constant_bias_is_as_sure_as_its_rarest_name():
    """Where every prompt is off by the same the bound is that of the name of the fewest prompts, and n is theirs."""
    names = np.array([0, 1] * 6 + [0] * 4)
    sizes = np.array([2] * 6 + [1] * 4)
    labels = np.linspace(0, 1, len(names))
    found = largest_bias(np.full(len(names), 0.1), labels, sizes, names, confidence=0.95)
    off = 1 - 0.025 ** (1 / 6)
    assert (found.estimate, found.se, found.n) == (pytest.approx(0.1), 0, 6)
    assert (found.low, found.high) == pytest.approx((0.1 - off * 0.1, 0.1 + off * 0.9))
