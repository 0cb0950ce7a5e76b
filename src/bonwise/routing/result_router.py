"""What a saved router may hold: its signals, their features and ranges, and a model of the gain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import AfterValidator, Field, field_validator, model_validator

from bonwise.arrays import Floats
from bonwise.estimates import EstimateRecord
from bonwise.results import Number, Positive, Record

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


_INTERVALS = frozenset({None, "bootstrap", "clopper-pearson", "exact", "fieller", "jackknife", "logit"})

_METHODS = frozenset({"complete", "labelled_only", "aipw", "weighted"})


def sound(lowest: float) -> Callable[[EstimateRecord], EstimateRecord]:
    """Return what refuses an estimate that no study makes, of a figure between `lowest` and 1."""

    def checked(figure: EstimateRecord) -> EstimateRecord:
        missing = [end is None for end in (figure.low, figure.high, figure.interval)]
        if any(missing) and not all(missing):
            raise ValueError("has only a part of low, high and interval")
        if figure.reason is None and (figure.estimate is None or figure.low is None):
            raise ValueError("has no estimate or no interval, and no reason for that")
        if figure.estimate is None and (figure.low is not None or figure.se is not None):
            raise ValueError("has an interval or an se without an estimate")
        ends = [end for end in (figure.low, figure.estimate, figure.high) if end is not None]
        if any(before > after + _ROUNDING for before, after in pairwise(ends)):
            raise ValueError("has low, estimate and high that do not follow one another")
        if any(not lowest - _ROUNDING <= end <= 1 + _ROUNDING for end in ends):
            raise ValueError(f"has figures that are not {in_range(lowest, 1.0)}")
        if figure.estimate is not None and not figure.n:
            raise ValueError("has an estimate from n = 0 prompts")
        if figure.low is not None and not figure.se:
            raise ValueError("has an interval without an se")
        if figure.method not in _METHODS or figure.interval not in _INTERVALS:
            raise ValueError("has no known method or interval")
        return figure

    return checked


class Nothing(Record):
    """No key at all: nothing is known."""


class FitReport(Record):
    """How well a model of the gain does on prompts that it was not fitted to."""

    labelled: Annotated[int, Field(ge=2, le=2**53)]
    """Prompts that the model was fitted to."""
    folds: Annotated[int, Field(ge=2, le=2**53)]
    """Parts of the cross-fit behind `correlation` and `r2`."""
    weighted: bool
    """Whether prompts were weighted, such as by 1 / propensity."""
    ess: Positive
    """Effective sample size; `labelled` where prompts were not weighted."""
    correlation: Annotated[EstimateRecord, AfterValidator(sound(-1.0))]
    """Correlation of the cross-fitted predictions with the gain."""
    r2: Annotated[EstimateRecord, AfterValidator(sound(-math.inf))]
    """Share of the variance of the gain that they explain; below 0 where the mean gain would predict better."""

    @model_validator(mode="after")
    def _check_size(self) -> FitReport:
        if self.ess > self.labelled * (1 + _ROUNDING):
            raise ValueError("has an ess above its number of labelled prompts")
        if not self.weighted and self.ess < self.labelled * (1 - _ROUNDING):
            raise ValueError("has an ess other than labelled, though nothing is weighted")
        if max(self.correlation.n, self.r2.n) > self.labelled:
            raise ValueError("has an n above its number of labelled prompts")
        return self


class GainModel(Record):
    """The expected gain of a prompt, as a straight line in its features.

    The gain is the intercept plus, for each feature, coefficient times (feature - mean) / scale.
    """

    names: Annotated[list[Feature], Field(min_length=1)]
    """Features of a prompt that the model looks at."""
    means: list[float]
    scales: list[Annotated[float, Field(gt=0)]]
    """Both: numbers by which each feature is standardised, in the order of `names`."""
    coefficients: list[float]
    """Gain per standard deviation of each feature."""
    intercept: Number
    """Mean gain."""
    penalty: Positive
    """Of the ridge, on the squared coefficients."""
    fit: FitReport | None
    """Null for a model that was not cross-fitted."""

    def predict(self, features: Mapping[str, Floats]) -> Floats:
        """Predict the gain of each prompt; NaN where a feature is, and features beyond `names` are ignored."""
        values = np.stack([np.asarray(features[name], dtype=float) for name in self.names], axis=1)
        standard = (values - np.array(self.means)) / np.array(self.scales)
        gains: Floats = self.intercept + standard @ np.array(self.coefficients)
        return gains

    @field_validator("names")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        if len(set(names)) < len(names):
            raise ValueError("names a feature twice")
        return names

    @model_validator(mode="after")
    def _check_lengths(self) -> GainModel:
        for name in ("means", "scales", "coefficients"):
            held = len(getattr(self, name))
            if held != len(self.names):
                raise ValueError(f"has {held} {name} for {len(self.names)} names")
        return self


def in_range(low: float, high: float) -> str:
    """Say between which values something lies."""
    if math.isinf(high):
        return f"{low:g} or more"
    return f"{high:g} or less" if math.isinf(low) else f"from {low:g} to {high:g}"
