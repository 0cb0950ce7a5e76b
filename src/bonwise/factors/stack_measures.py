"""What is measured of a stack: figures out of fold, calibration, what each judge is worth, and other rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bonwise.auditing.settings import Settings
from bonwise.data.feature_scaling import FeatureScaling
from bonwise.data.judge_stack import DRAWS, JudgeStack
from bonwise.factors.stack_baselines import Baseline, baselines
from bonwise.factors.stack_table import FEWEST_PROMPTS, StackTable
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.stacking.chances import (
    ChanceCalibration,
    calibrated,
    coefficient_covariance,
    quality_out_of_fold,
)
from bonwise.stats.stacking.figures import StackFigures, stack_figures
from bonwise.stats.stacking.folds import Deal
from bonwise.stats.stacking.procedure import Paths, StackPools, Trained
from bonwise.stats.stacking.worth_of_judges import JudgeWorth, Smaller, worth_of_judges

__all__ = ["StackMeasures"]

_MOST_CALIBRATED = 2_000
"""Prompts that calibrate P(best), at most."""


class StackMeasures:
    """The figures of a stack.

    Parameters
    ----------
    laid : StackTable
    pools : StackPools
    paths : Paths
    deal : Deal
    trained : Trained
        On all labelled prompts.
    settings : Settings
    """

    def __init__(
        self, laid: StackTable, pools: StackPools, paths: Paths, deal: Deal, trained: Trained, settings: Settings
    ) -> None:
        self._laid, self._pools, self._paths, self._deal = laid, pools, paths, deal
        self._trained, self._settings = trained, settings
        self.figures = stack_figures(pools, paths, deal, self._counted, self._rule)
        if self.too_few:
            self.figures = _without_figures(self.figures, self.too_few)
        self.calibration = self._calibrated()

    @property
    def _counted(self) -> npt.NDArray[np.bool_]:
        """The prompts behind the figures; all, where too few are labelled whole for any figure."""
        return np.ones_like(self._laid.whole) if self.too_few else self._laid.whole

    @property
    def too_few(self) -> str:
        """Why there are no figures; empty where there are some."""
        count = int(self._laid.whole.sum())
        if count >= FEWEST_PROMPTS:
            return ""
        return (
            f"{count} prompts are labelled whole, and a figure needs {FEWEST_PROMPTS}: write the scores with "
            "--scores, and audit them with --design cells"
        )

    @property
    def _rule(self) -> IntervalRule:
        cells = np.repeat(self._counted, self._pools.sizes)
        clusters = None if self._pools.clusters is None else self._pools.clusters[self._counted]
        return self._settings.rule(self._pools.labels[cells], clusters)

    def _calibrated(self) -> ChanceCalibration:
        kept = np.flatnonzero(self._counted)
        rng = np.random.default_rng(self._settings.seed)
        some = np.zeros(len(self._counted), dtype=bool)
        some[rng.permutation(kept)[:_MOST_CALIBRATED]] = True
        pools, deal = self._pools.keep(some), replace(self._deal, parts=self._deal.parts[some])
        trained = self.figures.whole.trained
        quality = quality_out_of_fold(pools, self._paths, deal, trained, draws=DRAWS, seed=self._settings.seed)
        return calibrated(quality, pools.labels, pools.sizes)

    def baselines(self) -> dict[str, Baseline]:
        """Compare the stack with other rules, on the prompts that are labelled whole."""
        if self.too_few:
            return {}
        pools = self._pools.keep(self._counted)
        deal = replace(self._deal, parts=self._deal.parts[self._counted])
        return baselines(pools, deal, self.figures.whole.sums(self._pools)[:, self._counted], self._rule)

    def worth(self) -> tuple[dict[str, JudgeWorth], tuple[Smaller, ...]]:
        """Leave judges out; nothing where the stack takes one judge alone anyway."""
        if self.too_few or self._trained.falls_back[0]:
            return {}, ()
        singles, smaller = worth_of_judges(
            self._pools,
            self._paths,
            self._deal,
            self.figures.whole.sums(self._pools)[:, self._counted],
            self._counted,
            self._rule,
            self._laid.owners,
        )
        return dict(zip(self._laid.judges, singles, strict=True)), tuple(smaller)

    def stack(self) -> JudgeStack:
        """Return what applies the fit to all labelled prompts."""
        scaling, trained = self._laid.scaling, self._trained
        coefficients = trained.coefficients[0]
        covariance = coefficient_covariance(self._pools, self._paths, trained, 0)
        fallback = None
        if trained.falls_back[0]:
            judge = int(trained.best_alone[0])
            fallback, own = self._laid.judges[judge], [self._pools.own[judge]]
            scaling = FeatureScaling(
                (scaling.features[own[0]],), scaling.scales[own], scaling.covariance[np.ix_(own, own)]
            )
            coefficients, covariance = coefficients[own], covariance[np.ix_(own, own)]
        found = self.calibration
        return JudgeStack(
            scaling, coefficients, covariance, found.temperature, found.unit, self._settings.seed, fallback
        )


def _without_figures(figures: StackFigures, reason: str) -> StackFigures:
    nothing = Estimate.undefined(reason, 0)

    def none_of(found: Mapping[str, Estimate]) -> dict[str, Estimate]:
        return dict.fromkeys(found, nothing)

    return StackFigures(none_of(figures.metrics), none_of(figures.best), none_of(figures.difference), figures.whole)
