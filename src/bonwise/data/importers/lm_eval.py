"""Samples of lm-evaluation-harness: ``samples_TASK_*.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.data.importers.gathered import GatheredScores
from bonwise.data.importers.material import Imported, Material, Record, mappings

__all__ = ["read_lm_eval"]


def read_lm_eval(material: Material) -> Imported | None:
    """Read logged samples: the repeats in ``resps`` are the candidates, and metrics are labels of the first of them.

    A metric compares the filtered response, the first one, with the target, so that the others have no label.
    """
    if not {"doc_id", "resps", "filtered_resps"} <= material.columns:
        return None
    gathered = GatheredScores(material)
    for record in material.records:
        prompt = _prompt(record)
        for at, text in enumerate(_responses(record.get("resps"))):
            cell = gathered.cell(record.get("doc_id"), f"response {at + 1}", prompt=prompt, text=text)
            metrics = record.get("metrics")
            for metric in metrics if at == 0 and isinstance(metrics, list) else ():
                if isinstance(metric, str) and isinstance(record.get(metric), int | float):
                    gathered.rate(cell, metric, record[metric], human=metric not in material.chosen_scores)
    gathered.say("metrics compare the first response with the target and are its labels; other responses have none")
    return gathered.imported("samples of lm-evaluation-harness")


def _responses(resps: object) -> Iterator[object]:
    """Yield the texts of the repeats, which stand in a list per request."""
    for request in resps if isinstance(resps, list) else ():
        yield from request if isinstance(request, list) else (request,)


def _prompt(record: Record) -> object:
    arguments = record.get("arguments")
    if isinstance(arguments, dict):
        arguments = list(arguments.values())
    first = mappings(arguments)[:1]
    return first[0].get("arg_0") if first else record.get("doc")
