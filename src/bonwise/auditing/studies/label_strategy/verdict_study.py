"""Pairwise verdicts alone: each presentation order against both together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.auditing.settings import check_confidence
from bonwise.auditing.studies.label_strategy.result import LabelStrategyStudy
from bonwise.auditing.studies.label_strategy.verdict_sentences import pairs_sentence, verdict_sentences
from bonwise.data.preferences import PreferenceTable
from bonwise.errors import UsageError
from bonwise.release import release
from bonwise.stats.estimate import Estimate
from bonwise.stats.label_strategy.order_effect import order_differences, order_effects, verdict_metrics

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["study_verdicts"]


def study_verdicts(
    source: str | Path | pd.DataFrame,
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
    source : str, pathlib.Path or pandas.DataFrame
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
        A column that is absent or named for two things, a cell that is no verdict, a pair judged twice.

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
    table = PreferenceTable.read(source, verdicts=verdicts, oracle=oracle, prompt=prompt, judge=judge, pair=pair)
    names = [str(name) for name in table.judge.categories]
    judges = {name: _judge(table, name, confidence) for name in names if (table.judge == name).any()}
    settings = {
        "confidence": confidence,
        "source": table.source,
        "verdict_columns": list(verdicts),
        "oracle": oracle,
        "prompt": list(prompt),
        "judge": list(judge),
        "pair": list(pair),
        "version": release(),
    }
    lost = {name: "no row with both a verdict in every order and a label" for name in names if name not in judges}
    return LabelStrategyStudy("verdicts", judges, settings, lost, pairs_sentence(list(table.asked.values())))


def _judge(table: PreferenceTable, name: str, confidence: float) -> dict[str, Any]:
    mine = np.asarray(table.judge == name)
    found, oracle, prompt = table.verdicts[mine], table.oracle[mine], table.prompt.codes[mine].astype(np.int64)
    values = {"first_order": found[:, 0]}
    if found.shape[1] > 1:
        values |= {"second_order": found[:, 1], "both_orders": found.mean(axis=1)}
    out: dict[str, Any] = {
        "data": {
            "prompts": len(np.unique(prompt)),
            "pairs": len(found),
            "oracle_ties": int((oracle == 0.5).sum()),
            "dropped": dict(table.dropped.get(name, {})),
        },
        "ways": {way: _written(verdict_metrics(one, oracle, prompt, confidence)) for way, one in values.items()},
        "minus_both_orders": {},
        "order": None,
    }
    if found.shape[1] > 1:
        both = values.pop("both_orders")
        for way, one in values.items():
            out["minus_both_orders"][way] = _written(order_differences(one, both, oracle, prompt, confidence))
        out["order"] = _written(dict(order_effects(found[:, 0], found[:, 1], prompt, confidence)))
    else:
        out["no_order"] = "one verdict column: what the order did is unknown"
    return {**out, "sentences": verdict_sentences(out)}


def _written(found: dict[str, Estimate]) -> dict[str, Any]:
    return {name: one.to_dict() for name, one in found.items()}
