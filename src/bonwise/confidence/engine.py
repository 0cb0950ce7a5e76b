"""Audit what a judge says of its own confidence: probabilities, levels from 1 to 5, intervals around scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints
from bonwise.confidence import result
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.confidence import Calibration, calibration, clustered_mean, means_by_group
from bonwise.stats.estimand import Estimate
from bonwise.table import checks, facts, identifiers, numbers, opening, reading_options, score_table
from bonwise.table.reading import RowSource, open_frame
from bonwise.table.store import Categories

Ties = Literal["exclude", "half"]


LEVELS = 5
"""Stated confidence runs from 1 to this."""


@dataclass(frozen=True, eq=False)
class Statements:
    """Statements of one or several judges."""

    source: str
    judge: Categories = field(repr=False)
    prompt: Ints = field(repr=False)
    """The unit of the intervals."""
    stated: Floats = field(repr=False)
    """Probability from 0 to 1, or a verdict: 1, 0 or 0.5."""
    outcome: Floats = field(repr=False)
    """1 where it was so, 0 where not, 0.5 for an oracle's tie."""
    level: Floats = field(repr=False)
    """Stated confidence from 1 to 5, NaN where none was stated."""
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Statements left out, by judge and reason."""
    tied: Mapping[str, int] = field(default_factory=dict)
    """Statements on oracle ties that count half, by judge."""
    labels_left_out: Mapping[str, int] = field(default_factory=dict)
    """As of a `ScoreTable`."""


def plain_statements(raw: pd.DataFrame, source: str, ties: Ties) -> Statements:
    """Read ``probability`` and ``outcome``, and ``prompt_id``, ``judge`` and ``confidence`` where they are there.

    Without a column of prompts every row is a unit of its own. Probabilities and outcomes lie in [0, 1], confidence
    is 1 to 5.
    """
    level = _numbers(raw, "confidence", source) if "confidence" in raw.columns else np.full(len(raw), np.nan)
    prompt = (
        np.asarray(identifiers.as_categories(raw["prompt_id"], role="prompt_id", source=source).codes, dtype=np.int64)
        if "prompt_id" in raw.columns
        else np.arange(len(raw))
    )
    return _checked(
        source,
        _judges(raw, source),
        prompt,
        _unit(raw, "probability", source),
        _unit(raw, "outcome", source),
        _stated_levels(level, raw.index, source),
        ties,
    )


def pair_statements(
    raw: pd.DataFrame, source: str, labels: RowSource, reading: reading_options.ReadingOptions, ties: Ties
) -> Statements:
    """Read the pairs file of ``bonwise judge --pairs``: each order is a statement on the candidate shown first."""
    missing = [name for name in ("prompt_id", "a", "b", "shown_second") if name not in raw.columns]
    if missing:
        raise ColumnError(f"{source}: no column {missing[0]}", hint="give the file of bonwise judge --pairs")
    (best, worse), left_out = _pair_labels(raw, source, labels, reading)
    won = np.where(np.isnan(best - worse), np.nan, (1 + np.sign(np.round(best - worse, 9))) / 2)
    prompt = np.asarray(
        identifiers.as_categories(raw["prompt_id"], role="prompt_id", source=source).codes, dtype=np.int64
    )
    judge = _judges(raw, source)
    first, second = _unit(raw, "shown_first", source), _unit(raw, "shown_second", source)
    level = [
        _stated_levels(_numbers(raw, name, source), raw.index, source)
        if name in raw.columns
        else np.full(len(raw), np.nan)
        for name in ("confidence_first", "confidence_second")
    ]
    statements = _checked(
        source,
        Categories(np.concatenate([judge.codes, judge.codes]), judge.categories),
        np.concatenate([prompt, prompt]),
        np.concatenate([first, 1 - second]),
        np.concatenate([won, 1 - won]),
        np.concatenate(level),
        ties,
    )
    return replace(statements, labels_left_out=left_out)


def _pair_labels(
    raw: pd.DataFrame, source: str, labels: RowSource, reading: reading_options.ReadingOptions
) -> tuple[tuple[Floats, Floats], Mapping[str, int]]:
    """Return the labels of both candidates of each pair, and how many labels were left out."""
    ends = [raw[["prompt_id", name]].set_axis(["prompt_id", "candidate"], axis=1) for name in ("a", "b")]
    cells = pd.concat(ends, ignore_index=True)
    (prompt, _), (name, names) = (numbers.distinct(cells[role].astype(str)) for role in ("prompt_id", "candidate"))
    # Numbered in the order of their appearance, which is that of the rows of the table.
    at, _ = pd.factorize(prompt * (len(names) + 1) + name + 1)
    _, first = np.unique(at, return_index=True)
    table = score_table.ScoreTable.from_frame(cells.iloc[first].assign(judge_score=0.0), source=source)
    joined = opening.join_labels(table, labels, reading)
    values = joined.rows.columns["oracle_label"][at]
    return (values[: len(raw)], values[len(raw) :]), joined.labels_left_out


def _checked(
    source: str, judge: Categories, prompt: Ints, stated: Floats, outcome: Floats, level: Floats, ties: Ties
) -> Statements:
    """Drop what says nothing, each with its reason."""
    tied = outcome == 0.5
    reason = np.where(
        np.isnan(stated),
        "nothing stated",
        np.where(np.isnan(outcome), "no label", np.where(tied & (ties == "exclude"), "oracle tie", "")),
    )
    kept = reason == ""
    if not kept.any():
        raise InputError(f"{source}: no statement with an outcome", hint="check the labels")
    codes = np.asarray(judge.codes)
    names = [str(name) for name in judge.categories]
    dropped = {name: dict(Counter(reason[(codes == k) & ~kept].tolist())) for k, name in enumerate(names)}
    halved = {name: int((tied & kept & (codes == k)).sum()) for k, name in enumerate(names)}
    return Statements(source, judge[kept], prompt[kept], stated[kept], outcome[kept], level[kept], dropped, halved)


def _judges(raw: pd.DataFrame, source: str) -> Categories:
    if "judge" in raw.columns:
        return identifiers.as_categories(raw["judge"], role="judge", source=source)
    return Categories.alike(len(raw), "judge")


def _numbers(raw: pd.DataFrame, name: str, source: str) -> Floats:
    return numbers.parse_numbers(raw[name], role=name, source=source)


def _unit(raw: pd.DataFrame, name: str, source: str) -> Floats:
    values = _numbers(raw, name, source)
    off = (values < 0) | (values > 1)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise RowError(
            f"{source}, row {raw.index[at]}: {name} is {values[at]:g}",
            hint="write a number from 0 to 1, blank for none",
        )
    return values


def _stated_levels(values: Floats, rows: pd.Index, source: str) -> Floats:
    off = ~np.isnan(values) & ~np.isin(values, np.arange(1, LEVELS + 1))
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise RowError(
            f"{source}, row {rows[at]}: a stated confidence of {values[at]:g}", hint="write 1, 2, 3, 4 or 5"
        )
    return values


VERDICTS = "verdicts without a probability"


def audited_confidence(
    source: RowSource, options: reading_options.ReadingOptions, *, ties: Ties, confidence: float
) -> result.ConfidenceAudit:
    """Hold what judges state of their confidence against what was the case."""
    checks.check_confidence(confidence)
    if ties not in get_args(Ties):
        raise UsageError(f"oracle ties cannot be {ties!r}", hint=f"one of {', '.join(get_args(Ties))}")
    raw, name = open_frame(source)
    if {"probability", "outcome"} <= set(raw.columns):
        statements = plain_statements(raw, name, ties)
        settings = result.ConfidenceSettings(source=name, confidence=confidence, oracle_ties=ties, version=release())
        return result.ConfidenceAudit(kind="statements", judges=_stated(statements, confidence), settings=settings)
    if {"shown_first", "shown_second"} <= set(raw.columns):
        if options.labels is None:
            raise InputError(f"{name}: no oracle labels to compare the pairs with", hint="add --labels FILE")
        statements = pair_statements(raw, name, options.labels, options, ties)
        settings = result.ConfidenceSettings(
            source=name,
            confidence=confidence,
            oracle_ties=ties,
            version=release(),
            **given(labels_left_out=facts.labels_left_out(statements.labels_left_out)),
        )
        return result.ConfidenceAudit(kind="pairs", judges=_stated(statements, confidence), settings=settings)
    table = _scores(source, name, raw, options)
    settings = result.ConfidenceSettings(
        source=name,
        confidence=confidence,
        version=release(),
        **given(labels_left_out=facts.labels_left_out(table.labels_left_out)),
        **reading_options.values_read(table),
    )
    return result.ConfidenceAudit(kind="intervals", judges=_coverage(table, confidence), settings=settings)


def _scores(
    source: RowSource, name: str, raw: pd.DataFrame, reading: reading_options.ReadingOptions
) -> score_table.ScoreTable:
    if not {"low", "high"} <= set(raw.columns):
        raise ColumnError(
            f"{name}: no stated confidence: neither probability and outcome, nor pairs, nor low and high",
            hint="see bonwise study confidence --help",
        )
    table = opening.open_table(source, reading)
    opening.refuse_clusters(table, "this study")
    table.check_scales()
    return table


def _stated(statements: Statements, confidence: float) -> dict[str, result.JudgeConfidence]:
    return {
        str(judge): _judge(statements, statements.judge.are(judge), str(judge), confidence)
        for judge in statements.judge.categories
    }


def _judge(statements: Statements, of_judge: np.ndarray, judge: str, confidence: float) -> result.JudgeConfidence:
    stated, outcome, prompt, level = (
        part[of_judge] for part in (statements.stated, statements.outcome, statements.prompt, statements.level)
    )
    prompts = len(np.unique(prompt))
    data = result.StatementCounts(
        statements=len(stated),
        prompts=prompts,
        oracle_ties_counted_half=statements.tied[judge],
        dropped=dict(statements.dropped[judge]),
    )
    if not len(stated):
        return result.JudgeConfidence(data=data, metrics={})
    right = 1 - np.abs(np.where(stated == 0.5, 0.5, np.round(stated)) - outcome)
    metrics = {"accuracy": clustered_mean(right, prompt, confidence, share=True)}
    bins = None
    if np.isin(stated, (0.0, 0.5, 1.0)).all():
        summaries = ("brier", "mean_bin_error", "expected_calibration_error")
        metrics |= {name: Estimate.undefined(VERDICTS, prompts) for name in summaries}
    else:
        calibrated = calibration(stated, outcome, prompt, confidence=confidence)
        metrics["brier"] = calibrated.brier
        metrics["mean_bin_error"] = calibrated.mean_bin_error
        metrics["expected_calibration_error"] = calibrated.expected_calibration_error
        bins = _bins(calibrated)
    known = ~np.isnan(level)
    levels = _levels(level[known].astype(np.int64), right[known], prompt[known], confidence) if known.any() else None
    return result.JudgeConfidence(data=data, metrics=estimate_records(metrics), **given(bins=bins, levels=levels))


def _bins(calibrated: Calibration) -> list[result.BinRecord]:
    bins = len(calibrated.statements)
    return [
        result.BinRecord(
            low=at / bins,
            high=(at + 1) / bins,
            statements=calibrated.statements[at],
            stated=calibrated.stated[at],
            observed=EstimateRecord.of(calibrated.observed[at]),
            error=EstimateRecord.of(calibrated.error[at]),
        )
        for at in range(bins)
    ]


def _levels(level: np.ndarray, right: np.ndarray, prompt: np.ndarray, confidence: float) -> list[result.Level]:
    means = means_by_group(right, level - 1, prompt, LEVELS, confidence, share=True)
    return [
        result.Level(level=at, statements=int((level == at).sum()), accuracy=EstimateRecord.of(mean))
        for at, mean in enumerate(means, start=1)
    ]


def _coverage(table: score_table.ScoreTable, confidence: float) -> dict[str, result.JudgeConfidence]:
    frame = table.frame
    judges = {judge: _covered(frame[frame["judge"] == judge], confidence) for judge in table.judges}
    if not any(judge.metrics for judge in judges.values()):
        raise InputError(f"{table.source}: no stated interval with a label", hint="check low, high and the labels")
    return judges


def _covered(frame: pd.DataFrame, confidence: float) -> result.JudgeConfidence:
    """Say how often the label lies within the stated interval, its ends included."""
    low, high, label = (np.round(frame[name].to_numpy(), 9) for name in ("low", "high", "oracle_label"))
    prompt = frame["prompt_id"].cat.codes.to_numpy().astype(np.int64)
    stated, labelled = ~np.isnan(low) & ~np.isnan(high), ~np.isnan(label)
    usable = stated & labelled
    dropped = {"nothing stated": int((~stated).sum()), "no label": int((stated & ~labelled).sum())}
    data = result.StatementCounts(
        statements=int(usable.sum()),
        prompts=len(np.unique(prompt[usable])),
        dropped={reason: count for reason, count in dropped.items() if count},
        **given(mean_width=float((high - low)[usable].mean()) if usable.any() else None),
    )
    if not usable.any():
        return result.JudgeConfidence(data=data, metrics={})
    within = ((low <= label) & (label <= high))[usable].astype(float)
    covered = clustered_mean(within, prompt[usable], confidence, share=True)
    return result.JudgeConfidence(data=data, metrics={"coverage": EstimateRecord.of(covered)})
