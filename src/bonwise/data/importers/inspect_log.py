"""Logs of Inspect: ``.json`` and ``.eval``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.data.importers.gathered import GatheredScores, as_words
from bonwise.data.importers.material import Imported, Material, Record, mappings
from bonwise.errors import FileError

__all__ = ["read_inspect"]

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What the grades of a scorer are worth, as Inspect's own metrics count them."""


def read_inspect(material: Material) -> Imported | None:
    """Read a log of Inspect: a candidate is an epoch of a model, and each scorer is a judge.

    A scorer whose name says that a person gave its values holds the labels. Of a scorer with several values each is a
    judge of its own, ``scorer/value``.
    """
    found = _log(material)
    if found is None:
        return None
    model, samples = found
    gathered = GatheredScores(material)
    for sample in samples:
        _add(gathered, sample)
    if not samples:
        raise FileError(f"{material.source}: a log of Inspect without samples", hint="let the evaluation finish")
    gathered.say(f"a candidate is an epoch of {model}")
    return gathered.imported("Inspect log")


def _log(material: Material) -> tuple[str, Sequence[Record]] | None:
    document = material.document
    if not isinstance(document, Mapping):
        return None
    header: Any = document.get("header.json") or document.get("_journal/start.json") or document
    run = header.get("eval") if isinstance(header, Mapping) else None
    if not isinstance(run, Mapping) or "task" not in run:
        return None
    if header is document:
        samples = mappings(document.get("samples"))
    else:
        samples = [one for name, one in document.items() if name.startswith("samples/") and isinstance(one, Mapping)]
    return as_words(run.get("model", "the model")), samples


def _add(gathered: GatheredScores, sample: Record) -> None:
    if sample.get("id") is None:
        gathered.skipped += 1
        return
    epoch = sample.get("epoch", 1)
    output = sample.get("output")
    text = output.get("completion") if isinstance(output, Mapping) else None
    cell = gathered.cell(sample["id"], f"epoch {as_words(epoch)}", prompt=_asked(sample.get("input")), text=text)
    scores = sample.get("scores")
    for scorer, score in scores.items() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping):
            for name, part in value.items():
                gathered.rate(cell, f"{scorer}/{name}", _number(gathered, part))
        else:
            gathered.rate(cell, scorer, _number(gathered, value))


def _number(gathered: GatheredScores, value: object) -> object:
    if isinstance(value, str) and value in _GRADES:
        gathered.say("grades of Inspect: C = 1, P = 0.5, I = 0, N = 0")
        return _GRADES[value]
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return value
    if value is not None:
        gathered.say("values that are neither numbers nor grades are left out")
    return None


def _asked(given: object) -> object:
    messages = mappings(given)
    last = [one for one in messages if one.get("role") == "user"]
    return last[-1].get("content") if last else given
