"""Pairwise verdicts alone: each presentation order against both together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bonwise.auditing.studies.label_strategy.result import LabelStrategyStudy
from bonwise.auditing.studies.label_strategy.verdict_sentences import pairs_sentence, verdict_sentences
from bonwise.data.checks import check_confidence
from bonwise.data.labelled_verdicts import LabelledVerdicts
from bonwise.documents.estimate import estimate_records
from bonwise.documents.label_strategy.pairs import OrderEffects
from bonwise.documents.label_strategy.verdicts import (
    VerdictCounts,
    VerdictMetrics,
    VerdictsDocument,
    VerdictsJudge,
    VerdictsSettings,
    VerdictsWay,
)
from bonwise.documents.record import given
from bonwise.errors import UsageError
from bonwise.release import release
from bonwise.stats.estimate import Estimate
from bonwise.stats.label_strategy.order_effect import order_differences, order_effects, verdict_metrics
from bonwise.stats.sums import Floats

if TYPE_CHECKING:
    from bonwise.data.rows import RowSource

__all__ = ["study_verdicts"]

_NO_ORDER = "one verdict column: what the order did is unknown"


def study_verdicts(
    source: RowSource,
    *,
    verdicts: Sequence[str],
    oracle: str,
    prompt: Sequence[str],
    judge: Sequence[str] = (),
    pair: Sequence[str] = (),
    confidence: float = 0.95,
) -> LabelStrategyStudy:
    """Study the order effect, ties and agreement of pairwise verdicts, one order against both.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
    verdicts : sequence of str
        One or two columns of verdicts (1/2, a/b, model_a/model_b, tie). Two are two presentation orders; both name
        the candidates as in the first, in which the first candidate is shown first.
    oracle : str
        Column with the oracle's verdict.
    prompt, judge, pair : sequence of str
        Columns that together name a pair's prompt (the unit of the intervals), its judge, and what tells the pairs
        of a prompt apart.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).

    Returns
    -------
    LabelStrategyStudy
        Of each judge ``ways`` (``first_order``, ``second_order``, ``both_orders``), each with ``tie_rate``,
        ``agreement`` and ``accuracy_decided``; ``minus_both_orders``; ``order``. Verdicts of both orders that
        contradict each other are a tie. Its ``sentences`` warn where judges were not asked about the same pairs.

    Raises
    ------
    bonwise.errors.InputError
        A column that is absent or named for two things, a cell that is not a verdict, a pair judged twice.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": range(4), "one": [1, 1, 2, 1], "two": [1, 2, 2, 2], "gold": [1, 1, 2, 2]})
    >>> found = study_verdicts(frame, verdicts=["one", "two"], oracle="gold", prompt=["item"]).judges["judge"]
    >>> found["order"]["flips"]["estimate"], found["ways"]["both_orders"]["accuracy_decided"]["estimate"]
    (0.5, 1.0)
    """
    check_confidence(confidence)
    if len(verdicts) > 2:
        raise UsageError(f"{len(verdicts)} verdict columns", hint="name one, or two for two presentation orders")
    table = LabelledVerdicts.read(source, verdicts=verdicts, oracle=oracle, prompt=prompt, judge=judge, pair=pair)
    names = [str(name) for name in table.judge.categories]
    judges = {name: _judge(table, name, confidence) for name in names if (table.judge == name).any()}
    settings = VerdictsSettings(
        confidence=confidence,
        source=table.source,
        verdict_columns=list(verdicts),
        oracle=oracle,
        prompt=list(prompt),
        judge=list(judge),
        pair=list(pair),
        version=release(),
    )
    lost = {name: "no row with both a verdict in every order and a label" for name in names if name not in judges}
    together = pairs_sentence(list(table.asked.values()))
    return LabelStrategyStudy(
        VerdictsDocument(settings=settings, judges=judges, not_studied=lost, sentences=together)
    )


def _judge(table: LabelledVerdicts, name: str, confidence: float) -> VerdictsJudge:
    mine = np.asarray(table.judge == name)
    found, oracle, prompt = table.verdicts[mine], table.oracle[mine], table.prompt.codes[mine].astype(np.int64)
    data = VerdictCounts(
        prompts=len(np.unique(prompt)),
        pairs=len(found),
        oracle_ties=int((oracle == 0.5).sum()),
        dropped=dict(table.dropped.get(name, {})),
    )
    values: dict[VerdictsWay, Floats] = {"first_order": found[:, 0]}
    less: dict[VerdictsWay, VerdictMetrics] = {}
    order, both = None, found.mean(axis=1)
    if found.shape[1] > 1:
        values["second_order"] = found[:, 1]
        less = {
            way: _metrics(order_differences(one, both, oracle, prompt, confidence)) for way, one in values.items()
        }
        values["both_orders"] = both
        order = OrderEffects(**estimate_records(order_effects(found[:, 0], found[:, 1], prompt, confidence)))
    ways = {way: _metrics(verdict_metrics(one, oracle, prompt, confidence)) for way, one in values.items()}
    return VerdictsJudge(
        data=data,
        ways=ways,
        minus_both_orders=less,
        order=order,
        **given(no_order=None if order is not None else _NO_ORDER),
        sentences=verdict_sentences(ways, order, data),
    )


def _metrics(found: Mapping[str, Estimate]) -> VerdictMetrics:
    return VerdictMetrics(**estimate_records(found))
