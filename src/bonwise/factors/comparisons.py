"""Two models compared on every prompt, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bonwise.data.wording import quoted
from bonwise.documents.factor_comparison import FactorComparisonDocument, GapRecord, PromptDifference
from bonwise.documents.record import given
from bonwise.errors import UsageError
from bonwise.factors.difference_bands import band_of_draws
from bonwise.factors.human_view import HumanView
from bonwise.factors.leaderboards import unrated
from bonwise.stats.sums import Floats

__all__ = ["compare_models"]

_LIMIT = "Intervals assume that no trait matters to people that every judge overlooks."


def compare_models(view: HumanView, model: str, other: str) -> FactorComparisonDocument:
    """Compare two models on every prompt.

    Parameters
    ----------
    view : HumanView
    model, other : str

    Returns
    -------
    FactorComparisonDocument
        Per prompt the difference of capabilities ``t[m, p] - t[m', p]``, with a simultaneous interval, and the mean
        difference by category.

    Raises
    ------
    bonwise.errors.UsageError
        No such model, or the same one twice.
    """
    one, two = view.model_at(model), view.model_at(other)
    if one == two:
        raise UsageError(f"{quoted(model)} is compared with itself", hint="name two models")
    draws = view.draws.differences(one, two)
    return FactorComparisonDocument(
        model=model,
        other=other,
        prompts=_prompts(view, draws),
        gaps=list(_gaps(view, draws)),
        confidence=view.confidence,
        notes=[_LIMIT, *unrated(view)],
        human=view.human,
        source=view.source,
        version=view.version,
    )


def _prompts(view: HumanView, draws: Floats) -> list[PromptDifference]:
    band = band_of_draws(draws, view.confidence)
    least, most = band.band
    return [
        PromptDifference(
            prompt_id=view.prompts[at],
            category=view.prompt_categories[at],
            **band.figures(at),
            verdict="better" if least[at] > 0 else "worse" if most[at] < 0 else "open",
        )
        for at in np.argsort(-band.estimate, kind="stable")
    ]


def _gaps(view: HumanView, draws: Floats) -> Iterator[GapRecord]:
    """Yield the mean difference on all prompts, and on those of each category: least squares on categories."""
    named = np.array(view.prompt_categories, dtype=object)
    names = sorted({one for one in view.prompt_categories if one})
    mean = draws.mean(axis=0)
    explained = None
    if len(names) > 1 and mean.std() > 0:
        fitted = np.array([mean[named == one].mean() for one in named])
        explained = float(np.clip(fitted.var() / mean.var(), 0, 1))
    for name in ("", *names):
        rows = np.ones(len(named), dtype=bool) if not name else named == name
        band = band_of_draws(draws[:, rows].mean(axis=1, keepdims=True), view.confidence)
        low, high = band.interval
        yield GapRecord(
            category=name,
            prompts=int(rows.sum()),
            estimate=float(band.estimate[0]),
            se=float(band.se[0]),
            low=float(low[0]),
            high=float(high[0]),
            **given(explained=None if name else explained),
        )
