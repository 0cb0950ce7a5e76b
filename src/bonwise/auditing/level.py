"""The level bias of a panel, under the settings of an audit."""

from __future__ import annotations

from bonwise.auditing.settings import Settings
from bonwise.data.panel import Panel
from bonwise.stats.estimate import Estimate
from bonwise.stats.level_bias import level_bias
from bonwise.stats.partial.label_interval import where_labels_carry
from bonwise.stats.sums import Floats

__all__ = ["panel_level_bias"]


def panel_level_bias(panel: Panel, settings: Settings, weights: Floats | None = None) -> Estimate:
    """Estimate the level bias on a panel whose prompts are all labelled; `weights` are those of the prompts."""
    found = level_bias(
        panel.scores,
        panel.labels,
        panel.sizes,
        panel.names,
        confidence=settings.confidence,
        seed=settings.seed,
        weights=weights,
        clusters=panel.clusters,
    )
    return found if weights is None else where_labels_carry(found, float(weights.sum() ** 2 / (weights @ weights)))
