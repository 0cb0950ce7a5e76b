"""What the page of an audit shows beyond its metrics: differences within prompts, strata, and more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing import candidate_attributes, judge_record, result_exhibits, settings, worst_prompts
from bonwise.estimates import EstimateRecord
from bonwise.printable import listed
from bonwise.results import given
from bonwise.stats import catalog, correlation, estimand, estimation, support, top_of_scores
from bonwise.stats.sums import Sums, compared, tie_decimals
from bonwise.table import numbers, roles, score_table
from bonwise.table.panel import Panel
from bonwise.table.store import CodedColumn
from bonwise.table.words import Words

METRICS = ("recovery", "within_r", "sign_agreement", "effective_agreement", "tie_rate", "top1_accuracy")

_ESTIMANDS = tuple(e for e in catalog.ESTIMANDS if e.name in METRICS)
_OF_PICKS = frozenset(e.name for e in catalog.OF_PICKS)

_MOST_COLUMNS, _MOST_VALUES, _FEWEST_PROMPTS, _GROUPS = 20, 12, 10, 3


@dataclass(frozen=True, slots=True)
class _ColumnValue:
    value: str
    kind: Literal["value", "range", "blank", "other"]
    mask: Mask
    """Which prompts."""


class LeftOut(Exception):  # noqa: N818 - no error: a column that says nothing here
    """Why a column has no rows."""


def strata(
    table: score_table.ScoreTable,
    panel: Panel,
    *,
    confidence: float,
    method: str = "complete",
    logged: bool = False,
    further: Mapping[str, Floats] | None = None,
) -> tuple[list[result_exhibits.Stratum], list[result_exhibits.ColumnLeftOut]]:
    """Return headline metrics by each column constant within prompts and by `further` values, and those left out."""
    shown: list[result_exhibits.Stratum] = []
    left_out: list[result_exhibits.ColumnLeftOut] = []
    if not len(panel.sizes):
        reason = "no prompt is labelled completely"
        return shown, [result_exhibits.ColumnLeftOut(column=str(column), reason=reason) for column in table.strata]
    sums, rule = (panel.sums(), settings.Settings(confidence=confidence).rule(panel.labels, panel.clusters))
    heavy = correlation.heavy_tails(panel.scores, panel.labels)
    cells = prompt_cells(table, panel)
    known = further or {}
    for column in (*known, *table.strata):
        try:
            room = len(shown) < _MOST_COLUMNS
            rows = (
                list(_rows(CodedColumn.of_cells([*known[column]])))
                if column in known
                else _rows_of(table, column, cells, room=room)
            )
        except LeftOut as why:
            left_out.append(result_exhibits.ColumnLeftOut(column=str(column), reason=str(why)))
            continue
        estimates = (estimation.estimate(_ESTIMANDS, sums[:, row.mask], rule.keep(row.mask)) for row in rows)
        withheld = (correlation.without_correlations(of_row, heavy) for of_row in estimates)
        figures = [
            _figures(row, of_row, method, logged, int(Sums(*sums).apart_both[row.mask].sum()))
            for row, of_row in zip(rows, withheld, strict=True)
        ]
        shown.append(result_exhibits.Stratum(column=str(column), rows=figures))
    return shown, left_out


@dataclass(frozen=True, slots=True)
class _Cells:
    """Rows of the table behind a panel, grouped by prompt."""

    rows: Ints  # positions in the table
    starts: Ints  # of each prompt, in the order of the panel


def prompt_cells(table: score_table.ScoreTable, panel: Panel) -> _Cells:
    """Return the rows behind a panel."""
    at = panel.prompt_ids.get_indexer(table.prompts)[table.rows.columns["prompt_id"].codes]
    used = np.zeros(len(panel.candidates), dtype=bool)
    used[panel.names] = True
    mine = table.rows.columns["judge"].are(panel.judge) & (at >= 0) & used[table.rows.columns["candidate"].codes]
    rows = np.flatnonzero(mine)
    rows = rows[np.argsort(at[rows], kind="stable")]
    return _Cells(rows, np.flatnonzero(np.diff(at[rows], prepend=-1)))


def _rows_of(table: score_table.ScoreTable, column: str, cells: _Cells, *, room: bool) -> list[_ColumnValue]:
    if not room:
        raise LeftOut(f"{_MOST_COLUMNS} columns are shown already")
    return list(_rows(values_of_prompts(table, column, cells)))


def values_of_prompts(table: score_table.ScoreTable, name: str, cells: _Cells) -> CodedColumn:
    """Return a column's value of each prompt, missing where it is blank."""
    column = table.rows.column(name).take(cells.rows)
    if column.kind == "O":
        texts = [str(cell) for cell in column.cells]
        column = column.with_cells([text if text.strip() else None for text in texts])
    codes = column.codes
    owner = np.repeat(np.arange(len(cells.starts)), np.diff(cells.starts, append=len(cells.rows)))
    if (codes != codes[cells.starts][owner]).any():
        known = "; the part on equal label has it" if name in roles.CANDIDATE_ROLES else ""
        raise LeftOut(f"it differs within prompts{known}")
    return column.take(cells.starts)


def _rows(values: CodedColumn) -> Iterator[_ColumnValue]:
    """Group prompts by what a column says of them."""
    blank, found = values.is_missing(), values.cells
    if len(found) > _MOST_VALUES:
        rows = list(_ranges(values, blank))
    else:
        by_value = sorted(enumerate(found), key=lambda held: _order(held[1]))
        rows = [_ColumnValue(written(value), "value", values.codes == code) for code, value in by_value]
    if len(rows) + bool(blank.any()) < 2:
        raise LeftOut("it is blank" if not len(found) else "it has the same value for every prompt")
    rare = [row for row in rows if row.mask.sum() < _FEWEST_PROMPTS]
    yield from (row for row in rows if row.mask.sum() >= _FEWEST_PROMPTS)
    if len(rare) == 1:
        yield rare[0]
    elif rare:
        those = f"(other {len(rare)} values: {listed(row.value for row in rare)})"
        yield _ColumnValue(those, "other", np.any([row.mask for row in rare], axis=0))
    if blank.any():
        yield _ColumnValue("(blank)", "blank", blank)


def _ranges(values: CodedColumn, blank: Mask) -> Iterator[_ColumnValue]:
    """Cut numbers into three groups of about as many prompts each."""
    worth = numbers.plain_numbers(values)
    if not np.isfinite(worth[~blank]).all():
        raise LeftOut(f"it has more than {_MOST_VALUES} values, which are not numbers")
    known = worth[~blank]
    cuts = np.quantile(known, np.arange(1, _GROUPS) / _GROUPS)
    group = np.where(blank, -1, np.searchsorted(cuts, worth, side="left"))
    for at in range(_GROUPS):
        mine = group == at
        if mine.any():
            ends = (written(end, digits=4) for end in (worth[mine].min(), worth[mine].max()))
            yield _ColumnValue(" to ".join(ends), "range", mine)


def _figures(
    row: _ColumnValue, found: Mapping[str, estimand.Estimate], method: str, logged: bool, pairs: int
) -> result_exhibits.StratumRow:
    if logged:
        found = {
            name: e if name in _OF_PICKS else estimand.Estimate.undefined(judge_record.NO_SCORES, e.n)
            for name, e in found.items()
        }
    return result_exhibits.StratumRow(
        value=row.value,
        kind=row.kind,
        prompts=int(row.mask.sum()),
        **given(pairs=None if logged else pairs),
        metrics={name: EstimateRecord.of(found[name].with_method(method)) for name in METRICS},
    )


def written(value: Any, *, digits: int = 10) -> str:
    """Write a value as it stands; a number that is not whole to some digits."""
    if not isinstance(value, float | np.floating):
        return str(value)
    return f"{value:.15g}" if float(value).is_integer() else f"{value:.{digits}g}"


def _order(value: Any) -> tuple[int, float, str]:
    """Order values as numbers where they are numbers, and as texts otherwise."""
    try:
        return 0, float(value), str(value)
    except ValueError:
        return 1, 0.0, str(value)


_BINS_A_SIDE = 20
_SORTED_FROM = 2_000  # candidates: from here on, sorting costs less than looking at each pair


def differences(values: Floats, sizes: Ints) -> result_exhibits.DifferencesOf | None:
    """Count differences within prompts in both directions, ties apart; None without a prompt."""
    if not len(sizes):
        return None
    values = compared(values)
    starts = np.cumsum(sizes) - sizes
    reach = float((np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)).max())
    width = _nice(reach / _BINS_A_SIDE) if reach > 0 else 1 / _BINS_A_SIDE
    side = _bin(np.array([reach]), width)[0]
    large = sizes >= _SORTED_FROM
    counts, ties = _single_counts(values[np.repeat(~large, sizes)], sizes[~large], width, side)
    for start, size in zip(starts[large].tolist(), sizes[large].tolist(), strict=True):
        more, tied = _sorted_counts(values[start : start + size], width, side)
        counts, ties = counts + more, ties + tied
    both = np.concatenate([counts[:0:-1], [2 * counts[0]], counts[1:]])
    edges = (np.arange(-side, side + 2) - 0.5) * width
    return result_exhibits.DifferencesOf(
        edges=np.round(edges, tie_decimals(edges) + 3).tolist(),
        counts=both.tolist(),
        ties=int(ties),
        pairs=int((sizes * (sizes - 1) // 2).sum()),
        # 0.9 - 0.5 is not quite 0.4.
        largest=round(reach, tie_decimals(values)),
    )


def _single_counts(values: Floats, sizes: Ints, width: float, side: int) -> tuple[Ints, int]:
    """Count untied pairs by bin, and ties, one pair after the other."""
    counts, ties = np.zeros(side + 1, dtype=np.int64), 0
    for apart in _apart(values, sizes):
        untied = apart[apart > 0]
        ties += len(apart) - len(untied)
        counts += np.bincount(_bin(untied, width), minlength=side + 1)
    return counts, ties


def _sorted_counts(values: Floats, width: float, side: int) -> tuple[Ints, int]:
    """Count the same in one pool: in rising order the bins of a value with all later ones rise too."""
    rising = np.sort(values)
    here = np.arange(len(rising))
    within = []
    for most in range(side + 1):
        # Bisection for the first that lies beyond a bin, in the very arithmetic that bins a single pair.
        low, high = here + 1, np.full(len(rising), len(rising))
        while (low < high).any():
            middle = (low + high) // 2
            near = (_bin(rising[np.minimum(middle, len(rising) - 1)] - rising, width) <= most) & (low < high)
            low, high = np.where(near, middle + 1, low), np.where(near | (low >= high), high, middle)
        within.append(int((low - here - 1).sum()))
    alike = np.unique(rising, return_counts=True)[1]
    ties = int((alike * (alike - 1) // 2).sum())
    counts = np.diff([0, *within])
    counts[0] -= ties
    return counts, ties


def _apart(values: Floats, sizes: Ints) -> Iterator[Floats]:
    """Yield the distances of candidates that stand d apart in their pool, for d = 1, 2 and so on."""
    first = np.arange(len(values))
    last = np.repeat(np.cumsum(sizes) - 1, sizes)
    for d in range(1, int(sizes.max(initial=1))):
        # What is too near the end of its pool for this distance is so for every greater one.
        first = first[first + d <= last[first]]
        yield np.abs(values[first + d] - values[first])


def _bin(apart: Floats, width: float) -> Ints:
    # A difference on an edge, as 0.05 on bins of 0.02, falls outwards on both sides whatever the rounding.
    return np.floor(apart / width + 0.5 + 1e-6).astype(np.int64)


def _nice(width: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is no smaller."""
    unit = 10.0 ** np.floor(np.log10(width))
    return float(next(step * unit for step in (1, 2, 5, 10) if step * unit >= width * (1 - 1e-9)))


_MOST = 2000
_DECIMALS = 6


def spread(scores: Floats, labels: Floats, sizes: Ints, *, seed: int) -> result_exhibits.Spread | None:
    """Return points of two scatters, at most 2,000 each, drawn at random from more; None without a prompt."""
    if not len(sizes):
        return None
    chance = np.random.default_rng(seed)
    starts = np.cumsum(sizes) - sizes
    means = [np.add.reduceat(values, starts) / sizes for values in (scores, labels)]
    around = [values - np.repeat(mean, sizes) for values, mean in zip((scores, labels), means, strict=True)]
    prompts, cells = _places_shown(len(sizes), chance), _places_shown(len(scores), chance)
    return result_exhibits.Spread(
        between=_points(means, prompts),
        within=_points(around, cells),
        prompts_shown=len(prompts),
        prompts=len(sizes),
        cells_shown=len(cells),
        cells=len(scores),
    )


def _places_shown(of: int, chance: np.random.Generator) -> Ints:
    return np.arange(of) if of <= _MOST else np.sort(chance.choice(of, _MOST, replace=False))


def _points(pair: Sequence[Floats], shown: Ints) -> result_exhibits.Points:
    # Adding 0 turns a rounding error below 0 into a plain 0.
    judge, oracle = ((np.round(values[shown], _DECIMALS) + 0.0).tolist() for values in pair)
    return result_exhibits.Points(judge=judge, oracle=oracle)


def exhibits(
    judges: Sequence[judge_record.JudgeAudit],
    table: score_table.ScoreTable | None,
    words: Words | None,
    *,
    seed: int,
    confidence: float = 0.95,
    gate: tuple[str, float] | None = None,
    what_if: result_exhibits.WhatIf | None = None,
) -> result_exhibits.Exhibits:
    """Return what is drawn of each judge, and the prompts to look into: none where single candidates were drawn."""
    shown = {
        judge.judge: _exhibits_of_judge(judge, table, words, seed=seed, confidence=confidence, gate=gate)
        for judge in judges
    }
    kinds = {judge.judge: _kinds_of_prompts(table, judge.labelling.panel) for judge in judges if table is not None}
    return result_exhibits.Exhibits(
        judges=shown, prompts=worst_prompts.prompt_rows(judges, words, kinds), **given(what_if=what_if)
    )


def _kinds_of_prompts(table: score_table.ScoreTable, panel: Panel) -> worst_prompts.KindsOfPrompts:
    """Return which prompts have which value, of each column that is constant within prompts."""
    cells, kinds = prompt_cells(table, panel), dict[result_exhibits.PromptKind, Mask]()
    for column in table.strata:
        with suppress(LeftOut):
            for row in _rows_of(table, column, cells, room=True):
                kinds[result_exhibits.PromptKind(column=str(column), value=row.value)] = row.mask
    return kinds


def _exhibits_of_judge(
    judge: judge_record.JudgeAudit,
    table: score_table.ScoreTable | None,
    words: Words | None,
    *,
    seed: int,
    confidence: float,
    gate: tuple[str, float] | None,
) -> result_exhibits.JudgeExhibits:
    whole, method, pools = judge.labelling.panel, judge.labelling.method, None if words is None else words.pools
    labelled = _labelled(judge)
    scored = labelled.of_scored()
    kinds, left_out = (
        ([], [])
        if table is None
        else strata_of_audit(table, labelled, method, pools, confidence=confidence, logged=judge.logged)
    )
    return result_exhibits.JudgeExhibits(
        chance=_chance(labelled, whole if method in ("aipw", "cells") else labelled),
        differences=None if judge.logged else _differences(whole, labelled),
        spread=None if judge.logged else spread(scored.scores, scored.labels, scored.sizes, seed=seed),
        strata=kinds,
        strata_left_out=left_out,
        **given(to_decide=None if gate is None else _to_decide(judge, *gate)),
    )


def _to_decide(judge: judge_record.JudgeAudit, metric: str, gate: float) -> result_exhibits.LabelsToDecide | None:
    """Return how many more labels take the interval of a metric off its gate; None where it is off, or cannot be."""
    found = judge.metrics.get(metric)
    if found is None or found.estimate is None or found.low is None or found.high is None:
        return None
    ends = found.low, found.high
    inside = ends[0] <= gate <= ends[1]
    if not (inside or support.open_ground(found, gate) == "count") or found.method == "labelled_only":
        return None
    labelled = judge.labelled_for(metric)
    more = support.more_prompts(found, labelled.prompts, gate, (found.support and found.support.own) or ends)
    if more is None:
        return result_exhibits.LabelsToDecide(prompts=None, labels=None)
    return result_exhibits.LabelsToDecide(prompts=ceil(more), labels=ceil(more * labelled.labels_each))


def strata_of_audit(
    table: score_table.ScoreTable,
    labelled: Panel,
    method: str,
    pools: str | Path | None,
    *,
    confidence: float,
    logged: bool,
) -> tuple[list[result_exhibits.Stratum], list[result_exhibits.ColumnLeftOut]]:
    """Return the strata of the labelled prompts of an audit, and of what its texts say of them."""
    further = {} if logged else _mean_lengths(table, labelled, pools)
    method = "complete" if method == "complete" else "labelled_only"
    return strata(table, labelled, confidence=confidence, method=method, logged=logged, further=further)


def _mean_lengths(table: score_table.ScoreTable, labelled: Panel, pools: str | Path | None) -> Mapping[str, Floats]:
    """Return the mean length of the candidates of each prompt; nothing where no length is known."""
    lengths = candidate_attributes.candidate_lengths(table, labelled, pools)
    if lengths is None or not len(labelled.sizes):
        return {}
    starts = np.cumsum(labelled.sizes) - labelled.sizes
    return {"mean length of candidates": np.add.reduceat(lengths, starts) / labelled.sizes}


def _differences(whole: Panel, labelled: Panel) -> result_exhibits.Differences:
    scored = whole.of_scored()
    return result_exhibits.Differences(
        judge=differences(scored.scores, scored.sizes), oracle=differences(labelled.labels, labelled.sizes)
    )


def _labelled(judge: judge_record.JudgeAudit) -> Panel:
    """Return the completely labelled prompts; none where single candidates were drawn."""
    chosen = judge.labelling.labelled
    # Such a draw labels a whole pool only where the judge's own scores left few candidates in question.
    return judge.labelling.panel.keep(chosen if judge.drawn is None else np.zeros_like(chosen))


def _chance(labelled: Panel, described: Panel) -> result_exhibits.Chance:
    """Return what random picks reach: on the prompts that the audit describes, hit rates on those with labels."""
    best = top_of_scores.at_top(labelled.labels, labelled.sizes)
    starts = np.cumsum(labelled.sizes) - labelled.sizes
    shares = np.add.reduceat(best.astype(float), starts) / labelled.sizes if len(starts) else np.zeros(0)
    return result_exhibits.Chance(
        top1_accuracy=float(described.weighted(1 / described.sizes).mean()) if len(described.sizes) else None,
        hit_rate=float(labelled.weighted(shares).mean()) if len(shares) else None,
    )
