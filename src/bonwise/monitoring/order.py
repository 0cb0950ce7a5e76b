"""Labelled prompts or votes in the order in which they came in, and whom their figures describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.monitoring.request import MonitorRequest
from bonwise.printable import listed, quoted
from bonwise.stats.sums import Sums
from bonwise.table import cell_scores, checks, identifiers, label_design, numbers, opening, reading, vote_readings
from bonwise.table.panel import (
    MAY_LACK,
    EasyCandidate,
    LabelsInPart,
    OutstandingGroup,
    Panel,
    PromptLeftOut,
    easy_candidates,
    lay_out,
    outstanding_groups,
)
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import Names
from bonwise.table.votes import Ties, VoteTable


@dataclass(frozen=True, slots=True)
class Described:
    """Which prompts the figures describe."""

    labelled: int
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
    design: str | Path | label_design.LabelDesign | None, table: ScoreTable, panel: Panel, labelled: Mask
) -> str | None:
    """Return what is stated of the draw, by `design` or a propensity column; one with unequal chances is refused."""
    weighted = "propensity" in table.rows.columns
    if weighted and design is not None:
        raise UsageError(
            f"{table.source}: a propensity column, and a design beside it",
            hint="drop the column, or leave the design out",
        )
    if weighted:
        _refuse_unequal(cell_scores.propensities(table, panel.prompt_ids, labelled)[labelled], table.source)
        return "propensity"
    if design is None or str(design) == "uniform":
        return None if design is None else "uniform"
    if not isinstance(design, label_design.LabelDesign):
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
        design = label_design.LabelDesign.read(design)
    _check_design(design, panel, labelled)
    return design.source


def _refuse_unequal(chances: Floats, source: str) -> None:
    if len(chances) and chances.min() < chances.max():
        raise InputError(
            f"{source}: prompts were drawn with unequal chances, {chances.min():g} to {chances.max():g}",
            hint="repeated looks are for a uniform draw; audit this one: bonwise audit",
        )


def _check_design(design: label_design.LabelDesign, panel: Panel, labelled: Mask) -> None:
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


@dataclass(frozen=True, eq=False)
class LabelledPrompts:
    """Completely labelled prompts, first completed first."""

    prompt_ids: Names = field(repr=False)
    gained: Floats = field(repr=False)
    possible: Floats = field(repr=False)
    """What the judge's pick gains over a random pick, and what the best candidate does."""
    worst: Floats = field(repr=False)
    """What the worst candidate loses against a random pick."""
    judge: str
    source: str
    shape: checks.Shape
    columns: Mapping[str, str] = field(repr=False)
    """What the columns of both files were taken for."""
    described: Described
    """Which prompts of the table, after drops, they stand for."""
    partly: int
    """Prompts with labels for some candidates only: not counted yet."""
    dropped: tuple[PromptLeftOut, ...] = field(repr=False)
    labels_left_out: Mapping[str, int]
    """Labels of prompts that the table does not hold."""
    easy: tuple[EasyCandidate, ...] = ()
    """Candidates that are worst almost everywhere, and that the request does not keep."""
    outstanding: tuple[tuple[OutstandingGroup, LabelledPrompts | None], ...] = field(default=(), repr=False)
    """Outstanding groups that the request does not keep, and the prompts without each; None where it cannot go."""
    in_part: LabelsInPart = field(default=LabelsInPart(0, 0, 0), repr=False)
    """Labels of the prompts labelled in part."""
    clusters: Ints | None = field(default=None, repr=False)
    """The cluster of each prompt, where the table names clusters."""
    units_per_prompt: float = 1.0
    """Clusters of the whole table, labelled or not, per prompt; 1 without clusters."""

    @property
    def sorted_by_id(self) -> bool:
        """Whether the prompts were completed in the order of their ids."""
        return bool((self.prompt_ids.to_numpy()[:-1] <= self.prompt_ids.to_numpy()[1:]).all())


def labelled_in_order(source: opening.ScoreSource, request: MonitorRequest) -> LabelledPrompts:
    """Read scores and labels, of `source` without a label file; rows are in the order of labelling."""
    table = opening.open_table(source, request.reading)
    left_out = (*request.reading.exclude, *request.control)
    label_design.refuse_other_draw(
        request.design, source if request.reading.labels is None else request.reading.labels, table
    )
    _refuse_kept(request, table)
    prompts, groups = _prompts(table, request, left_out)
    without = ((group, _without(table, request, (*left_out, *group.names))) for group in groups)
    return replace(prompts, outstanding=tuple(without))


def _without(table: ScoreTable, request: MonitorRequest, left_out: Sequence[str]) -> LabelledPrompts | None:
    try:
        return _prompts(table, request, left_out)[0]
    except InputError:
        return None


def _prompts(
    table: ScoreTable, request: MonitorRequest, left_out: Sequence[str]
) -> tuple[LabelledPrompts, list[OutstandingGroup]]:
    """Return the labelled prompts without some candidates, and the outstanding groups among the others."""
    panel = _of_judge(lay_out(table, exclude=left_out, shape=request.reading.shape), request.judge, table.source)
    labelled = panel.labelled_cells == panel.sizes
    stated = stated_draw(request.design, table, panel, labelled)
    done = panel.keep(labelled)
    t = Sums(*done.sums())
    order = np.argsort(_completed(table, done), kind="stable")
    easy = tuple(
        candidate for candidate in easy_candidates(done, done.labels) if candidate.name not in request.keep_easy
    )
    kept = set(request.keep_easy)
    groups = [
        group
        for group in outstanding_groups(done)
        if not (kept.issuperset(group.names) or (easy and group.end == "lowest"))
    ]
    prompts = LabelledPrompts(
        done.prompt_ids[order],
        (t.J - t.R)[order],
        (t.M - t.R)[order],
        (t.R - done.lowest_labels())[order],
        panel.judge,
        table.source,
        panel.shape,
        MappingProxyType({**table.columns, **request.reading.named_columns}),
        Described(len(order), len(panel.sizes), stated),
        int(np.count_nonzero((panel.labelled_cells > 0) & ~labelled)),
        panel.dropped,
        table.labels_left_out,
        easy,
        in_part=LabelsInPart.of_panel(panel),
        clusters=None if done.clusters is None else done.clusters[order],
        units_per_prompt=1.0
        if panel.clusters is None
        else len(np.unique(panel.clusters)) / max(len(panel.clusters), 1),
    )
    return prompts, groups


def _refuse_kept(request: MonitorRequest, table: ScoreTable) -> None:
    """Refuse a name to keep that is left out as well, or that no candidate has."""
    for name in request.keep_easy:
        if name in (*request.reading.exclude, *request.control):
            raise UsageError(
                f"{name!r} is left out and kept", hint="give --keep-easy, or --control or --exclude, not both"
            )
        if name not in table.candidates:
            raise UsageError(
                f"{table.source}: no candidate named {quoted(name)} to keep",
                hint=f"the candidates are {listed(table.candidates)}",
            )


def _of_judge(panels: tuple[Panel, ...], judge: str | None, source: str) -> Panel:
    names = [panel.judge for panel in panels]
    if judge is None and len(names) > 1:
        raise UsageError(
            f"{source}: {len(names)} judges, and one sequence of looks is for one",
            hint=f"name it, judge (--judge): {listed(names)}",
        )
    if judge is not None and judge not in names:
        raise UsageError(f"{source}: no judge named {quoted(judge)}", hint=f"the judges are {listed(names)}")
    return panels[0 if judge is None else names.index(judge)]


def _completed(table: ScoreTable, done: Panel) -> Ints:
    """Return for each prompt the position of the label that completed it."""
    keys = _own_keys(table) if table.label_rows is None else table.label_rows.keys
    cells, first = np.unique(keys, return_index=True)
    prompts = table.prompts.get_indexer(done.prompt_ids).astype(np.int64)
    mine = np.repeat(prompts, done.sizes) * len(table.candidates) + done.names
    at = first[np.searchsorted(cells, mine)]
    starts = np.cumsum(done.sizes) - done.sizes
    return np.maximum.reduceat(at, starts) if len(starts) else np.zeros(0, dtype=np.int64)


def _own_keys(table: ScoreTable) -> Ints:
    """Key the rows of the table, those without a label as no cell."""
    return np.where(np.isnan(table.rows.columns["oracle_label"]), -1, table.cell_keys())


_MODELS = ("model_a", "model_b")
"""Columns that name the models in public files of votes."""


@dataclass(frozen=True, eq=False)
class OrderedVotes:
    """Votes that count, first given first."""

    worth: Floats = field(repr=False)
    """1 for the first answer, 0 for the second, 1/2 for a tie that counts half."""
    source: str
    sides: tuple[str, str]
    """Names of the first and of the second answer."""
    blank: int
    """Rows without a vote."""
    tied: int
    """Ties among the votes, however they count."""


def votes_in_order(
    source: reading.RowSource,
    *,
    verdict_col: str,
    ties: Ties | None = None,
    pair: Sequence[str] = (),
    prompt: str | None = None,
) -> OrderedVotes:
    """Read the votes of one pair, blanks none, `ties` as stated; alphabetically first model of `pair` first."""
    prompts = [] if prompt is None else [prompt]
    if pair:
        table = VoteTable.read(source, verdict=verdict_col, pair=pair, prompt=prompts, in_part=False)
    else:
        table = _of_column(source, verdict_col, prompt)
    _refuse_several(table)
    if prompt is not None:
        _refuse_repeated(table)
    tied = table.ties
    # Nothing is known of a vote to come: where so far all were ties there is nothing to refuse.
    worth = np.zeros(0) if ties == "drop" and tied.all() else 1 - table.under(ties).preferred
    sides = (table.models[0], table.models[1])
    return OrderedVotes(worth, table.source, sides, sum(table.dropped.values()), int(tied.sum()))


def _of_column(source: reading.RowSource, verdict_col: str, prompt: str | None) -> VoteTable:
    """Read votes on two answers that never change places."""
    raw, name = reading.open_frame(source)
    identifiers.require_columns(raw, [verdict_col, *([] if prompt is None else [prompt])], name)
    if all(column in raw.columns for column in _MODELS) and any(
        np.ptp(numbers.distinct(raw[one])[0]) for one in _MODELS
    ):
        raise InputError(
            f"{name}: {_MODELS[0]} and {_MODELS[1]} hold several models, and one sequence of looks is for one pair",
            hint=f"keep the rows of one pair, and name the columns with --pair-col {','.join(_MODELS)}",
        )
    first_wins = vote_readings.read_votes(raw[verdict_col], name).worth
    given = ~np.isnan(first_wins)
    prompts = np.arange(len(raw))
    if prompt is not None:
        prompts = identifiers.as_categories(raw[prompt], role="prompt_id", source=name).codes.astype(np.int64)
    votes = int(given.sum())
    return VoteTable(
        name,
        ("first", "second"),
        np.zeros(votes, dtype=np.int64),
        np.ones(votes, dtype=np.int64),
        prompts[given],
        prompt is not None,
        1 - first_wins[given],
        {"no verdict": len(raw) - votes},
    )


def _refuse_several(table: VoteTable) -> None:
    if len(table.models) > 2:
        raise InputError(
            f"{table.source}: {len(table.models)} models, and one sequence of looks is for one pair",
            hint=f"keep the rows of one pair of {listed(table.models)}",
        )


def _refuse_repeated(table: VoteTable) -> None:
    votes, prompts = len(table.prompt), len(np.unique(table.prompt))
    if prompts < votes:
        raise InputError(
            f"{table.source}: {votes:,} votes on {prompts:,} prompts",
            hint="votes on one prompt are not independent: keep the first vote of each prompt",
        )
