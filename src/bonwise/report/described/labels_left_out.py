"""One sentence that several descriptions say: labels that were there and not used."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.labels_left_out import LabelsLeftOut
from bonwise.report.blocks import Said
from bonwise.report.numbers import count

__all__ = ["labels_left_out"]


def labels_left_out(found: LabelsLeftOut | None) -> Iterator[Said]:
    """Yield what is to be said of labels whose prompts are not in the file; nothing where there are none."""
    if found is not None:
        yield Said(
            "caveat",
            f"labels of {count(found.prompts)} prompts that are not in the file left out ({count(found.rows)} rows)",
        )
