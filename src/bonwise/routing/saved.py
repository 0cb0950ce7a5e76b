"""A router as it was learnt from scored and labelled prompts: what `bonwise route --save` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.release import release
from bonwise.routing.gain_model import GainModel
from bonwise.routing.signals import DRAW_FEATURES, SIGNALS, Signal
from bonwise.stats.sums import Floats
from bonwise.table.cell_scores import First
from bonwise.table.writing import write_whole

if TYPE_CHECKING:
    from bonwise.routing.result_router import RouterDocument

__all__ = ["SavedRouter", "thinned"]


@dataclass(frozen=True, eq=False)
class SavedRouter:
    """A signal, what share of prompts it sends, and what its values look like.

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
    """A name of `bonwise.routing.signals.SIGNALS`."""
    share: float
    """Part of the prompts to send, in (0, 1]."""
    threshold: float
    """Value of the signal above which that share of the calibration lies; prompts at the threshold are sent with
    whatever probability fills the share.
    """
    calibration: Floats = field(repr=False)
    """Values of the signal on earlier prompts, in rising order, at most 2,000."""
    model: GainModel | None = None
    """Of a learnt signal, with its fit report."""
    judge: str = "judge"
    """The judge whose first pass the signal was computed from."""
    scale: str = ""
    """The declared scale of its scores, such as ``0:100``; empty where none was declared. The signal is in the unit
    after that scale was applied.
    """
    captured: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the study found at this share, as the keys of an estimate; empty where there was no study."""
    version: str = field(default_factory=release)
    """Of bonwise."""
    first: First = "score"
    """What stood for a candidate's first score in the study: its score, or the first of its draws."""

    def __post_init__(self) -> None:
        # A router without a file needs neither documents nor pydantic.
        from pydantic import ValidationError  # noqa: PLC0415

        from bonwise.strict_json import refusal  # noqa: PLC0415

        calibration = np.array(self.calibration, dtype=float)
        calibration.setflags(write=False)
        object.__setattr__(self, "calibration", calibration)
        try:
            self.document()
        except ValidationError as error:
            raise ValueError(refusal(error, self._plain())) from None

    @property
    def learnt(self) -> bool:
        """Whether the signal is a model fitted to labelled prompts."""
        return self.model is not None

    @property
    def needs(self) -> tuple[str, ...]:
        """Features that a prompt must have for the signal to have a value."""
        return self.model.names if self.model is not None else self._signal.needs

    @property
    def beyond_first_pass(self) -> tuple[str, ...]:
        """What the signal needs besides one judging of each candidate by one judge, in words; empty for nothing.

        Examples
        --------
        >>> SavedRouter("draw_sd", 0.5, 0.2, np.array([0.1, 0.2, 0.3]), judge="j").beyond_first_pass
        ('several scores of each candidate',)
        """
        words = {
            "several scores of each candidate": {*DRAW_FEATURES, "p_best"},
            "the scores of a second judge": {"disagreement"},
        }
        return tuple(one for one, features in words.items() if features.intersection(self.needs))

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
        write_whole(Path(path), self.document().to_json())

    @classmethod
    def load(cls, path: str | Path) -> SavedRouter:
        """Read what `save` wrote.

        Raises
        ------
        bonwise.errors.FileError
            The file is absent, or holds no router of this version; the message names the key that is wrong.
        """
        from bonwise.loading import read_document  # noqa: PLC0415 - as above
        from bonwise.routing.result_router import RouterDocument  # noqa: PLC0415

        return cls.of(read_document(path, RouterDocument, hint="make it with bonwise route SCORES --save FILE"))

    def document(self) -> RouterDocument:
        """Return the document of schema ``bonwise.router/1``.

        Raises
        ------
        pydantic.ValidationError
            A value that cannot be.
        """
        from bonwise.routing.result_router import RouterDocument  # noqa: PLC0415 - as above

        return RouterDocument.model_validate(self._plain())

    @classmethod
    def of(cls, document: RouterDocument) -> SavedRouter:
        """Return the router that a document holds."""
        return cls(
            document.signal,
            document.share,
            document.threshold,
            np.array(document.calibration),
            None if document.model is None else document.model.gain_model(),
            document.judge,
            document.scale,
            document.captured.to_dict(),
            document.version,
            document.first,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the document as it is saved; it holds no NaN."""
        return self.document().to_dict()

    def _plain(self) -> dict[str, Any]:
        from bonwise.routing.result_router import plain_model  # noqa: PLC0415 - as above

        return {
            "signal": self.signal,
            "share": self.share,
            "threshold": self.threshold,
            "judge": self.judge,
            "scale": self.scale,
            "first": self.first,
            "captured": dict(self.captured),
            "model": None if self.model is None else plain_model(self.model),
            "calibration": self.calibration.tolist(),
            "version": self.version,
        }

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
    from bonwise.routing.result_router import MOST_CALIBRATION as MOST  # noqa: PLC0415 - as above

    if weights is not None:
        return _quantiles(values, weights, MOST)
    ordered: Floats = np.sort(values[~np.isnan(values)])
    if len(ordered) <= MOST:
        return ordered
    kept: Floats = ordered[np.linspace(0, len(ordered) - 1, MOST).round().astype(int)]
    return kept


def _quantiles(values: Floats, weights: Floats, most: int) -> Floats:
    order = np.argsort(values, kind="stable")
    order = order[~np.isnan(values[order])]
    reached = np.cumsum(weights[order])
    wanted = (np.arange(most) + 0.5) / most * reached[-1]
    found: Floats = values[order[np.searchsorted(reached, wanted)]]
    return found
