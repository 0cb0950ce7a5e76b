"""What a metric is: a smooth function of totals, with its range and the prompts that count for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from bonwise.arrays import Floats
from bonwise.stats.laws import Law
from bonwise.stats.sums import Sums

if TYPE_CHECKING:
    from bonwise.stats.no_gain import DealtBefore, DealtLabels
    from bonwise.stats.support import Support


NOT_DISTINGUISHABLE = "denominator not distinguishable from 0"

NOTHING_LOST = "undefined: within_r is not below global_r, so nothing is lost within prompts"


@dataclass(frozen=True)
class Estimate:
    """One metric of an audit."""

    estimate: float | None
    """None where the metric is undefined on the data; `reason` says why."""
    low: float | None
    high: float | None
    """Both: two-sided interval at the audit's confidence, clustered by prompt."""
    se: float | None
    """Standard error, same units as the estimate."""
    n: int
    """Prompts that contribute."""
    interval: str | None
    """``jackknife``, ``fieller``, ``clopper-pearson``, ``bootstrap``, ``exact``, ``logit`` or ``bins``."""
    method: str = "complete"
    """``complete``, ``labelled_only``, ``aipw``, ``weighted`` or ``cells``."""
    reason: str | None = None
    """Why there is no estimate, or no interval."""
    ess: float | None = None
    """Effective sample size of a weighted estimate."""
    moved: str | None = None
    """Which end of the interval is where further picks would take the estimate."""
    labelled_only: Estimate | None = None
    """The estimate from labelled prompts alone, beside a weighted one."""
    law: Law | None = field(default=None, repr=False, compare=False)
    """What is known of the estimate, for an interval at any confidence; see `bounds`."""
    no_gain: DealtLabels | DealtBefore | None = field(default=None, repr=False, compare=False)
    """Of gain and recovery: the tests that there is none."""
    support: Support | None = field(default=None, repr=False, compare=False)
    """What it rests on; None where that is not counted."""

    def bounds(self, confidence: float) -> tuple[float, float] | None:
        """Return the two-sided interval at another confidence, None where there is none."""
        ends = self.law.at(confidence) if self.law is not None else None
        if ends is None or self.support is None or self.estimate is None:
            return ends
        return self.support.moved(self.estimate, ends)

    def with_method(self, method: str) -> Estimate:
        """Return the same estimate under another method name."""
        return replace(self, method=method)

    @classmethod
    def undefined(cls, reason: str, n: int) -> Estimate:
        """Return a metric that does not exist on these data."""
        return cls(None, None, None, None, n, None, reason=reason)


def under_method(found: Mapping[str, Estimate], method: str) -> dict[str, Estimate]:
    """Return the same estimates under another method name."""
    return {name: one.with_method(method) for name, one in found.items()}


Group = Literal["Picks", "Within prompts", "Over all cells"]
"""Headings that reports show metrics under, in their order."""

Unit = Literal["share", "number"]
"""A ``share`` is a part of a whole."""


class OutcomeWeights(NamedTuple):
    """How a mean over prompts is made of the means of five outcomes of a prompt, named as in `stats/sums.py`."""

    random: float = 0.0  # R
    judge_gain: float = 0.0  # J - R
    oracle_gain: float = 0.0  # M - R
    top1: float = 0.0  # same_top
    hit: float = 0.0  # hit


@dataclass(frozen=True)
class Metric:
    """What reports tell of a metric."""

    name: str
    """Key of the metric."""
    _: KW_ONLY
    group: Group
    meaning: str
    """What it says, in a few words."""
    unit: Unit
    place: int = 9
    """Where it is in its group, the smallest first; metrics of one place are in the order of the catalogue."""
    headline: bool = False
    """Whether it is among the figures to read first."""


@dataclass(frozen=True)
class Estimand(Metric):
    """A metric as a function of totals."""

    of: Callable[[Sums], Floats]
    """Totals to value; works on arrays of totals of any shape, NaN where undefined."""
    needs: str
    """What must be there for it to be defined, in plain words."""
    limits: tuple[float, float] | None = (0.0, 1.0)
    """Range of the metric; None stands for the range of the labels."""
    counted: Callable[[Sums], Floats] | None = None
    """Per-prompt sums to a mask of the prompts that contribute; None means all."""
    on_labels: bool = True
    """Whether it needs oracle labels."""
    on_scores: bool = True
    """Whether it needs the judge's scores; without them it is the same for every judge."""
    average_over: Callable[[Sums], Floats] | None = None
    """Per-prompt sums to the weights that make it a weighted average over prompts; None where it is none."""
    parts: Callable[[Sums], tuple[Floats, Floats]] | None = None
    """Per-prompt sums to numerator and denominator a prompt, for a ratio of means: Fieller's interval."""
    contrast: bool = False
    """Whether it is a difference of two mean labels, within the width of their range on either side of 0."""
    weight: Callable[[Sums], Floats] | None = None
    """Per-prompt sums to what there is in each prompt for it, whatever its scores: these weights are worth as many
    prompts as it rests on. None of rates, which rest on draws, and of what has no such count.
    """
    set_by_pools: bool = False
    """Whether pools that hold the same labels by construction fix it: it has then no interval."""
    of_products: bool = False
    """Whether it is made of sums of products or squares: few clusters of different kinds tell too little of it."""
    at_most_prompts: bool = False
    """Whether it counts as no more yes-or-no draws than there are prompts, however alike these are."""
    share_of: Callable[[Sums], Floats] | None = None
    """Of a share of a sum that every prompt adds to: per-prompt sums to what each adds."""
    over: str | None = None
    """Metric it is divided by: where that cannot be told from 0, the number would be wild."""
    lost_of: tuple[Callable[[Sums], Floats], Callable[[Sums], Floats]] | None = None
    """Of a metric that is 1 less a ratio: totals to its numerator and to its denominator, for Fieller's interval."""
    outcomes: OutcomeWeights | None = None
    """The weights that make it of the outcomes of a prompt; of a ratio of means, those of its numerator. Where a
    sample of prompts is labelled, a metric that has them is estimated with a model of the outcomes (AIPW), any other
    from totals weighted by 1 / propensity.
    """
    outcomes_below: OutcomeWeights | None = None
    """Those of the denominator of a ratio of means."""
