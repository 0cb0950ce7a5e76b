"""Exports of Label Studio: JSON and JSON-MIN."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bonwise.table import columns, sheet_keys, store
from bonwise.table.importers.material import GatheredScores, Imported, Material, Record, as_words, mappings


def read_label_studio(material: Material) -> Imported | None:
    """Read tasks with annotations, which are labels; predictions and numbers of a task are judges."""
    if {"annotation_id", "annotator"} <= material.columns:
        return _read_rows(material)
    if not {"data", "annotations"} <= material.columns:
        return None
    gathered = GatheredScores(material)
    tasks = [
        {**record, "data": sheet_keys.with_ids_of_record(record["data"], f"{material.source}, task {at}")}
        for at, record in enumerate(material.records, start=1)
        if isinstance(record.get("data"), Mapping)
    ]
    taken = _columns(tasks, material)
    for task in tasks:
        _add(gathered, task, taken)
    if tasks and not {"prompt_id", "candidate"} <= taken.keys():
        gathered.lack("the data of a task needs the fields prompt_id and candidate")
    return gathered.imported("Label Studio export")


def _add(gathered: GatheredScores, task: Record, taken: Mapping[str, str]) -> None:
    data = task["data"]
    asked = [data.get(taken[role]) if role in taken else None for role in ("prompt_id", "candidate")]
    if None in asked:
        gathered.skipped += 1
        return
    cell = gathered.cell(*asked, prompt=data.get("prompt"), text=data.get("text", data.get("response")))
    score = taken.get("judge_score")
    if score is not None and data.get(score) is not None:
        gathered.rate(cell, as_words(data.get("judge", score)), data[score], human=False)
    for annotation in mappings(task["annotations"]):
        for name, value in _values(annotation) if not annotation.get("was_cancelled") else ():
            gathered.rate(cell, name, value, human=True)
    for prediction in mappings(task.get("predictions")):
        model = as_words(prediction.get("model_version") or "prediction")
        for name, value in _values(prediction):
            gathered.rate(cell, f"{model}/{name}", value, human=False)


def _read_rows(material: Material) -> Imported | None:
    """Read JSON-MIN or CSV: a row per annotation, with the data of its task beside it."""
    records = [
        {
            key: _answer(value)
            for key, value in sheet_keys.with_ids_of_record(record, f"{material.source}, record {at}").items()
        }
        for at, record in enumerate(material.records, start=1)
    ]
    taken = _columns([{"data": record} for record in records], material)
    if not {"prompt_id", "candidate"} <= taken.keys():
        return None
    gathered = GatheredScores(material)
    chosen = _choices(records, {*taken.values()})
    for record in records:
        asked = (record.get(taken["prompt_id"]), record.get(taken["candidate"]))
        if None in asked:
            gathered.skipped += 1
            continue
        cell = gathered.cell(*asked, prompt=record.get("prompt"), text=record.get("text", record.get("response")))
        if "judge_score" in taken and record.get(taken["judge_score"]) is not None:
            gathered.rate(cell, taken["judge_score"], record[taken["judge_score"]], human=False)
        for name, value in record.items():
            is_answer = isinstance(value, _AnnotatorAnswer) or name in (material.chosen_label, chosen)
            if name not in taken.values() and is_answer:
                gathered.rate(cell, name, value.given if isinstance(value, _AnnotatorAnswer) else value, human=True)
    return gathered.imported("Label Studio export")


_OF_EXPORT = frozenset(
    {"id", "annotation_id", "annotator", "created_at", "updated_at", "lead_time", "prompt", "text"}
)


def _choices(records: Sequence[Record], taken: set[str]) -> str | None:
    """Return the one field whose words are the choices of annotators, where none holds ratings."""
    if any(isinstance(value, _AnnotatorAnswer) for record in records for value in record.values()):
        return None
    names = dict.fromkeys(name for record in records for name in record if name not in taken | _OF_EXPORT)
    cells = {name: [record.get(name) for record in records] for name in names}
    worded = [
        name
        for name, values in cells.items()
        if all(value is None or isinstance(value, str) for value in values)
        and 1 < len({value for value in values if value}) <= len(records) // 2
    ]
    return worded[0] if len(worded) == 1 else None


@dataclass(frozen=True, slots=True)
class _AnnotatorAnswer:
    """What an annotator answered."""

    given: Any


def _answer(value: Any) -> Any:
    """Return what a cell such as ``[{"rating": 4}]`` answers; any other cell as it is."""
    if isinstance(value, str) and value.startswith("[{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list) and len(value["choices"]) == 1:
        return _AnnotatorAnswer(value["choices"][0])
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        number = next((value[0][key] for key in ("rating", "number") if key in value[0]), None)
        return value if number is None else _AnnotatorAnswer(number)
    return value


def _columns(tasks: Sequence[Record], material: Material) -> Mapping[str, str]:
    """Map roles to fields of the data of tasks."""
    if not tasks:
        return {}
    rows = store.Rows.of_records([{key: _cell(value) for key, value in task["data"].items()} for task in tasks])
    named = {role: column for role, column in material.named.items() if column in rows.columns}
    roles = ("prompt_id", "candidate", "judge_score")
    return columns.resolve_columns(rows, named, source=material.source, required=(), roles=roles)


def _cell(value: Any) -> Any:
    return store.StructuredText(value) if isinstance(value, dict | list | _AnnotatorAnswer) else value


def _values(annotation: Record) -> Iterator[tuple[str, Any]]:
    """Yield what was answered, by the name of the question."""
    for result in mappings(annotation.get("result")):
        value = result.get("value")
        if not isinstance(value, Mapping):
            continue
        name = as_words(result.get("from_name") or result.get("type") or "label")
        for key in ("rating", "number"):
            if isinstance(value.get(key), int | float):
                yield name, value[key]
        choices = value.get("choices")
        if isinstance(choices, list) and len(choices) == 1:
            yield name, choices[0]
