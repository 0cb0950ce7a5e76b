"""A judge audited on labels of single candidates: its picks alone, or each pick beside one other candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bonwise.auditing.drawn_candidates import DrawnCandidates, drawn_candidates
from bonwise.auditing.settings import Settings
from bonwise.data.label_design import LabelDesign
from bonwise.data.panel import Panel
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.partial.candidate_estimate import candidate_estimate
from bonwise.stats.sums import Floats

__all__ = ["CandidateFigures", "audit_candidate_labels"]

_NAMES = (*(e.name for e in ESTIMANDS), "level_bias")

_WHOLE_POOLS = "undefined: needs the labels of all candidates of a prompt, and the design drew single ones"
_NO_BEST = (
    "undefined: needs the best label of a prompt, and the design drew single candidates; their best is only a lower "
    "bound of it"
)
_REASONS = {
    "pick": {
        "value_random": "undefined: needs labels of candidates other than the pick",
        "gain": "undefined: needs labels of candidates other than the pick",
    },
    "pair": dict.fromkeys(
        ("value_random", "value_judge"),
        "undefined: a pair tells how far its two labels differ, and prompts that the judge ties entirely have none",
    ),
}
_MEASURED = {"pick": "the value of the judge's picks", "pair": "the gain of the judge's picks over random ones"}


@dataclass(frozen=True, eq=False)
class CandidateFigures:
    """What labels of single candidates say of a judge."""

    metrics: Mapping[str, Estimate] = field(repr=False)
    """Every metric of an audit; one that these labels cannot tell holds the reason."""
    bounds: Mapping[str, tuple[float, float]] = field(repr=False)
    """Ends between which a metric lies at the audit's confidence whatever the missing labels are. Of labels of an
    unknown scale recovery alone.
    """
    how: str
    """What was labelled; what the figures stand for, as a sentence."""
    scope: str
    """What was labelled; what the figures stand for, as a sentence."""
    drawn: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    labelled: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    lacking: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    unlabelled: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    not_drawn: int
    """Labelled candidates that were not drawn: their labels are left out."""
    tuning: float
    """Share of the model of the labels that was used, from 0 (labels alone) to 1."""


def audit_candidate_labels(
    panel: Panel,
    others: Sequence[Floats],
    design: LabelDesign,
    settings: Settings,
    *,
    judge_only: Mapping[str, Estimate],
) -> CandidateFigures:
    """Audit a judge on the labels of the candidates that a design drew.

    Picks estimate value_judge, pairs gain. V(oracle) needs whole pools, so that it and all that is divided by it are
    refused with a reason; `CandidateFigures.bounds` says what the labels leave possible.

    Parameters
    ----------
    panel : Panel
        Of the judge that the design was drawn for; labels are NaN where there is none.
    others : sequence of ndarray of float64, shape (cells,)
        Scores of further judges on the panel's cells, NaN where one did not score. They narrow the interval.
    design : LabelDesign
        By the rule ``pick`` or ``pair``.
    settings : Settings
        Its confidence and seed; intervals are by their usual law also where it asks for a bootstrap.
    judge_only : mapping of str to Estimate
        Metrics that need no labels, from all prompts.

    Raises
    ------
    bonwise.errors.UsageError
        A design that draws prompts.
    bonwise.errors.InputError
        A design that was drawn from other prompts or for other scores; more than 5 % of the drawn prompts without
        the labels that were drawn: why they lack them is unknown.
    """
    found = drawn_candidates(panel, design)
    result = candidate_estimate(
        found.draw,
        panel.labels,
        panel.scores,
        others,
        settings.rule(panel.labels, panel.clusters),
        strata=found.strata,
        seed=settings.seed,
    )
    metrics = dict(judge_only)
    metrics["gain" if design.rule == "pair" else "value_judge"] = result.estimate
    reasons, labelled = _REASONS[design.rule], int(found.draw.labelled.sum())
    for name in _NAMES:
        if name not in metrics:
            reason = _NO_BEST if name in ("value_oracle", "recovery") else reasons.get(name, _WHOLE_POOLS)
            metrics[name] = Estimate.undefined(reason, labelled).with_method("aipw")
    return CandidateFigures(
        {name: metrics[name] for name in _NAMES},
        result.bounds,
        _how(found, design, len(panel.sizes), result.borrowed),
        f"These labels estimate {_MEASURED[design.rule]} for all prompts, and bound recovery without estimating it.",
        found.drawn,
        labelled,
        found.drawn - labelled,
        int(found.possible.sum()) - labelled,
        found.not_drawn,
        result.tuning,
    )


def _how(found: DrawnCandidates, design: LabelDesign, prompts: int, borrowed: int) -> str:
    labelled = int(found.draw.labelled.sum())
    what = "the judge's pick" if design.rule == "pick" else "the judge's pick and one other candidate"
    drawn = f"drawn from {prompts:,} by the rule {design.rule!r} (seed {design.seed})"
    words = [f"{what} in {labelled:,} prompt{'s' * (labelled != 1)}, {drawn}"]
    if design.rule == "pair" and (tied := int(found.draw.all_tied.sum())):
        words.append(f"{tied:,} more that the judge ties entirely need none, because it gains nothing there")
    if lacking := found.drawn - labelled:
        words.append(f"{lacking:,} more were drawn and lack labels")
    if borrowed:
        words.append(f"{borrowed:,} lie in strata without any label: the next stratum's labels are used for them")
    if found.not_drawn:
        words.append(f"labels of {found.not_drawn:,} candidates that were not drawn are left out")
    return "; ".join(words)
