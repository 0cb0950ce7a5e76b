"""Results of promptfoo: JSON and JSON Lines of ``promptfoo eval``, and its CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bonwise.data.importers.gathered import GatheredScores, as_words
from bonwise.data.importers.material import Imported, Material, Record, mapping, mappings

__all__ = ["read_promptfoo"]

_FORMAT = "promptfoo results"
_TOTAL = "score"


def read_promptfoo(material: Material) -> Imported | None:
    """Read results of promptfoo: a candidate is a provider with a prompt template, and a repeat of it another one.

    The metrics of ``namedScores`` are the judges; one whose name says that a person gave it, and an assertion of type
    ``human``, is the label. The total ``score`` averages all assertions, those of people too: it is used only where a
    result has no metric.
    """
    results = _results(material)
    if results is None:
        return None
    gathered = GatheredScores(material)
    templates = {as_words(mapping(one.get("prompt")).get("label")) for one in results if "prompt" in one}
    for one in results:
        _add(gathered, one, several=len(templates) > 1)
    return gathered.imported(_FORMAT)


def _results(material: Material) -> Sequence[Record] | None:
    document = material.document
    if isinstance(document, Mapping):
        inner = document.get("results")
        found = mappings(inner.get("results")) if isinstance(inner, Mapping) else mappings(inner)
        return found if any("namedScores" in one and "vars" in one for one in found) else None
    if {"namedScores", "vars"} <= material.columns:
        return material.records
    return None


def _add(gathered: GatheredScores, one: Record, *, several: bool) -> None:
    variables, provider = mapping(one.get("vars")), one.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    if not provider:
        gathered.skipped += 1
        return
    prompt = mapping(one.get("prompt"))
    label = prompt.get("label")
    name = f"{as_words(provider)} {as_words(label)}" if several and label else as_words(provider)
    shown = {key: value for key, value in variables.items() if not str(key).startswith("_")} or prompt.get("raw")
    prompt_id = as_words(shown)
    if (again := gathered.repeated(prompt_id, name)) != name:
        gathered.say("repeats of a test are further candidates, numbered in the order of the file")
    response = one.get("response") or {}
    text = response.get("output") if isinstance(response, Mapping) else response
    cell = gathered.cell(prompt_id, again, prompt=prompt.get("raw", prompt_id), text=text)
    named = mapping(one.get("namedScores"))
    for metric, value in named.items():
        gathered.rate(cell, metric, value)
    for result in mappings(mapping(one.get("gradingResult")).get("componentResults")):
        assertion = result.get("assertion")
        if isinstance(assertion, Mapping) and assertion.get("type") == "human":
            gathered.rate(cell, "human", result.get("score"), human=True)
    if not named:
        gathered.rate(cell, _TOTAL, one.get("score"), human=False)
        gathered.say("results without a metric have the total score of all assertions")
