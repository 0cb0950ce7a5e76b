"""Scores, quantised scores and comparisons of the same candidates: which way of asking a judge pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import numpy as np

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.label_strategy.best_of_two import best_of_two
from bonwise.auditing.studies.label_strategy.matched_verdicts import match
from bonwise.auditing.studies.label_strategy.result import LabelStrategyStudy
from bonwise.auditing.studies.label_strategy.sentences import strategy_sentences
from bonwise.auditing.studies.label_strategy.strategies import Asking, compared
from bonwise.auditing.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.pair_record import PairRecord
from bonwise.data.pair_verdicts import PairVerdicts
from bonwise.data.panel import Panel
from bonwise.data.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.data.table import ScoreTable
from bonwise.documents.label_strategy.strategies import (
    RangeFrom,
    ScoreRange,
    StrategiesDocument,
    StrategiesJudge,
    StrategiesSettings,
    StrategyCounts,
)
from bonwise.errors import InputError, UsageError

if TYPE_CHECKING:
    from bonwise.data.opening import ScoreSource
    from bonwise.data.rows import RowSource

__all__ = ["label_strategy_of", "study_label_strategy"]


@opens_a_table
def study_label_strategy(  # noqa: PLR0913 - all but the scores are named
    source: ScoreSource,
    *,
    verdicts: RowSource,
    pairwise: str | None = None,
    drawn: RowSource | None = None,
    bins: int = 20,
    edges: int | None = None,
    gap_groups: int = 4,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> LabelStrategyStudy:
    """Compare ways of asking a judge with each other on the same prompts and pairs.

    The ways of Tables 4, 5, 15 and 16 of Landesberg (2026): scores as they are and cut into bins, Borda's count over
    every pair or some pairs, in both orders or one, and comparisons of those alone that share the top score.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores.
    verdicts : str, pathlib.Path, pandas.DataFrame or rows as mappings
        Verdicts on pairs, as ``bonwise judge --pairs`` writes them.
    pairwise : str, optional
        Whose verdicts; needed where the file holds those of several judges.
    drawn : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        The record of `draw_pairs`: the verdicts are then on pools of two, each standing for as many pairs as its
        weight says.
    bins : int
        Of the quantised scores, 2 or more.
    edges : int, optional
        Pairs a prompt of the sparse comparison; as many as candidates where not given.
    gap_groups : int
        Groups of oracle gaps, cut at quantiles, in which accuracy is told apart.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of the pairs of the sparse comparison, and of the order that stands for a judge asked once.
    **reading
        How the table is opened, see `bonwise.data.reading_options.ReadingOptions`.

    Returns
    -------
    LabelStrategyStudy

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where no pair has scores, labels and a verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"prompt_id": list("ppqq"), "candidate": list("abab"),
    ...                        "judge_score": [.5, .5, .9, .1], "oracle_label": [1, 0, 1, 0]})
    >>> pairs = pd.DataFrame({"prompt_id": list("pq"), "a": "a", "b": "b", "shown_first": 1, "shown_second": 1})
    >>> found = study_label_strategy(scores, verdicts=pairs).judges["judge"]["strategies"]["every_pair"]["strategies"]
    >>> [found[way]["metrics"]["recovery"]["estimate"] for way in ("pointwise", "pairwise", "tie_break")]
    [0.5, 1.0, 1.0]
    """
    options = ReadingOptions.of(study_label_strategy, reading)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    check_asking(bins, edges, gap_groups)
    judged = open_judged(source, settings, options)
    record = None if drawn is None else PairRecord.read(drawn)
    read = PairVerdicts.read(verdicts, pairwise)
    return label_strategy_of(judged, read, record=record, bins=bins, edges=edges, gap_groups=gap_groups)


def check_asking(bins: int, edges: int | None, gap_groups: int) -> None:
    """Refuse numbers that mean nothing.

    Raises
    ------
    bonwise.errors.UsageError
        With the flag.
    """
    if bins < 2:
        raise UsageError(f"bins must be 2 or more, not {bins}", hint="such as 20")
    if edges is not None and edges < 1:
        raise UsageError(f"edges must be 1 or more, not {edges}", hint="leave them out for as many as candidates")
    if gap_groups < 1:
        raise UsageError(f"gap groups must be 1 or more, not {gap_groups}", hint="such as 4")


def label_strategy_of(
    judged: LabelledPanels,
    verdicts: PairVerdicts,
    *,
    record: PairRecord | None = None,
    bins: int = 20,
    edges: int | None = None,
    gap_groups: int = 4,
) -> LabelStrategyStudy:
    """Study judges whose scores are laid out already.

    Parameters
    ----------
    judged : LabelledPanels
    verdicts : PairVerdicts
    record : PairRecord, optional
        Where the verdicts are on pairs that were drawn.
    bins, edges, gap_groups
        As of `study_label_strategy`.
    """
    missing: Mapping[str, int] = {}
    if record is not None:
        verdicts, missing = record.back(verdicts)
    judges: dict[str, StrategiesJudge] = {}
    refused = dict(judged.not_studied)
    for name, panel in judged.panels.items():
        if name == verdicts.judge and len(judged.panels) > 1:
            refused[name] = "its scores are what its own verdicts earned"
            continue
        asking = Asking(bins, edges, gap_groups, *_range(judged.table, panel)[0])
        found = _judge(judged, panel, verdicts, asking, missing)
        if found is None:
            refused[name] = "no pair with its scores, labels and a verdict"
        else:
            judges[name] = found
    if not judges:
        raise _no_pair(verdicts)
    asked = judged.settings_as(
        StrategiesSettings,
        verdicts=verdicts.source,
        pairwise=verdicts.judge,
        drawn=None if record is None else record.source,
        bins=bins,
        edges=edges,
    )
    return LabelStrategyStudy(StrategiesDocument(settings=asked, judges=judges, not_studied=refused))


def _no_pair(verdicts: PairVerdicts) -> InputError:
    return InputError(
        f"{verdicts.source}: no verdict is on two candidates with scores and labels",
        hint="prompt_id, a and b must name prompts and candidates as the scores do; of pairs that were drawn, give "
        "the record (--drawn)",
    )


def _judge(
    judged: LabelledPanels, panel: Panel, verdicts: PairVerdicts, asking: Asking, missing: Mapping[str, int]
) -> StrategiesJudge | None:
    settings, method = judged.settings, judged.methods[panel.judge]
    matched = match(panel, verdicts, settings.seed)
    if not len(matched.pairs.prompt):
        return None
    groups, absent = compared(judged.table, matched, asking, settings, method=method)
    pairs = best_of_two(matched, settings, asking.gap_groups, method=method)
    scored = {"low": asking.low, "high": asking.high, "from": _range(judged.table, panel)[1]}
    data = judged.counts_as(
        StrategyCounts,
        panel.judge,
        pairs=len(matched.pairs.prompt),
        pairs_left_out={**matched.left_out, **missing},
        prompts_without_verdicts=int((matched.judged_pairs == 0).sum()),
        score_range=ScoreRange.model_validate(scored),
    )
    return StrategiesJudge(
        data=data,
        strategies=groups,
        no_strategies=absent,
        matched_pairs=pairs,
        sentences=strategy_sentences(data, groups, pairs, judged.table.reference),
    )


def _range(table: ScoreTable, panel: Panel) -> tuple[tuple[float, float], RangeFrom]:
    """Return the range that is cut into bins, and whether it was declared or seen."""
    if panel.judge in table.judge_scales or "" in table.judge_scales:
        return (0.0, 1.0), "declared scale"  # a declared scale is mapped to [0, 1]
    return (float(np.min(panel.scores)), float(np.max(panel.scores))), "lowest and highest score"
