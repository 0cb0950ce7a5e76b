"""Which prompts of a judge count as labelled, and what their figures can speak for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from bonwise.auditing.stated_draw import Drawn, StatedDraw
from bonwise.data.labels_in_part import USED_BY_CELLS, LabelsInPart
from bonwise.data.panel import MAY_LACK, Panel, PromptLeftOut
from bonwise.documents.unused_labels import UnusedLabels, unused_labels
from bonwise.stats.partial.label_sample import LabelSample

__all__ = ["Labelling", "label_state"]

Method = Literal["complete", "labelled_only", "aipw", "weighted", "cells"]

_Mask = npt.NDArray[np.bool_]

_USED_BY = {
    None: USED_BY_CELLS,
    "uniform": USED_BY_CELLS,
    "cells": USED_BY_CELLS,
    "cells-by-score": USED_BY_CELLS,
    "propensity": "a propensity of its own for each candidate uses them.",
    "design": "the design drew whole prompts.",
}
"""What would use labels of prompts that are labelled in part, by what is stated."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """A judge's panel with the prompts that count as labelled.

    A prompt counts as labelled when all its candidates are, and where a draw is stated when it was drawn too.
    """

    panel: Panel
    labelled: _Mask = field(repr=False)
    partly: int
    """Prompts with some labels."""
    method: Method
    """``aipw``: the labelled prompts are a sample of those of the panel. ``weighted``: a sample of prompts that the
    table does not hold. ``cells``: the labelled candidates are a sample of all, and each counts.
    """
    drawn: Drawn | None = None
    """What is known of the draw; None where nothing is stated or all prompts are labelled."""
    stated: StatedDraw | None = field(default=None, repr=False)
    """What is stated of it."""

    @property
    def sample(self) -> LabelSample | None:
        """The sample that the labelled prompts are of all prompts; None where they are all, or stand for none."""
        return self.drawn.sample if self.drawn is not None else None

    @property
    def by_model(self) -> bool:
        """Whether the chances of candidates to be labelled are fitted."""
        return self.stated is not None and self.stated.kind == "cells-by-score"

    @property
    def scope(self) -> str:
        """What figures against labels describe, as a sentence; empty where it is simply all prompts."""
        labelled, prompts = int(self.labelled.sum()), len(self.panel.sizes)
        if self.method == "complete":
            return ""
        if self.method == "cells" and self.drawn is not None:
            given = ", given the model of who was labelled" if self.by_model else ""
            return f"Figures against labels are estimates for all {prompts:,} prompts{given}: {self.drawn.words}."
        if self.drawn is not None and self.drawn.sample is not None:
            whole = f"all {prompts:,} prompts" if self.method == "aipw" else "the prompts that these were drawn from"
            return f"Figures against labels are estimates for {whole}: {self.drawn.words}."
        why = (
            self.drawn.words
            if self.drawn is not None
            else "why the others lack labels is unknown, so they may not hold for all prompts"
        )
        whole = f"the {labelled} of {prompts} prompts that are labelled completely"
        return f"Figures against labels describe {whole}; {why}."

    @property
    def unused(self) -> UnusedLabels | None:
        """Labels that are in no figure because their prompts count as unlabelled; None where every label counts."""
        if self.method in ("complete", "cells"):
            return None
        why = _USED_BY[None if self.stated is None else self.stated.kind]
        return unused_labels(LabelsInPart.of_panel(self.panel).told(why))


def label_state(panel: Panel, stated: StatedDraw | None = None) -> Labelling:
    """Tell which prompts are labelled and what they stand for.

    Without a stated draw up to 5 % of prompts are dropped for lack of labels; beyond that they are kept, and the
    figures describe the labelled prompts alone.

    Parameters
    ----------
    panel : Panel
    stated : StatedDraw, optional
    """
    found = panel.labelled_cells
    labelled, partly = found == panel.sizes, (found > 0) & (found < panel.sizes)
    if stated is not None:
        return _as_stated(panel, stated, labelled, partly)
    if labelled.any() and (~labelled).mean() <= MAY_LACK:
        reasons = np.where(partly, "partly labelled", "unlabelled")
        dropped = [
            PromptLeftOut(str(prompt), str(reason))
            for prompt, reason in zip(panel.prompt_ids[~labelled], reasons[~labelled], strict=True)
        ]
        kept = panel.keep(labelled, dropped)
        return Labelling(kept, np.ones(len(kept.sizes), dtype=bool), 0, "complete")
    return Labelling(panel, labelled, int(partly.sum()), "labelled_only")


def _as_stated(panel: Panel, stated: StatedDraw, labelled: _Mask, partly: _Mask) -> Labelling:
    count = int(partly.sum())
    if labelled.all() and (stated.kind != "propensity" or stated.by_cell):
        return Labelling(panel, labelled, 0, "complete", stated=stated)
    if stated.by_cell and (count or (stated.table is not None and labelled.any())):
        return Labelling(panel, labelled, count, "cells", stated.of_cells(panel), stated)
    if not labelled.any():
        return Labelling(panel, labelled, count, "labelled_only", stated=stated)
    drawn = stated.of(panel, labelled, partly)
    if drawn.sample is None:
        return Labelling(panel, labelled, count, "labelled_only", drawn, stated)
    if labelled.all() and drawn.sample.equal:
        return Labelling(panel, labelled, 0, "complete", stated=stated)
    method: Method = "weighted" if labelled.all() else "aipw"
    return Labelling(panel, drawn.sample.labelled, count, method, drawn, stated)
