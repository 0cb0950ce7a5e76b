"""The ways of calibrating: each learns on some prompts a map that is used on the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats
from bonwise.studies.calibration.maps import isotonic_map, spline_index

__all__ = ["COVARIATE_METHODS", "METHODS", "TOO_DEAR_TO_REFIT", "cross_fitted", "folds_of_prompts"]

Map = Callable[[Floats], Floats]
"""Rows of a score, then its covariates, to calibrated scores."""

_Ints = npt.NDArray[np.int64]


def isotonic(rows: Floats, labels: Floats, _seed: int) -> Map:
    """Learn the map of the score that never falls."""
    fitted = isotonic_map(rows[:, 0], labels)
    return lambda new: fitted.at(new[:, 0])


def two_stage(rows: Floats, labels: Floats, seed: int) -> Map:
    """Learn a smooth index of the score alone, then the map of that index that never falls."""
    learned = two_stage_covariates(rows[:, :1], labels, seed)
    return lambda new: learned(new[:, :1])


def two_stage_covariates(rows: Floats, labels: Floats, _seed: int) -> Map:
    """Learn a smooth index of the score and its covariates, then the map of that index that never falls."""
    index = spline_index(rows, labels)
    fitted = isotonic_map(index.at(rows), labels)
    return lambda new: fitted.at(index.at(new))


def gradient_boosting(rows: Floats, labels: Floats, seed: int) -> Map:
    """Learn boosted trees of the score and its covariates."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - slow to import
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    # Sums of several threads differ from run to run in the last bits.
    with threadpool_limits(1):
        fitted = HistGradientBoostingRegressor(early_stopping=False, random_state=seed).fit(rows, labels)

    def predict(new: Floats) -> Floats:
        with threadpool_limits(1):
            return np.asarray(fitted.predict(new), dtype=np.float64)

    return predict


METHODS: Mapping[str, Callable[[Floats, Floats, int], Map]] = MappingProxyType(
    {
        "isotonic": isotonic,
        "two_stage": two_stage,
        "two_stage_covariates": two_stage_covariates,
        "gradient_boosting": gradient_boosting,
    }
)

COVARIATE_METHODS = ("two_stage_covariates", "gradient_boosting")

TOO_DEAR_TO_REFIT = ("gradient_boosting",)
"""A hundred fits of trees a judge would take minutes: their intervals take the maps as fixed."""


def folds_of_prompts(prompts: int, folds: int, seed: int) -> _Ints:
    """Deal prompts to folds of equal size, give or take one.

    Examples
    --------
    >>> np.bincount(folds_of_prompts(11, 5, seed=0)).tolist()
    [3, 2, 2, 2, 2]
    """
    dealt: _Ints = np.random.default_rng(seed).permutation(prompts) % folds
    return dealt


def cross_fitted(method: str, rows: Floats, labels: Floats, owner: _Ints, seed: int) -> Floats:
    """Calibrate the scores of every fold by a map learned on the other folds.

    Parameters
    ----------
    method : str
        Of `METHODS`.
    rows : ndarray of float64, shape (cells, 1 + covariates)
        The score first.
    labels : ndarray of float64, shape (cells,)
    owner : ndarray of int64, shape (cells,)
        The fold of each cell; whole prompts share one, so that one map serves all candidates of a prompt.
    seed : int

    Returns
    -------
    ndarray of float64, shape (cells,)
    """
    out = np.empty(len(rows))
    for fold in np.unique(owner):
        mine = owner == fold
        out[mine] = METHODS[method](rows[~mine], labels[~mine], seed)(rows[mine])
    return out
