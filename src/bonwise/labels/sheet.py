"""What an annotator is given: the candidates to label, without a word of what any judge said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError
from bonwise.printable import quoted
from bonwise.stats import top_of_scores
from bonwise.table import opening, reading, score_table
from bonwise.table.words import PromptWords, Words

if TYPE_CHECKING:
    from pathlib import Path

    from bonwise.labels.population import LabelPopulation
    from bonwise.table import label_design, opening, scales
    from bonwise.table.panel import Panel

_TEXTS = ("prompt", "text", "response")
"""Columns with the words of the prompt and of the candidate; what a judge said is not for the annotator's eyes."""

_TYPED_DECIMALS = 9


def drawn_pairs(
    rule: str, panel: Panel, now: Mask, before: label_design.LabelDesign | None, rng: np.random.Generator
) -> tuple[Sequence[str], Sequence[str]]:
    """Draw each pick among the top, for ``pair`` one of the others, beside what `before` drew; empty for none."""
    if rule not in ("pick", "pair"):
        return (), ()
    names = np.asarray(panel.candidates, dtype=object)[panel.names]
    top = top_of_scores.at_top(panel.ranked, panel.sizes)
    pairs = []
    for mask, wanted, kept in (
        (top, True, None if before is None else before.picks),
        (~top, rule == "pair", None if before is None else before.others),
    ):
        drawn = np.full(len(now), "", dtype=object) if not kept else np.asarray(kept, dtype=object)
        cells = _one_of(mask, panel.sizes, rng)
        if wanted:
            drawn[now] = names[cells[now]]
        pairs.append(drawn.tolist())
    return pairs[0], pairs[1]


def _one_of(mask: Mask, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Return one marked cell of each prompt, each marked one with equal chance; any cell where none is marked."""
    keys = np.where(mask, rng.random(len(mask)), -1.0)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((keys, owner))
    return order[np.cumsum(sizes) - 1]


def drawn_cells(design: label_design.LabelDesign, panel: Panel, prompts: Mask) -> Mask:
    """Return which cells of some drawn prompts were drawn, (cells,); the design is in the order of the panel."""
    cells: Mask = np.repeat(prompts, panel.sizes)
    if design.by_candidate:
        names = np.asarray(panel.candidates, dtype=object)[panel.names]
        sides = [np.repeat(np.asarray(side, dtype=object), panel.sizes) for side in (design.picks, design.others)]
        cells &= np.repeat(design.whole, panel.sizes) | (names == sides[0]) | (names == sides[1])
    return cells


def label_sheet(population: LabelPopulation, design: label_design.LabelDesign, now: Mask) -> pd.DataFrame:
    """Return a row a candidate to label, by name, as picks first would give them away; earlier phases first."""
    panel = population.panel
    cells = drawn_cells(design, panel, now if population.settings.labels_in_table else design.drawn)
    names = np.asarray(panel.candidates, dtype=object)[panel.names]
    prompts = np.repeat(np.asarray(panel.prompt_ids, dtype=object), panel.sizes)
    turn = np.repeat(np.argsort(design.order), panel.sizes)
    scale, labels = population.table.label_scale, panel.labels
    turned = "oracle_label" in population.table.turned
    given = _as_given(float(scale is not None) - labels if turned else labels, scale)
    if design.cells is None:
        given = np.where(np.repeat(now, panel.sizes), np.nan, given)
    elif population.settings.labels_in_table:
        cells &= np.isnan(given)
    at = np.flatnonzero(cells)
    at = at[np.argsort(turn[at], kind="stable")]
    return pd.DataFrame({"prompt_id": prompts[at], "candidate": names[at], "oracle_label": given[at]})


def _as_given(labels: Floats, scale: scales.Scale | None) -> Floats:
    """Return labels on the scale that they were declared on, as they were typed up to the last bits."""
    if scale is None:
        return labels
    return np.round(scale.low + labels * (scale.high - scale.low), _TYPED_DECIMALS)


def with_texts(sheet: pd.DataFrame, source: opening.ScoreSource, table: score_table.ScoreTable) -> pd.DataFrame:
    """Return the sheet with the columns of words of its source, if any; a ScoreTable holds no words."""
    if isinstance(source, opening.HoldsScores | score_table.ScoreTable):
        return sheet
    raw, _ = reading.open_frame(source)
    texts = [name for name in _TEXTS if name in raw.columns and name not in table.columns.values()]
    if not texts:
        return sheet
    words = raw[texts].astype(object).where(raw[texts].notna(), "").set_axis(table.frame.index, axis=0)
    keys = table.frame[["prompt_id", "candidate"]].astype(object)
    first = pd.concat([keys, words], axis=1)[~pd.Series(table.cell_keys()).duplicated().to_numpy()]
    return sheet.merge(first, on=["prompt_id", "candidate"], how="left")


def with_words(sheet: pd.DataFrame, table: score_table.ScoreTable, pools: str | Path) -> pd.DataFrame:
    """Return the sheet with ``prompt`` and ``text`` of a file of pools, else the table's; refused where missing."""
    known = Words(table, pools).of(sheet["prompt_id"])
    prompts, texts = [], []
    for name, candidate in zip(sheet["prompt_id"], sheet["candidate"], strict=True):
        words = known.get(name, PromptWords())
        if words.prompt is None or candidate not in words.texts:
            raise InputError(
                f"{pools}: no words of the prompt {quoted(name)} and its candidate {quoted(candidate)}, which are to "
                "be labelled",
                hint="give the pools whose candidates the table scores, under the same ids",
            )
        prompts.append(words.prompt)
        texts.append(words.texts[candidate])
    return sheet.assign(prompt=prompts, text=texts)
