"""One judge audited: its panel to metrics, bounds, balance and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bonwise.auditing.partial import Balance, Labelling, Picked, balance, label_state, worst_case
from bonwise.auditing.settings import Settings, label_range
from bonwise.auditing.verdict import Verdict, judge_validity, pick_validity
from bonwise.data.panel import Panel
from bonwise.errors import InputError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.level_bias import level_bias
from bonwise.stats.sums import Floats, Sums, prompt_sums

__all__ = ["NO_SCORES", "OF_PICKS", "JudgeAudit", "audit_judge", "panel_level_bias"]

OF_PICKS = ("top1_accuracy", "hit_rate", "value_random", "value_judge", "value_oracle", "gain", "recovery")
"""Metrics that follow from what was picked."""

_OF_LABELS = ("oracle_between_share", "oracle_tie_rate")

NO_SCORES = "a logged pick holds no scores"


@dataclass(frozen=True, eq=False)
class JudgeAudit:
    """What an audit found of one judge.

    Parameters
    ----------
    judge : str
    metrics : mapping of str to Estimate
    verdict : Verdict
    labelling : Labelling
        The prompts behind the figures.
    balance : tuple of Balance
        Labelled against unlabelled prompts; empty where the labels are complete.
    bounds : mapping of str to tuple of float
        Worst case over missing labels; empty where the labels are complete.
    with_control : mapping of str to Estimate
        The metrics with the named easy candidates put back; empty without a control.
    picked : Picked or None
        Of logged picks: how many of the pools have one. The scores then only say what was picked: 1 for what was
        kept, 0 for the rest.
    """

    judge: str
    metrics: Mapping[str, Estimate]
    verdict: Verdict
    labelling: Labelling = field(repr=False)
    balance: tuple[Balance, ...] = field(default=(), repr=False)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    with_control: Mapping[str, Estimate] = field(default_factory=dict, repr=False)
    picked: Picked | None = None

    @property
    def logged(self) -> bool:
        """Whether its scores only say what was picked."""
        return self.picked is not None

    @property
    def unsettled(self) -> str:
        """Why no gate on all prompts can pass, whatever the labels; empty where one can."""
        return "" if self.picked is None else self.picked.unsettled

    @property
    def data(self) -> dict[str, Any]:
        """Counts, and every dropped prompt with its reason."""
        panel, sizes = self.labelling.panel, self.labelling.panel.sizes
        same = bool((sizes == sizes[0]).all())
        out: dict[str, Any] = {
            "prompts": len(sizes),
            "candidates": int(sizes[0]) if same else None,
            "rows": int(sizes.sum()),
            "labelled_prompts": int(self.labelling.labelled.sum()),
            "partly_labelled_prompts": self.labelling.partly,
            "dropped": [{"prompt_id": d.prompt_id, "reason": d.reason} for d in panel.dropped],
        }
        if self.picked is not None:
            out["pools"], out["pools_without_pick"] = self.picked.pools, self.picked.without
        if not same:
            out["candidates_min"], out["candidates_max"] = int(sizes.min()), int(sizes.max())
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return this judge's part of the JSON schema."""
        out: dict[str, Any] = {
            "data": self.data,
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "verdict": self.verdict.to_dict(),
        }
        if self.labelling.method == "labelled_only":
            out["balance"] = [row.to_dict() for row in self.balance]
            out["bounds"] = {name: list(ends) for name, ends in self.bounds.items()}
        if self.with_control:
            out["with_control"] = {name: found.to_dict() for name, found in self.with_control.items()}
        return out


def audit_judge(
    panel: Panel,
    with_control: Panel | None,
    settings: Settings,
    *,
    against: str,
    has_propensity: bool = False,
    picked: Picked | None = None,
) -> JudgeAudit:
    """Audit one judge.

    Parameters
    ----------
    panel : Panel
        Without excluded and control candidates.
    with_control : Panel or None
        With the control candidates.
    settings : Settings
    against : str
        What the judge is held against, as a noun.
    has_propensity : bool
        Whether the table states with which probability prompts were labelled.
    picked : Picked, optional
        Of logged picks: how many of the pools have one. Metrics of scores are then undefined.

    Raises
    ------
    bonwise.errors.InputError
        No prompt is labelled completely.
    """
    labelling = _labelled(panel)
    sums = _complete_sums(labelling)
    metrics = _metrics(labelling, sums, settings)
    partial = labelling.method == "labelled_only"
    scope = _scope(labelling, has_propensity=has_propensity) if partial else ""
    if picked is not None:
        scope = " ".join(filter(None, (picked.scope, scope)))
        metrics = {
            name: found if name in (*OF_PICKS, *_OF_LABELS) else _no_scores(found) for name, found in metrics.items()
        }
        verdict = pick_validity(metrics, settings.thresholds, scope=scope)
    else:
        verdict = judge_validity(metrics, settings.thresholds, settings.target, against=against, scope=scope)
    return JudgeAudit(
        panel.judge,
        metrics,
        verdict,
        labelling,
        balance(labelling, settings.confidence, of_scores=picked is None) if partial else (),
        worst_case(labelling, Sums(*sums), label_range(panel.labels)) if partial else {},
        {} if with_control is None else _with_control(_labelled(with_control), settings),
        picked,
    )


def _no_scores(found: Estimate) -> Estimate:
    return Estimate.undefined(NO_SCORES, found.n).with_method(found.method)


def _labelled(panel: Panel) -> Labelling:
    if not len(panel.sizes):
        reasons = sorted({drop.reason for drop in panel.dropped})
        raise InputError(
            f"no prompt is left to audit {panel.judge!r} on: {'; '.join(reasons[:3])}",
            hint="score every candidate of a prompt, or force --ragged",
        )
    labelling = label_state(panel)
    if not labelling.labelled.any():
        raise InputError(
            f"no prompt of {panel.judge!r} has labels for all its candidates",
            hint="add an oracle_label column, --labels FILE, or --oracle judge:NAME",
        )
    return labelling


def _complete_sums(labelling: Labelling) -> Floats:
    """Return the per-prompt sums of the labelled prompts."""
    panel = labelling.panel.keep(labelling.labelled)
    return prompt_sums(panel.scores, panel.labels, panel.sizes)


def _with_control(labelling: Labelling, settings: Settings) -> dict[str, Estimate]:
    return _metrics(labelling, _complete_sums(labelling), settings)


def _metrics(labelling: Labelling, sums: Floats, settings: Settings) -> dict[str, Estimate]:
    panel = labelling.panel.keep(labelling.labelled)
    rule = settings.rule(panel.labels)
    found = {name: e.with_method(labelling.method) for name, e in estimate(ESTIMANDS, sums, rule).items()}
    found["level_bias"] = panel_level_bias(panel, settings).with_method(labelling.method)
    if labelling.method == "labelled_only":
        found.update(_judge_only(labelling.panel, settings))
    return found


def panel_level_bias(panel: Panel, settings: Settings) -> Estimate:
    """Estimate the level bias on a panel whose prompts are all labelled."""
    return level_bias(
        panel.scores,
        panel.labels,
        panel.sizes,
        panel.names,
        confidence=settings.confidence,
        seed=settings.seed,
    )


def _judge_only(panel: Panel, settings: Settings) -> dict[str, Estimate]:
    """Estimate what needs no labels from all prompts."""
    own = [e for e in ESTIMANDS if not e.on_labels]
    sums = prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes)
    return estimate(own, sums, settings.rule(np.zeros(0)))


def _scope(labelling: Labelling, *, has_propensity: bool) -> str:
    labelled, prompts = int(labelling.labelled.sum()), len(labelling.panel.sizes)
    why = (
        "the propensity column is not used, so they are not weighted to stand for the others"
        if has_propensity
        else "why the others lack labels is unknown, so they may not hold for all prompts"
    )
    return f"Figures against labels describe the {labelled} of {prompts} prompts that are labelled completely; {why}."
