"""A router as learnt from scored and labelled prompts, ``bonwise.router/1``, for ``bonwise select --route``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.release import release
from bonwise.results import Document, NotBlank, Number, PositiveShare
from bonwise.routing import result_router
from bonwise.routing.signals import DRAW_FEATURES, SIGNALS, Signal
from bonwise.strict_json import refusal
from bonwise.table import cell_scores, scales, writing

_ROUNDED = 1e-8
"""By how much of itself a threshold may leave the values, which are rounded."""


class SavedRouter(Document):
    """A saved router: which prompts to send to a stronger judge."""

    schema_: Literal["bonwise.router/1"] = Field(default="bonwise.router/1", alias="schema")
    signal: result_router.SignalName
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
        Annotated[EstimateRecord, AfterValidator(result_router.sound(-math.inf)), Tag("found")]
        | Annotated[result_router.Nothing, Tag("nothing")],
        Discriminator(
            lambda value: "nothing" if value == {} or isinstance(value, result_router.Nothing) else "found"
        ),
    ]
    """Part of the gain of a perfect judge that this share captured in the study."""
    model: result_router.GainModel | None
    """Of a signal that is learnt from labels; null of the others."""
    calibration: Annotated[list[float], Field(min_length=1, max_length=result_router.MOST_CALIBRATION)]
    """Values of the signal on earlier prompts, in rising order."""
    version: NotBlank
    """Version of bonwise that wrote the file."""

    @field_validator("scale")
    @classmethod
    def _check_scale(cls, scale: str) -> str:
        if scale:
            try:
                scales.parse_scale(scale)
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
    def _check_signal(self) -> SavedRouter:
        if (self.signal in result_router.LEARNT) != (self.model is not None):
            raise ValueError(f"has {'no' if self.model is None else 'a'} model, with the signal {self.signal}")
        if self.model is not None:
            looked_at = [name for name in result_router.FEATURES[self.signal] if name in self.model.names]
            if looked_at != self.model.names:
                raise ValueError(f"has a model whose names are not features of {self.signal} in their order")
        low, high = result_router.RANGES.get(self.signal, (-math.inf, math.inf))
        for name, ends in (("threshold", (self.threshold,) * 2), ("calibration", self.calibration)):
            if ends[0] < low or ends[-1] > high:
                raise ValueError(
                    f"has a {name} outside of what {self.signal} can be, {result_router.in_range(low, high)}"
                )
        return self

    @model_validator(mode="after")
    def _check_threshold(self) -> SavedRouter:
        # A list of full length may be quantiles, without the ends.
        whole = len(self.calibration) < result_router.MOST_CALIBRATION
        slack = _ROUNDED * abs(self.threshold)
        if whole and not self.calibration[0] - slack <= self.threshold <= self.calibration[-1] + slack:
            raise ValueError("has a threshold beyond the values of its calibration")
        return self

    @classmethod
    def of(  # noqa: PLR0913 - one argument a key
        cls,
        signal: str,
        share: float,
        threshold: float,
        calibration: Floats,
        model: result_router.GainModel | None = None,
        *,
        judge: str = "judge",
        scale: str = "",
        captured: Mapping[str, Any] | None = None,
        version: str | None = None,
        first: cell_scores.First = "score",
    ) -> SavedRouter:
        """Return a router that is made in Python; nothing is known of what it captures unless it is said."""
        values = {
            "signal": signal,
            "share": share,
            "threshold": threshold,
            "judge": judge,
            "scale": scale,
            "first": first,
            "captured": dict(captured or {}),
            "model": model,
            "calibration": np.asarray(calibration, dtype=float).tolist(),
            "version": version or release(),
        }
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ValueError(refusal(error, values)) from None

    def __repr__(self) -> str:
        shown = ("signal", "share", "threshold", "model", "judge", "scale", "version", "first")
        return f"SavedRouter({', '.join(f'{key}={getattr(self, key)!r}' for key in shown)})"

    def __str__(self) -> str:
        return repr(self)

    @property
    def learnt(self) -> bool:
        """Whether the signal is a model fitted to labelled prompts."""
        return self.model is not None

    @property
    def needs(self) -> tuple[str, ...]:
        """Features that a prompt must have for the signal to have a value."""
        return tuple(self.model.names) if self.model is not None else self._signal.needs

    @property
    def beyond_first_pass(self) -> tuple[str, ...]:
        """What the signal needs besides one judging of each candidate by one judge, in words; empty for nothing."""
        words = {
            "several scores of each candidate": {*DRAW_FEATURES, "p_best"},
            "the scores of a second judge": {"disagreement"},
        }
        return tuple(what for what, features in words.items() if features.intersection(self.needs))

    def value(self, features: Mapping[str, Floats]) -> Floats:
        """Compute the signal of prompts, as `Signal.value`."""
        return self._signal.value(features, self.model)

    def save(self, path: str | Path) -> None:
        """Write the router as JSON of schema ``bonwise.router/1``; a folder that is not writable is a FileError."""
        writing.write_whole(Path(path), self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> SavedRouter:
        """Read what `save` wrote; the FileError of a file that holds no such router names the key that is wrong."""
        from bonwise.loading import read_document  # noqa: PLC0415 - a router without a file reads none

        return read_document(path, cls, hint="make it with bonwise route SCORES --save FILE")

    @property
    def _signal(self) -> Signal:
        return SIGNALS[self.signal]


def thinned(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the values without NaN, rising, at most 2,000 of them evenly spaced in rank or cumulated weight."""
    if weights is not None:
        return _quantiles(values, weights, result_router.MOST_CALIBRATION)
    ordered: Floats = np.sort(values[~np.isnan(values)])
    if len(ordered) <= result_router.MOST_CALIBRATION:
        return ordered
    kept: Floats = ordered[np.linspace(0, len(ordered) - 1, result_router.MOST_CALIBRATION).round().astype(int)]
    return kept


def _quantiles(values: Floats, weights: Floats, most: int) -> Floats:
    order = np.argsort(values, kind="stable")
    order = order[~np.isnan(values[order])]
    reached = np.cumsum(weights[order])
    wanted = (np.arange(most) + 0.5) / most * reached[-1]
    quantiles: Floats = values[order[np.searchsorted(reached, wanted)]]
    return quantiles
