"""Whom figures describe: all prompts, where those labelled are most of them or a uniform draw, or those alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bonwise.data.label_design import LabelDesign
from bonwise.data.panel import MAY_LACK, Panel
from bonwise.data.propensities import propensities
from bonwise.data.table import ScoreTable
from bonwise.data.wording import quoted
from bonwise.errors import InputError, UsageError

__all__ = ["Described", "stated_draw"]

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Described:
    """Which prompts the figures describe.

    Examples
    --------
    >>> Described(150, 300, None).all_prompts, Described(285, 300, None).all_prompts
    (False, True)
    >>> Described(150, 300, "uniform").all_prompts
    True
    """

    labelled: int
    """Completely labelled prompts, and prompts there are."""
    prompts: int
    """Completely labelled prompts, and prompts there are."""
    stated: str | None
    """What is stated of the draw: ``uniform``, the file of a uniform draw, or ``propensity`` for a column of equal
    propensities; None where nothing is.
    """

    @property
    def all_prompts(self) -> bool:
        """Whether the figures stand for all prompts."""
        return self.stated is not None or self.prompts - self.labelled <= MAY_LACK * self.prompts

    @property
    def sentence(self) -> str:
        """Which prompts the figures describe, as a sentence; empty where it is all of them."""
        if self.all_prompts or not self.labelled:
            return ""
        return (
            f"Figures describe the {self.labelled:,} labelled of {self.prompts:,} prompts; they stand for all only "
            "if those were drawn uniformly. State that with --design uniform, or give the file of the draw."
        )


def stated_draw(
    design: str | Path | LabelDesign | None, table: ScoreTable, panel: Panel, labelled: _Mask
) -> str | None:
    """Return what is stated of the draw, having refused one with unequal chances.

    Parameters
    ----------
    design : str, pathlib.Path or LabelDesign, optional
        ``"uniform"``, or the record of a uniform draw.
    table : ScoreTable
        Its propensity column states the draw too.
    panel : Panel
    labelled : ndarray of bool, shape (prompts,)
        Completely labelled prompts of the panel.

    Raises
    ------
    bonwise.errors.InputError
        Unequal chances, labels or prompts that the design does not know, or no such design.
    """
    weighted = "propensity" in table.frame.columns
    if weighted and design is not None:
        raise UsageError(
            f"{table.source}: a propensity column, and a design beside it",
            hint="drop the column, or leave the design out",
        )
    if weighted:
        _refuse_unequal(propensities(table, panel.prompt_ids, labelled)[labelled], table.source)
        return "propensity"
    if design is None or str(design) == "uniform":
        return None if design is None else "uniform"
    if not isinstance(design, LabelDesign):
        if str(design) in ("cells", "cells-by-score"):
            raise UsageError(
                f"the rule counts whole prompts, so labels of single candidates ({design}) do not decide it",
                hint="write uniform, or audit these labels: bonwise audit --design cells",
            )
        if not Path(design).exists():
            raise UsageError(
                f"no design {quoted(str(design))}",
                hint="write uniform, or give the file of bonwise labels draw --design uniform",
            )
        design = LabelDesign.read(design)
    _check_design(design, panel, labelled)
    return design.source


def _refuse_unequal(chances: npt.NDArray[np.float64], source: str) -> None:
    if len(chances) and chances.min() < chances.max():
        raise InputError(
            f"{source}: prompts were drawn with unequal chances, {chances.min():g} to {chances.max():g}",
            hint="repeated looks are for a uniform draw; audit this one: bonwise audit",
        )


def _check_design(design: LabelDesign, panel: Panel, labelled: _Mask) -> None:
    if design.rule != "uniform":
        raise InputError(
            f"{design.source}: drawn by the rule {quoted(design.rule)}, with unequal chances",
            hint="repeated looks are for a uniform draw; audit this one: bonwise audit --design",
        )
    unknown = ~panel.prompt_ids.isin(design.prompt_ids)
    if unknown.any():
        raise InputError(
            f"{design.source}: {int(unknown.sum()):,} scored prompts could not have been drawn, such as "
            f"{quoted(panel.prompt_ids[unknown][0])}",
            hint="give the design that was drawn from these prompts",
        )
    design.refuse_other_clusters(design.prompt_ids.get_indexer(panel.prompt_ids), panel.clusters)
    strange = labelled & ~panel.prompt_ids.isin(design.prompt_ids[design.drawn])
    if strange.any():
        raise InputError(
            f"{design.source}: {int(strange.sum()):,} labelled prompts were not drawn by it, such as "
            f"{quoted(panel.prompt_ids[strange][0])}",
            hint="leave their labels out, or give the design they come from",
        )
