"""What a result does not establish, however narrow its intervals: for pages, and for all that an audit says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bonwise.report import blocks, numbers

NOT_ESTABLISHED = "not-established"
"""Address of the limits on a page, of which they are the last words."""

_TITLE = "What this does not establish"

OTHER_PROMPTS = "Prompts of another kind than those here: the intervals are about prompts drawn like these."
OTHER_CANDIDATES = "Other candidates: another generator, another temperature or more candidates per prompt change it."
LABELS = "Whether the labels are right: every figure takes them as they are."


def limits(
    sentences: Sequence[str], role: Literal["detail", "long"] = "detail", reference: str | None = None
) -> blocks.Part:
    """Return what a result does not establish as a part of its page; the role ``long`` is not shown in short."""
    if reference is not None:
        sentences = [numbers.named(sentence, reference) for sentence in sentences]
    return blocks.Part(_TITLE, [blocks.Said("note", text) for text in sentences], role, anchor=NOT_ESTABLISHED)
