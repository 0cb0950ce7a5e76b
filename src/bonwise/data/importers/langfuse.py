"""Exports of Langfuse: scores joined with the traces or observations that they rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.data.importers.gathered import GatheredCell, GatheredScores, as_words
from bonwise.data.importers.material import Imported, Material, Record, mappings

__all__ = ["read_langfuse"]

_NUMBERS = ("NUMERIC", "BOOLEAN")


def read_langfuse(material: Material) -> Imported | None:
    """Read a folder with an export of scores and of traces or observations, or traces that hold their scores.

    Inputs that are alike are one prompt. Scores of source ANNOTATION are labels; the others are judges by name. TEXT
    scores carry the value 0 and CATEGORICAL ones the index of a category: neither is a number.
    """
    found = _parts(material)
    if found is None:
        return None
    scores, rated = found
    gathered = GatheredScores(material)
    cells: dict[str, GatheredCell] = {}
    referenced = {identifier for score in scores for identifier in _subjects(score)}
    for one, identifiers in _candidates(rated, referenced):
        known = _name(one)
        name = gathered.repeated(one["input"], known) if known else gathered.numbered(one["input"], "response")
        cell = gathered.cell(one["input"], name, prompt=one["input"], text=one.get("output"))
        for identifier in identifiers:
            cells.setdefault(identifier, cell)
    for score in scores:
        _rate(gathered, cells, score)
    return gathered.imported("Langfuse export")


def _subjects(score: Record) -> list[str]:
    """Return the ids of what a score rates: of an observation first, then of its trace."""
    subject = score.get("subject")
    inner: Record = subject if isinstance(subject, Mapping) else {}
    found = (
        *(_get(score, "observationId", "observation_id"), _get(inner, "id")),
        *(_get(score, "traceId", "trace_id"), _get(inner, "traceId", "trace_id")),
    )
    return [str(one) for one in found if one is not None]


def _candidates(rated: Sequence[Record], referenced: set[str]) -> Iterator[tuple[Record, list[str]]]:
    """Yield what is a candidate with the ids under which scores know it.

    Scores of a trace and of its one rated observation are scores of one candidate; several rated observations of a
    trace are a candidate each.
    """
    by_trace: dict[str, list[Record]] = {}
    for one in rated:
        if one.get("input") is not None and one.get("id") is not None:
            by_trace.setdefault(str(_get(one, "traceId", "trace_id") or one["id"]), []).append(one)
    for trace, ones in by_trace.items():
        own = [one for one in ones if str(one["id"]) in referenced and str(one["id"]) != trace]
        if len(own) > 1:
            yield from ((one, [str(one["id"])]) for one in own)
        elif own or trace in referenced:
            whole = [one for one in ones if str(one["id"]) == trace]
            root = [one for one in ones if not _get(one, "parentObservationId", "parent_observation_id")]
            yield (own or whole or root or ones)[0], [trace, *(str(one["id"]) for one in own)]


def _rate(gathered: GatheredScores, cells: Mapping[str, GatheredCell], score: Record) -> None:
    kind = str(_get(score, "dataType", "data_type") or "NUMERIC").upper()
    if kind not in _NUMBERS:
        gathered.say(f"{kind} scores are not numbers and are left out")
        return
    cell = next((cells[identifier] for identifier in _subjects(score) if identifier in cells), None)
    if cell is None:
        gathered.skipped += 1
        return
    value = score.get("value")
    human = str(score.get("source", "")).upper() == "ANNOTATION"
    gathered.rate(
        cell, as_words(score.get("name")), float(value) if isinstance(value, bool) else value, human=human or None
    )


def _parts(material: Material) -> tuple[Sequence[Record], Sequence[Record]] | None:
    document = material.document
    if isinstance(document, Mapping):
        tables = {
            str(name).rsplit("/", 1)[-1].partition(".")[0].lower(): mappings(_rows(part))
            for name, part in document.items()
        }
        scores = next((rows for name, rows in tables.items() if "score" in name), None)
        if scores is None or not any(map(_subjects, scores)):
            return None
        rated = [
            one for part in ("observation", "trace") for name, rows in tables.items() if part in name for one in rows
        ]
        return scores, rated
    records = material.records if "scores" in material.columns and "input" in material.columns else ()
    own = [dict(score, traceId=one.get("id")) for one in records for score in mappings(one.get("scores"))]
    return (own, records) if any("dataType" in one or "source" in one for one in own) else None


def _rows(part: object) -> object:
    return part.get("data", ()) if isinstance(part, Mapping) else part


def _get(record: Record, *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _name(one: Record) -> str:
    metadata = one.get("metadata")
    inner = metadata if isinstance(metadata, Mapping) else {}
    found = (
        _get(one, "candidate", "variant", "policy")
        or _get(inner, "candidate", "variant", "policy")
        or _get(one, "providedModelName", "provided_model_name", "model", "version", "release", "name")
    )
    return as_words(found) if found is not None else ""
