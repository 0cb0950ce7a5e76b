"""From a fitted stack to its document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bonwise.data.panel import lay_out
from bonwise.data.repeats import cell_repeats
from bonwise.documents.estimate import EstimateRecord, estimate_records
from bonwise.documents.record import given
from bonwise.documents.stack import (
    CalibrationTenth,
    JudgeWorthRecord,
    SmallerStack,
    StackBaseline,
    StackCalibration,
    StackDocument,
    StackSettings,
    prompt_digest,
)
from bonwise.documents.stack_model import StackModelRecord
from bonwise.release import release
from bonwise.stats.stacking.folds import FOLDS
from bonwise.stats.stacking.worth_of_judges import KEEPS, Smaller

if TYPE_CHECKING:
    from bonwise.factors.stack_fit import StackFit

__all__ = ["stack_document"]


def stack_document(fit: StackFit) -> StackDocument:
    """Return the document of schema ``bonwise.stack/1``."""
    laid, figures, calls = fit.laid, fit.figures, _calls(fit)
    smaller = [_smaller(fit, calls, one) for one in fit.smaller]
    judges = {} if fit.audit is None else fit.audit.judges
    not_audited = {} if fit.audit is None else fit.audit.not_audited
    choice = {} if fit.audit is None else {metric: one.record() for metric, one in fit.audit.choice.items()}
    return StackDocument(
        source=laid.table.source,
        prompts=int(laid.whole.sum()),
        fitted_prompts=int(laid.prompts.sum()),
        fitted_labels=int(laid.labelled.sum()),
        metrics=estimate_records(figures.metrics),
        judges={name: estimate_records(one.metrics) for name, one in judges.items()},
        best_judge=choice["recovery"].best[0] if "recovery" in choice else None,
        best_out_of_fold=estimate_records(figures.best),
        difference=estimate_records(figures.difference),
        fallback=fit.stack.fallback,
        baselines={
            name: StackBaseline(metrics=estimate_records(one.metrics), difference=estimate_records(one.difference))
            for name, one in fit.baselines.items()
        },
        worth=_worth(fit, calls),
        smaller=smaller,
        smallest=_smallest(smaller),
        left_out={**laid.left_out, **not_audited},
        missing=dict(laid.missing),
        calibration=_calibration(fit),
        fitted_to=sorted(prompt_digest(str(one)) for one in laid.panel.prompt_ids[laid.prompts]),
        model=StackModelRecord.of(fit.stack),
        settings=_settings(fit),
        **given(choice=choice or None, specs=dict(fit.specs) or None),
    )


def _settings(fit: StackFit) -> StackSettings:
    laid = fit.laid
    return StackSettings(
        confidence=fit.confidence,
        seed=fit.seed,
        further_features=list(dict.fromkeys(one.kind for one in laid.scaling.features if one.kind != "score")),
        folds=min(FOLDS, fit.deal.count),
        partitions=len(fit.deal.folds),
        groups=int(fit.deal.groups.max()) + 1,
        ridge=float(fit.ridge),
        exclude=list(fit.exclude),
        shape=laid.panel.shape,
        version=release(),
    )


def _calibration(fit: StackFit) -> StackCalibration:
    gap = fit.calibration.largest_gap
    tenths = [
        CalibrationTenth(
            low=one.low, high=one.high, predicted=one.predicted, observed=one.observed, candidates=one.candidates
        )
        for one in fit.calibration.bins
    ]
    return StackCalibration(tenths=tenths, largest_gap=gap if math.isfinite(gap) else None)


def _calls(fit: StackFit) -> dict[str, float]:
    """Return how many scores each judge gave a candidate on average: several where it was asked again."""
    laid, table = fit.laid, fit.laid.table
    panels = {one.judge: one for one in lay_out(table, complete=False)}
    found = {}
    for judge in laid.judges:
        draws = cell_repeats(table, panels[judge]).draws
        found[judge] = 1.0 if draws is None else float(np.mean((~np.isnan(draws)).sum(axis=1)))
    return found


def _shares(fit: StackFit, calls: Mapping[str, float], judges: Sequence[str]) -> dict[str, float]:
    """Return which part of the calls, and of the cost where prices are known, some judges take."""
    found = {"calls": sum(calls[one] for one in judges) / sum(calls.values())}
    costs = {judge: calls[judge] * fit.prices[judge] for judge in calls} if fit.prices else {}
    if sum(costs.values()) > 0:
        found["cost"] = sum(costs[one] for one in judges) / sum(costs.values())
    return {name: min(value, 1.0) for name, value in found.items()}


def _worth(fit: StackFit, calls: Mapping[str, float]) -> dict[str, JudgeWorthRecord]:
    return {
        judge: JudgeWorthRecord(
            loss=EstimateRecord.of(one.loss), recovery=_number(one.recovery), **_shares(fit, calls, [judge])
        )
        for judge, one in fit.worth.items()
    }


def _smaller(fit: StackFit, calls: Mapping[str, float], one: Smaller) -> SmallerStack:
    names = [fit.laid.judges[at] for at in one.judges]
    return SmallerStack(judges=names, recovery=_number(one.recovery), **_shares(fit, calls, names))


def _smallest(smaller: Sequence[SmallerStack]) -> SmallerStack | None:
    """Return the stack of the fewest judges that keeps most of the recovery of all of them."""
    if not smaller or smaller[0].recovery is None or smaller[0].recovery <= 0:
        return None
    enough = [one for one in smaller if one.recovery is not None and one.recovery >= KEEPS * smaller[0].recovery]
    return min(enough, key=lambda one: len(one.judges))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
