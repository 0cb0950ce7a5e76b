"""What is stated of how prompts were drawn for labelling, and the sample that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from bonwise.data.label_design import LabelDesign
from bonwise.data.propensities import propensities
from bonwise.data.wording import shown
from bonwise.errors import InputError, UsageError
from bonwise.stats.partial.label_sample import LabelSample

if TYPE_CHECKING:
    from bonwise.data.panel import Panel
    from bonwise.data.table import ScoreTable

__all__ = ["MAY_LACK", "Drawn", "StatedDraw", "stated_draw"]

MAY_LACK = 0.05
"""Share of prompts that may lack labels, or a pick, before figures stop describing the whole table."""

_MOST_STRATA = 20  # different propensities beyond which prompts count as drawn one by one

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Drawn:
    """The sample of one judge's prompts that a stated draw amounts to.

    Parameters
    ----------
    sample : LabelSample or None
        None where the labelled prompts do not stand for all of them after all.
    words : str
        How the labelled prompts came to be labelled, or why they do not stand for all, as a sentence.
    lacking : int
        Prompts that were drawn and are not labelled completely.
    not_drawn : int
        Labelled prompts that were not drawn: their labels are left out.
    """

    sample: LabelSample | None
    words: str
    lacking: int = 0
    not_drawn: int = 0


@dataclass(frozen=True, eq=False)
class StatedDraw:
    """What a user states of the draw.

    Parameters
    ----------
    kind : {"uniform", "design", "propensity"}
    design : LabelDesign or None
        The record of the draw, for ``design``.
    table : ScoreTable or None
        The table with the column, for ``propensity``.
    """

    kind: Literal["uniform", "design", "propensity"]
    design: LabelDesign | None = field(default=None, repr=False)
    table: ScoreTable | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The rule of the draw, in a word."""
        return self.design.rule if self.design is not None else self.kind

    def of(self, panel: Panel, labelled: _Mask, partly: _Mask) -> Drawn:
        """Return the sample that the labelled prompts of a panel are.

        Parameters
        ----------
        panel : Panel
        labelled, partly : ndarray of bool, shape (prompts,)
            Prompts with labels of all candidates, and of some.
        """
        if self.design is not None:
            return _as_designed(self.design, panel, labelled)
        if _too_many(int(partly.sum()), int(labelled.sum())):
            return Drawn(None, _gaps(int(partly.sum()), int((labelled | partly).sum())), int(partly.sum()))
        if self.table is not None:
            return Drawn(*_by_propensity(self.table, panel, labelled), lacking=int(partly.sum()))
        words = f"the {labelled.sum():,} labelled prompts are taken for a uniform random sample of all, as stated"
        return Drawn(LabelSample.uniform(labelled), words, int(partly.sum()))


def stated_draw(design: str | Path | LabelDesign | None, table: ScoreTable) -> StatedDraw | None:
    """Return what is stated of the draw: by the user, else by a propensity column of the table.

    Parameters
    ----------
    design : str, pathlib.Path or LabelDesign, or None
        ``"uniform"``, or the record of the draw.
    table : ScoreTable

    Raises
    ------
    bonwise.errors.InputError
        A file that is no record of a draw.
    bonwise.errors.UsageError
        A design, and a propensity column beside it.
    """
    weighted = "propensity" in table.frame.columns
    if design is None:
        return StatedDraw("propensity", table=table) if weighted else None
    if weighted:
        raise UsageError(
            f"{table.source}: a propensity column, and a design beside it",
            hint="drop the column, or leave the design out",
        )
    if isinstance(design, LabelDesign):
        return StatedDraw("design", design)
    if str(design) == "uniform":
        return StatedDraw("uniform")
    if not Path(design).exists():
        raise UsageError(
            f"no design {shown(str(design))}",
            hint="give the file that bonwise labels draw --out wrote, or uniform",
        )
    return StatedDraw("design", LabelDesign.read(design))


def _too_many(lacking: int, labelled: int) -> bool:
    return lacking > MAY_LACK * (lacking + labelled)


def _gaps(lacking: int, drawn: int) -> str:
    return (
        f"{lacking:,} of {drawn:,} prompts that were drawn are not labelled completely; why is unknown, so the "
        "others may not stand for all prompts"
    )


def _as_designed(design: LabelDesign, panel: Panel, labelled: _Mask) -> Drawn:
    at = design.prompt_ids.get_indexer(panel.prompt_ids)
    if (strange := at < 0).any():
        raise InputError(
            f"{design.source}: {int(strange.sum()):,} scored prompts could not have been drawn, as "
            f"{shown(panel.prompt_ids[strange][0])}",
            hint="give the design that was drawn from these prompts",
        )
    drawn = design.drawn[at]
    lacking, not_drawn = int((drawn & ~labelled).sum()), int((labelled & ~drawn).sum())
    used = labelled & drawn
    if _too_many(lacking, int(used.sum())):
        return Drawn(None, _gaps(lacking, int(drawn.sum())), lacking, not_drawn)
    strata = _without_gaps(design.stratum[at], used)
    words = f"{used.sum():,} labelled prompts were drawn by the rule {design.rule!r} (seed {design.seed})"
    words += f"; {lacking:,} more were drawn and lack labels" if lacking else ""
    words += f"; labels of {not_drawn:,} prompts that were not drawn are left out" if not_drawn else ""
    return Drawn(LabelSample.realised(used, strata), words, lacking, not_drawn)


def _without_gaps(strata: npt.NDArray[np.int64], used: _Mask) -> npt.NDArray[np.int64]:
    """Join each stratum without a labelled prompt to the next one: nothing else can stand for it."""
    named, owner = np.unique(strata, return_inverse=True)
    counts = np.bincount(owner, weights=used)
    filled = np.flatnonzero(counts > 0)
    if len(filled) in (0, len(named)):
        return strata
    joined: npt.NDArray[np.int64] = filled[np.searchsorted(filled, np.arange(len(named))).clip(max=len(filled) - 1)]
    return joined[owner]


def _by_propensity(table: ScoreTable, panel: Panel, labelled: _Mask) -> tuple[LabelSample, str]:
    stated = propensities(table, panel.prompt_ids, labelled)
    _refuse_misfit(table, stated, labelled)
    words = f"{labelled.sum():,} labelled prompts were drawn with the propensities of the table"
    known = ~np.isnan(stated)
    named, owner = np.unique(stated[known], return_inverse=True)
    # A table of labelled prompts alone does not show how many others each of them stands for.
    if labelled.all() or not known.all() or len(named) > _MOST_STRATA:
        return LabelSample(labelled, stated, None), f"{words}, each for itself"
    strata = _without_gaps(owner.astype(np.int64), labelled)
    return LabelSample.realised(labelled, strata), f"{words}, alike at equal propensity"


def _refuse_misfit(table: ScoreTable, stated: npt.NDArray[np.float64], labelled: _Mask) -> None:
    """Refuse propensities that cannot be: the weights of the labelled prompts must add up to about all prompts."""
    if labelled.all():
        return
    weights = 1 / stated[labelled]
    # Of the draw, where every prompt states its chance: the labelled prompts alone show too little of it.
    known = not np.isnan(stated).any()
    variance = np.sum((1 - stated) / stated) if known else np.sum(weights**2 - weights)
    scatter = float(np.sqrt(variance))
    if abs(weights.sum() - len(labelled)) > 4 * scatter + 0.5:
        raise InputError(
            f"{table.source}: with these propensities the {labelled.sum():,} labelled prompts would stand for about "
            f"{weights.sum():,.0f} prompts, but the table holds {len(labelled):,}",
            hint="state the probability with which each prompt was drawn, and keep the rows of those that were not",
        )
