from __future__ import annotations

import numpy as np
import pytest

from bonwise.planning.label_counts import gain_stopping
from bonwise.planning.normal_picks import complete_contrast
from bonwise.stats.repeated_looks import EARLIEST, squared_critical
from bonwise.stats.sample_size import mean_units


@pytest.mark.parametrize(("theta", "confidence"), [(0.241, 0.95), (0.119, 0.95), (0.15, 0.99)])
def test_stopping_is_that_of_a_walk_looked_at_after_every_prompt(theta, confidence):
    """A plain loop over 300 walks, each step one prompt, has the mean and the worst tenth of the coarse looks."""
    target = mean_units(theta, 0.9, confidence, 1)
    found, chance, stopped = gain_stopping(theta, target, confidence), np.random.default_rng(5), []
    bound = np.sqrt(squared_critical(np.arange(1.0, 12 * target + 400), target, confidence))
    for _ in range(300):
        walk, m = 0.0, 0
        for step in chance.standard_normal(len(bound)):
            walk, m = walk + theta + step, m + 1
            if m >= EARLIEST and abs(walk) > bound[m - 1] * np.sqrt(m):
                break
        stopped.append(m)
    assert np.mean(stopped) == pytest.approx(np.mean(found.mean), rel=0.08)
    assert np.quantile(stopped, 0.9) == pytest.approx(found.late, rel=0.15)


@pytest.mark.parametrize("r", [0.05, 0.1, 0.2, 0.4, 0.8])
def test_no_study_stops_before_the_sequence_starts(r):
    """200 prompts at least, the worst tenth no sooner, and a larger effect never later."""
    theta, larger = (complete_contrast(4, one).standardised for one in (r, 1.1 * r))
    found, sooner = (gain_stopping(one, mean_units(one, 0.9, 0.95, 1), 0.95) for one in (theta, larger))
    assert EARLIEST <= found.mean[0] <= found.mean[1]
    assert found.late >= EARLIEST
    assert sooner.mean[0] <= found.mean[1]
