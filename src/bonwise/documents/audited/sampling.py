"""How the labelled prompts of a judge were drawn and used, as the document of an audit says it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number

__all__ = ["OutcomeModelUsed", "SampleUse", "Sampling"]


class OutcomeModelUsed(Record):
    """The model of the labels that narrows estimates for all prompts."""

    name: str
    """Such as ``ridge``."""
    covariates: list[str]
    """What it learns from."""
    reason: str
    """Why this one."""


class SampleUse(Record):
    """How a sample of labels was used."""

    ess: NonNegative
    """Effective sample size."""
    model: OutcomeModelUsed | None = None
    share_explained: Number | None = None
    """Of the variance of the labels, by the model."""
    tuning: Number | None = None
    """Share of the model that was used, from 0 (labels alone) to 1."""
    further_judges: list[str] | None = None
    """Judges of the table that serve as covariates."""
    narrowed: Number | None = None
    """Share by which these narrow the interval of recovery; below 0 they widen it."""
    notes: list[str] | None = None


class Sampling(Record):
    """How the labelled prompts were drawn, and how the estimates for all prompts were made."""

    design: str
    """Rule of the draw, ``uniform``, ``propensity``, ``cells`` or ``cells-by-score``."""
    how: str
    """In words."""
    labels_a_prompt: Literal[1, 2] | None = None
    """Where single candidates were drawn."""
    drawn_without_labels: Count | None = None
    """Prompts that were drawn and lack labels; labelled ones that were not drawn, whose labels are left out."""
    labelled_not_drawn: Count | None = None
    """Prompts that were drawn and lack labels; labelled ones that were not drawn, whose labels are left out."""
    ess: NonNegative | None = None
    """Effective sample size."""
    model: OutcomeModelUsed | None = None
    """That narrows the estimates."""
    share_explained: Number | None = None
    """Of the variance of the labels, by the model."""
    tuning: Number | None = None
    """Share of the model that was used, from 0 (labels alone) to 1."""
    further_judges: list[str] | None = None
    """Judges of the table that serve as covariates."""
    narrowed: Number | None = None
    """Share by which these narrow the interval of recovery; below 0 they widen it."""
    notes: list[str] | None = None
    """What to keep in mind."""
    whole_pools: Count | None = None
    """Of a draw of both: prompts whose candidates are all labelled, and those with a labelled pair."""
    pairs: Count | None = None
    """Of a draw of both: prompts whose candidates are all labelled, and those with a labelled pair."""
