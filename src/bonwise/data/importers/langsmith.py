"""Exports of LangSmith: runs with their feedback, and the results of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.data.importers.gathered import GatheredScores, as_words
from bonwise.data.importers.material import Imported, Material, Record, mappings

__all__ = ["read_langsmith"]

_PEOPLE = ("app", "human")
"""Sources of feedback that a person gave in the web application or by hand."""


def read_langsmith(material: Material) -> Imported | None:
    """Read runs with feedback, or the rows of ``ExperimentResults.to_pandas``.

    Runs of one example, or with equal inputs, are the candidates of one prompt, named by their experiment, model or
    name. Feedback that came from a person is the label; each other key is a judge.
    """
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
    cell = gathered.cell(prompt_id, gathered.repeated(prompt_id, _name(run)), prompt=inputs, text=run.get("outputs"))
    for one in mappings(run.get("feedback")):
        source = one.get("feedback_source")
        kind = str(source.get("type", "") if isinstance(source, Mapping) else source or "").lower()
        gathered.rate(cell, as_words(one.get("key")), one.get("score"), human=kind in _PEOPLE or None)
    stats = run.get("feedback_stats")
    for key, one in stats.items() if isinstance(stats, Mapping) and not run.get("feedback") else ():
        gathered.rate(cell, key, one.get("avg") if isinstance(one, Mapping) else one)


def _add_row(gathered: GatheredScores, row: Record) -> None:
    inputs = {name.removeprefix("inputs."): value for name, value in row.items() if name.startswith("inputs.")}
    outputs = {name.removeprefix("outputs."): value for name, value in row.items() if name.startswith("outputs.")}
    prompt_id = row.get("example_id") or inputs
    name = row.get("experiment") or row.get("model") or "run"
    cell = gathered.cell(prompt_id, gathered.repeated(prompt_id, name), prompt=inputs, text=outputs)
    for key, value in row.items():
        if key.startswith("feedback.") and value is not None:
            gathered.rate(cell, key.removeprefix("feedback."), value)


def _name(run: Record) -> Any:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    inner: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    for found in (inner.get("candidate"), inner.get("variant"), inner.get("ls_model_name"), inner.get("model")):
        if found:
            return found
    return run.get("session_name") or run.get("session_id") or run.get("name") or "run"
