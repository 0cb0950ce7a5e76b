"""Drawing prompts, or candidates, for labelling: a table of scores in, a label design out."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.errors import InputError, UsageError
from bonwise.labels.cells import CellPhase, DrawnBy, drawn_by, with_chances
from bonwise.labels.phase import LabelPhase, share_out
from bonwise.labels.population import LabelPopulation, label_population
from bonwise.labels.result import DrawCounts, DrawnClusters, DrawnRows, DrawSettings, LabelDraw
from bonwise.labels.rules import applied_rule, known_rule, units_asked
from bonwise.labels.sheet import drawn_cells, label_sheet, with_texts, with_words
from bonwise.printable import quoted
from bonwise.release import release
from bonwise.results import given
from bonwise.table.checks import check_text, checked_whole
from bonwise.table.label_design import BY_CANDIDATE, WHOLE_AND_PAIR, LabelDesign
from bonwise.table.reading_options import ReadingOptions

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource
    from bonwise.table.score_table import ScoreTable

__all__ = ["drawn_labels"]

_Mask = npt.NDArray[np.bool_]


def drawn_labels(  # noqa: PLR0913 - the one front door of the draw; all but the source are named
    source: ScoreSource,
    options: ReadingOptions,
    *,
    labels: int,
    design: str | None,
    judge: str | None,
    seed: int,
    after: str | Path | LabelDesign | None,
    label_file: RowSource | None,
    texts: bool,
    by: str | None,
    for_: str | None,
    pools: str | Path | None,
) -> LabelDraw:
    """Draw what to label."""
    earlier = _earlier(after)
    labels, seed = checked_whole("labels", labels, -math.inf, "100"), checked_whole("seed", seed, 0, "1")
    _refuse(labels, design, earlier)
    asked = drawn_by(by, for_, design, earlier)
    _refuse_labels(asked, earlier, label_file)
    population = label_population(
        source,
        options,
        judge=judge or (earlier.judge if earlier is not None else None),
        with_labels=earlier is not None or asked.by_cell,
    )
    before = None if earlier is None else _placed(earlier, population)
    phase, of_rule = _phase(asked, population, labels, before)
    drawn, now = phase.draw(seed)
    if asked.by_cell and drawn.cells is None:
        drawn = with_chances(drawn, population)
    sheet = label_sheet(population, drawn, now)
    cells = drawn_cells(drawn, population.panel, now)
    already = int((cells & ~np.isnan(population.panel.labels)).sum()) if asked.by_cell else None
    counts = DrawCounts(
        prompts=len(population.panel.sizes),
        cells=len(population.panel.scores),
        dropped=population.dropped,
        drawn=int(drawn.drawn.sum()),
        drawn_now=int(now.sum()),
        candidate_labels_now=int(cells.sum()) - (already or 0),
        **given(labelled_already=already, clusters=_clusters(population, drawn, now)),
    )
    settings = DrawSettings(
        **population.settings.to_dict(),
        design=asked.rule,
        labels=labels,
        seed=seed,
        phase=phase.number,
        texts=bool(texts),
        after=None if earlier is None else earlier.source,
        version=release(),
        **given(drawn_for=asked.purpose, pools=None if pools is None else str(pools)),
    )
    draw = LabelDraw(
        settings=settings,
        data=counts,
        strata=phase.strata(),
        ess=phase.ess,
        width_ratio=phase.width(),
        sentences=[*phase.said(counts, labels), *of_rule, *_said_of_labels(already), *phase.said_of_the_next(labels)],
    )
    sheet = _with_words(sheet, source, population.table, texts=texts, pools=pools)
    return draw.computed_from(DrawnRows(drawn, sheet))


def _with_words(
    sheet: pd.DataFrame, source: ScoreSource, table: ScoreTable, *, texts: bool, pools: str | Path | None
) -> pd.DataFrame:
    if pools is not None:
        return with_words(sheet, table, pools)
    return with_texts(sheet, source, table) if texts else sheet


def _earlier(after: object) -> LabelDesign | None:
    if after is None or isinstance(after, LabelDesign):
        return after
    if not isinstance(after, str | Path):
        raise UsageError(f"after is an earlier draw, not {quoted(after)}", hint="give its file, or its LabelDesign")
    return LabelDesign.read(after)


def _refuse(labels: int, design: str | None, earlier: LabelDesign | None) -> None:
    check_text("design", design, "design='rule'")
    if design is not None:
        known_rule(design)
    if labels < 2:
        raise UsageError(
            f"{labels} labelled prompt{'' if labels == 1 else 's'} cannot show how much prompts differ",
            hint="ask for at least 2, better 100 or more",
        )
    if design is not None and earlier is not None and earlier.rule != design:
        raise UsageError(
            f"{earlier.source} was drawn by {earlier.rule}, and {design} was asked for",
            hint=f"continue with {earlier.rule}: a design has one rule",
        )


def _refuse_labels(asked: DrawnBy, earlier: LabelDesign | None, label_file: object | None) -> None:
    if label_file is not None and earlier is None and not asked.by_cell:
        raise UsageError(
            "label_file was given, and a first draw looks at no label",
            hint="leave it (--label-file) out, or name the earlier draw (--after)",
        )


def _phase(
    asked: DrawnBy, population: LabelPopulation, labels: int, before: LabelDesign | None
) -> tuple[LabelPhase | CellPhase, tuple[str, ...]]:
    """Return the phase to draw, and what to say of the rule."""
    if population.units.clustered and (asked.by_cell or asked.rule in BY_CANDIDATE):
        raise UsageError(
            f"{population.table.source}: prompts are in clusters, and candidates of single prompts were to be drawn",
            hint="draw clusters, all their prompts with all candidates: design (--design) rule or uniform",
        )
    if asked.rule == WHOLE_AND_PAIR:
        return CellPhase(population, labels, before), ()
    taken = np.zeros(population.units.count, dtype=bool) if before is None else population.units.first(before.drawn)
    wanted = units_asked(asked.rule, labels, population, 0 if before is None else int(before.drawn.sum()), taken)
    rule, changes = applied_rule(asked.rule, population, wanted, before)
    counts = share_out(asked.rule, rule, wanted, taken, first=before is None)
    return LabelPhase(asked.rule, population, rule, taken, counts, before), (*changes, *rule.sentences)


def _clusters(population: LabelPopulation, drawn: LabelDesign, now: _Mask) -> DrawnClusters | None:
    units = population.units
    if not units.clustered:
        return None
    taken, taken_now = (int(units.first(mask).sum()) for mask in (drawn.drawn, now))
    return DrawnClusters(clusters=units.count, drawn=taken, drawn_now=taken_now)


def _said_of_labels(already: int | None) -> tuple[str, ...]:
    if not already:
        return ()
    have = "candidate drawn now has a label" if already == 1 else "candidates drawn now have labels"
    return (f"{already:,} {have} already and need none.",)


def _placed(earlier: LabelDesign, population: LabelPopulation) -> LabelDesign:
    """Return an earlier design in the order of the panel, refusing one of other prompts or of another judge."""
    panel = population.panel
    if earlier.judge != panel.judge:
        raise InputError(
            f"{earlier.source} was drawn for the audit of {quoted(earlier.judge)}, not of {quoted(panel.judge)}",
            hint="name the same judge",
        )
    at = earlier.prompt_ids.get_indexer(panel.prompt_ids)
    strange, gone = int((at < 0).sum()), len(earlier.prompt_ids) - int((at >= 0).sum())
    if strange or gone:
        raise InputError(
            f"{earlier.source} and {population.table.source} differ: {strange:,} of the prompts in the table alone "
            f"and {gone:,} in the design alone",
            hint="draw from the same table with the same exclude (--exclude) and shape",
        )
    _, stratum = np.unique(earlier.stratum[at], return_inverse=True)
    earlier.refuse_other_clusters(at, panel.clusters)
    picks, others, clusters = (
        [side[x] for x in at.tolist()] if len(side) else ()
        for side in (earlier.picks, earlier.others, earlier.clusters)
    )
    return replace(
        earlier,
        prompt_ids=panel.prompt_ids,
        phase=earlier.phase[at],
        seeds=earlier.seeds[at],
        propensity=earlier.propensity[at],
        stratum=stratum.astype(np.int64),
        picks=picks,
        others=others,
        clusters=clusters,
        cells=None if earlier.cells is None else earlier.cells.at(at),
    )
