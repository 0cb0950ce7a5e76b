"""What an audit was asked to do; every result repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import result, result_labels, result_verdict, verdict
from bonwise.errors import UsageError
from bonwise.extras import BOOTSTRAP
from bonwise.stats import estimation
from bonwise.table import checks, scales

_LEAST_OF_UNIT = 1e-6


def label_range(labels: Floats) -> tuple[float, float]:
    """Return [0, 1] where all labels lie in it, not all below a millionth; else their scale is unknown."""
    return _range(*scales.ends_of(labels))


def _range(low: float, high: float) -> tuple[float, float]:
    unit = np.isnan(low) or (low >= 0 and high <= 1 and not 0 < high < _LEAST_OF_UNIT)
    return (0.0, 1.0) if unit else (-np.inf, np.inf)


def _check_top(k: int | None, gain: str) -> None:
    if k is not None and k < 1:
        raise UsageError(f"top is {k}", hint="give how many candidates are kept, 1 or more")
    if gain not in get_args(result_labels.GainOfLabel):
        raise UsageError(f"no gain {gain!r}", hint="choose of linear, exp")
    if gain != "linear" and k is None:
        raise UsageError("--gain is of nDCG, which --top computes", hint="add --top K, or leave --gain out")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of an audit."""

    confidence: float = checks.CONFIDENCE
    """Of the two-sided intervals, in [0.5, 1)."""
    interval: result.IntervalKind = "default"
    gate: result.GateRule = "default"
    """``bounded`` decides gates by bets on labels of a known range."""
    resamples: int = 1000
    """Of the bootstrap."""
    seed: int = checks.SEED
    """Of the bootstrap, of the folds of level_bias and of the draws behind `Audit.choice`."""
    exclude: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    """Both: candidate names left out; named easy candidates reported with and without."""
    target: result_verdict.Target = "best-of-n"
    shape: checks.Shape | None = None
    """Forced shape."""
    thresholds: result.Thresholds = field(default_factory=result.Thresholds.usual)
    outcome_model: Any = None
    """Regressor with ``fit`` and ``predict`` that takes the ridge's place where labels are a sample."""
    keep_easy: tuple[str, ...] = ()
    """Easy candidates that count like any other."""
    stratum: tuple[str, ...] = ()
    """Columns that form subsets of the prompts; where none is named, all that say one thing of each prompt."""
    weight_col: str | None = None
    """The column of what each prompt weighs."""
    pools: str | Path | None = None
    """Where the texts of candidates are."""
    top: int | None = None
    """How many candidates of each prompt are kept, for figures of the best k."""
    gain: result_labels.GainOfLabel = "linear"
    """What nDCG gives for a label."""
    judge_family: Mapping[str, str] = field(default_factory=dict)
    """The model family of each judge; ``""`` holds that of every judge not named."""

    def __post_init__(self) -> None:
        checks.check_confidence(self.confidence)
        if self.interval not in ("default", "bootstrap"):
            raise UsageError(f"no interval {self.interval!r}", hint="choose of default, bootstrap")
        if self.gate not in ("default", "bounded"):
            raise UsageError(f"no gate {self.gate!r}", hint="choose of default, bounded")
        if self.interval == "bootstrap":
            BOOTSTRAP.require("the bootstrap")
        if self.target not in verdict.TARGETS:
            raise UsageError(f"no decision target {self.target!r}", hint=f"choose of {', '.join(verdict.TARGETS)}")
        checks.check_seed(self.seed)
        if self.resamples < 2:
            raise UsageError(f"{self.resamples} resamples are too few", hint="such as 1000")
        if self.outcome_model is not None and not all(hasattr(self.outcome_model, do) for do in ("fit", "predict")):
            raise UsageError(
                f"{type(self.outcome_model).__name__} has no fit and predict, so it is not an outcome model",
                hint="give a scikit-learn regressor, or any object with the same fit and predict",
            )
        _check_top(self.top, self.gain)
        checks.check_shape(self.shape)
        left_out = {*self.exclude, *self.control}
        for name in self.keep_easy:
            if name in left_out:
                raise UsageError(
                    f"{name!r} is left out and kept", hint="give --keep-easy, or --control or --exclude, not both"
                )

    @property
    def deciding(self) -> tuple[str, float]:
        """The metric that decides for the target, and the gate of the verdict on it."""
        return self.thresholds.deciding(self.target)

    def rule(self, labels: Floats, clusters: Ints | None = None) -> estimation.IntervalRule:
        """Return how intervals are made, for labels in which NaN stands for none and clusters of the prompts."""
        low, high = scales.ends_of(labels)
        ends = _range(low, high)
        width = 1.0 if ends == (0.0, 1.0) else high - low
        return estimation.IntervalRule(
            self.interval, self.confidence, self.resamples, self.seed, ends, width, clusters
        )
