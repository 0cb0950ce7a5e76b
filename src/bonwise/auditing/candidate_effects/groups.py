"""Picks by group of candidates: how often a judge picks long answers, a family, the first place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bonwise.auditing.candidate_effects.attributes import Attribute
from bonwise.data.panel import Panel
from bonwise.documents.audited.candidate_effects import CandidateGroup
from bonwise.documents.estimate import EstimateRecord
from bonwise.stats.clusters import cluster_codes
from bonwise.stats.end_laws import EffectiveShare
from bonwise.stats.equal_label.group_picks import group_picks
from bonwise.stats.estimation import from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.laws import Exact

__all__ = ["candidate_groups"]


def candidate_groups(
    panel: Panel, attribute: Attribute, *, confidence: float, method: str
) -> Iterator[CandidateGroup]:
    """Yield the groups of an attribute that stand beside others in some prompt.

    Parameters
    ----------
    panel : Panel
        Completely labelled prompts.
    attribute : Attribute
        Of its candidates.
    confidence : float
    method : str
    """
    for code, name in enumerate(attribute.groups):
        found = group_picks(panel.scores, panel.labels, attribute.codes == code, panel.sizes, panel.clusters)
        if found is None:
            continue
        n = found.prompts
        units = n if panel.clusters is None else cluster_codes(panel.clusters)[1]
        records = []
        for value, se, df, low in zip(*found.shares, (0.0, 0.0, -1.0), strict=True):
            limits = (low, 1.0)
            inside = low == 0 and 0 < value < 1 and np.isfinite(se) and se > 0
            law = EffectiveShare(float(value), float(se), float(df), limits) if inside else None
            one = from_jackknife(
                float(value),
                Scatter(float(se), float(df)),
                n,
                limits,
                confidence,
                exact=partial(Exact, float(value), units, limits),
                law=law,
            )
            records.append(EstimateRecord.of(one.with_method(method)))
        picked, best, difference = records
        yield CandidateGroup(
            group=name,
            candidates=found.candidates,
            prompts=n,
            chance=found.chance,
            picked=picked,
            best=best,
            difference=difference,
        )
