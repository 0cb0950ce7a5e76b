"""Which candidates of a panel a design drew, and whether it was drawn for these scores at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.auditing.candidate_models import CandidateDraw
from bonwise.auditing.whole_and_pair import WholeAndPairDraw
from bonwise.errors import InputError, UsageError
from bonwise.printable import quoted
from bonwise.stats.top_of_scores import at_top
from bonwise.table.label_design import LabelDesign
from bonwise.table.panel import MAY_LACK, Panel

__all__ = ["DrawnCandidates", "DrawnPools", "drawn_candidates", "drawn_pools"]

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCandidates:
    """A design laid on the cells of a panel."""

    draw: CandidateDraw = field(repr=False)
    """Of the prompts that have all labels that were drawn of them."""
    strata: _Ints = field(repr=False)
    possible: _Mask = field(repr=False)
    """Prompts of which a candidate could be drawn."""
    drawn: int
    """Prompts that were drawn."""
    not_drawn: int
    """Labelled candidates that were not."""


def drawn_candidates(panel: Panel, design: LabelDesign) -> DrawnCandidates:
    """Find the drawn candidates of every prompt, and refuse a design that is not of these scores.

    Parameters
    ----------
    panel : Panel
    design : LabelDesign
        By the rule ``pick`` or ``pair``.

    Raises
    ------
    bonwise.errors.UsageError
        A design that draws prompts.
    bonwise.errors.InputError
        A design of other prompts or for other scores; too many drawn prompts without the labels that were drawn.
    """
    if not design.by_candidate:
        raise UsageError(
            f"{design.source}: the rule {design.rule!r} draws prompts, not candidates",
            hint="audit with the labels of all their candidates",
        )
    at = _places(panel, design)
    top, drawn = at_top(panel.scores, panel.sizes), design.drawn[at]
    whole = CandidateDraw(panel.sizes, top, np.full(len(at), -1)).all_tied & (design.rule == "pair")
    _refuse_other_chances(design, panel, at, whole)
    roles = [("pick", design.picks, top), ("other candidate", design.others, ~top)]
    asked = []
    for role, names, fits in roles[: 1 + (design.rule == "pair")]:
        cells = _cells(panel, design, [names[x] for x in at.tolist()], drawn)
        _refuse_misfit(design, panel, cells, fits, role)
        asked.append(cells)
    seen = np.logical_and.reduce([_with_label(cells, panel) for cells in asked])
    _refuse_gaps(design, panel, drawn & ~seen, drawn)
    left_out = ~np.isnan(panel.labels)
    for cells in asked:
        left_out[cells[drawn]] = False
    draw = CandidateDraw(panel.sizes, top, *(np.where(seen, cells, -1) for cells in asked))
    return DrawnCandidates(draw, design.stratum[at], ~whole, int(drawn.sum()), int(left_out.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPools:
    """A design of whole pools and pairs laid on the cells of a panel."""

    draw: WholeAndPairDraw = field(repr=False)
    """Of the prompts that have all labels that were drawn of them."""
    drawn: int
    """Prompts that were drawn."""
    not_drawn: int
    """Labelled candidates that were not."""


def drawn_pools(panel: Panel, design: LabelDesign) -> DrawnPools:
    """Find the whole pools and pairs that a design drew, and refuse one that is not of these scores.

    Parameters
    ----------
    panel : Panel
    design : LabelDesign
        By the rule ``whole-and-pair``.

    Raises
    ------
    bonwise.errors.InputError
        A design of other prompts or for other scores; too many drawn prompts without the labels that were drawn.
    """
    at = _places(panel, design)
    top, drawn, whole = at_top(panel.scores, panel.sizes), design.drawn[at], design.whole[at]
    sides = []
    for role, names, fits in (("pick", design.picks, top), ("other candidate", design.others, ~top)):
        cells = _cells(panel, design, [names[x] for x in at.tolist()], drawn & ~whole)
        _refuse_misfit(design, panel, cells, fits, role)
        sides.append(cells)
    picks, others = sides
    complete = whole & (panel.labelled_cells == panel.sizes)
    paired = _with_label(picks, panel) & _with_label(others, panel)
    _refuse_gaps(design, panel, drawn & ~complete & ~paired, drawn)
    left_out = ~np.isnan(panel.labels) & ~np.repeat(whole, panel.sizes)
    for cells in sides:
        left_out[cells[cells >= 0]] = False
    found = WholeAndPairDraw(
        panel.sizes,
        top,
        complete,
        np.where(paired, picks, -1),
        np.where(paired, others, -1),
        design.stratum[at],
    )
    _refuse_mixed(design, panel, found)
    return DrawnPools(found, int(drawn.sum()), int(left_out.sum()))


def _refuse_mixed(design: LabelDesign, panel: Panel, draw: WholeAndPairDraw) -> None:
    """Refuse scores that tie some prompts of a stratum and not others: the draw kept the two apart."""
    share = np.bincount(draw.strata, weights=draw.open) / np.maximum(np.bincount(draw.strata), 1)
    mixed = np.flatnonzero((share > 0) & (share < 1))
    if mixed.size:
        why = f"in stratum {mixed[0]} this judge ties all candidates of some prompts and not of others"
        raise _for_another(design, panel, why)


def _places(panel: Panel, design: LabelDesign) -> _Ints:
    """Return where each prompt of a panel stands in a design."""
    if design.judge and design.judge != panel.judge:
        raise _for_another(design, panel, f"it names the judge {quoted(design.judge)}")
    at: _Ints = design.prompt_ids.get_indexer(panel.prompt_ids)
    if (strange := at < 0).any():
        raise InputError(
            f"{design.source}: {int(strange.sum()):,} of {len(strange):,} scored prompts could not have been drawn, "
            f"as {quoted(panel.prompt_ids[strange][0])}",
            hint="give the design that was drawn from these prompts",
        )
    return at


def _for_another(design: LabelDesign, panel: Panel, why: str) -> InputError:
    return InputError(
        f"{design.source}: the design was drawn for another judge than {quoted(panel.judge)}: {why}",
        hint="audit the judge it was drawn for with the scores it was drawn from, or draw one for this judge",
    )


def _cells(panel: Panel, design: LabelDesign, names: Sequence[str], drawn: _Mask) -> _Ints:
    """Return the cell of each drawn candidate, -1 for prompts that were not drawn."""
    many = len(panel.candidates)
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    keys = owner * many + panel.names
    order = np.argsort(keys, kind="stable")
    code = panel.candidates.get_indexer(pd.Index(names, dtype=object))
    wanted = np.arange(len(names)) * many + code
    place = order[np.searchsorted(keys[order], wanted).clip(max=len(keys) - 1)]
    absent = drawn & ((code < 0) | (keys[place] != wanted))
    if absent.any():
        x = int(np.flatnonzero(absent)[0])
        raise InputError(
            f"{design.source}: {quoted(panel.prompt_ids[x])} has no candidate {quoted(names[x])}",
            hint="give the table that the design was drawn from, and its file as it was written",
        )
    return np.where(drawn, place, -1)


def _refuse_misfit(design: LabelDesign, panel: Panel, cells: _Ints, fits: _Mask, role: str) -> None:
    wrong = (cells >= 0) & ~fits[cells]
    if wrong.any():
        x = int(np.flatnonzero(wrong)[0])
        name, prompt = panel.candidates[panel.names[cells[x]]], panel.prompt_ids[x]
        stands = "is not among" if role == "pick" else "is among"
        raise _for_another(
            design,
            panel,
            f"the {role} {quoted(name)} of {quoted(prompt)} {stands} the candidates with the highest score (so in "
            f"{int(wrong.sum()):,} of {len(wrong):,} prompts)",
        )


def _refuse_other_chances(design: LabelDesign, panel: Panel, at: _Ints, whole: _Mask) -> None:
    """Refuse a design that could not draw what these scores let be drawn, or drew what they do not."""
    possible = design.propensity[at] > 0
    wrong = (design.drawn[at] & whole) | (~possible & ~whole)
    if wrong.any():
        x = int(np.flatnonzero(wrong)[0])
        why = "was drawn, and this judge ties it entirely" if whole[x] else "could not be drawn"
        count = f"(so in {int(wrong.sum()):,} of {len(wrong):,} prompts)"
        raise _for_another(design, panel, f"{quoted(panel.prompt_ids[x])} {why} {count}")


def _with_label(cells: _Ints, panel: Panel) -> _Mask:
    found: _Mask = (cells >= 0) & ~np.isnan(panel.labels[cells])
    return found


def _refuse_gaps(design: LabelDesign, panel: Panel, lacking: _Mask, drawn: _Mask) -> None:
    """Refuse a draw of which too much was left unlabelled to stand for the prompts it was drawn from."""
    if lacking.sum() > MAY_LACK * drawn.sum() or not (drawn & ~lacking).any():
        named = f", as {quoted(panel.prompt_ids[lacking][0])}" if lacking.any() else ""
        raise InputError(
            f"{int(lacking.sum()):,} of {int(drawn.sum()):,} prompts that {design.source} drew lack the labels that "
            f"were drawn{named}; why is unknown, so the others may not stand for all prompts",
            hint=f"label what was drawn; up to {MAY_LACK:.0%} may lack labels",
        )
