from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from bonwise.studies.calibration.calibrators import cross_fitted
from bonwise.studies.calibration.maps import isotonic_map, spline_index


def test_violators_are_pooled_by_hand():
    """Means .5, .3 (of two) and .9: the first falls, so both pool to (.5 + .2 + .4) / 3; the last stands."""
    fitted = isotonic_map(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.2, 0.4, 0.9]))
    pooled = 1.1 / 3
    assert fitted.heights == pytest.approx([pooled, pooled, 0.9])
    # Half way between 2 and 3 lies half way between the heights; beyond the ends the map is level.
    assert fitted.at(np.array([0.0, 1.5, 2.5, 4.0])) == pytest.approx([pooled, pooled, (pooled + 0.9) / 2, 0.9])


def test_two_folds_are_calibrated_by_hand():
    """Each fold gets the map of the other, worked out on paper.

    Learned on the second fold: .2 -> (.1 + .3) / 2 = .2 and .8 -> (.5 + .9) / 2 = .7; .5 lies half way, .45.
    Learned on the first: means .6 at .2, .5 at .5 and (.4 + .7) / 2 = .55 at .8; the first two pool to .55.
    """
    scores = np.array([0.2, 0.8, 0.5, 0.8, 0.2, 0.8, 0.2, 0.8])
    labels = np.array([0.6, 0.4, 0.5, 0.7, 0.1, 0.5, 0.3, 0.9])
    owner = np.repeat([0, 1], 4)
    found = cross_fitted("isotonic", scores[:, None], labels, owner, 0)
    assert found == pytest.approx([0.2, 0.7, 0.45, 0.7, 0.55, 0.55, 0.55, 0.55])


def test_the_map_is_that_of_another_library():
    """Heights are those of scikit-learn's isotonic regression, between the values too."""
    rng = np.random.default_rng(0)
    x, y, new = rng.integers(0, 30, 300) / 30, rng.random(300), rng.uniform(-0.2, 1.2, 100)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(new)
    assert isotonic_map(x, y).at(new) == pytest.approx(theirs)


def test_a_spline_bends_between_its_outer_knots_and_is_straight_beyond():
    """The index follows a curve, and beyond the outer knots its second differences vanish."""
    x = np.linspace(0, 1, 401)
    fitted = spline_index(x[:, None], np.sin(3 * x))
    assert fitted.at(x[:, None]) == pytest.approx(np.sin(3 * x), abs=0.02)
    beyond = fitted.at(np.linspace(1.0, 2.0, 11)[:, None])
    assert np.diff(beyond, 2) == pytest.approx(0, abs=1e-8)


def test_constant_and_repeated_columns_are_no_obstacle():
    """A constant column and a copy of a column leave the index as it is without them."""
    rng = np.random.default_rng(1)
    x = rng.random((200, 1))
    labels = x[:, 0] ** 2 + 0.1 * rng.standard_normal(200)
    alone = spline_index(x, labels).at(x)
    more = np.column_stack([x, x, np.full(200, 7.0)])
    assert spline_index(more, labels).at(more) == pytest.approx(alone, abs=1e-8)


def test_equal_rows_get_equal_indexes():
    """Rows of one score tie after any number of terms, wherever they stand."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 21, (5000, 1)) / 20
    index = spline_index(x, rng.random(5000)).at(x)
    assert len(np.unique(index)) <= 21


@pytest.mark.parametrize("method", ["two_stage", "two_stage_covariates", "gradient_boosting"])
def test_the_same_seed_gives_the_same_bits(method):
    """Twice the same cross-fit: the same numbers, to the last bit."""
    rng = np.random.default_rng(3)
    rows, owner = rng.random((400, 2)), np.repeat(np.arange(100) % 5, 4)
    found = [cross_fitted(method, rows, rows.sum(axis=1), owner, 0) for _ in range(2)]
    assert found[0].tobytes() == found[1].tobytes()
