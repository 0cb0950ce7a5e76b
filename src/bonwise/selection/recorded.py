"""Picks as records of their document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from bonwise.results import given
from bonwise.selection import result
from bonwise.selection.totals import Totals
from bonwise.table.verdicts import Score, Verdict, kept

if TYPE_CHECKING:
    from bonwise.calls.bill import Bill
    from bonwise.selection.selection import Selection

__all__ = ["document_of", "pick_record", "settings_of"]


def pick_record(pick: Selection, *, whole: bool = True) -> result.PickRecord:
    """Return the line that ``bonwise select`` writes; without `whole`, less the text of the pick and the settings."""
    more: dict[str, Any] = given(
        p_best_reason=pick.p_best_reason or None, filled=pick.filled or None, lost=pick.lost or None
    )
    if whole:
        more |= {"text": pick.text, "settings": result.SelectionSettingsRecord(**settings_of(pick.settings))}
    line: dict[str, Any] = {
        **_held(pick),
        **_held(pick.bill),
        "prompt_id": None if pick.prompt_id is None else str(pick.prompt_id),
        "best": pick.best_id,
        "answers": pick.bill.calls + pick.bill.from_ledger,
        "latency": round(pick.latency, 3),
        "unscored": dict(pick.unscored),
        **_said(pick.verdicts),
        **more,
    }
    return result.PickRecord(**line)


_BY_NAME = result.PickRecord.model_fields.keys() - {"text", "settings", "p_best_reason", "filled", "lost"}
"""Keys of a line; the others are absent where they say nothing, or stand elsewhere."""


def _held(source: Selection | Bill) -> dict[str, Any]:
    """Return what a line holds under the name that it has already."""
    held = {name: getattr(source, name) for name in source.__dataclass_fields__ if name in _BY_NAME}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in held.items()}


def _said(verdicts: Sequence[Verdict | None]) -> dict[str, Any]:
    """Return what a judge said beside scores and reasons; a list in which nothing is known is empty."""
    scores = [verdict if isinstance(verdict, Score) else None for verdict in verdicts]
    stated: dict[str, list[Any]] = {
        "low": [None if score is None else score.low for score in scores],
        "high": [None if score is None else score.high for score in scores],
        "draw_scores": [
            list(score.draws) if score is not None and len(score.draws) > 1 else None for score in scores
        ],
        "raw": [kept(verdict.raw) if verdict is not None and verdict.raw else None for verdict in verdicts],
    }
    return {key: values if any(value is not None for value in values) else [] for key, values in stated.items()}


def settings_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a selection with what models were asked with as JSON holds it."""
    return {**settings, "parameters": [to_jsonable_python(dict(parameters)) for parameters in settings["parameters"]]}


def document_of(pick: Selection) -> result.SelectionsDocument:
    """Return a document of this pick alone, with the text of the best."""
    totals = Totals()
    totals.note(pick)
    words = [
        result.CandidateWords(id=name, text=pick.text if at == pick.index else None)
        for at, name in enumerate(pick.ids)
    ]
    return result.SelectionsDocument(
        settings=result.SelectionsSettings(**settings_of(pick.settings)),
        totals=totals.record(),
        picks=[result.ShownPick(pick=pick_record(pick), prompt=None, candidates=words)],
        of=1,
    )
