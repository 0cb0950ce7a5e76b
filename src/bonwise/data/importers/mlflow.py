"""Traces of MLflow: ``Trace.to_dict`` in a list, or the rows of ``mlflow.search_traces``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.data.importers.gathered import GatheredScores, as_words
from bonwise.data.importers.material import Imported, Material, Record, mapping, mappings

__all__ = ["read_mlflow"]

_NAMES = ("candidate", "model", "variant", "policy", "model_name", "mlflow.source.run_name", "mlflow.sourceRun")
_HIDDEN = "mlflow."


def read_mlflow(material: Material) -> Imported | None:
    """Read traces: requests that are alike are one prompt, and its traces are the candidates.

    Feedback is told apart by the type of its source: HUMAN gives labels, LLM_JUDGE and CODE give scores, which often
    share a name. Feedback that is not ``valid`` was overridden and does not count; expectations are no labels.
    """
    traces = _traces(material)
    if traces is None:
        return None
    gathered = GatheredScores(material)
    key = _naming_tag(traces)
    for trace in traces:
        info = _info(trace)
        request = _parsed(_first(trace, info, "request", "request_preview"))
        if request is None:
            gathered.skipped += 1
            continue
        tag = mapping(info.get("tags")).get(key) if key else None
        name = gathered.repeated(request, tag) if tag else gathered.numbered(request, "trace")
        text = _parsed(_first(trace, info, "response", "response_preview"))
        cell = gathered.cell(request, name, prompt=request, text=text)
        for one in mappings(info.get("assessments")):
            _rate(gathered, cell, one)
    gathered.say(f"a candidate is a trace named by its tag {key!r}" if key else "a candidate is a trace, numbered")
    return gathered.imported("MLflow traces")


def _rate(gathered: GatheredScores, cell: Any, one: Record) -> None:
    feedback, source = one.get("feedback"), mapping(one.get("source"))
    if not isinstance(feedback, Mapping):
        return
    if one.get("valid") is False:
        gathered.say("overridden feedback is left out")
        return
    value = feedback.get("value")
    if isinstance(value, bool):
        value = float(value)
    human = str(source.get("source_type", "")).upper() == "HUMAN"
    if isinstance(value, int | float | str):
        gathered.rate(cell, as_words(one.get("assessment_name", one.get("name"))), value, human=human)


def _traces(material: Material) -> Sequence[Record] | None:
    document = material.document
    if isinstance(document, Mapping):
        found = mappings(document.get("traces"))
    elif {"trace_id", "assessments"} <= material.columns or {"info", "data"} <= material.columns:
        found = list(material.records)
    else:
        return None
    return found if any("assessments" in _info(one) for one in found) else None


def _info(trace: Record) -> Record:
    return mapping(trace.get("info")) or trace


def _naming_tag(traces: Sequence[Record]) -> str | None:
    """Return the tag that names candidates: a usual name, or the only tag of the user."""
    tags = [mapping(_info(one).get("tags")) for one in traces]
    for name in _NAMES:
        if all(name in one for one in tags):
            return name
    own = {key for one in tags for key in one if not key.startswith(_HIDDEN)}
    return own.pop() if len(own) == 1 else None


def _first(trace: Record, info: Mapping[str, Any], column: str, preview: str) -> object:
    whole = {"request": "mlflow.traceInputs", "response": "mlflow.traceOutputs"}[column]
    span = next(_spans(trace), {})
    inner = {"request": "mlflow.spanInputs", "response": "mlflow.spanOutputs"}[column]
    for place, key in ((trace, column), (span, inner), (mapping(info.get("trace_metadata")), whole), (info, preview)):
        if place.get(key) is not None:
            return place[key]
    return None


def _spans(trace: Record) -> Iterator[Mapping[str, Any]]:
    """Yield the attributes of the outermost spans."""
    data = trace.get("data")
    for span in mappings(data.get("spans") if isinstance(data, Mapping) else trace.get("spans")):
        if not span.get("parent_span_id") and isinstance(span.get("attributes"), Mapping):
            yield span["attributes"]


def _parsed(value: object) -> object:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
