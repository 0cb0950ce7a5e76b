"""A label sheet made from pools alone: what is on it."""

from __future__ import annotations

from bonwise.documents.label_sheet import LabelSheetDocument
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said
from bonwise.report.numbers import count, counted

__all__ = ["describe"]


def describe(document: LabelSheetDocument) -> Part:
    """Describe what is to be labelled."""
    settings, data = document.settings, document.data
    chosen = "all of them" if data.prompts_to_label == data.prompts else "drawn uniformly at random"
    blocks: list[Block] = [
        Said(
            "finding",
            f"{count(data.prompts_to_label)} of {counted(data.prompts, 'prompt')} are to be labelled, {chosen}: "
            f"{counted(data.responses_to_label, 'response')}.",
        ),
        Said("note", "The sheet shows no names; candidates stand in random order."),
    ]
    if data.single:
        blocks.append(Said("caveat", f"{counted(data.single, 'prompt')} with fewer than 2 candidates left out."))
    return Part(f"Label sheet for {printable(settings.pools)}, seed {settings.seed}", blocks)
