from __future__ import annotations

import numpy as np
import pytest

from bonwise.auditing.label_interval import degrees_of_freedom


@pytest.mark.parametrize(("labels", "expected"), [(40, 10.0), (50, 12.5), (51, 3.0)])
def test_few_labels_keep_a_quarter_of_their_degrees(labels, expected):
    """One label that pulls alone leaves 3 degrees of freedom, but of 50 labels or fewer not less than a quarter."""
    pulls = np.zeros(labels)
    pulls[0] = 1.0
    assert degrees_of_freedom(pulls, 1.0) == pytest.approx(expected)
