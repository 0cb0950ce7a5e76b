"""Picks as records of their document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from bonwise.results import given
from bonwise.selection import result
from bonwise.selection.totals import Totals
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

if TYPE_CHECKING:
    from bonwise.selection.selection import Selection


def pick_record(pick: Selection, *, whole: bool = True) -> result.PickRecord:
    """Return the line that ``bonwise select`` writes; without `whole`, less the text of the pick and the settings."""
    line = _values(pick)
    if whole:
        line["settings"] = result.SelectionSettingsRecord(**line["settings"])
    else:
        del line["settings"], line["text"]
    return result.PickRecord(**line)


def pick_line(pick: Selection) -> dict[str, Any]:
    """Return the same as plain values: a selection is checked where it is made, and need not be checked again."""
    line = _values(pick)
    line["comparisons"] = [comparison.to_dict() for comparison in pick.comparisons]
    line["routed"] = None if pick.routed is None else pick.routed.to_dict()
    return line


def _values(pick: Selection) -> dict[str, Any]:
    """Return what a line holds, in the order of its record."""
    bill = pick.bill
    line: dict[str, Any] = dict.fromkeys(_ALWAYS)
    sources: tuple[Any, ...] = (pick, bill)
    for source in sources:
        kind: Any = type(source)
        names, read, tuples = _held_by(kind)
        line.update(zip(names, read(source), strict=True))
        for name in tuples:
            line[name] = list(line[name])
    return line | {
        "prompt_id": None if pick.prompt_id is None else str(pick.prompt_id),
        "best": pick.best_id,
        "answers": bill.calls + bill.from_ledger,
        "latency": round(pick.latency, 3),
        "unscored": dict(pick.unscored),
        "settings": settings_of(pick.settings),
        **_said(pick.verdicts),
        **given(p_best_reason=pick.p_best_reason or None, filled=pick.filled or None, lost=pick.lost or None),
        **({"members": {name: list(its) for name, its in pick.members.items()}} if pick.members else {}),
    }


_LATER = ("p_best_reason", "filled", "lost", "members")
"""Keys that are absent where they say nothing; they are the last ones."""
_COMPUTED = {"prompt_id", "best", "latency", "unscored", "settings", *_LATER}
_ALWAYS = [name for name in result.PickRecord.model_fields if name not in _LATER]


@cache
def _held_by(kind: Any) -> tuple[list[str], attrgetter[Any], list[str]]:
    """Return the keys of a line that a pick or its bill holds under the same name, what reads them, and tuples."""
    fields = kind.__dataclass_fields__
    names = [name for name in _ALWAYS if name in fields and name not in _COMPUTED]
    return names, attrgetter(*names), [name for name in names if str(fields[name].type).startswith("tuple")]


def _said(verdicts: Sequence[Verdict | None]) -> dict[str, Any]:
    """Return what a judge said beside scores and reasons; a list in which nothing is known is empty."""
    if not [verdict for verdict in verdicts if verdict is not None and _says_more(verdict)]:
        return {"low": [], "high": [], "draw_scores": [], "raw": []}
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


def _says_more(verdict: Verdict) -> bool:
    if verdict.raw or isinstance(verdict, Unscored):
        return bool(verdict.raw)
    return verdict.low is not None or verdict.high is not None or bool(verdict.draws)


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
