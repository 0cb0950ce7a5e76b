"""Exports of tracing services: Langfuse, LangSmith and MLflow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.table.importers.material import (
    GatheredCell,
    GatheredScores,
    Imported,
    Material,
    Record,
    as_words,
    mapping,
    mappings,
)

_NUMBERS = ("NUMERIC", "BOOLEAN")


def read_langfuse(material: Material) -> Imported | None:
    """Read scores and traces of Langfuse; equal inputs are a prompt, ANNOTATION labels, TEXT no number."""
    parts = _parts(material)
    if parts is None:
        return None
    scores, rated = parts
    gathered = GatheredScores(material)
    cells: dict[str, GatheredCell] = {}
    referenced = {identifier for score in scores for identifier in _subjects(score)}
    for node, identifiers in _candidates(rated, referenced):
        known = _candidate_of_trace(node)
        name = gathered.repeated(node["input"], known) if known else gathered.numbered(node["input"], "response")
        cell = gathered.cell(node["input"], name, prompt=node["input"], text=node.get("output"))
        for identifier in identifiers:
            cells.setdefault(identifier, cell)
    for score in scores:
        _rate_by_score(gathered, cells, score)
    return gathered.imported("Langfuse export")


def _subjects(score: Record) -> list[str]:
    """Return the ids of what a score rates: of an observation first, then of its trace."""
    subject = score.get("subject")
    inner: Record = subject if isinstance(subject, Mapping) else {}
    subjects = (
        *(_get(score, "observationId", "observation_id"), _get(inner, "id")),
        *(_get(score, "traceId", "trace_id"), _get(inner, "traceId", "trace_id")),
    )
    return [str(subject) for subject in subjects if subject is not None]


def _candidates(rated: Sequence[Record], referenced: set[str]) -> Iterator[tuple[Record, list[str]]]:
    """Yield what is a candidate with its ids: a trace with its one rated observation, or each of several."""
    by_trace: dict[str, list[Record]] = {}
    for node in rated:
        if node.get("input") is not None and node.get("id") is not None:
            by_trace.setdefault(str(_get(node, "traceId", "trace_id") or node["id"]), []).append(node)
    for trace, ones in by_trace.items():
        own = [node for node in ones if str(node["id"]) in referenced and str(node["id"]) != trace]
        if len(own) > 1:
            yield from ((node, [str(node["id"])]) for node in own)
        elif own or trace in referenced:
            whole = [node for node in ones if str(node["id"]) == trace]
            root = [node for node in ones if not _get(node, "parentObservationId", "parent_observation_id")]
            yield (own or whole or root or ones)[0], [trace, *(str(node["id"]) for node in own)]


def _rate_by_score(gathered: GatheredScores, cells: Mapping[str, GatheredCell], score: Record) -> None:
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
            row for part in ("observation", "trace") for name, rows in tables.items() if part in name for row in rows
        ]
        return scores, rated
    records = material.records if "scores" in material.columns and "input" in material.columns else ()
    own = [dict(score, traceId=record.get("id")) for record in records for score in mappings(record.get("scores"))]
    return (own, records) if any("dataType" in score or "source" in score for score in own) else None


def _rows(part: object) -> object:
    return part.get("data", ()) if isinstance(part, Mapping) else part


def _get(record: Record, *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _candidate_of_trace(node: Record) -> str:
    metadata = node.get("metadata")
    inner = metadata if isinstance(metadata, Mapping) else {}
    name = (
        _get(node, "candidate", "variant", "policy")
        or _get(inner, "candidate", "variant", "policy")
        or _get(node, "providedModelName", "provided_model_name", "model", "version", "release", "name")
    )
    return as_words(name) if name is not None else ""


_PEOPLE = ("app", "human")
"""Sources of feedback that a person gave in the web application or by hand."""


def read_langsmith(material: Material) -> Imported | None:
    """Read runs with feedback: one example's or equal inputs' are candidates; a person's feedback is the label."""
    columns = material.columns
    if {"inputs", "outputs"} <= columns and columns & {"feedback", "feedback_stats"}:
        gathered = GatheredScores(material)
        for run in material.records:
            _add_run(gathered, run)
        return gathered.imported("LangSmith runs")
    flat = [name for name in columns if name.startswith("feedback.")]
    if flat and any(name.startswith(("inputs.", "outputs.")) for name in columns):
        gathered = GatheredScores(material)
        for row in material.records:
            _add_row(gathered, row)
        return gathered.imported("LangSmith experiment")
    return None


def _add_run(gathered: GatheredScores, run: Record) -> None:
    inputs = run.get("inputs")
    if not inputs:
        gathered.skipped += 1
        return
    prompt_id = run.get("reference_example_id") or inputs
    cell = gathered.cell(
        prompt_id, gathered.repeated(prompt_id, _candidate_of_run(run)), prompt=inputs, text=run.get("outputs")
    )
    for feedback in mappings(run.get("feedback")):
        source = feedback.get("feedback_source")
        kind = str(source.get("type", "") if isinstance(source, Mapping) else source or "").lower()
        gathered.rate(cell, as_words(feedback.get("key")), feedback.get("score"), human=kind in _PEOPLE or None)
    stats = run.get("feedback_stats")
    for key, feedback in stats.items() if isinstance(stats, Mapping) and not run.get("feedback") else ():
        gathered.rate(cell, key, feedback.get("avg") if isinstance(feedback, Mapping) else feedback)


def _add_row(gathered: GatheredScores, row: Record) -> None:
    inputs = {name.removeprefix("inputs."): value for name, value in row.items() if name.startswith("inputs.")}
    outputs = {name.removeprefix("outputs."): value for name, value in row.items() if name.startswith("outputs.")}
    prompt_id = row.get("example_id") or inputs
    name = row.get("experiment") or row.get("model") or "run"
    cell = gathered.cell(prompt_id, gathered.repeated(prompt_id, name), prompt=inputs, text=outputs)
    for key, value in row.items():
        if key.startswith("feedback.") and value is not None:
            gathered.rate(cell, key.removeprefix("feedback."), value)


def _candidate_of_run(run: Record) -> Any:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    inner: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    for name in (inner.get("candidate"), inner.get("variant"), inner.get("ls_model_name"), inner.get("model")):
        if name:
            return name
    return run.get("session_name") or run.get("session_id") or run.get("name") or "run"


_NAMES = ("candidate", "model", "variant", "policy", "model_name", "mlflow.source.run_name", "mlflow.sourceRun")
_HIDDEN = "mlflow."


def read_mlflow(material: Material) -> Imported | None:
    """Read traces: equal requests are a prompt. HUMAN feedback is the label, valid LLM_JUDGE and CODE scores."""
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
        for assessment in mappings(info.get("assessments")):
            _rate_by_assessment(gathered, cell, assessment)
    gathered.say(f"a candidate is a trace named by its tag {key!r}" if key else "a candidate is a trace, numbered")
    return gathered.imported("MLflow traces")


def _rate_by_assessment(gathered: GatheredScores, cell: Any, assessment: Record) -> None:
    feedback, source = assessment.get("feedback"), mapping(assessment.get("source"))
    if not isinstance(feedback, Mapping):
        return
    if assessment.get("valid") is False:
        gathered.say("overridden feedback is left out")
        return
    value = feedback.get("value")
    if isinstance(value, bool):
        value = float(value)
    human = str(source.get("source_type", "")).upper() == "HUMAN"
    if isinstance(value, int | float | str):
        gathered.rate(cell, as_words(assessment.get("assessment_name", assessment.get("name"))), value, human=human)


def _traces(material: Material) -> Sequence[Record] | None:
    document = material.document
    if isinstance(document, Mapping):
        traces = mappings(document.get("traces"))
    elif {"trace_id", "assessments"} <= material.columns or {"info", "data"} <= material.columns:
        traces = list(material.records)
    else:
        return None
    return traces if any("assessments" in _info(trace) for trace in traces) else None


def _info(trace: Record) -> Record:
    return mapping(trace.get("info")) or trace


def _naming_tag(traces: Sequence[Record]) -> str | None:
    """Return the tag that names candidates: a usual name, or the only tag of the user."""
    tags = [mapping(_info(trace).get("tags")) for trace in traces]
    for name in _NAMES:
        if all(name in tag for tag in tags):
            return name
    own = {key for tag in tags for key in tag if not key.startswith(_HIDDEN)}
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
