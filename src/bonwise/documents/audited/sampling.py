"""How the labelled prompts of a judge were drawn and used, as the document of an audit says it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number

__all__ = ["OutcomeModelUsed", "SampleUse", "Sampling"]


class OutcomeModelUsed(Record):
    """The model of the labels that narrows estimates for all prompts.

    Parameters
    ----------
    name : str
        Such as ``ridge``.
    covariates : list of str
        What it learns from.
    reason : str
        Why this one.
    """

    name: str
    covariates: list[str]
    reason: str


class SampleUse(Record):
    """How a sample of labels was used.

    Parameters
    ----------
    ess : float
        Effective sample size.
    model : OutcomeModelUsed, optional
    share_explained : float or None, optional
        Of the variance of the labels, by the model.
    tuning : float, optional
        Share of the model that was used, from 0 (labels alone) to 1.
    further_judges : list of str, optional
        Judges of the table that serve as covariates.
    narrowed : float or None, optional
        Share by which these narrow the interval of recovery; below 0 they widen it.
    notes : list of str, optional
    """

    ess: NonNegative
    model: OutcomeModelUsed | None = None
    share_explained: Number | None = None
    tuning: Number | None = None
    further_judges: list[str] | None = None
    narrowed: Number | None = None
    notes: list[str] | None = None


class Sampling(Record):
    """How the labelled prompts were drawn, and how the estimates for all prompts were made.

    Parameters
    ----------
    design : str
        Rule of the draw, ``uniform``, ``propensity``, ``cells`` or ``cells-by-score``.
    how : str
        In words.
    labels_a_prompt : int, optional
        Where single candidates were drawn.
    drawn_without_labels, labelled_not_drawn : int, optional
        Prompts that were drawn and lack labels; labelled ones that were not drawn, whose labels are left out.
    ess : float, optional
        Effective sample size.
    model : OutcomeModelUsed, optional
        That narrows the estimates.
    share_explained : float or None, optional
        Of the variance of the labels, by the model.
    tuning : float, optional
        Share of the model that was used, from 0 (labels alone) to 1.
    further_judges : list of str, optional
        Judges of the table that serve as covariates.
    narrowed : float or None, optional
        Share by which these narrow the interval of recovery; below 0 they widen it.
    notes : list of str, optional
        What to keep in mind.
    whole_pools, pairs : int, optional
        Of a draw of both: prompts whose candidates are all labelled, and those with a labelled pair.
    """

    design: str
    how: str
    labels_a_prompt: Literal[1, 2] | None = None
    drawn_without_labels: Count | None = None
    labelled_not_drawn: Count | None = None
    ess: NonNegative | None = None
    model: OutcomeModelUsed | None = None
    share_explained: Number | None = None
    tuning: Number | None = None
    further_judges: list[str] | None = None
    narrowed: Number | None = None
    notes: list[str] | None = None
    whole_pools: Count | None = None
    pairs: Count | None = None
