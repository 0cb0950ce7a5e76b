"""Partly labelled tables: how the labelled prompts differ from the others, and what the gaps could hide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import label_range
from bonwise.data.panel import MAY_LACK, Panel
from bonwise.documents.audited.judge import Balance
from bonwise.stats.cells.bounds import cell_bounds
from bonwise.stats.cells.table import CellTable
from bonwise.stats.laws import student_quantile
from bonwise.stats.sums import Floats
from bonwise.stats.top_of_scores import top_of_scores

__all__ = ["Balance", "Picked", "balance", "worst_case"]


_BOUNDED = ("value_random", "value_judge", "value_oracle", "recovery", "gain")


@dataclass(frozen=True, slots=True)
class Picked:
    """How many of the pools of a log have a pick.

    Examples
    --------
    >>> Picked(100, 5).complete, Picked(100, 6).complete
    (True, False)
    """

    pools: int
    """Pools of two or more candidates."""
    without: int
    """Those of which nothing was picked: owed, or nothing scored."""

    @property
    def complete(self) -> bool:
        """Whether so few pools lack a pick that the figures describe the whole log."""
        return self.without <= MAY_LACK * self.pools

    @property
    def scope(self) -> str:
        """Which pools the figures describe, as a sentence; empty where it is all of them."""
        if self.complete:
            return ""
        return (
            f"Figures describe the {self.pools - self.without:,} of {self.pools:,} pools that have a pick; the "
            "others have none, and the figures may not hold for them."
        )

    @property
    def unsettled(self) -> str:
        """Why no gate on all pools can pass; empty where one can."""
        if self.complete:
            return ""
        return (
            f"{self.without:,} of {self.pools:,} pools have no pick, so no gate on all of them can pass; "
            "finish the run, or pick for the others"
        )


def balance(labelling: Labelling, confidence: float, *, of_scores: bool = True) -> tuple[Balance, ...]:
    """Compare the judge's scores on labelled and unlabelled prompts (Welch intervals); of picks, the pools alone."""
    panel, labelled = labelling.panel, labelling.labelled
    tops = top_of_scores(panel.scores, panel.sizes)
    features: Mapping[str, Floats] = {
        "mean score": tops.mean,
        "spread of scores": tops.spread,
        "margin of the top score": tops.margin,
        "share tied at the top": (tops.tied > 1).astype(float),
        "candidates": panel.sizes.astype(float),
    }
    return tuple(
        _compare(name, values[labelled], values[~labelled], confidence)
        for name, values in features.items()
        if of_scores or name == "candidates"
    )


def _compare(feature: str, left: Floats, right: Floats, confidence: float) -> Balance:
    means = float(left.mean()), float(right.mean())
    low, high = _welch(left, right, confidence) or (None, None)
    gap = means[0] - means[1]
    return Balance(feature=feature, labelled=means[0], unlabelled=means[1], difference=gap, low=low, high=high)


def _welch(left: Floats, right: Floats, confidence: float) -> tuple[float, float] | None:
    if min(len(left), len(right)) < 2:
        return None
    gap = float(left.mean() - right.mean())
    parts = np.array([left.var(ddof=1) / len(left), right.var(ddof=1) / len(right)])
    if parts.sum() == 0:
        return gap, gap
    df = parts.sum() ** 2 / (parts[0] ** 2 / (len(left) - 1) + parts[1] ** 2 / (len(right) - 1))
    half = student_quantile(confidence, float(df)) * float(np.sqrt(parts.sum()))
    return gap - half, gap + half


def worst_case(panel: Panel) -> dict[str, tuple[float, float]]:
    """Bound the values, recovery and gain over all prompts, whatever the missing labels are.

    Empty where the labels have no known scale: then they could be anything.
    """
    ends = label_range(panel.labels)
    if not np.isfinite(ends).all():
        return {}
    found = cell_bounds(CellTable(panel.sizes, panel.scores, panel.labels), ends)
    return {name: found[name] for name in _BOUNDED if name in found}
