"""A stack at a table: the arrays that it is fitted to, its utilities as scores of a further judge, their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.errors import InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.stacks import STACK, procedure
from bonwise.stacks.fitted_stack import FeatureKind, FeatureRecord, FeatureScaling, JudgeStack, StackFeature
from bonwise.table import cell_scores, checks, reading_options, words, writing
from bonwise.table.cells import draw_columns
from bonwise.table.panel import Panel, PromptLeftOut, lay_out
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import Categories, CodedColumn, Names, objects

FEATURES: tuple[FeatureKind, ...] = ("spread", "width", "length")
"""Features that may be asked for beside the scores."""

FEWEST_PROMPTS = 20
"""Prompts with two candidates that are labelled differently, below which no stack is fitted."""

_ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class StackTable:
    """What a stack is fitted to."""

    table: ScoreTable = field(repr=False)
    panel: Panel = field(repr=False)
    """The cells of the table, with their labels; its scores are those of one of the judges."""
    judges: tuple[str, ...]
    """Those that tell candidates apart."""
    left_out: Mapping[str, str]
    """The other judges, and why."""
    missing: Mapping[str, int]
    """Cells without a score, by judge."""
    values: Floats = field(repr=False)
    """NaN where there is none."""
    scaling: FeatureScaling = field(repr=False)
    standardised: Floats = field(repr=False)
    labelled: Mask = field(repr=False)
    """The labelled cells of prompts that have two or more of them with a score, or of which all are labelled."""
    prompts: Mask = field(repr=False)
    """These prompts."""
    whole: Mask = field(repr=False)
    """Of these prompts, those of which every candidate is labelled."""
    dropped: tuple[PromptLeftOut, ...] = field(default=(), repr=False)
    """Prompts without any score, where these are in no figure."""
    weights: Floats | None = field(default=None, repr=False)
    """What pairs are weighted by, from the propensities of the table."""

    @property
    def scored(self) -> Mask:
        """Which cells have the score of a judge."""
        return np.asarray((~np.isnan(self.values[:, list(self.own)])).any(axis=1))

    @property
    def owners(self) -> tuple[int, ...]:
        """The judge that each feature is of, as a position in `judges`; -1 for none."""
        return tuple(self.judges.index(feature.judge) if feature.judge else -1 for feature in self.scaling.features)

    @property
    def own(self) -> tuple[int, ...]:
        """The feature that is each judge's score."""
        features = self.scaling.features
        return tuple(features.index(StackFeature(judge, "score")) for judge in self.judges)

    def pools(self) -> procedure.StackPools:
        """Return the labelled candidates."""
        panel, cells = self.panel, self.labelled
        owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)[cells]
        return procedure.StackPools(
            np.where(self.scored[:, None], self.standardised, np.nan)[cells],
            self.values[cells][:, list(self.own)],
            self.own,
            panel.labels[cells],
            np.bincount(owner, minlength=len(panel.sizes))[self.prompts].astype(np.int64),
            None if panel.clusters is None else panel.clusters[self.prompts],
            self.weights,
            None if panel.first is None else panel.first[cells],
        )


def stack_table(table: ScoreTable, reading: reading_options.ReadingOptions, kinds: Sequence[str] = ()) -> StackTable:
    """Lay a labelled table out for a stack with features of `kinds`; two telling judges at least."""
    further = _kinds(kinds)
    panels = {
        panel.judge: panel for panel in lay_out(table, exclude=reading.exclude, shape=reading.shape, alike=True)
    }
    anyone = next(iter(panels.values()))
    judges, left_out = _telling(table, panels)
    if len(judges) < 2:
        raise InputError(
            f"{table.source}: a stack needs two judges that tell candidates apart, and there {_are(len(judges))}",
            hint=_why(left_out) or "score the same candidates with another judge too",
        )
    features = [StackFeature(judge, "score") for judge in judges]
    for kind in further:
        features += _further(table, panels, judges, kind)
    values = feature_values(table, panels, features)
    scaling = FeatureScaling.of(tuple(features), values, anyone.sizes)
    scored = np.asarray((~np.isnan(values[:, : len(judges)])).any(axis=1))
    picked = replace(anyone, scores=np.where(scored, 0.0, np.nan))
    kept = picked.with_a_score() if table.unpicked == "drop" else picked
    labelled, prompts, whole = _labelled(anyone, scored, np.asarray(anyone.prompt_ids.isin(kept.prompt_ids)))
    _refuse_few(table, anyone, labelled & scored)
    return StackTable(
        table,
        anyone,
        judges,
        left_out,
        {judge: int(np.isnan(panels[judge].scores).sum()) for judge in judges},
        values,
        scaling,
        scaling.standardised(values, anyone.sizes),
        labelled,
        prompts,
        whole,
        kept.dropped[len(anyone.dropped) :],
        _weights(table, anyone, labelled, prompts),
    )


def _kinds(names: Sequence[str]) -> list[FeatureKind]:
    """Return features by the names that were given, each once."""
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        raise UsageError(f"no feature is called {quoted(unknown[0])}", hint=f"the features are {listed(FEATURES)}")
    return [kind for kind in FEATURES if kind in names]


def _are(count: int) -> str:
    return "is one" if count else "is none"


def _why(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{quoted(judge)} {reason}" for judge, reason in list(left_out.items())[:3])


def _telling(table: ScoreTable, panels: Mapping[str, Panel]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the judges that tell candidates apart, each once; of the others, why they do not."""
    columns: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    for judge in table.judges:
        panel = panels[judge]
        single = (StackFeature(judge, "score"),)
        scaling = FeatureScaling.of(single, panel.scores[:, None], panel.sizes)
        if not scaling.scales[0] > 0:
            scored = bool((~np.isnan(panel.scores)).any())
            left_out[judge] = "gives all candidates of each prompt the same score" if scored else "has no scores"
            continue
        column = scaling.standardised(panel.scores[:, None], panel.sizes)[:, 0]
        twin = next((other for other, known in columns.items() if np.allclose(known, column, atol=_ALIKE)), None)
        if twin is not None:
            left_out[judge] = f"says the same as {quoted(twin)}"
            continue
        columns[judge] = column
    return tuple(columns), left_out


def _further(
    table: ScoreTable, panels: Mapping[str, Panel], judges: Sequence[str], kind: FeatureKind
) -> list[StackFeature]:
    """Return the features of a kind that vary within prompts."""
    wanted = [StackFeature("", "length")] if kind == "length" else [StackFeature(judge, kind) for judge in judges]
    sizes = next(iter(panels.values())).sizes
    scales = FeatureScaling.of(tuple(wanted), feature_values(table, panels, wanted), sizes).scales
    telling = [feature for feature, scale in zip(wanted, scales, strict=True) if scale > 0]
    if not telling:
        needs = {
            "spread": "several draws of each candidate, in columns draw_0, draw_1 ... or a column draw",
            "width": "intervals, in columns low and high or ci_width",
            "length": "a column length, or the texts in a column text or response",
        }
        raise UsageError(f"{table.source}: the feature {kind} says nothing there", hint=f"it needs {needs[kind]}")
    return telling


def _labelled(panel: Panel, scored: Mask, kept: Mask) -> tuple[Mask, Mask, Mask]:
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    usable = ~np.isnan(panel.labels) & scored
    whole = (panel.labelled_cells == panel.sizes) & kept
    prompts = whole | (np.bincount(owner[usable], minlength=len(panel.sizes)) >= 2)
    return (usable | whole[owner]) & prompts[owner], prompts, whole[prompts]


def _refuse_few(table: ScoreTable, panel: Panel, labelled: Mask) -> None:
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)[labelled]
    labels = panel.labels[labelled]
    low, high = np.full(len(panel.sizes), np.inf), np.full(len(panel.sizes), -np.inf)
    np.minimum.at(low, owner, labels)
    np.maximum.at(high, owner, labels)
    apart = int((high > low + _ALIKE).sum())
    if apart < FEWEST_PROMPTS:
        what = "no prompt has" if not apart else f"{apart} prompt{'s have' * (apart > 1) or ' has'}"
        raise InputError(
            f"{table.source}: {what} two candidates with different labels, and a stack needs {FEWEST_PROMPTS}",
            hint="label two or more candidates of further prompts; bonwise labels draw says which",
        )


def _weights(table: ScoreTable, panel: Panel, labelled: Mask, prompts: Mask) -> Floats | None:
    """Return the weight of each labelled cell: of a pair the product counts, which is 1 / chance of its prompt."""
    if "propensity" not in table.rows.columns:
        return None
    if cell_scores.differ_within_prompts(table):
        return 1 / cell_scores.candidate_propensities(table, panel)[labelled]
    chances = cell_scores.propensities(table, panel.prompt_ids, prompts)
    return 1 / np.sqrt(np.repeat(chances, panel.sizes)[labelled])


def feature_values(
    table: ScoreTable, panels: Mapping[str, Panel], features: Sequence[StackFeature | FeatureRecord]
) -> Floats:
    """Return features, (cells, features), NaN for none; `panels` are of ``lay_out(table, alike=True)``."""
    anyone = next(iter(panels.values()))
    columns = [
        _column(table, panels.get(feature.judge, anyone), feature, known=feature.judge in panels)
        for feature in features
    ]
    return np.stack(columns, axis=1)


def _column(table: ScoreTable, panel: Panel, feature: StackFeature | FeatureRecord, *, known: bool) -> Floats:
    if feature.kind == "length":
        return _lengths(table, panel)
    if not known:
        return np.full(len(panel.scores), np.nan)
    if feature.kind == "score":
        return panel.scores
    repeats = cell_scores.cell_repeats(table, panel)
    if feature.kind == "width":
        return np.full(len(panel.scores), np.nan) if repeats.width is None else repeats.width
    return np.full(len(panel.scores), np.nan) if repeats.draws is None else _spread(repeats.draws)


def _spread(draws: Floats) -> Floats:
    """Return the standard deviation of the draws of each candidate, NaN where there are fewer than two."""
    known = ~np.isnan(draws)
    count = known.sum(axis=1)
    mean = np.where(known, draws, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = np.where(known, (draws - mean[:, None]) ** 2, 0.0).sum(axis=1)
    spread: Floats = np.sqrt(squares / np.maximum(count - 1, 1))
    return np.where(count > 1, spread, np.nan)


def _lengths(table: ScoreTable, panel: Panel) -> Floats:
    """Return the logarithm of the length of each text, as its column has it or in characters."""
    if "length" in table.columns:
        lengths = cell_scores.mean_of_rows(table, panel, table.rows.columns["length"])
    else:
        lengths = words.text_lengths(table, panel)
    # An empty answer has no logarithm: it counts as one of one character.
    return np.log(np.maximum(lengths, 1.0))


def with_judge(table: ScoreTable, panel: Panel, scores: Floats, name: str = STACK) -> ScoreTable:
    """Return the table with the scores, perhaps NaN, of a further judge; a name that it has is a UsageError."""
    if name in table.judges:
        raise UsageError(
            f"{table.source}: a judge is called {quoted(name)} already",
            hint="give the stack another name with --name",
        )
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    keys = table.cell_keys()
    order = np.argsort(keys, kind="stable")
    first = order[np.searchsorted(keys[order], cells)]
    every = np.append(np.arange(len(keys)), first)
    is_new = np.arange(len(every)) >= len(keys)
    rows = table.rows.take(every)
    known = sorted([*table.judges, name])
    places = np.array([known.index(judge) for judge in table.judges])
    named = Categories(
        np.where(is_new, known.index(name), places[rows.columns["judge"].codes]), Names(objects(known))
    )
    # A label stands in the row of one judge or of several: here it is that of the cell.
    added = {"judge_score": scores, "oracle_label": panel.labels}
    made = {"judge": named, **{role: np.append(table.rows.columns[role], values) for role, values in added.items()}}
    for role in {"draw", "low", "high", "ci_width", "judge_family", *draw_columns(rows.columns)} & {*rows.columns}:
        # Rows of a judge without draws lack what the others have.
        made[role] = _blanked(rows.columns[role], is_new)
    words = None if table.words is None else table.words.take(every)
    return replace(table, rows=rows.assign(made), words=words)


def _blanked(column: Any, rows: Mask) -> Any:
    """Return a column that says nothing in some rows."""
    if isinstance(column, Categories):
        return replace(column, codes=np.where(rows, -1, column.codes))
    return column.masked(rows) if isinstance(column, CodedColumn) else np.where(rows, np.nan, column)


def with_stack(
    table: ScoreTable,
    stack: JudgeStack,
    *,
    name: str = STACK,
    exclude: Sequence[str] = (),
    shape: checks.Shape | None = None,
) -> tuple[ScoreTable, tuple[str, ...]]:
    """Return the table with a stack as further judge, and judges it lacks, filled by the others' scores."""
    lacking = tuple(judge for judge in stack.judges if judge not in table.judges)
    if len(lacking) == len(stack.judges):
        raise InputError(
            f"{table.source}: none of the judges of the stack has scores there",
            hint=f"the stack takes {listed(stack.judges)}; the table has {listed(table.judges)}",
        )
    panels = {panel.judge: panel for panel in lay_out(table, exclude=exclude, shape=shape, alike=True)}
    anyone = next(iter(panels.values()))
    scores = stack.utilities(feature_values(table, panels, stack.features), anyone.sizes)
    return with_judge(table, anyone, scores, name), lacking


_FIRST = ("prompt_id", "candidate", "judge", "judge_score", "oracle_label")


def score_file(table: ScoreTable) -> str:
    """Render a table as CSV, under the names that need no flags; words of prompts and answers are left out."""
    frame = table.frame
    known = [name for name in _FIRST if name in frame.columns]
    order = [*known, *(name for name in frame.columns if name not in known)]
    stated = [name for name in order if not frame[name].isna().all()]
    return writing.csv_frame(frame[stated])
