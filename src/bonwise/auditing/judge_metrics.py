"""The metrics of one judge from whole pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.auditing.label_interval import where_labels_carry
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result_labels import SampleUse, Sampling
from bonwise.auditing.settings import Settings
from bonwise.auditing.simultaneous import UnitInfluences, pick_influences
from bonwise.auditing.unlabelled import CellLabels
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.level_bias import level_bias
from bonwise.stats.no_gain import DealtLabels, no_gain_laws
from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.table.panel import Panel

__all__ = ["JudgeMetrics", "by_unit", "judge_only", "panel_influences", "panel_level_bias", "with_no_gain_tests"]


@dataclass(frozen=True, eq=False)
class JudgeMetrics:
    """The metrics of one judge."""

    metrics: Mapping[str, Estimate] = field(repr=False)
    use: SampleUse | None = None
    """How a sample of labels was used: effective sample size, outcome model and what further judges bring. None where
    the labels are no sample.
    """
    cells: CellLabels | None = field(default=None, repr=False)
    """Where candidates are labelled one by one: their labels."""
    influences: UnitInfluences | None = field(default=None, repr=False)
    """How much every prompt, or cluster, moves gain and recovery; None where that is not known."""

    def sampling(self, labelling: Labelling) -> Sampling | None:
        """Return how the labelled prompts were drawn and used, for the document; None where no draw is stated."""
        drawn, stated = labelling.drawn, labelling.stated
        if stated is None:
            return None
        if drawn is None:
            unused = "the propensities are" if stated.kind == "propensity" else "the design is"
            return Sampling(design=stated.name, how=f"all prompts are labelled: {unused} not used")
        if self.cells is not None:
            return Sampling(design=stated.name, how=drawn.words)
        return Sampling(
            design=stated.name,
            how=drawn.words,
            drawn_without_labels=drawn.lacking,
            labelled_not_drawn=drawn.not_drawn,
            **({} if self.use is None else self.use.given_values()),
        )


def by_unit(panel: Panel, values: Mapping[str, Floats]) -> UnitInfluences:
    """Return influences with the units that they are of: the prompts of the panel, or the clusters of these."""
    units = panel.prompt_ids.to_numpy() if panel.clusters is None else np.unique(panel.clusters)
    return UnitInfluences(units, values)


def panel_influences(panel: Panel, sums: Floats, weights: Floats | None = None) -> UnitInfluences:
    """Return how much every unit of a panel that is labelled whole adds to gain and recovery, from its sums."""
    t = Sums(*sums)
    return by_unit(panel, pick_influences(t.J - t.R, t.M - t.R, panel.clusters, weights))


def judge_only(panel: Panel, settings: Settings) -> dict[str, Estimate]:
    """Estimate what needs no labels from all prompts."""
    own = [e for e in ESTIMANDS if not e.on_labels]
    sums = prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes)
    return estimate(own, sums, settings.rule(np.zeros(0), panel.clusters))


def with_no_gain_tests(
    found: Mapping[str, Estimate], panel: Panel, t: Sums, rule: IntervalRule
) -> dict[str, Estimate]:
    """Return gain and recovery with the tests that there is none, where they have intervals.

    The prompts of the panel are all labelled.
    """
    out: dict[str, Estimate] = {}
    if found["gain"].law is None:
        return out
    low, high = rule.label_range
    laws = no_gain_laws(t.J - t.R, t.M - t.R, rule.clusters, (low - high, high - low))
    for name in ("gain", "recovery"):
        one = found[name]
        if one.law is None:
            continue
        # Where all prompts are alike their scatter is 0, and the bound for that case holds.
        law = one.law if one.interval == "exact" else laws[name]
        out[name] = replace(one, no_gain=DealtLabels(panel.scores, panel.labels, panel.sizes, rule.clusters, law))
    return out


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
