"""A judge audited on whole pools and pairs: labels of all candidates of some prompts, of two candidates of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bonwise.auditing.drawn_candidates import DrawnPools, drawn_pools
from bonwise.auditing.settings import Settings, label_range
from bonwise.data.label_design import LabelDesign
from bonwise.data.panel import Panel
from bonwise.documents.audited.sampling import Sampling
from bonwise.documents.record import given
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.cells.bounds import cell_bounds
from bonwise.stats.cells.table import CellTable
from bonwise.stats.estimate import Estimate
from bonwise.stats.partial.cell_allocation import FEWEST_WHOLE
from bonwise.stats.partial.whole_and_pair_estimates import whole_and_pair_estimates

__all__ = ["WholeAndPairFigures", "audit_whole_and_pairs"]

_NAMES = (*(e.name for e in ESTIMANDS), "level_bias")

_REFUSED = (
    "undefined: the labels were drawn for gain and recovery; of two candidates of a prompt they tell how far these "
    "differ, and no more"
)
_SCOPE = "These labels estimate gain and recovery for all prompts."


@dataclass(frozen=True, eq=False)
class WholeAndPairFigures:
    """What labels of whole pools and pairs say of a judge."""

    metrics: Mapping[str, Estimate] = field(repr=False)
    """Every metric of an audit; one that these labels cannot tell holds the reason."""
    bounds: Mapping[str, tuple[float, float]] = field(repr=False)
    """Where recovery is not estimated: the ends between which it lies whatever the missing labels are."""
    sampling: Sampling = field(repr=False)
    """For the document."""
    scope: str
    """What the figures stand for, as a sentence."""
    labelled: int
    """Prompts with all labels that were drawn of them, and the others."""
    unlabelled: int
    """Prompts with all labels that were drawn of them, and the others."""
    labels_each: float
    """Labels per labelled prompt."""


def audit_whole_and_pairs(
    panel: Panel, design: LabelDesign, settings: Settings, *, judge_only: Mapping[str, Estimate]
) -> WholeAndPairFigures:
    """Audit a judge on the labels of the pools and pairs that a design drew.

    Parameters
    ----------
    panel : Panel
        Of the judge that the design was drawn for; labels are NaN where there is none.
    design : LabelDesign
        By the rule ``whole-and-pair``.
    settings : Settings
        Its confidence and seed; intervals are by their usual law also where it asks for a bootstrap.
    judge_only : mapping of str to Estimate
        Metrics that need no labels, from all prompts.

    Raises
    ------
    bonwise.errors.InputError
        A design that was drawn from other prompts or for other scores; more than 5 % of the drawn prompts without
        the labels that were drawn: why they lack them is unknown.
    """
    found = drawn_pools(panel, design)
    draw = found.draw
    rule = settings.rule(panel.labels, panel.clusters)
    told = whole_and_pair_estimates(draw, panel.labels, rule, seed=settings.seed)
    whole, pairs = int(draw.whole.sum()), int(draw.pairs.sum())
    metrics = {**judge_only, "gain": told.gain, "recovery": told.recovery}
    refused = Estimate.undefined(_REFUSED, whole + pairs).with_method("cells")
    few = [f"Few complete pools: with fewer than {FEWEST_WHOLE} the interval of recovery is approximate."]
    sampling = Sampling(
        design=design.rule,
        how=_how(found, design, len(panel.sizes)),
        drawn_without_labels=found.drawn - whole - pairs,
        labelled_not_drawn=found.not_drawn,
        **given(notes=few if whole < FEWEST_WHOLE else None),
        whole_pools=whole,
        pairs=pairs,
    )
    cells = int(panel.sizes[draw.whole].sum()) + 2 * pairs
    return WholeAndPairFigures(
        {name: metrics.get(name, refused) for name in _NAMES},
        _bounds(panel) if told.recovery.estimate is None else {},
        sampling,
        _SCOPE,
        whole + pairs,
        len(panel.sizes) - whole - pairs,
        cells / max(whole + pairs, 1),
    )


def _bounds(panel: Panel) -> Mapping[str, tuple[float, float]]:
    table = CellTable(panel.sizes, panel.scores, panel.labels)
    found = cell_bounds(table, label_range(panel.labels))
    return {"recovery": found["recovery"]} if "recovery" in found else {}


def _how(found: DrawnPools, design: LabelDesign, prompts: int) -> str:
    whole, pairs = int(found.draw.whole.sum()), int(found.draw.pairs.sum())
    drawn = (
        f"all candidates of {whole:,} prompts, and of {pairs:,} others one with the judge's highest score and one "
        f"other, drawn from {prompts:,} by the rule {design.rule!r} (seed {design.seed})"
    )
    words = [drawn]
    if lacking := found.drawn - whole - pairs:
        words.append(f"{lacking:,} more were drawn and lack labels")
    if found.not_drawn:
        words.append(f"labels of {found.not_drawn:,} candidates that were not drawn are left out")
    return "; ".join(words)
