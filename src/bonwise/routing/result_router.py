"""A router as ``bonwise route --save`` writes it and ``bonwise select --route`` reads it: ``bonwise.router/1``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Discriminator, Field, Tag, field_validator, model_validator

from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.results import Document, NotBlank, Number, Positive, PositiveShare, Record
from bonwise.routing.gain_model import FitReport, GainModel
from bonwise.stats.estimate import Estimate
from bonwise.table.scales import parse_scale

__all__ = [
    "FEATURES",
    "LEARNT",
    "MOST_CALIBRATION",
    "RANGES",
    "FitRecord",
    "GainModelRecord",
    "Nothing",
    "RouterDocument",
    "SignalName",
    "plain_model",
]

MOST_CALIBRATION = 2000
"""Values of the signal that a file keeps, evenly spaced in rank."""

SignalName = Literal["margin", "margin_level", "interval_width", "draw_sd", "disagreement", "p_best", "expected_gain"]
"""What prompts are ranked by."""

Feature = Literal[
    "top",
    "level",
    "spread",
    "margin",
    "tied",
    "width",
    "disagreement",
    "draw_sd_mean",
    "draw_sd_max",
    "resampled_margin",
    "resampled_spread",
]

FEATURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"margin_level": ("margin", "level"), "expected_gain": get_args(Feature)}
)
"""Of which features a learnt signal may be a model, in the order in which it is fitted."""

LEARNT = frozenset(FEATURES)

RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "margin": (-math.inf, 0.0),
        "interval_width": (0.0, math.inf),
        "draw_sd": (0.0, math.inf),
        "disagreement": (0.0, 1.0),
        "p_best": (0.0, 1.0),
    }
)
"""Between which values a signal lies; one that is learnt may take any."""

_ROUNDING = 1e-9

_ROUNDED = 1e-8
"""By how much a threshold may leave the values, which are rounded to nine decimals."""


_INTERVALS = frozenset({None, "bootstrap", "clopper-pearson", "exact", "fieller", "jackknife", "logit"})

_METHODS = frozenset({"complete", "labelled_only", "aipw", "weighted"})


def _sound(lowest: float) -> Callable[[EstimateRecord], EstimateRecord]:
    """Return what refuses an estimate that no study makes, of a figure between `lowest` and 1."""

    def checked(found: EstimateRecord) -> EstimateRecord:
        missing = [one is None for one in (found.low, found.high, found.interval)]
        if any(missing) and not all(missing):
            raise ValueError("has only a part of low, high and interval")
        if found.reason is None and (found.estimate is None or found.low is None):
            raise ValueError("has no estimate or no interval, and no reason for that")
        if found.estimate is None and (found.low is not None or found.se is not None):
            raise ValueError("has an interval or an se without an estimate")
        ends = [one for one in (found.low, found.estimate, found.high) if one is not None]
        if any(before > after + _ROUNDING for before, after in pairwise(ends)):
            raise ValueError("has low, estimate and high that do not follow one another")
        if any(not lowest - _ROUNDING <= one <= 1 + _ROUNDING for one in ends):
            raise ValueError(f"has figures that are not {_range(lowest, 1.0)}")
        if found.estimate is not None and not found.n:
            raise ValueError("has an estimate from n = 0 prompts")
        if found.low is not None and not found.se:
            raise ValueError("has an interval without an se")
        if found.method not in _METHODS or found.interval not in _INTERVALS:
            raise ValueError("has no known method or interval")
        return found

    return checked


class Nothing(Record):
    """No key at all: nothing is known."""


class FitRecord(Record):
    """How well a model of the gain does on prompts that it was not fitted to."""

    labelled: Annotated[int, Field(ge=2, le=2**53)]
    """Prompts that the model was fitted to."""
    folds: Annotated[int, Field(ge=2, le=2**53)]
    """Parts of the cross-fit behind `correlation` and `r2`."""
    weighted: bool
    """Whether prompts were weighted, such as by 1 / propensity."""
    ess: Positive
    """Effective sample size; `labelled` where prompts were not weighted."""
    correlation: Annotated[EstimateRecord, AfterValidator(_sound(-1.0))]
    """Correlation of the cross-fitted predictions with the gain."""
    r2: Annotated[EstimateRecord, AfterValidator(_sound(-math.inf))]
    """Share of the variance of the gain that they explain; below 0 where the mean gain would predict better."""

    def report(self) -> FitReport:
        """Return the fit report of the record."""
        return FitReport(
            self.labelled, self.folds, self.weighted, self.ess, _estimate(self.correlation), _estimate(self.r2)
        )

    @model_validator(mode="after")
    def _check_size(self) -> FitRecord:
        if self.ess > self.labelled * (1 + _ROUNDING):
            raise ValueError("has an ess above its number of labelled prompts")
        if not self.weighted and self.ess < self.labelled * (1 - _ROUNDING):
            raise ValueError("has an ess other than labelled, though nothing is weighted")
        if max(self.correlation.n, self.r2.n) > self.labelled:
            raise ValueError("has an n above its number of labelled prompts")
        return self


class GainModelRecord(Record):
    """The expected gain of a prompt, as a straight line in its features.

    The gain is the intercept plus, for each feature, coefficient times (feature - mean) / scale.
    """

    names: Annotated[list[Feature], Field(min_length=1)]
    """Features of a prompt that the model looks at."""
    means: list[float]
    """Numbers by which each feature is standardised, in the order of `names`."""
    scales: list[Annotated[float, Field(gt=0)]]
    """Numbers by which each feature is standardised, in the order of `names`."""
    coefficients: list[float]
    """Gain per standard deviation of each feature."""
    intercept: Number
    """Mean gain."""
    penalty: Positive
    """Of the ridge, on the squared coefficients."""
    fit: FitRecord | None
    """Null for a model that was not cross-fitted."""

    def gain_model(self) -> GainModel:
        """Return the model of the record."""
        return GainModel(
            names=tuple(self.names),
            means=tuple(self.means),
            scales=tuple(self.scales),
            coefficients=tuple(self.coefficients),
            intercept=float(self.intercept),
            penalty=float(self.penalty),
            fit=None if self.fit is None else self.fit.report(),
        )

    @field_validator("names")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        if len(set(names)) < len(names):
            raise ValueError("names a feature twice")
        return names

    @model_validator(mode="after")
    def _check_lengths(self) -> GainModelRecord:
        for name in ("means", "scales", "coefficients"):
            held = len(getattr(self, name))
            if held != len(self.names):
                raise ValueError(f"has {held} {name} for {len(self.names)} names")
        return self


class RouterDocument(Document):
    """A saved router: which prompts to send to a stronger judge."""

    schema_: Literal["bonwise.router/1"] = Field(default="bonwise.router/1", alias="schema")
    signal: SignalName
    """What prompts are ranked by; the higher, the sooner a prompt is sent."""
    share: PositiveShare
    """Part of the prompts to send."""
    threshold: Number
    """Value of the signal at or above which that share of the earlier prompts lies."""
    judge: NotBlank
    """The judge whose first pass the signal was computed from."""
    scale: str
    """The declared scale of its scores, such as `0:100`; empty where none was declared."""
    first: Literal["score", "draw_0"]
    """What stood for the first score of a candidate: its score, or the first of its draws."""
    captured: Annotated[
        Annotated[EstimateRecord, AfterValidator(_sound(-math.inf)), Tag("found")]
        | Annotated[Nothing, Tag("nothing")],
        Discriminator(lambda value: "nothing" if value == {} or isinstance(value, Nothing) else "found"),
    ]
    """Part of the gain of a perfect judge that this share captured in the study."""
    model: GainModelRecord | None
    """Of a signal that is learnt from labels; null of the others."""
    calibration: Annotated[list[float], Field(min_length=1, max_length=MOST_CALIBRATION)]
    """Values of the signal on earlier prompts, in rising order."""
    version: NotBlank
    """Version of bonwise that wrote the file."""

    @field_validator("scale")
    @classmethod
    def _check_scale(cls, scale: str) -> str:
        if scale:
            try:
                parse_scale(scale)
            except UsageError as error:
                raise ValueError(error.message) from None
        return scale

    @field_validator("calibration")
    @classmethod
    def _check_order(cls, calibration: list[float]) -> list[float]:
        if any(before > after for before, after in pairwise(calibration)):
            raise ValueError("should be in rising order")
        return calibration

    @model_validator(mode="after")
    def _check_signal(self) -> RouterDocument:
        if (self.signal in LEARNT) != (self.model is not None):
            raise ValueError(f"has {'no' if self.model is None else 'a'} model, with the signal {self.signal}")
        if self.model is not None:
            looked_at = [name for name in FEATURES[self.signal] if name in self.model.names]
            if looked_at != self.model.names:
                raise ValueError(f"has a model whose names are not features of {self.signal} in their order")
        low, high = RANGES.get(self.signal, (-math.inf, math.inf))
        for name, ends in (("threshold", (self.threshold,) * 2), ("calibration", self.calibration)):
            if ends[0] < low or ends[-1] > high:
                raise ValueError(f"has a {name} outside of what {self.signal} can be, {_range(low, high)}")
        return self

    @model_validator(mode="after")
    def _check_threshold(self) -> RouterDocument:
        # A list of full length may be quantiles, without the ends.
        whole = len(self.calibration) < MOST_CALIBRATION
        slack = _ROUNDED * max(1.0, abs(self.threshold))
        if whole and not self.calibration[0] - slack <= self.threshold <= self.calibration[-1] + slack:
            raise ValueError("has a threshold beyond the values of its calibration")
        return self


def plain_model(model: GainModel) -> dict[str, Any]:
    """Return what `GainModelRecord` makes a record of."""
    return {
        "names": list(model.names),
        "means": list(model.means),
        "scales": list(model.scales),
        "coefficients": list(model.coefficients),
        "intercept": model.intercept,
        "penalty": model.penalty,
        "fit": None if model.fit is None else _plain_fit(model.fit),
    }


def _plain_fit(found: FitReport) -> dict[str, Any]:
    return {
        "labelled": found.labelled,
        "folds": found.folds,
        "weighted": found.weighted,
        "ess": found.ess,
        "correlation": found.correlation.to_dict(),
        "r2": found.r2.to_dict(),
    }


def _estimate(found: EstimateRecord) -> Estimate:
    """Return the estimate of a record; no law is kept in a file."""
    return Estimate(
        found.estimate,
        found.low,
        found.high,
        found.se,
        found.n,
        found.interval,
        method=found.method,
        reason=found.reason,
        ess=found.ess,
        labelled_only=None if found.labelled_only is None else _estimate(found.labelled_only),
    )


def _range(low: float, high: float) -> str:
    if math.isinf(high):
        return f"{low:g} or more"
    return f"{high:g} or less" if math.isinf(low) else f"from {low:g} to {high:g}"
