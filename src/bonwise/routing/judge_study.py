"""Every signal of one judge compared with the gain, and the one to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import given
from bonwise.documents.routed.judge import CheckRecord, JudgeRoute, MarginGroup, PredictedBound, RoutedData
from bonwise.routing.budget import BudgetSplit
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.recommendation import Recommendation, recommend
from bonwise.routing.saved import SavedRouter, thinned
from bonwise.routing.signal_study import SignalStudy, share_record, study_signal
from bonwise.routing.signals import SIGNALS, fit_signal
from bonwise.stats.estimate import Estimate
from bonwise.stats.gain_decomposition import gain_grid
from bonwise.stats.gain_model import cross_fitted_means
from bonwise.stats.routed_recovery import SHARES as RECOVERY_SHARES
from bonwise.stats.routed_recovery import RoutedRecovery, routed_recovery
from bonwise.stats.routing import RoutedShare, gaussian_share, routed_share, routing_bound
from bonwise.stats.sums import TIE_DECIMALS
from bonwise.stats.voi_calibration import CalibrationCheck, confidence_calibrated, voi_calibrated

__all__ = ["SHARES", "JudgeStudy", "study_judge"]

SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 0.50, 0.75, 1.0)
"""Shares at which every signal is compared with the gain, besides the one asked for."""


@dataclass(frozen=True, eq=False)
class JudgeStudy:
    """What routing from one judge to a perfect one is worth, signal by signal."""

    prompts: JudgedPrompts
    signals: Mapping[str, SignalStudy]
    perfect: tuple[RoutedShare, ...]
    """Prompts in the order of their true gain."""
    bounds: Mapping[float, tuple[Estimate, Estimate]]
    """By share: the estimate of corollary 3's bound for what the features were found to predict, and the part of it
    that the expected gain achieves; empty where that signal has no figures.
    """
    grid: tuple[tuple[Estimate, ...], ...]
    """E[gain | margin, level]; empty where scores leave [0, 1]."""
    confidence_calibrated: CalibrationCheck
    voi_calibrated: CalibrationCheck
    recommendation: Recommendation
    budget: BudgetSplit | None = None
    """Where a joint budget was given."""

    def router(self, *, scale: str = "", seed: int = 0) -> SavedRouter:
        """Return the recommended router, a learnt signal fitted to all labelled prompts."""
        taken, prompts = self.recommendation, self.prompts
        fitted = fit_signal(taken.signal, prompts.features, prompts.gain, prompts.weights, seed=seed)
        return SavedRouter(
            taken.signal,
            taken.share,
            taken.threshold,
            thinned(np.round(fitted.value(prompts.features), TIE_DECIMALS), prompts.population),
            fitted.model,
            prompts.panel.judge,
            scale,
            taken.captured.to_dict(),
            first=prompts.first,
        )

    def recovery_by_share(self, confidence: float) -> RoutedRecovery:
        """Return recovery by the share that is sent, in steps of 5 %, by the recommended signal."""
        prompts = self.prompts
        signal = self.signals[self.recommendation.signal].per_prompt
        if signal is None:
            raise AssertionError("a signal that is recommended has values")
        random = prompts.random
        found = (
            routed_recovery(signal, prompts.outcomes, random, share, confidence=confidence)
            for share in RECOVERY_SHARES
        )
        return RoutedRecovery(self.recommendation.signal, RECOVERY_SHARES, tuple(found))

    def record(self) -> JudgeRoute:
        """Return this judge's part of the document of schema ``bonwise.route/1``."""
        return JudgeRoute(
            data=self._data(),
            signals={one.signal.name: one.record() for one in self.signals.values()},
            perfect=[share_record(one) for one in self.perfect],
            bound=[
                PredictedBound(
                    share=share,
                    bound=EstimateRecord.of(bound),
                    achieved=EstimateRecord.of(part),
                    gaussian=gaussian_share(share),
                )
                for share, (bound, part) in self.bounds.items()
            ],
            gain_by_margin_and_level=[[EstimateRecord.of(cell) for cell in row] for row in self.grid] or None,
            confidence_calibrated=_check(self.confidence_calibrated),
            voi_calibrated=_check(self.voi_calibrated),
            recommendation=self.recommendation.record(),
            **given(budget=None if self.budget is None else self.budget.record()),
        )

    def _data(self) -> RoutedData:
        panel, labelled = self.prompts.panel, int(self.prompts.labelled.sum())
        method: Literal["complete", "labelled_only", "weighted"] = (
            "complete" if labelled == len(panel.sizes) else "labelled_only"
        )
        return RoutedData(
            prompts=len(panel.sizes),
            labelled_prompts=labelled,
            dropped=[DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in panel.dropped],
            method="weighted" if self.prompts.weighted else method,
        )


def study_judge(prompts: JudgedPrompts, share: float, *, confidence: float = 0.95, seed: int = 0) -> JudgeStudy:
    """Compare every signal of one judge with the gain.

    Parameters
    ----------
    prompts : JudgedPrompts
    share : float
        In (0, 1), of the recommendation.
    confidence : float
    seed : int
        Of the parts of the cross-fit.

    Raises
    ------
    bonwise.errors.UsageError
        No signal can be computed.
    """
    shares = tuple(sorted({*SHARES, share}))
    outcomes, w = prompts.outcomes, prompts.outcomes.weights
    signals: dict[str, SignalStudy] = {
        one.name: study_signal(one, prompts, shares, confidence, seed) for one in SIGNALS.values()
    }
    known = {name: values[prompts.labelled] for name, values in prompts.features.items()}
    scores = prompts.panel.scores
    unit = bool(scores.min() >= 0 and scores.max() <= 1)
    return JudgeStudy(
        prompts,
        signals,
        tuple(routed_share(outcomes.gain, outcomes, one, confidence=confidence) for one in shares),
        _bounds(signals, prompts, [one for one in shares if one < 1], confidence, seed),
        gain_grid(known["margin"], known["level"], outcomes.gain, w, confidence=confidence) if unit else (),
        confidence_calibrated(known["margin"], 1 - prompts.wrong, w, confidence=confidence),
        voi_calibrated(known["margin"], outcomes.gain, w, confidence=confidence),
        recommend(signals, prompts, share, seed),
    )


def _bounds(
    signals: Mapping[str, SignalStudy], prompts: JudgedPrompts, shares: list[float], confidence: float, seed: int
) -> dict[float, tuple[Estimate, Estimate]]:
    """Bound the lift by what the learnt signals and the tenths of every other one predict."""
    outcomes = prompts.outcomes
    known = {name: one.per_prompt for name, one in signals.items() if one.per_prompt is not None}
    predicted = known.pop("expected_gain", None)
    if predicted is None or np.isnan(predicted).any():
        return {}
    others = [
        values if SIGNALS[name].learnt else cross_fitted_means(values, outcomes.gain, outcomes.relative, seed=seed)
        for name, values in known.items()
    ]
    return {
        share: routing_bound(
            predicted, outcomes, share, others=others, signals=list(known.values()), confidence=confidence
        )
        for share in shares
    }


def _check(found: CalibrationCheck) -> CheckRecord:
    return CheckRecord(
        answer=found.answer,
        reason=found.reason,
        correlation=EstimateRecord.of(found.correlation),
        groups=[MarginGroup(margin=margin, mean=EstimateRecord.of(mean)) for margin, mean in found.means],
    )
