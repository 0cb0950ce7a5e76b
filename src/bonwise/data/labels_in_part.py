"""Labels of prompts that are labelled in part: what a figure of whole prompts leaves unused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bonwise.data.panel import Panel

__all__ = ["USED_BY_CELLS", "LabelsInPart"]

USED_BY_CELLS = "--design cells uses them, and states that the labelled candidates are a random sample of all."
"""What would use labels of prompts that are labelled in part, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class LabelsInPart:
    """How many labels stand in prompts that are labelled in part.

    Examples
    --------
    >>> LabelsInPart(212, 277, 82).unused
    '212 of 277 labels are not used, because they stand in 82 prompts that are labelled in part'
    """

    labels: int
    """Those labels, and all labels."""
    of: int
    """Those labels, and all labels."""
    prompts: int
    """The prompts labelled in part."""

    @classmethod
    def of_panel(cls, panel: Panel) -> LabelsInPart:
        """Count the labels of a panel."""
        found = panel.labelled_cells
        partly = (found > 0) & (found < panel.sizes)
        return cls(int(found[partly].sum()), int(found.sum()), int(partly.sum()))

    @property
    def unused(self) -> str:
        """How many are not used where whole prompts count alone, as a clause."""
        are, they = ("is", "it stands") if self.labels == 1 else ("are", "they stand")
        one = "1 prompt that is" if self.prompts == 1 else f"{self.prompts:,} prompts that are"
        return f"{self.labels:,} of {self.of:,} labels {are} not used, because {they} in {one} labelled in part"

    def told(self, why: str) -> dict[str, int | str]:
        """Return the counts with a sentence that ends in what would use them, or why nothing does; empty for none."""
        if not self.prompts:
            return {}
        return {
            "labels": self.labels,
            "of": self.of,
            "prompts": self.prompts,
            "sentence": f"{self.unused}: {why}",
        }
