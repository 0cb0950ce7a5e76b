"""The verdict of a document, and documents with other figures."""

from __future__ import annotations

import copy

from bonwise.report.blocks import Part
from bonwise.report.show import describe, page, text
from report.readers import words

__all__ = ["changed", "figure", "found", "limits_of"]


def figure(estimate, low=None, high=None):
    """Return the figures of an estimate for a plain document; one that is undefined has a reason."""
    return {"estimate": estimate, "low": low, "high": high} | ({"reason": "no pairs"} if estimate is None else {})


def changed(document, change):
    """Return a document of the same kind after its plain form was changed."""
    plain = copy.deepcopy(document.to_dict())
    change(plain)
    return type(document).model_validate(plain)


def found(document):
    """Return word, state and sentence of the one verdict, which comes first; a page asks what it answers."""
    (verdict,) = (one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict")
    first, second, *_ = text(document).splitlines()
    lead = verdict.blocks[0].text
    assert first == f"Verdict: {verdict.title}"
    assert lead.startswith(second)
    assert verdict.question.endswith("?")
    assert f"{verdict.question} {verdict.title} {lead.split('. ')[0].rstrip('.')}" in words(page(document))
    assert len(verdict.title.split(",")[0].split()) <= 4
    return verdict.title, verdict.state, lead


def limits_of(document):
    """Return what a document is said not to establish, which stands on pages alone."""
    assert "does not establish" not in text(document)
    (part,) = (
        one
        for one in describe(document).blocks
        if isinstance(one, Part) and one.title == "What this does not establish"
    )
    return [one.text for one in part.blocks]
