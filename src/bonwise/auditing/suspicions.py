"""What looks wrong with a table of scores, in one sentence each, with the flag that mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bonwise.auditing.suspected import FEWEST_POOLS, few_pools
from bonwise.data.easy_candidates import easy_of_panel
from bonwise.data.labels_in_part import USED_BY_CELLS, LabelsInPart
from bonwise.data.panel import MAY_LACK, Panel, lay_out
from bonwise.data.table import ScoreTable
from bonwise.data.wording import quoted
from bonwise.errors import InputError
from bonwise.printable import shell_word
from bonwise.report.numbers import number
from bonwise.stats.recovery import recovery
from bonwise.stats.sums import Sums, prompt_sums

__all__ = ["Suspicion", "suspicions"]

FEW = 4
"""Fewer distinct scores than this cannot rank candidates finely."""


class Suspicion(NamedTuple):
    """One finding."""

    sentence: str
    flags: tuple[str, ...] = ()


def suspicions(table: ScoreTable, panels: Sequence[Panel]) -> tuple[Suspicion, ...]:
    """Collect what looks wrong.

    Parameters
    ----------
    table : ScoreTable
    panels : sequence of Panel
        As `lay_out` gives them.
    """
    fullest = max(panels, key=lambda panel: len(panel.sizes))
    return (
        *_names(table),
        *(one for panel in panels for one in _scores(panel)),
        *_scales(table),
        *_labels(table, fullest),
        *_easy(table, fullest),
    )


def _names(table: ScoreTable) -> Iterator[Suspicion]:
    for what, names in (("prompt ids", table.prompts), ("candidate names", table.candidates)):
        folded = names.astype(str).str.strip().str.lower()
        if folded.has_duplicates:
            first = folded[folded.duplicated(keep=False)][0]
            alike = [repr(str(name)) for name in names[folded == first][:2]]
            yield Suspicion(f"Two {what} differ only in case or blanks: {' and '.join(alike)}.")


def _scores(panel: Panel) -> Iterator[Suspicion]:
    if not len(panel.sizes):
        yield Suspicion(f"{panel.judge!r} scored no prompt completely.")
        return
    distinct = np.unique(panel.scores)
    if len(distinct) == 1:
        yield Suspicion(
            f"{panel.judge!r} is constant: every score is {distinct[0]:g}, so its picks are random picks."
        )
    elif len(distinct) < FEW:
        yield Suspicion(f"{panel.judge!r} uses {len(distinct)} distinct scores, so most candidates will tie.")


def _scales(table: ScoreTable) -> Iterator[Suspicion]:
    for judge, scores, labels, row in table.scale_mismatches():
        # Of these an audit gives every figure, those of labels in their own unit; the reverse it refuses.
        kept = np.nanmax(labels) > 1
        remedy = "to have figures on [0, 1], declare both scales" if kept else "declare both scales"
        scale = f"{judge}={_scale(scores)}" if len(table.judges) > 1 else _scale(scores)
        yield Suspicion(
            f"Scores of {judge!r} run from {np.nanmin(scores):g} to {np.nanmax(scores):g}, labels from "
            f"{np.nanmin(labels):g} to {np.nanmax(labels):g} (see row {row}): {remedy}.",
            ("--judge-scale " + shell_word(scale), f"--label-scale {_scale(labels)}"),
        )


def _scale(values: np.ndarray) -> str:
    highest = np.nanmax(values)
    top = next(top for top in (1, 5, 7, 10, 100) if highest <= top)
    return f"{1 if top in (5, 7) and np.nanmin(values) >= 1 else 0}:{top:g}"


def _labels(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    found = panel.labelled_cells
    lacking = found < panel.sizes
    unstated = "propensity" not in table.frame.columns
    if found.any() and lacking.mean() > MAY_LACK:
        seen = f"{int(lacking.sum()):,} of {len(lacking):,} prompts lack labels; an audit will describe the others"
        state = "No verdict is useful until --design states how these were chosen." if unstated else ""
        part = LabelsInPart.of_panel(panel)
        in_part = f"{part.unused}: {USED_BY_CELLS}" if part.prompts and unstated else ""
        yield Suspicion(" ".join(filter(None, [f"{seen}.", state, in_part])))
    complete = int((~lacking).sum())
    if 0 < complete < FEWEST_POOLS:
        yield Suspicion(few_pools(complete).sentence)
    known = panel.labels[~np.isnan(panel.labels)]
    if known.size and known.min() == known.max():
        yield Suspicion(f"Every label is {known[0]:g}: there is nothing to recover.")


def _easy(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    """Look for candidates that are worst almost everywhere: they flatter every metric."""
    complete = panel.keep(panel.labelled_cells == panel.sizes)
    for easy in easy_of_panel(panel):
        what = "label" if easy.by_labels else "score"
        seen = f"Candidate {quoted(easy.name)} has the lowest {what} in {number(easy.lowest, 'share')} of prompts"
        inflated = _with_and_without(table, easy.name, complete) if easy.by_labels else ""
        word = shell_word(easy.name)
        yield Suspicion(
            f"{seen}: such a control inflates recovery and every correlation{inflated}. No verdict is useful until "
            f"--control {word} leaves it out or --keep-easy {word} counts it like any other candidate.",
            (f"--control {word}",),
        )


def _with_and_without(table: ScoreTable, name: str, with_it: Panel) -> str:
    try:
        without = next(panel for panel in lay_out(table, exclude=[name]) if panel.judge == with_it.judge)
    except InputError:
        return ""
    without = without.keep(without.labelled_cells == without.sizes)
    if not len(without.sizes):
        return ""
    found = [_recovery(panel) for panel in (without, with_it)]
    return f" (recovery {number(found[0], 'share')} without it, {number(found[1], 'share')} with it)"


def _recovery(panel: Panel) -> float:
    sums = prompt_sums(panel.scores, panel.labels, panel.sizes)
    return float(recovery(Sums(*sums.sum(axis=1))))
