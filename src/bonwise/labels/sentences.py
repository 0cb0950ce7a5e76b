"""What a comparison of label designs says in sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bonwise.labels.result import ComparedDesign, ComparedShare, DesignName
from bonwise.report.numbers import number, percent

__all__ = ["comparison_sentences"]

_APART = 2
"""Standard errors by which a design must be ahead of every other to be named."""


def comparison_sentences(designs: Mapping[DesignName, ComparedDesign]) -> tuple[str, ...]:
    """Return which design varies least at each share, where that is beyond doubt, and what scores add."""
    said = [_best(designs, at) for at in range(len(designs["uniform"].shares))]
    said += [_with_scores(one) for one in designs["uniform"].shares]
    said.append(
        "The figures describe these prompts; the designs that look at labels are marked, and nobody can draw by them."
    )
    return tuple(said)


def _attained(name: str, found: ComparedShare) -> tuple[float, float]:
    """Return the ratio that a user would see, and its standard error.

    Of ``neyman`` it is that of the draws, after real pilots, not the perfect one of the formula.
    """
    if name == "neyman" and found.drawn is not None:
        return found.drawn, found.drawn_se or 0.0
    return found.labels_only, 0.0


def _best(designs: Mapping[DesignName, ComparedDesign], at: int) -> str:
    one = designs["uniform"].shares[at]
    lead = f"Labelling {percent(one.share)} of the prompts ({one.labels:,}), "
    ratios = {name: _attained(name, found.shares[at]) for name, found in designs.items() if found.feasible}
    best, *others = sorted(ratios, key=lambda name: ratios[name][0])
    ratio, se = ratios[best]
    close = [name for name in others if ratios[name][0] - ratio <= _APART * float(np.hypot(ratios[name][1], se))]
    if close:
        named = ", ".join(f"{name} {_figure(*ratios[name])}" for name in (best, *close))
        return f"{lead}no design has clearly the smallest variance: {named}."
    if best == "uniform":
        return f"{lead}no design has a smaller variance than labels at random."
    return (
        f"{lead}{best} has {_figure(ratio, se)} of the variance of labels at random ({number(float(np.sqrt(ratio)))} "
        "of the width)."
    )


def _figure(ratio: float, se: float) -> str:
    return f"{number(ratio)} (standard error {number(se)})" if se else number(ratio)


def _with_scores(one: ComparedShare) -> str:
    if one.with_scores is None:
        return f"With {one.labels:,} labelled prompts an audit fits no model of the scores: labels are used alone."
    return (
        f"With {one.labels:,} labelled prompts an audit takes the scores as covariates ({one.model}); the variance "
        f"of labels at random is then {number(one.with_scores)} of what it is without."
    )
