from __future__ import annotations

import numpy as np
import pytest

from bonwise.stats.laws import Exact, Student, student_quantile
from bonwise.studies.requirements.requirement import BeyondChance

LAW = Student(0.5, 0.1, 50, (-np.inf, np.inf))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_lower_end_is_worked_by_hand(confidence):
    """Student's t with 4 degrees of freedom is 1.533 at 80 % and 2.776 at 95 %: so many times .2 below .5."""
    low, high = BeyondChance(LAW, 0.5, 0.2, 4).at(confidence)
    assert low == pytest.approx(0.5 - {0.8: 1.5332, 0.95: 2.7764}[confidence] * 0.2, abs=1e-4)
    assert high == LAW.at(confidence)[1]


def test_a_wider_law_stays_as_it_is():
    """Where the law reaches lower than chance does both of its ends stand."""
    assert BeyondChance(LAW, 0.5, 0.05, 50).at(0.95) == LAW.at(0.95)


def test_the_reach_of_chance_starts_at_the_estimate():
    """A law about another middle is moved to t standard errors below the estimate, not below its own end."""
    low, high = BeyondChance(Exact(0.5, 9, (0.4, 1.0)), 0.6, 0.3, 50).at(0.95)
    assert low == pytest.approx(0.6 - student_quantile(0.95, 50) * 0.3)
    assert high == Exact(0.5, 9, (0.4, 1.0)).at(0.95)[1]


def test_no_interval_stays_none():
    """A law without an interval has none here, and the rule keeps its name."""
    assert BeyondChance(Exact(0.5, 9, (-np.inf, 1.0)), 0.5, 0.2, 4).at(0.95) is None
    assert BeyondChance(LAW, 0.5, 0.2, 4).kind == "jackknife"
    assert BeyondChance(Exact(0.5, 9, (0.0, 1.0)), 0.5, 0.2, 4).kind == "exact"
