"""Which prompts of a judge count as labelled, and what their figures can speak for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from bonwise.auditing.stated_draw import Drawn, StatedDraw
from bonwise.data.labels_in_part import WHOLE_PROMPTS, LabelsInPart
from bonwise.data.panel import MAY_LACK, Panel, PromptLeftOut
from bonwise.documents.unused_labels import UnusedLabels, unused_labels
from bonwise.stats.partial.label_sample import LabelSample

__all__ = ["Labelling", "label_state"]

Method = Literal["complete", "labelled_only", "aipw", "weighted"]

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Labelling:
    """A judge's panel with the prompts that count as labelled.

    A prompt counts as labelled when all its candidates are, and where a draw is stated when it was drawn too.

    Parameters
    ----------
    panel : Panel
    labelled : ndarray of bool, shape (prompts,)
    partly : int
        Prompts with some labels.
    method : {"complete", "labelled_only", "aipw", "weighted"}
        ``aipw``: the labelled prompts are a sample of those of the panel. ``weighted``: a sample of prompts that the
        table does not hold.
    drawn : Drawn or None
        What is known of the draw; None where nothing is stated or all prompts are labelled.
    """

    panel: Panel
    labelled: _Mask = field(repr=False)
    partly: int
    method: Method
    drawn: Drawn | None = None

    @property
    def sample(self) -> LabelSample | None:
        """The sample that the labelled prompts are of all prompts; None where they are all, or stand for none."""
        return self.drawn.sample if self.drawn is not None else None

    @property
    def scope(self) -> str:
        """What figures against labels describe, as a sentence; empty where it is simply all prompts."""
        labelled, prompts = int(self.labelled.sum()), len(self.panel.sizes)
        if self.method == "complete":
            return ""
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
        if self.method == "complete":
            return None
        return unused_labels(LabelsInPart.of_panel(self.panel).told(WHOLE_PROMPTS))


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
    if labelled.all() and stated.kind != "propensity":
        return Labelling(panel, labelled, 0, "complete")
    if not labelled.any():
        return Labelling(panel, labelled, int(partly.sum()), "labelled_only")
    drawn = stated.of(panel, labelled, partly)
    if drawn.sample is None:
        return Labelling(panel, labelled, int(partly.sum()), "labelled_only", drawn)
    if labelled.all() and drawn.sample.equal:
        return Labelling(panel, labelled, 0, "complete")
    method: Method = "weighted" if labelled.all() else "aipw"
    return Labelling(panel, drawn.sample.labelled, int(partly.sum()), method, drawn)
