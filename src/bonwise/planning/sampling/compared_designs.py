"""The designs that are compared with each other, and the variance of recovery under each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from bonwise.documents.label_designs import ComparedShare, DesignName
from bonwise.planning.sampling.label_rules import MEANING
from bonwise.planning.sampling.labelled_pools import LabelledPools
from bonwise.stats.partial.design_variance import (
    VarianceRatio,
    by_strata,
    design_variance,
    drawn_recoveries,
    falling_with_rank,
    pilot_size,
    two_phase,
    variance_ratio,
)
from bonwise.stats.partial.label_allocation import (
    LEAST,
    allocate,
    draw_within,
    level_by_spread,
    pick_factor,
    size_measure,
    strata,
    tie_strata,
)
from bonwise.stats.partial.model_choice import LABELS_ONLY
from bonwise.stats.partial.score_residuals import ScoreResiduals, score_residuals
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["COMPARED", "UNKNOWABLE", "DesignVariance", "ShareOfLabels"]

_Ints = npt.NDArray[np.int64]

_Design = tuple[_Ints, _Ints]
"""Stratum of each prompt, and how many labels each stratum takes."""

COMPARED: Mapping[DesignName, str] = MappingProxyType(
    {
        "uniform": MEANING["uniform"],
        "margin": "low margins first: the chance falls with the rank of the margin",
        "neyman": f"{MEANING['neyman']} (by formula: a perfect one)",
        "stratified": MEANING["stratified"],
        "rule": f"{MEANING['rule']}; scores of the audited judge",
        "rule_further": "as rule, with the spread of the further judges' scores",
        "label_spread": "by the root of the spread of the labels themselves",
        "optimum": "by the size of each prompt's own deviation",
    }
)
"""What each compared design goes by; the order is also that of their streams of random numbers."""

_FITS = 5
"""Samples of labels to which the model of the scores is fitted; its figures are means over them."""

UNKNOWABLE = ("label_spread", "optimum")
"""Designs that look at labels which nobody has before labelling."""


@dataclass(frozen=True, slots=True)
class DesignVariance:
    """The variance of recovery under one design at one share, over that of as many labels drawn at random."""

    share: float
    """Of the prompts."""
    labels: int
    """Prompts labelled."""
    labels_only: float
    """By the first-order formula, labels alone."""
    with_scores: float | None
    """The same where the model that an audit of as many labels rests on takes its part off; also over labels alone at
    random. A mean over models that were fitted to samples of labels drawn at random. None where labels stand alone.
    """
    model: str
    """That model, as an audit names it."""
    drawn: VarianceRatio | None
    """Labels alone, by repeated draws; None for the random draws themselves, which are what it is compared with."""

    def record(self) -> ComparedShare:
        """Return this share's part of the document."""
        return ComparedShare(
            share=self.share,
            labels=self.labels,
            labels_only=float(self.labels_only),
            with_scores=self.with_scores,
            model=self.model,
            drawn=None if self.drawn is None else float(self.drawn.ratio),
            drawn_se=None if self.drawn is None else float(self.drawn.se),
        )


@dataclass(frozen=True, eq=False)
class ShareOfLabels:
    """What is compared at one share of labels."""

    pools: LabelledPools = field(repr=False)
    share: float
    labels: int
    """Prompts labelled."""
    draws: int
    """Repeated draws of each design, and where their streams begin."""
    seed: int
    """Repeated draws of each design, and where their streams begin."""
    fits: tuple[ScoreResiduals, ...] = field(repr=False)
    """Of models fitted to as many labels drawn at random."""

    @classmethod
    def of(cls, pools: LabelledPools, share: float, labels: int, *, draws: int, seed: int) -> ShareOfLabels:
        """Fit the models."""
        alike, count = np.zeros(len(pools.phi), dtype=np.int64), np.array([labels])
        fits = []
        for fit in range(_FITS):
            stream = np.random.default_rng([seed, labels, len(COMPARED), fit])
            fits.append(score_residuals(pools.Y, pools.features, draw_within(alike, count, stream), seed=seed))
        return cls(pools, share, labels, draws, seed, tuple(fits))

    def variances(self) -> dict[str, DesignVariance]:
        """Return the variance of every design."""
        pools, outcomes = self.pools, (self.pools.gain, self.pools.best)
        alike = np.zeros(len(pools.phi), dtype=np.int64), np.array([self.labels])
        base = design_variance(pools.phi, *alike)
        at_random = self._simulated(by_strata(*alike), "uniform")
        found = {"uniform": self._variance(alike, None, base, None)}
        for name, size in _sizes(pools).items():
            design = self._design(name, size)
            draw = two_phase(outcomes, design[0], self.labels) if name == "neyman" else by_strata(*design)
            ratio = variance_ratio(self._simulated(draw, name), at_random, pools.recovery)
            # What is best to draw by differs where a model takes its part off.
            best = [self._design(name, _own(fit.left)) for fit in self.fits] if name == "optimum" else None
            found[name] = self._variance(design, best, base, ratio)
        return found

    def _variance(
        self, design: _Design, by_fit: list[_Design] | None, base: float, drawn: VarianceRatio | None
    ) -> DesignVariance:
        alone, model, with_scores = design_variance(self.pools.phi, *design) / base, self.fits[0].model, None
        if model != LABELS_ONLY:
            pairs = zip(self.fits, by_fit or [design] * len(self.fits), strict=True)
            with_scores = float(np.mean([design_variance(fit.left, *one) for fit, one in pairs])) / base
        return DesignVariance(self.share, self.labels, alone, with_scores, model, drawn)

    def _simulated(self, draw: Callable[[np.random.Generator], Any], name: str) -> Floats:
        stream = [str(one) for one in COMPARED].index(name)
        outcomes = self.pools.gain, self.pools.best
        return drawn_recoveries(outcomes, draw, self.draws, (self.seed, self.labels, stream))

    def _design(self, name: str, size: Floats | None) -> _Design:
        """Return strata and how many labels each takes; of ``neyman`` those that a perfect pilot would give."""
        if size is None:
            # A stratum that the pilot misses takes at least one label of those left.
            most = min(self.labels, LEAST * (self.labels - pilot_size(self.labels)))
            found = level_by_spread(self.pools.tops.mean, self.pools.tops.spread, most)
            held, phi = np.bincount(found), self.pools.phi
            means = np.bincount(found, weights=phi) / held
            sd: Floats = np.sqrt(np.bincount(found, weights=(phi - means[found]) ** 2) / held)
        else:
            cut: Callable[[Floats, int], _Ints] = tie_strata if name == "stratified" else strata
            found = cut(size, self.labels)
            held = np.bincount(found)
            sd = np.bincount(found, weights=size) / held
        return found, allocate(held.astype(np.int64), held * sd, self.labels)


def _sizes(pools: LabelledPools) -> dict[str, Floats | None]:
    """Return what each design but ``uniform`` takes the spread of a prompt's outcome to be in proportion to."""
    found = {
        "margin": falling_with_rank(np.round(pools.tops.margin, TIE_DECIMALS)),
        "neyman": None,
        "stratified": pick_factor(pools.tops.tied, pools.sizes),
        "rule": size_measure(pools.scores, pools.sizes),
    }
    if pools.second is not None:
        found["rule_further"] = size_measure(pools.scores, pools.sizes, pools.second)
    return found | {"label_spread": _own(np.sqrt(pools.label_spread)), "optimum": _own(pools.phi)}


def _own(deviations: Floats) -> Floats:
    """Return sizes by each prompt's own deviation; one whose own is 0 is drawn all the same."""
    found: Floats = np.abs(deviations) + 0.02 * float(np.abs(deviations).mean())
    return found
