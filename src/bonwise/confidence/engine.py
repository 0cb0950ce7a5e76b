"""Audit what a judge says of its own confidence: probabilities, levels from 1 to 5, intervals around scores."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd

from bonwise.confidence.result import (
    BinRecord,
    ConfidenceAudit,
    ConfidenceSettings,
    JudgeConfidence,
    Level,
    StatementCounts,
)
from bonwise.confidence.statements import LEVELS, Statements, Ties, pair_statements, plain_statements
from bonwise.errors import ColumnError, InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.confidence import Calibration, calibration, clustered_mean, means_by_group
from bonwise.stats.estimand import Estimate
from bonwise.table.checks import check_confidence
from bonwise.table.facts import labels_left_out
from bonwise.table.opening import open_table, refuse_clusters
from bonwise.table.reading import RowSource, open_rows
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable

__all__ = ["audited_confidence"]

VERDICTS = "verdicts without a probability"


def audited_confidence(
    source: RowSource,
    options: ReadingOptions,
    *,
    ties: Ties,
    confidence: float,
) -> ConfidenceAudit:
    """Hold what judges state of their confidence against what was the case."""
    check_confidence(confidence)
    if ties not in get_args(Ties):
        raise UsageError(f"oracle ties cannot be {ties!r}", hint=f"one of {', '.join(get_args(Ties))}")
    raw, name = open_rows(source)
    if {"probability", "outcome"} <= set(raw.columns):
        statements = plain_statements(raw, name, ties)
        settings = ConfidenceSettings(source=name, confidence=confidence, oracle_ties=ties, version=release())
        return ConfidenceAudit(kind="statements", judges=_stated(statements, confidence), settings=settings)
    if {"shown_first", "shown_second"} <= set(raw.columns):
        if options.labels is None:
            raise InputError(f"{name}: no oracle labels to compare the pairs with", hint="add --labels FILE")
        statements = pair_statements(raw, name, options.labels, options, ties)
        settings = ConfidenceSettings(
            source=name,
            confidence=confidence,
            oracle_ties=ties,
            version=release(),
            **given(labels_left_out=labels_left_out(statements.labels_left_out)),
        )
        return ConfidenceAudit(kind="pairs", judges=_stated(statements, confidence), settings=settings)
    table = _scores(source, name, raw, options)
    settings = ConfidenceSettings(
        source=name,
        confidence=confidence,
        version=release(),
        **given(labels_left_out=labels_left_out(table.labels_left_out)),
    )
    return ConfidenceAudit(kind="intervals", judges=_coverage(table, confidence), settings=settings)


def _scores(source: RowSource, name: str, raw: pd.DataFrame, reading: ReadingOptions) -> ScoreTable:
    if not {"low", "high"} <= set(raw.columns):
        raise ColumnError(
            f"{name}: no stated confidence: neither probability and outcome, nor pairs, nor low and high",
            hint="see bonwise confidence --help",
        )
    table = open_table(source, reading)
    refuse_clusters(table, "this study")
    table.check_scales()
    return table


def _stated(statements: Statements, confidence: float) -> dict[str, JudgeConfidence]:
    return {
        str(judge): _judge(statements, np.asarray(statements.judge == judge), str(judge), confidence)
        for judge in statements.judge.categories
    }


def _judge(statements: Statements, of_judge: np.ndarray, judge: str, confidence: float) -> JudgeConfidence:
    stated, outcome, prompt, level = (
        part[of_judge] for part in (statements.stated, statements.outcome, statements.prompt, statements.level)
    )
    prompts = len(np.unique(prompt))
    data = StatementCounts(
        statements=len(stated),
        prompts=prompts,
        oracle_ties_counted_half=statements.tied[judge],
        dropped=dict(statements.dropped[judge]),
    )
    if not len(stated):
        return JudgeConfidence(data=data, metrics={})
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
    return JudgeConfidence(data=data, metrics=estimate_records(metrics), **given(bins=bins, levels=levels))


def _bins(calibrated: Calibration) -> list[BinRecord]:
    bins = len(calibrated.statements)
    return [
        BinRecord(
            low=at / bins,
            high=(at + 1) / bins,
            statements=calibrated.statements[at],
            stated=calibrated.stated[at],
            observed=EstimateRecord.of(calibrated.observed[at]),
            error=EstimateRecord.of(calibrated.error[at]),
        )
        for at in range(bins)
    ]


def _levels(level: np.ndarray, right: np.ndarray, prompt: np.ndarray, confidence: float) -> list[Level]:
    means = means_by_group(right, level - 1, prompt, LEVELS, confidence, share=True)
    return [
        Level(level=at, statements=int((level == at).sum()), accuracy=EstimateRecord.of(mean))
        for at, mean in enumerate(means, start=1)
    ]


def _coverage(table: ScoreTable, confidence: float) -> dict[str, JudgeConfidence]:
    frame = table.frame
    judges = {judge: _covered(frame[frame["judge"] == judge], confidence) for judge in table.judges}
    if not any(judge.metrics for judge in judges.values()):
        raise InputError(f"{table.source}: no stated interval with a label", hint="check low, high and the labels")
    return judges


def _covered(frame: pd.DataFrame, confidence: float) -> JudgeConfidence:
    """Say how often the label lies within the stated interval, its ends included."""
    low, high, label = (np.round(frame[name].to_numpy(), 9) for name in ("low", "high", "oracle_label"))
    prompt = frame["prompt_id"].cat.codes.to_numpy().astype(np.int64)
    stated, labelled = ~np.isnan(low) & ~np.isnan(high), ~np.isnan(label)
    usable = stated & labelled
    dropped = {"nothing stated": int((~stated).sum()), "no label": int((stated & ~labelled).sum())}
    data = StatementCounts(
        statements=int(usable.sum()),
        prompts=len(np.unique(prompt[usable])),
        dropped={reason: count for reason, count in dropped.items() if count},
        **given(mean_width=float((high - low)[usable].mean()) if usable.any() else None),
    )
    if not usable.any():
        return JudgeConfidence(data=data, metrics={})
    within = ((low <= label) & (label <= high))[usable].astype(float)
    covered = clustered_mean(within, prompt[usable], confidence, share=True)
    return JudgeConfidence(data=data, metrics={"coverage": EstimateRecord.of(covered)})
