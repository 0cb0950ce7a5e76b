"""Records of an input, an output and named scores, as several tools export them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.data.importers.gathered import GatheredScores, as_words
from bonwise.data.importers.material import Imported, Material, Record, mappings

__all__ = ["read_scored_records"]

_CASES = ("cases", "results", "rows", "data", "items", "experiments", "spans")
_INPUTS = ("input", "inputs", "user_input", "question", "prompt", "query", "datasource_item")
_OUTPUTS = ("output", "outputs", "response", "answer", "completion", "sample")
_SCORES = ("scores", "feedback_scores", "evaluations", "evals", "annotations", "results")
_IDS = ("prompt_id", "source_case_name", "example_id", "dataset_record_id", "datasource_item_id", "case_id")
_NAMES = ("candidate", "variant", "model", "experiment", "experiment_name", "model_name")
_PEOPLE = ("human", "ui", "annotation", "annotator", "app", "user")


def read_scored_records(material: Material) -> Imported | None:
    """Read records such as those of pydantic-evals and Braintrust.

    Records with one input are the candidates of one prompt, named by model or experiment, otherwise numbered.
    Scores stand by name, or in a list of objects with a name; one whose source is a person is a label.
    """
    records = _records(material)
    if records is None:
        return None
    gathered = GatheredScores(material)
    for record in records:
        asked = _first(record, _INPUTS)
        prompt_id = _first(record, _IDS)
        prompt_id = asked if prompt_id is None else prompt_id
        if prompt_id is None:
            gathered.skipped += 1
            continue
        name = _first(record, _NAMES)
        name = gathered.numbered(prompt_id, "response") if name is None else gathered.repeated(prompt_id, name)
        cell = gathered.cell(prompt_id, name, prompt=asked, text=_first(record, _OUTPUTS))
        for metric, value, human in _values(record):
            gathered.rate(cell, metric, value, human=human)
    gathered.say("records with one input are the candidates of a prompt")
    return gathered.imported("scored records")


def _records(material: Material) -> Sequence[Record] | None:
    document = material.document
    if isinstance(document, Mapping):
        found: Sequence[Record] = next((rows for key in _CASES if (rows := mappings(document.get(key)))), [])
    elif material.columns & {*_INPUTS} and material.columns & {*_SCORES}:
        found = material.records
    else:
        return None
    told = any(_first(one, _INPUTS) is not None and any(_values(one)) for one in found[:50])
    return found if told else None


def _values(record: Record) -> Iterator[tuple[str, Any, bool | None]]:
    """Yield name and value of each score, and whether a person gave it where that is known."""
    held = next((record[key] for key in _SCORES if isinstance(record.get(key), Mapping | list)), None)
    if isinstance(held, Mapping):
        for name, one in held.items():
            inner = one if isinstance(one, Mapping) else {"value": one}
            yield str(name), _number(inner), _by_a_person(inner)
    for one in mappings(held):
        name = next(
            (one[key] for key in ("name", "key", "metric", "label_name") if isinstance(one.get(key), str)), None
        )
        if name is not None:
            yield name, _number(one), _by_a_person(one)


def _number(one: Record) -> Any:
    result = one.get("result")
    inner: Record = result if isinstance(result, Mapping) else {}
    found = next(
        (place[key] for place in (one, inner) for key in ("score", "value") if place.get(key) is not None), None
    )
    if isinstance(found, bool):
        return float(found)
    return found if isinstance(found, int | float | str) else None


def _by_a_person(one: Record) -> bool | None:
    kinds = [one.get(key) for key in ("source", "annotator_kind", "source_type")]
    return True if any(isinstance(kind, str) and kind.lower() in _PEOPLE for kind in kinds) else None


def _first(record: Record, keys: Sequence[str]) -> Any:
    found = next((record[key] for key in keys if record.get(key) is not None), None)
    return as_words(found) if isinstance(found, Mapping) and not found else found
