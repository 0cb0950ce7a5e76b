"""P(best) and expected regret from draws of utilities, and the temperature that calibrates them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from bonwise.stacks.procedure import Deal, Paths, StackPools, Trained
from bonwise.stacks.result import CalibrationTenth
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = [
    "ChanceCalibration",
    "calibrated",
    "chances_and_regrets",
    "coefficient_covariance",
    "quality_out_of_fold",
]

_WIDEST = 6.0

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChanceCalibration:
    """How P(best) is brought in line with the labels."""

    temperature: float
    """Utilities are divided by it."""
    unit: float
    """Labels per unit of regret."""
    tenths: list[CalibrationTenth] = field(repr=False)
    """Out of fold, empty ones left out."""

    @property
    def largest_gap(self) -> float:
        """The largest distance of predicted and observed among tenths with 50 candidates or more; NaN without one."""
        gaps = [abs(one.predicted - one.observed) for one in self.tenths if one.candidates >= 50]
        return max(gaps, default=float("nan"))


def chances_and_regrets(quality: Floats, sizes: _Ints, temperature: float) -> tuple[Floats, Floats]:
    """Return P(best) and expected regret, the latter in units of utility over temperature.

    `quality` is (cells, draws): utilities under draws of the coefficients. Both results are (cells,).

    Examples
    --------
    >>> chances, regrets = chances_and_regrets(np.array([[1.0], [0.0]]), np.array([2]), 1.0)
    >>> chances.round(3).tolist(), regrets.round(3).tolist()
    ([0.731, 0.269], [0.313, 1.313])
    """
    starts = np.cumsum(sizes) - sizes
    scaled = quality / temperature
    top = np.maximum.reduceat(scaled, starts, axis=0)
    sums = np.exp(scaled - np.repeat(top, sizes, axis=0))
    total = np.add.reduceat(sums, starts, axis=0)
    chances: Floats = (sums / np.repeat(total, sizes, axis=0)).mean(axis=1)
    regrets: Floats = (np.repeat(top + np.log(total), sizes, axis=0) - scaled).mean(axis=1)
    return chances, regrets


def quality_out_of_fold(
    pools: StackPools, paths: Paths, deal: Deal, trained: Trained, *, draws: int, seed: int
) -> Floats:
    """Return the utilities of the first partition under draws of the coefficients of each fold.

    The result is (cells, draws), an even number of draws. The pools are some or all of the prompts of the deal, whose
    parts are those of these prompts; `trained` is by fold of each partition, as of
    `bonwise.stacks.out_of_fold.OutOfFold`.
    """
    noise = np.random.default_rng(seed).standard_normal((pools.features.shape[1], draws // 2))
    of_cell = np.repeat(deal.folds[0][deal.parts], pools.sizes)
    out = np.empty((len(of_cell), draws))
    for fold in np.unique(of_cell).tolist():
        drawn = _root(coefficient_covariance(pools, paths, trained, fold)) @ noise
        both = trained.coefficients[fold][:, None] + np.concatenate([drawn, -drawn], axis=1)
        out[of_cell == fold] = pools.features[of_cell == fold] @ both
    return out


def coefficient_covariance(pools: StackPools, paths: Paths, trained: Trained, at: int) -> Floats:
    """Return the covariance of the coefficients of a set; where it falls back, that of the judge's own alone."""
    stack, alone = trained.ridges[at].tolist()
    if not trained.falls_back[at]:
        return paths.stack.sandwich(stack)
    judge = int(trained.best_alone[at])
    found = np.zeros((pools.features.shape[1],) * 2)
    found[pools.own[judge], pools.own[judge]] = paths.alone[judge].sandwich(alone)[0, 0]
    return found


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    found: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return found


def calibrated(quality: Floats, labels: Floats, sizes: _Ints) -> ChanceCalibration:
    """Choose the temperature under which the labels are the most likely.

    `quality` is (cells, draws): utilities out of fold, under draws of the coefficients.
    """
    best = _shares(labels, sizes)

    def loss(log_temperature: float) -> float:
        chances, _ = chances_and_regrets(quality, sizes, float(np.exp(log_temperature)))
        return -float(best @ np.log(np.maximum(chances, 1e-300)))

    found = minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded", options={"xatol": 1e-3})
    temperature = float(np.exp(found.x))
    chances, regrets = chances_and_regrets(quality, sizes, temperature)
    return ChanceCalibration(temperature, _unit(chances, regrets, labels, sizes), _tenths(chances, best))


def _shares(labels: Floats, sizes: _Ints) -> Floats:
    starts = np.cumsum(sizes) - sizes
    rounded = np.round(labels, TIE_DECIMALS)
    best = rounded == np.repeat(np.maximum.reduceat(rounded, starts), sizes)
    found: Floats = best / np.repeat(np.add.reduceat(best, starts, dtype=np.float64), sizes)
    return found


def _unit(chances: Floats, regrets: Floats, labels: Floats, sizes: _Ints) -> float:
    """Return the labels that picks really lose for each unit of regret that is expected of them."""
    starts = np.cumsum(sizes) - sizes
    lost = float((np.repeat(np.maximum.reduceat(labels, starts), sizes) - labels) @ chances)
    expected = float(regrets @ chances)
    return lost / expected if expected > 0 else 0.0


def _tenths(chances: Floats, best: Floats) -> list[CalibrationTenth]:
    """Return the tenths of the range; of k candidates that share the highest label each counts 1 / k."""
    at = np.minimum((chances * 10).astype(np.int64), 9)
    return [
        CalibrationTenth(
            low=number / 10,
            high=(number + 1) / 10,
            predicted=float(chances[at == number].mean()),
            observed=float(best[at == number].mean()),
            candidates=int((at == number).sum()),
        )
        for number in np.unique(at).tolist()
    ]
