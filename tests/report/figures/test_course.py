from __future__ import annotations

from types import SimpleNamespace

import pytest

from bonwise.watching.view import course_figure
from report.figures.painted import painted


def signal(values, unit, level=0.0):
    """Return a watched signal of as many looks, the first two of the baseline."""
    looks = [
        SimpleNamespace(first=f"{at}", last=f"{at}", value=value, log10_e=None if at < 2 else 0.0)
        for at, value in enumerate(values)
    ]
    before = SimpleNamespace(estimate=level, low=None, high=None)
    return SimpleNamespace(looks=looks, alarm=None, unit=unit, baseline=before)


@pytest.mark.parametrize("unit", ["share", "dollars"])
def test_a_signal_that_is_always_0_has_no_tick_below_it(unit):
    """No share and no cost lies below 0; the marks at 0 are whole."""
    (axes,) = painted(lambda: course_figure("s", "s", signal([0.0] * 6, unit)))
    low, high = axes.get_ylim()
    assert -0.1 * high < low < 0
    assert all(tick >= 0 for tick in axes.get_yticks() if low <= tick <= high)


def test_a_signal_that_goes_below_0_is_drawn_there():
    """An order effect may be negative."""
    (axes,) = painted(lambda: course_figure("s", "s", signal([-0.2, 0.0, 0.1, -0.1], "number")))
    assert axes.get_ylim()[0] < -0.2
