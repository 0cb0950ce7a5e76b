"""What a result does not establish, however narrow its intervals: for pages, and for all that an audit says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from bonwise.report import blocks, numbers

__all__ = ["NOT_ESTABLISHED", "limits"]

NOT_ESTABLISHED = "not-established"
"""Address of the limits on a page, of which they are the last words."""

_TITLE = "What this does not establish"

_OTHER_PROMPTS = "Prompts of another kind than those here: the intervals are about prompts drawn like these."
_OTHER_CANDIDATES = (
    "Other candidates: another generator, another temperature or more candidates per prompt change it."
)
_LABELS = "Whether the labels are right: every figure takes them as they are."
_ASSOCIATION = "Causes: these are associations in the data at hand."

_LIMITS: Mapping[str, Sequence[str]] = {
    "audit": (
        _OTHER_PROMPTS,
        _OTHER_CANDIDATES,
        _LABELS,
        "Another version of the judge, or another prompt for it: each needs an audit of its own.",
    ),
    "compare": (
        _OTHER_PROMPTS,
        _OTHER_CANDIDATES,
        _LABELS,
        "That two sets of picks are equal: a difference that is not shown can be there.",
    ),
    "plan": (
        "That the effect is there: the plan says what a study needs if the effect is as large as assumed.",
        "That the prompts to be labelled vary as the pilot or the assumptions say.",
        _LABELS,
    ),
    "route": (
        "What a real stronger judge is worth: the study takes the reference as a judge that never errs.",
        "Which signal is best: the best of several on the same prompts looks better than it is.",
        _OTHER_PROMPTS,
        _LABELS,
    ),
    "selections": (
        "Whether the picks are good: only an audit against labels shows that (bonwise audit).",
        "That the judge would pick the same again: scores of a model vary from call to call.",
    ),
    "requirements": (
        "How a judge with errors of another kind does: the curve takes plain noise, alike for all candidates.",
        _OTHER_PROMPTS,
        _LABELS,
    ),
    "label-strategy": (
        "How another prompt for the judge does: each way of asking was tried with the words that were used.",
        _OTHER_PROMPTS,
        _OTHER_CANDIDATES,
        _LABELS,
    ),
    "calibration": (
        "That a map stays right: it must be learnt again when the judge, its prompt or the generator changes.",
        _OTHER_PROMPTS,
        _LABELS,
    ),
    "mix": ("Which pools are the right ones: that depends on what users will choose among.", _OTHER_PROMPTS, _LABELS),
    "monitor": ("Anything about prompts that were not labelled, unless labels were drawn at random.", _LABELS),
    "watch": (
        "Why a signal moved: prompts, candidates, the judge or its settings may have changed.",
        "That nothing moved where there is no alarm: a small change takes long to see.",
        "That picks are good while no signal moves: signals without labels say nothing of it.",
        _LABELS,
    ),
    "preferences": (
        "How well a judge picks the best of several: agreement on pairs is another figure than recovery.",
        _OTHER_PROMPTS,
        _LABELS,
    ),
    "votes": (
        "That a preference is absent: one that is not seen with these votes can be there.",
        "Which model is best: each pair is taken by itself.",
        _OTHER_PROMPTS,
    ),
    "confidence": (
        "Whether the judge tells good candidates from bad ones: a judge can state its doubts well and know little.",
        "That the confidence stays right: another version of the judge, or another prompt for it, states another.",
        _OTHER_PROMPTS,
        _LABELS,
    ),
    "stack": (_OTHER_PROMPTS, _OTHER_CANDIDATES, _LABELS, "That the weights stay right when a judge changes."),
    "factor": (
        "What people think that no judge and no rating shows.",
        _ASSOCIATION,
        "How models that were not rated compare.",
    ),
}


def limits(kind: str, role: Literal["detail", "long"] = "detail", reference: str | None = None) -> blocks.Part:
    """Return the limits of a kind of result, a document's word or a study's name, as a part of its page.

    A short form leaves the role ``long`` out, which a full one shows. `reference` stands in for the oracle.

    Examples
    --------
    >>> limits("plan").title
    'What this does not establish'
    """
    sentences = _LIMITS.get(kind, ())
    if reference is not None:
        sentences = [numbers.named(one, reference) for one in sentences]
    return blocks.Part(_TITLE, [blocks.Said("note", one) for one in sentences], role, anchor=NOT_ESTABLISHED)
