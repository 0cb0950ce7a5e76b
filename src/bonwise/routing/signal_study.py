"""One signal compared with the gain at every share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import given
from bonwise.documents.routed.signal import (
    AcrossBins,
    GainBinRecord,
    GainDecomposition,
    RoutedShareRecord,
    SignalRecord,
)
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.signals import DRAW_FEATURES, LEAST_LABELS, Signal
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.gain_decomposition import Decomposition, decompose
from bonwise.stats.gain_model import cross_fitted
from bonwise.stats.routing import RoutedShare, routed_share
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["SignalStudy", "share_record", "study_signal"]


@dataclass(frozen=True, eq=False)
class SignalStudy:
    """One signal at every share."""

    signal: Signal
    reason: str = ""
    """Why there are no figures; empty where there are."""
    note: str = ""
    """What the figures leave out, such as repeated scores for lack of labels."""
    looks_at: tuple[str, ...] = ()
    """Features behind it."""
    lacking: int = 0
    """Labelled prompts without a value of the signal: they are routed last."""
    shares: tuple[RoutedShare, ...] = field(default=(), repr=False)
    corr_gain: Estimate | None = None
    decomposition: Decomposition | None = field(default=None, repr=False)
    per_prompt: Floats | None = field(default=None, repr=False)
    """The signal of each labelled prompt; of a learnt one cross-fitted."""

    def at(self, share: float) -> RoutedShare:
        """Return the figures at one of the shares studied."""
        return next(one for one in self.shares if one.share == share)

    def record(self) -> SignalRecord:
        """Return this signal's part of the document."""
        parts = self.decomposition
        studied = {} if parts is None else given(features=list(self.looks_at), lacking=self.lacking)
        return SignalRecord(
            meaning=self.signal.meaning,
            learnt=self.signal.learnt,
            shares=[share_record(one) for one in self.shares],
            corr_gain=None if self.corr_gain is None else EstimateRecord.of(self.corr_gain),
            **given(reason=self.reason or None, note=self.note or None),
            **studied,
            **given(decomposition=None if parts is None else _decomposition(parts)),
        )


def study_signal(
    signal: Signal, prompts: JudgedPrompts, shares: tuple[float, ...], confidence: float, seed: int
) -> SignalStudy:
    """Study one signal.

    Parameters
    ----------
    signal : Signal
    prompts : JudgedPrompts
    shares : tuple of float
    confidence : float
    seed : int
        Of the parts of the cross-fit.
    """
    features, outcomes = prompts.features, prompts.outcomes
    labelled = len(outcomes.gain)
    missing = [name for name in signal.needs if name not in features or np.isnan(features[name]).all()]
    if missing:
        return SignalStudy(signal, signal.lacks(missing[0]))
    if signal.learnt and labelled < LEAST_LABELS:
        return SignalStudy(
            signal, f"{labelled} labelled prompts are fewer than the {LEAST_LABELS} it takes to be learnt"
        )
    looks_at = signal.looks_at(features, labelled) if signal.learnt else signal.needs
    if signal.learnt:
        taken = {name: features[name] for name in looks_at}
        values = cross_fitted(taken, prompts.gain, prompts.weights, seed=seed, one_level=True)[prompts.labelled]
    else:
        values = signal.value(features)[prompts.labelled]
    values = np.round(values, TIE_DECIMALS)  # as in production, where equal widths must tie
    without = [one for one in DRAW_FEATURES if one in features and one in signal.also and one not in looks_at]
    return SignalStudy(
        signal,
        "",
        "too few labelled prompts to look at repeated scores" if without else "",
        looks_at,
        int(np.isnan(values).sum()),
        tuple(routed_share(values, outcomes, one, confidence=confidence) for one in shares),
        correlation(values, outcomes.gain, outcomes.weights, confidence=confidence),
        decompose(values, prompts.wrong, outcomes.gain, outcomes.weights, confidence=confidence),
        values,
    )


def share_record(found: RoutedShare) -> RoutedShareRecord:
    """Return one share as the schema has it; low and high are those of the part captured."""
    value, lift, captured = found.value, found.lift, found.captured
    return RoutedShareRecord(
        share=found.share,
        value=value.estimate,
        value_low=value.low,
        value_high=value.high,
        value_se=value.se,
        lift=lift.estimate,
        lift_low=lift.low,
        lift_high=lift.high,
        lift_se=lift.se,
        captured=captured.estimate,
        low=captured.low,
        high=captured.high,
        se=captured.se,
        n=value.n,
        **given(reason=captured.reason or None),
    )


def _decomposition(found: Decomposition) -> GainDecomposition:
    return GainDecomposition(
        corr_wrong=EstimateRecord.of(found.wrong),
        corr_gap=EstimateRecord.of(found.gap),
        corr_gain=EstimateRecord.of(found.gain),
        across_bins=AcrossBins(
            bins=len(found.bins),
            wrong=found.binned_wrong,
            gap=found.binned_gap,
            gain=found.binned_gain,
            **given(reason="ties leave too few bins" if found.binned_gain is None else None),
        ),
        bins=[
            GainBinRecord(
                prompts=one.prompts,
                signal=one.signal,
                wrong=EstimateRecord.of(one.wrong),
                gap=EstimateRecord.of(one.gap),
                gain=EstimateRecord.of(one.gain),
            )
            for one in found.bins
        ],
    )
