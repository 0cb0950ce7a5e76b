"""Arguments that mean nothing are refused in one line, whatever their kind."""

import numpy as np
import pytest

from bonwise.errors import UsageError
from bonwise.table.checks import check, check_confidence, check_seed, check_shape, check_share, number, whole


@pytest.mark.parametrize("value", [0.49, 1, float("nan"), "0.95", None, True])
def test_what_is_no_confidence(value):
    """A confidence lies in [0.5, 1)."""
    with pytest.raises(UsageError, match="confidence must"):
        check_confidence(value)


@pytest.mark.parametrize("value", [-1, 1.5, "1", None, True])
def test_what_is_no_seed(value):
    """A seed is a whole number that is not negative."""
    with pytest.raises(UsageError, match="seed must"):
        check_seed(value)


@pytest.mark.parametrize("value", [0, 1, -0.1, float("nan")])
def test_what_is_no_share(value):
    """A share lies between 0 and 1."""
    with pytest.raises(UsageError, match="a share must lie between 0 and 1"):
        check_share(value)


@pytest.mark.parametrize("value", ["square", 1, ["ragged"]])
def test_what_is_no_shape(value):
    """A shape is one of two words."""
    with pytest.raises(UsageError, match="no shape"):
        check_shape(value)


def test_what_passes():
    """Numbers of numpy's are numbers; a shape may be left out."""
    check_confidence(np.float64(0.5))
    check_seed(np.int64(0))
    check_share(0.5)
    for shape in (None, "rectangular", "ragged"):
        check_shape(shape)
    check("n", np.int64(2), whole(2, "a whole number, 2 or more"))


@pytest.mark.parametrize("value", [0, float("inf"), float("nan"), True, "1", None, [1]])
def test_a_limit_holds_for_every_kind_of_value(value):
    """The message names the argument, and the hint the limit."""
    above = number(lambda found: found > 0, "a number above 0")
    with pytest.raises(UsageError) as caught:
        check("width (--width)", value, above, said="cannot be", it="it")
    assert caught.value.message.startswith("width (--width) cannot be ")
    assert caught.value.hint == "it is a number above 0"
