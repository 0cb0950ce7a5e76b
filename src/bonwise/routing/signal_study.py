"""One signal held against the gain at every share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.signals import DRAW_FEATURES, LEAST_LABELS, Signal
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.gain_decomposition import Decomposition, decompose
from bonwise.stats.gain_model import cross_fitted
from bonwise.stats.routing import RoutedShare, routed_share
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["SignalStudy", "plain_share", "study_signal"]


@dataclass(frozen=True, eq=False)
class SignalStudy:
    """One signal at every share.

    Parameters
    ----------
    signal : Signal
    reason : str
        Why there are no figures; empty where there are.
    note : str
        What the figures leave out, such as repeated scores for want of labels.
    looks_at : tuple of str
        Features behind it.
    lacking : int
        Labelled prompts without a value of the signal: they are routed last.
    shares : tuple of RoutedShare
    corr_gain : Estimate or None
    decomposition : Decomposition or None
    per_prompt : ndarray of float64 or None
        The signal of each labelled prompt; of a learnt one cross-fitted.
    """

    signal: Signal
    reason: str = ""
    note: str = ""
    looks_at: tuple[str, ...] = ()
    lacking: int = 0
    shares: tuple[RoutedShare, ...] = field(default=(), repr=False)
    corr_gain: Estimate | None = None
    decomposition: Decomposition | None = field(default=None, repr=False)
    per_prompt: Floats | None = field(default=None, repr=False)

    def at(self, share: float) -> RoutedShare:
        """Return the figures at one of the shares studied."""
        return next(one for one in self.shares if one.share == share)

    def to_dict(self) -> dict[str, Any]:
        """Return this signal's part of the document."""
        plain: dict[str, Any] = {"meaning": self.signal.meaning, "learnt": self.signal.learnt}
        if self.reason:
            plain["reason"] = self.reason
        if self.note:
            plain["note"] = self.note
        plain["shares"] = [plain_share(one) for one in self.shares]
        plain["corr_gain"] = None if self.corr_gain is None else self.corr_gain.to_dict()
        if self.decomposition is None:
            return plain
        plain["features"], plain["lacking"] = list(self.looks_at), self.lacking
        plain["decomposition"] = _decomposition(self.decomposition)
        return plain


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
        values = cross_fitted(taken, prompts.gain, prompts.weights, seed=seed)[prompts.labelled]
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


def plain_share(found: RoutedShare) -> dict[str, Any]:
    """Return one share as the schema has it; low and high are those of the part captured."""
    plain: dict[str, Any] = {"share": found.share}
    for name in ("value", "lift", "captured"):
        one: Estimate = getattr(found, name)
        plain[name] = one.estimate
        ends = ("low", "high", "se") if name == "captured" else (f"{name}_low", f"{name}_high", f"{name}_se")
        plain.update(zip(ends, (one.low, one.high, one.se), strict=True))
    plain["n"] = found.value.n
    if found.captured.reason:
        plain["reason"] = found.captured.reason
    return plain


def _decomposition(found: Decomposition) -> dict[str, Any]:
    plain: dict[str, Any] = {f"corr_{name}": getattr(found, name).to_dict() for name in ("wrong", "gap", "gain")}
    plain["across_bins"] = {
        "bins": len(found.bins),
        **{name: getattr(found, f"binned_{name}") for name in ("wrong", "gap", "gain")},
    }
    if found.binned_gain is None:
        plain["across_bins"]["reason"] = "ties leave too few bins"
    plain["bins"] = [
        {"prompts": one.prompts, "signal": one.signal}
        | {name: getattr(one, name).to_dict() for name in ("wrong", "gap", "gain")}
        for one in found.bins
    ]
    return plain
