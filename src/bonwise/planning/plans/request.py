"""What a plan is asked for: the arguments, with their ranges checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal, cast

from bonwise.data.checks import CONFIDENCE, SEED, Limit, check, number, whole
from bonwise.documents.plan import PlanQuestion
from bonwise.errors import UsageError
from bonwise.stats.power.sample_size import SMALLEST_MARGIN

__all__ = ["SMALLEST_EFFECT", "Method", "PlanRequest", "read_method"]

Method = Literal["exact", "paper"]

_PYTHON = (int, float)


def _between(low: float, high: float) -> Limit:
    """Both ends excluded."""
    return number(lambda value: low < value < high, f"a number between {low:g} and {high:g}", _PYTHON)


def _whole(least: int) -> Limit:
    return whole(least, f"a whole number, {least} or more", int)


_LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "within_r": _between(0, 1),
        "rival_r": _between(-1, 1),
        "error_correlation": _between(-1, 1),
        "r0": _between(-1, 1),
        "effect": _between(SMALLEST_MARGIN, 0.5),
        "power": _between(0.5, 1),
        "confidence": _between(0.5, 1),
        "candidates": _whole(2),
        "labels": _whole(1),
        "prompts": _whole(1),
        "raters": _whole(1),
        "seed": _whole(0),
        "label_cost": number(lambda value: value >= 0, "a number, 0 or more", _PYTHON),
        "judge_cost": number(lambda value: value >= 0, "a number, 0 or more", _PYTHON),
        "half_width": _between(0, 1),
        "icc": number(lambda value: 0 <= value <= 1, "a number from 0 to 1", _PYTHON),
        "tie_rate": number(lambda value: 0 <= value < 1, "a share from 0 to below 1", _PYTHON),
    }
)

SMALLEST_EFFECT = 1e-3
"""Correlation, difference of correlations or half-width below which no study is planned: millions of prompts."""


def read_method(text: str) -> Method:
    """Read the name of a method.

    Raises
    ------
    bonwise.errors.UsageError
        An unknown one.

    Examples
    --------
    >>> read_method("paper")
    'paper'
    """
    if text not in {"exact", "paper"}:
        raise UsageError(f"unknown method {text!r}", hint="the methods are exact and paper")
    return cast("Method", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """The arguments of a plan; None where one was not given. `bonwise.planning.plans.plan.plan` describes them."""

    question: PlanQuestion
    candidates: int | None = None
    within_r: float | None = None
    rival_r: float | None = None
    error_correlation: float | None = None
    r0: float | None = None
    effect: float | None = None
    half_width: float | None = None
    design: str | None = None
    labels: int | None = None
    prompts: int | None = None
    power: float = 0.9
    confidence: float = CONFIDENCE
    method: Method = "exact"
    label_cost: float | None = None
    judge_cost: float | None = None
    raters: int = 1
    icc: float | None = None
    one_cluster: bool = False
    tie_rate: float | None = None
    seed: int = SEED

    def __post_init__(self) -> None:
        for name, limit in _LIMITS.items():
            if getattr(self, name) is not None:
                check(name, getattr(self, name), limit)
        read_method(self.method)
        self._check_size()
        self._check_dependence()

    def _check_size(self) -> None:
        """Refuse an effect that nobody can mean: the number it takes is beyond any study."""
        apart = {"within_r": self.within_r, "half_width": self.half_width}
        if self.within_r is not None:
            for name, other in (("rival_r", self.rival_r), ("r0", self.r0)):
                # The same value twice, or the wrong order, has words of its own.
                if other is not None and other != self.within_r:
                    apart[f"the distance of within_r from {name}"] = abs(self.within_r - other)
        for name, value in apart.items():
            if value is not None and value < SMALLEST_EFFECT:
                raise UsageError(
                    f"{name} is {value:.3g}, too small an effect to plan for: it would take millions of prompts",
                    hint=f"plan for the smallest effect that would matter, {SMALLEST_EFFECT:g} or more",
                )

    def _check_dependence(self) -> None:
        if self.icc is None and (self.raters > 1 or self.one_cluster):
            raise UsageError(
                "how much labels of one prompt resemble each other is not said",
                hint="give icc, the correlation of two raters' labels of the same prompt, from 0 to 1",
            )
        if self.icc is not None and self.raters == 1 and not self.one_cluster:
            raise UsageError(
                "icc means nothing with one rater per prompt", hint="give raters, 2 or more, or one_cluster"
            )
        if self.one_cluster and self.raters > 1:
            raise UsageError(
                "raters and one_cluster contradict each other",
                hint="give raters for many prompts, or one_cluster for labels that all resemble each other",
            )

    def given(self) -> dict[str, Any]:
        """Return the arguments that were given or have a value by default."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}

    def required(self, name: str) -> Any:
        """Return an argument that the question cannot do without."""
        value = getattr(self, name)
        if value is None:
            raise UsageError(
                f"the question {self.question} needs {name}", hint=f"give {name}, or a pilot to take it from"
            )
        return value
