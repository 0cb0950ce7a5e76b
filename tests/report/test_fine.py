import re
from types import SimpleNamespace

import pytest

from bonwise.report.numbers import fine


@pytest.mark.parametrize(
    ("figures", "written"),
    [
        ((0.02772, -0.07458, 0.302), ("0.028", "[-0.075, 0.302]")),
        ((0.02772, 0.02, 0.0399), ("0.02772", "[0.02000, 0.03990]")),
        ((0.02772, 0.02, 0.04), ("0.028", "[0.020, 0.040]")),
        ((0.09, 0.00031, 0.2), ("0.09000", "[0.00031, 0.20000]")),
        ((0.09, 0.0005, 0.2), ("0.090", "[0.001, 0.200]")),
        ((0.5, 0.4, 0.6), ("0.500", "[0.400, 0.600]")),
        ((0.0, 0.0, 0.2), ("0.000", "[0.000, 0.200]")),
        ((-0.000001, -0.1, 0.1), ("0.00000", "[-0.10000, 0.10000]")),
        ((1234.5, 1000.0, 2000.0), ("1,234.5", "[1,000.0, 2,000.0]")),
        ((440.0, None, None), ("440.0", "-")),
        ((99.0, 90.0, 110.0), ("99.000", "[90.000, 110.000]")),
        ((None, None, None), ("-", "-")),
        ((0.0, None, None), ("0.000", "-")),
    ],
)
def test_estimate_and_ends_have_one_number_of_decimals(figures, written):
    """Width and smallest figure say how many decimals all of them take; none but zero is written as 0."""
    found = fine(SimpleNamespace(**dict(zip(("estimate", "low", "high"), figures, strict=True))))
    assert found == written
    assert len({len(digits) for digits in re.findall(r"\.(\d+)", " ".join(found))}) <= 1
