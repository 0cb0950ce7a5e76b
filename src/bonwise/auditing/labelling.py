"""How prompts were drawn for labelling, which count as labelled, and what their figures can speak for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.errors import InputError, UsageError
from bonwise.printable import quoted
from bonwise.report.numbers import counted
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.table import cell_scores, facts, label_design
from bonwise.table.panel import MAY_LACK, MEANT_BY_NONE, USED_BY_CELLS, LabelsInPart, Panel, PromptLeftOut

if TYPE_CHECKING:
    from bonwise.table.score_table import ScoreTable

BY_CELL = ("cells", "cells-by-score")
"""What may be stated of single candidates: labelled at random, or at random given their score and name."""

_MOST_STRATA = 20  # different propensities beyond which prompts count as drawn one by one

_WHOLE = (
    "no prompt is labelled in part, so whole prompts were chosen, and a model of which candidates were labelled does "
    "not say how"
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The sample of one judge's prompts that a stated draw amounts to."""

    sample: LabelSample | None
    """None where the labelled prompts do not stand for all of them after all."""
    words: str
    """How the labelled prompts came to be labelled, or why they do not stand for all, as a sentence."""
    lacking: int = 0
    """Prompts that were drawn and are not labelled completely."""
    not_drawn: int = 0
    """Labelled prompts that were not drawn: their labels are left out."""


@dataclass(frozen=True, eq=False)
class StatedDraw:
    """What a user states of the draw."""

    kind: Literal["uniform", "design", "propensity", "cells", "cells-by-score"]
    design: label_design.LabelDesign | None = field(default=None, repr=False)
    """The record of the draw, for ``design``."""
    table: ScoreTable | None = field(default=None, repr=False)
    """The table with the column, for ``propensity``."""
    by_cell: bool = False
    """Whether candidates were labelled one by one, not prompts."""

    @property
    def name(self) -> str:
        """The rule of the draw, in a word."""
        return self.design.rule if self.design is not None else self.kind

    def of(self, panel: Panel, labelled: Mask, partly: Mask) -> Drawn:
        """Return the sample that the labelled prompts are; `partly` are those with labels of some candidates."""
        if self.design is not None:
            return _as_designed(self.design, panel, labelled)
        if self.kind == "cells-by-score":
            return Drawn(None, _WHOLE)
        if _too_many(int(partly.sum()), int(labelled.sum())):
            return Drawn(None, _gaps(int(partly.sum()), int((labelled | partly).sum())), int(partly.sum()))
        if self.table is not None:
            return Drawn(*_by_propensity(self.table, panel, labelled), lacking=int(partly.sum()))
        one = int(labelled.sum()) == 1
        taken = "1 labelled prompt is" if one else f"{labelled.sum():,} labelled prompts are"
        words = f"the {taken} taken for a uniform random sample of all, as stated"
        return Drawn(LabelSample.uniform(labelled), words, int(partly.sum()))

    def of_cells(self, panel: Panel) -> Drawn:
        """Return how the labelled candidates of a panel came to be labelled."""
        labels, cells = int(panel.labelled_cells.sum()), len(panel.labels)
        some = f"{labels:,} of {cells:,} candidates are labelled"
        if self.kind == "cells":
            return Drawn(None, f"{some}, each with the same chance, as stated")
        if self.kind == "cells-by-score":
            return Drawn(None, f"{some}, with chances that depend on scores and names alone, as stated")
        return Drawn(None, f"{some}, each with its propensity in the table")

    def cell_propensities(self, panel: Panel) -> Floats | None:
        """Return each cell's chance to be labelled, None where unstated; refuses what the labels contradict."""
        if self.table is None:
            return None
        stated = cell_scores.candidate_propensities(self.table, panel)
        labels = int(panel.labelled_cells.sum())
        if abs(labels - stated.sum()) > 4 * np.sqrt(np.sum(stated * (1 - stated))) + 0.5:
            raise InputError(
                f"{self.table.source}: {labels:,} candidates are labelled where these propensities would draw about "
                f"{stated.sum():,.0f}",
                hint="state the probability with which each candidate was drawn",
            )
        return stated


def stated_draw(design: str | Path | label_design.LabelDesign | None, table: ScoreTable) -> StatedDraw | None:
    """Return what the user or a propensity column states of the draw; both together are refused."""
    weighted = "propensity" in table.rows.columns
    if design is not None and table.unlabelled:
        raise UsageError(
            f"{table.source}: a design says that labels were drawn, and --unlabelled-is what no label means",
            hint="leave --design or --unlabelled-is out",
        )
    if design is None:
        by_cell = cell_scores.differ_within_prompts(table)
        return StatedDraw("propensity", table=table, by_cell=by_cell) if weighted else None
    if weighted:
        raise UsageError(
            f"{table.source}: a propensity column, and a design beside it",
            hint="drop the column, or leave the design out",
        )
    if isinstance(design, label_design.LabelDesign):
        return _of_these(design, table)
    if str(design) == "uniform":
        return StatedDraw("uniform")
    if str(design) in BY_CELL:
        return StatedDraw("cells" if str(design) == "cells" else "cells-by-score", by_cell=True)
    if not Path(design).exists():
        raise UsageError(
            f"no design {quoted(str(design))}",
            hint="give the file that bonwise labels draw wrote, or uniform, cells or cells-by-score",
        )
    return _of_these(label_design.LabelDesign.read(design), table)


def _of_these(design: label_design.LabelDesign, table: ScoreTable) -> StatedDraw:
    """Refuse a design that knows none of the prompts, also where all of them are labelled and it is not needed."""
    if not design.prompt_ids.isin(table.prompts).any():
        raise InputError(
            f"{design.source}: none of its {len(design.prompt_ids):,} prompts is in {table.source}",
            hint="give the design that was drawn from these prompts",
        )
    return StatedDraw("design", design)


def _too_many(lacking: int, labelled: int) -> bool:
    return lacking > MAY_LACK * (lacking + labelled)


def _gaps(lacking: int, drawn: int) -> str:
    return (
        f"{lacking:,} of {drawn:,} prompts that were drawn are not labelled completely; why is unknown, so the "
        "others may not stand for all prompts"
    )


def _as_designed(design: label_design.LabelDesign, panel: Panel, labelled: Mask) -> Drawn:
    at = design.prompt_ids.get_indexer(panel.prompt_ids)
    if (strange := at < 0).any():
        raise InputError(
            f"{design.source}: {int(strange.sum()):,} scored prompts could not have been drawn, as "
            f"{quoted(panel.prompt_ids[strange][0])}",
            hint="give the design that was drawn from these prompts",
        )
    design.refuse_other_clusters(at, panel.clusters)
    drawn = design.drawn[at]
    lacking, not_drawn = int((drawn & ~labelled).sum()), int((labelled & ~drawn).sum())
    used = labelled & drawn
    if _too_many(lacking, int(used.sum())):
        return Drawn(None, _gaps(lacking, int(drawn.sum())), lacking, not_drawn)
    words = f"{used.sum():,} labelled prompts were drawn by the rule {design.rule!r} (seed {design.seed})"
    words += f"; {lacking:,} more were drawn and lack labels" if lacking else ""
    words += f"; labels of {counted(not_drawn, 'prompt')} not drawn are left out" if not_drawn else ""
    return Drawn(LabelSample.realised(used, design.stratum[at]), words, lacking, not_drawn)


def _by_propensity(table: ScoreTable, panel: Panel, labelled: Mask) -> tuple[LabelSample, str]:
    stated = cell_scores.propensities(table, panel.prompt_ids, labelled)
    _refuse_misfit(table, stated, labelled)
    words = f"{labelled.sum():,} labelled prompts were drawn with the propensities of the table"
    known = ~np.isnan(stated)
    named, owner = np.unique(stated[known], return_inverse=True)
    # A table of labelled prompts alone does not show how many others each of them stands for.
    if labelled.all() or not known.all() or len(named) > _MOST_STRATA:
        return LabelSample(labelled, stated, None), f"{words}, each for itself"
    return LabelSample.realised(labelled, owner.astype(np.int64)), f"{words}, alike at equal propensity"


def _refuse_misfit(table: ScoreTable, stated: Floats, labelled: Mask) -> None:
    """Refuse propensities that cannot be: as many labels, and a sum of weights, that no draw by them would give."""
    if labelled.all():
        return
    weights, prompts, known = 1 / stated[labelled], len(labelled), not np.isnan(stated).any()
    # Where every prompt states its chance the draw's own scatter is known; of the labelled ones alone, no single
    # prompt can stand for more than there are.
    variance = np.sum((1 - stated) / stated) if known else np.sum(weights**2 - weights)
    wild = abs(weights.sum() - prompts) > 4 * np.sqrt(variance) + 0.5 or (not known and weights.max() > prompts)
    if wild:
        raise InputError(
            f"{table.source}: with these propensities the {labelled.sum():,} labelled prompts would stand for about "
            f"{weights.sum():,.0f} prompts, but the table holds {prompts:,}",
            hint="state the probability with which each prompt was drawn, and keep the rows of those that were not",
        )
    if known and abs(labelled.sum() - stated.sum()) > 4 * np.sqrt(np.sum(stated * (1 - stated))) + 0.5:
        raise InputError(
            f"{table.source}: {labelled.sum():,} prompts are labelled where these propensities would draw about "
            f"{stated.sum():,.0f}",
            hint="state the probability with which each prompt was drawn",
        )


Method = Literal["complete", "labelled_only", "aipw", "weighted", "cells"]


_USED_BY = {
    None: f"{USED_BY_CELLS} {MEANT_BY_NONE}",
    "uniform": USED_BY_CELLS,
    "cells": USED_BY_CELLS,
    "cells-by-score": USED_BY_CELLS,
    "propensity": "a propensity of its own for each candidate uses them.",
    "design": "the design drew whole prompts.",
    "weights": f"prompts with weights (--weight-col) count when they are labelled whole. {MEANT_BY_NONE}",
}
"""What would use labels of prompts that are labelled in part, by what is stated."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """A judge's panel with its labelled prompts: those with all labels, and drawn where a draw is stated."""

    panel: Panel
    labelled: Mask = field(repr=False)
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
    with_partly: Panel | None = field(default=None, repr=False)
    """The panel with the few prompts that were dropped although they have some labels; None where there are none."""

    @property
    def sample(self) -> LabelSample | None:
        """The sample that the labelled prompts are of all prompts; None where they are all, or stand for none."""
        return self.drawn.sample if self.drawn is not None else None

    @property
    def by_model(self) -> bool:
        """Whether the chances of candidates to be labelled are fitted."""
        return self.stated is not None and self.stated.kind == "cells-by-score"

    @property
    def few_carry(self) -> str:
        """Why no interval can rest on the weights of labels; empty where one can, as in strata that were planned."""
        planned = self.sample is None or (self.stated is not None and self.stated.design is not None)
        return "" if self.sample is None or planned else self.sample.few_carry

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
        return of_the_labelled(labelled, prompts, "" if self.drawn is None else self.drawn.words)

    @property
    def unused(self) -> facts.UnusedLabels | None:
        """Labels that are in no figure because their prompts count as unlabelled; None where every label counts."""
        if self.method in ("complete", "cells"):
            return None
        weighted = None if self.panel.weights is None else "weights"
        why = _USED_BY[weighted if self.stated is None else self.stated.kind]
        return facts.unused_labels(LabelsInPart.of_panel(self.panel).told(why))


def of_the_labelled(labelled: int, prompts: int, why: str = "") -> str:
    """Say that figures against labels describe the labelled prompts alone, and why."""
    why = why or "why the others lack labels is unknown, so they may not hold for all prompts"
    whole = f"the {labelled} of {prompts} prompts that are labelled completely"
    return f"Figures against labels describe {whole}; {why}."


def label_state(panel: Panel, stated: StatedDraw | None = None) -> Labelling:
    """Tell which prompts are labelled and what they stand for; up to 5 % without labels are dropped."""
    found = panel.labelled_cells
    labelled, partly = found == panel.sizes, (found > 0) & (found < panel.sizes)
    if stated is not None:
        return _as_stated(panel, stated, labelled, partly)
    in_part, unlabelled = partly.sum() / max((found > 0).sum(), 1), (found == 0).mean()
    if labelled.any() and max(in_part, unlabelled) <= MAY_LACK:
        dropped = [
            PromptLeftOut(str(prompt), "partly labelled" if has_some else "unlabelled")
            for prompt, has_some in zip(panel.prompt_ids[~labelled], partly[~labelled], strict=True)
        ]
        kept = panel.keep(labelled, dropped)
        with_partly = panel.keep(labelled | partly) if partly.any() else None
        return Labelling(kept, np.ones(len(kept.sizes), dtype=bool), 0, "complete", with_partly=with_partly)
    return Labelling(panel, labelled, int(partly.sum()), "labelled_only")


def _as_stated(panel: Panel, stated: StatedDraw, labelled: Mask, partly: Mask) -> Labelling:
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
