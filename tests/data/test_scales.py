from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.table.scales import Scale, mismatch, parse_scale, to_unit

NUMBER = st.floats(-1e6, 1e6)


@given(NUMBER, NUMBER)
def test_a_scale_is_read_as_it_is_written(low, high):
    """LOW:HIGH is a scale exactly when LOW lies below HIGH."""
    text = f"{low!r}:{high!r}"
    if low < high:
        assert parse_scale(text) == Scale(low, high)
    else:
        with pytest.raises(UsageError, match="LOW below HIGH"):
            parse_scale(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "a:b",
        "1:2:3",
        "1-5",
        ":",
        "1:",
        "nan:1",
        "0:inf",
        "-inf:0",
        "5:1",
        "1:1",
        "-1e308:1e308",
        "\x1b\n:" + "9" * 10**5,
    ],
)
def test_what_is_no_scale_is_refused(text):
    """Anything but two finite numbers, the lower first, is one short line of error."""
    with pytest.raises(UsageError) as caught:
        parse_scale(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


@given(st.lists(st.floats(1, 5), min_size=1))
def test_a_declared_scale_maps_to_the_unit(values):
    """Values on the scale land in [0, 1] in the same order, its ends on 0 and 1, blanks on blanks."""
    cells = np.array([1, *values, np.nan, 5])
    found = to_unit(cells, Scale(1, 5), rows=pd.RangeIndex(len(cells)), role="r", source="t")
    assert (found[0], found[-1]) == (0, 1)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(cells))
    np.testing.assert_allclose(found * 4 + 1, cells)


CASES = {
    "both unit": ([0.1, 1], [0, 0.5], None),
    "both ratings": ([3, 5], [1, 4], None),
    "unit scores, ratings": ([0.1, 0.9], [1, 5], 1),
    "hundred against unit": ([0, 70], [0.5, 1], 1),
    "hundred against verdicts": ([10, 70], [0, 1], None),
    "rewards have no scale": ([-3, 70], [0.5, 1], None),
    "logits have no scale": ([3, 700], [0.5, 1], None),
    "no labels": ([3, 70], [np.nan, np.nan], None),
    "no scores": ([np.nan, np.nan], [1, 5], None),
    "blanks beside": ([np.nan, 50], [0.5, np.nan], 1),
}


@pytest.mark.parametrize(("scores", "labels", "at"), CASES.values(), ids=CASES)
def test_scales_that_look_different_are_found(scores, labels, at):
    """A unit scale beside a rating scale is found by its first telling value; verdicts and rewards are neither."""
    assert mismatch(np.array(scores, float), np.array(labels, float)) == at
