from __future__ import annotations

import re

import pytest

from bonwise.report.numbers import Ends, estimate, interval, number


@pytest.mark.parametrize(
    ("figures", "written"),
    [
        ((0.02772, -0.07458, 0.302), ("0.03", "[-0.07, 0.30]")),
        ((0.02772, 0.02, 0.0399), ("0.028", "[0.020, 0.040]")),
        ((0.0, 0.0, 0.2), ("0.00", "[0.00, 0.20]")),
        ((-0.000001, -0.1, 0.1), ("0.00", "[-0.10, 0.10]")),
        ((1234.5, 1000.0, 2000.0), ("1,234", "[1,000, 2,000]")),
        ((99.0, 90.0, 110.0), ("99", "[90, 110]")),
        ((440.0, None, None), ("440", "-")),
        ((0.5, 0.5, 0.5), ("0.500", "[0.500, 0.500]")),
        ((None, None, None), ("-", "-")),
        ((0.0, None, None), ("0", "-")),
    ],
)
def test_estimate_and_ends_have_one_number_of_decimals(figures, written):
    """The width says how many decimals all three take, and none is a negative zero."""
    found = Ends(*figures)
    shown = (estimate(found), interval(found))
    assert shown == written
    assert len({len(digits) for digits in re.findall(r"\.(\d+)", " ".join(shown))}) <= 1


@pytest.mark.parametrize("value", [0.0, -0.0, -1.1e-16, 3e-17])
def test_a_rounding_error_is_nothing(value):
    """What computing leaves of 0 is a plain 0, in every unit, and with a sign asked for."""
    assert (number(value), number(value, sign=True)) == ("0", "0")
    assert (number(value, "share"), number(value, "points", sign=True)) == ("0%", "0 points")


def test_a_small_figure_does_not_vanish():
    """Labels may be of a ten-thousandth: three digits are shown, with an exponent where they are far behind."""
    assert number(0.0001234) == "0.000123"
    assert number(-1.234e-7) == "-1.23e-07"
