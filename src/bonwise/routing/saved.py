"""A router as it was learnt from scored and labelled prompts: what `bonwise route --save` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bonwise.data.bytes_check import file_errors
from bonwise.data.repeats import First
from bonwise.data.writing import write_whole
from bonwise.errors import FileError
from bonwise.release import release
from bonwise.routing.signals import SIGNALS, Signal
from bonwise.stats.gain_model import GainModel
from bonwise.stats.sums import Floats

__all__ = ["MOST_CALIBRATION", "SCHEMA", "SavedRouter", "thinned"]

SCHEMA = "bonwise.router/1"

MOST_CALIBRATION = 2000
"""Values of the signal that a file keeps, evenly spaced in rank."""


@dataclass(frozen=True, eq=False)
class SavedRouter:
    """A signal, what share of prompts it sends, and what its values look like.

    Parameters
    ----------
    signal : str
        A name of `bonwise.routing.signals.SIGNALS`.
    share : float
        Part of the prompts to send, in (0, 1].
    threshold : float
        Value of the signal above which that share of the calibration lies; prompts at the
        threshold are sent with whatever probability fills the share.
    calibration : ndarray of float64
        Values of the signal on earlier prompts, in rising order, at most 2,000.
    model : GainModel or None
        Of a learnt signal, with its fit report.
    judge : str
        The judge whose first pass the signal was computed from.
    scale : str
        The declared scale of its scores, such as ``0:100``; empty where none was declared. The signal
        is in the unit after that scale was applied.
    captured : mapping
        What the study found at this share: ``captured``, ``low``, ``high`` and the like.
    version : str
        Of bonwise.
    first : {"score", "draw_0"}
        What stood for a candidate's first score in the study: its score, or the first of its draws.

    Raises
    ------
    ValueError
        Something of the above does not hold.

    Examples
    --------
    >>> SavedRouter("interval_width", 0.5, 0.2, np.array([0.1, 0.2, 0.3]), judge="j").learnt
    False
    """

    signal: str
    share: float
    threshold: float
    calibration: Floats = field(repr=False)
    model: GainModel | None = None
    judge: str = "judge"
    scale: str = ""
    captured: Mapping[str, Any] = field(default_factory=dict, repr=False)
    version: str = field(default_factory=release)
    first: First = "score"

    def __post_init__(self) -> None:
        calibration = np.array(self.calibration, dtype=float)
        if self.signal not in SIGNALS:
            raise ValueError(f"{self.signal!r} is no signal of this version")
        if not 0 < self.share <= 1:
            raise ValueError("the share must lie in (0, 1]")
        if not np.isfinite(self.threshold):
            raise ValueError("the threshold must be a finite number")
        if calibration.ndim != 1 or not len(calibration) or not np.isfinite(calibration).all():
            raise ValueError("the calibration must be a list of finite numbers")
        if (np.diff(calibration) < 0).any():
            raise ValueError("the calibration must stand in rising order")
        if self.first not in get_args(First):
            raise ValueError(f"first is one of {', '.join(get_args(First))}, not {self.first!r}")
        if SIGNALS[self.signal].learnt != (self.model is not None):
            raise ValueError(f"the signal {self.signal} {'lacks its' if self.model is None else 'takes no'} model")
        calibration.setflags(write=False)
        object.__setattr__(self, "calibration", calibration)

    @property
    def learnt(self) -> bool:
        """Whether the signal is a model fitted to labelled prompts."""
        return self.model is not None

    @property
    def needs(self) -> tuple[str, ...]:
        """Features that a prompt must have for the signal to have a value."""
        return self.model.names if self.model is not None else self._signal.needs

    def value(self, features: Mapping[str, Floats]) -> Floats:
        """Compute the signal of prompts, as `Signal.value`."""
        return self._signal.value(features, self.model)

    def save(self, path: str | Path) -> None:
        """Write the router as JSON of schema ``bonwise.router/1``.

        Raises
        ------
        bonwise.errors.FileError
            The folder is absent or not writable.
        """
        write_whole(Path(path), json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> SavedRouter:
        """Read what `save` wrote.

        Raises
        ------
        bonwise.errors.FileError
            The file is absent, or holds no router of this version.
        """
        with file_errors(Path(path)):
            text = Path(path).read_text(encoding="utf-8")
        hint = "make it with bonwise route SCORES --save FILE"
        try:
            plain = json.loads(text)
        except ValueError as error:
            raise FileError(f"{path}: not JSON, so no saved router", hint=hint) from error
        schema = plain.get("schema") if isinstance(plain, dict) else None
        if schema != SCHEMA:
            found = f"schema {schema!r}" if schema is not None else "another kind of file"
            raise FileError(f"{path}: no saved router but {found}", hint=hint)
        try:
            return cls.from_dict(plain)
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{path}: a saved router that is damaged: {_reason(error)}", hint=hint) from error

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.router/1``; it holds no NaN."""
        return {
            "schema": SCHEMA,
            "signal": self.signal,
            "share": self.share,
            "threshold": self.threshold,
            "judge": self.judge,
            "scale": self.scale,
            "first": self.first,
            "captured": dict(self.captured),
            "model": None if self.model is None else self.model.to_dict(),
            "calibration": self.calibration.tolist(),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> SavedRouter:
        """Make one from `to_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError
            Something is missing or of the wrong kind.
        """
        model = plain["model"]
        return cls(
            str(plain["signal"]),
            float(plain["share"]),
            float(plain["threshold"]),
            np.array(plain["calibration"], dtype=float),
            None if model is None else GainModel.from_dict(model),
            str(plain["judge"]),
            str(plain["scale"]),
            dict(plain["captured"]),
            str(plain["version"]),
            plain["first"],
        )

    @property
    def _signal(self) -> Signal:
        return SIGNALS[self.signal]


def thinned(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the values in rising order, NaN left out, at most 2,000 of them evenly spaced in rank.

    Parameters
    ----------
    values : ndarray of float64, shape (prompts,)
    weights : ndarray of float64, shape (prompts,), optional
        Such as 1 / propensity: 2,000 values evenly spaced in cumulated weight.

    Examples
    --------
    >>> thinned(np.array([0.3, np.nan, 0.1])).tolist()
    [0.1, 0.3]
    """
    if weights is not None:
        return _quantiles(values, weights)
    ordered: Floats = np.sort(values[~np.isnan(values)])
    if len(ordered) <= MOST_CALIBRATION:
        return ordered
    kept: Floats = ordered[np.linspace(0, len(ordered) - 1, MOST_CALIBRATION).round().astype(int)]
    return kept


def _quantiles(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    order = order[~np.isnan(values[order])]
    reached = np.cumsum(weights[order])
    wanted = (np.arange(MOST_CALIBRATION) + 0.5) / MOST_CALIBRATION * reached[-1]
    found: Floats = values[order[np.searchsorted(reached, wanted)]]
    return found


def _reason(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
