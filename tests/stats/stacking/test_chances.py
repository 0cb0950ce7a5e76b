from __future__ import annotations

import math

import numpy as np
import pytest

from bonwise.stacks.chances import calibrated, chances_and_regrets
from bonwise.stacks.out_of_fold import out_of_fold, worth_of_judges
from bonwise.stats.estimation import IntervalRule
from stats.stacking.judge_laws_of_stacks import LAWS, fitted


def test_chances_and_regrets_of_a_plain_loop():
    """A softmax for each draw, averaged; the regret is the log of the sum of exponentials less one's own."""
    rng = np.random.default_rng(0)
    quality, sizes = rng.normal(size=(7, 5)), [3, 4]
    chances, regrets = chances_and_regrets(quality, np.array(sizes), 0.7)
    at = 0
    for size in sizes:
        for one in range(at, at + size):
            each, lost = [], []
            for draw in range(5):
                powers = [math.exp(quality[other, draw] / 0.7) for other in range(at, at + size)]
                each.append(math.exp(quality[one, draw] / 0.7) / sum(powers))
                lost.append(math.log(sum(powers)) - quality[one, draw] / 0.7)
            assert chances[one] == pytest.approx(sum(each) / 5)
            assert regrets[one] == pytest.approx(sum(lost) / 5)
        at += size


def test_the_temperature_of_a_known_law_is_found():
    """The best is drawn by a softmax of utilities at a temperature of 2."""
    rng = np.random.default_rng(1)
    utilities = 3 * rng.normal(size=(4_000, 4))
    best = (utilities / 2 + rng.gumbel(size=utilities.shape)).argmax(axis=1)
    labels = np.eye(4)[best].ravel()
    found = calibrated(utilities.reshape(-1, 1), labels, np.full(4_000, 4))
    assert found.temperature == pytest.approx(2, rel=0.08)
    assert found.largest_gap < 0.05


def test_the_expected_regret_is_in_the_unit_of_the_labels():
    """On average it is what picks drawn by P(best) really lose."""
    rng = np.random.default_rng(2)
    utilities = rng.normal(size=(2_000, 4))
    labels = 10 * (utilities + rng.gumbel(size=utilities.shape))
    found = calibrated(utilities.reshape(-1, 1), labels.ravel(), np.full(2_000, 4))
    assert found.temperature == pytest.approx(1, rel=0.1)
    assert found.unit == pytest.approx(10, rel=0.1)


def test_a_judge_of_noise_is_worth_nothing_and_a_good_one_something():
    """Leaving out the only good judge loses nearly all; the last judge of the path is the good one."""
    pools, paths, dealt, _, _ = fitted(*LAWS["one good judge and noise"](np.random.default_rng(0), 200), 0)
    (whole,) = out_of_fold(pools, paths, dealt)
    everyone = np.ones(200, dtype=bool)
    rule = IntervalRule(label_range=(-np.inf, np.inf))
    singles, path = worth_of_judges(
        pools, paths, dealt, whole.sums(pools), everyone, rule, tuple(range(pools.judges.shape[1]))
    )
    assert singles[0].loss.low > 0.2
    assert all(abs(one.loss.estimate) < 0.1 for one in singles[1:])
    assert [len(one.judges) for one in path] == [5, 4, 3, 2, 1]
    assert path[-1].judges == (0,)
