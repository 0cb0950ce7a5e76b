"""Results of DeepEval, Inspect, lm-evaluation-harness, promptfoo, and of inputs, outputs and named scores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.errors import FileError
from bonwise.table.importers.material import GatheredScores, Imported, Material, Record, as_words, mapping, mappings
from bonwise.table.roles import names_a_label

_METRICS = ("metricsData", "metrics_data")
_GIVEN = re.compile(r"test_case_\d+")
"""Names that DeepEval gives to cases without one."""

_ANSWERS = ("actualOutput", "actual_output")


def read_deepeval(material: Material) -> Imported | None:
    """Read a test run of DeepEval: cases of one input are candidates, by name or place, each metric a judge."""
    cases = _cases(material)
    if cases is None:
        return None
    gathered = GatheredScores(material)
    names = [(case.get("input"), case.get("name")) for case in cases]
    named = all(isinstance(name, str) and not _GIVEN.fullmatch(name) for _, name in names) and len(
        {map_key(pair) for pair in names}
    ) == len(names)
    for case in cases:
        asked, text = case.get("input"), next((case[key] for key in _ANSWERS if key in case), None)
        if asked is None:
            gathered.skipped += 1
            continue
        candidate = case["name"] if named else gathered.numbered(asked, "case")
        cell = gathered.cell(asked, candidate, prompt=asked, text=text)
        for metric in mappings(next((case[key] for key in _METRICS if key in case), None)):
            gathered.rate(cell, str(metric.get("name")), metric.get("score"))
    if not named:
        gathered.say("test cases of one input are numbered in the order of the file")
    return gathered.imported("DeepEval test run")


def map_key(pair: tuple[object, object]) -> str:
    """Return what tells pairs apart, whatever their parts are."""
    return repr(pair)


def _cases(material: Material) -> Sequence[Record] | None:
    document = material.document
    inner = document.get("testRunData", document) if isinstance(document, Mapping) else None
    if isinstance(inner, Mapping):
        cases = mappings(inner.get("testCases") or inner.get("test_cases") or inner.get("test_results"))
    else:
        cases = list(material.records) if material.columns & {*_METRICS} else []
    return cases if any(key in case for case in cases for key in _METRICS) else None


_TARGETS = frozenset({"match", "includes", "exact", "pattern", "answer", "choice", "f1", "math"})
"""Scorers of Inspect that compare with the target."""

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What the grades of a scorer are worth, as Inspect's own metrics count them."""


def read_inspect(material: Material) -> Imported | None:
    """Read a log of Inspect: an epoch of a model is a candidate, a scorer a judge, or a person's name the label."""
    log = _log(material)
    if log is None:
        return None
    model, samples = log
    gathered = GatheredScores(material)
    scorers = {name for sample in samples for name in mapping(sample.get("scores"))}
    targets = scorers & _TARGETS
    if targets == scorers or any(map(names_a_label, scorers)):
        targets = set()  # without a judge beside them, or beside labels of people, they are judges
    for name in sorted(targets):
        gathered.say(f"{name!r} compares with the target and is the label")
    for sample in samples:
        _add_sample(gathered, sample, targets)
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
        samples = [
            sample for name, sample in document.items() if name.startswith("samples/") and isinstance(sample, Mapping)
        ]
    return as_words(run.get("model", "the model")), samples


def _add_sample(gathered: GatheredScores, sample: Record, targets: set[str]) -> None:
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
                gathered.rate(cell, f"{scorer}/{name}", _number_of_grade(gathered, part))
        else:
            gathered.rate(cell, scorer, _number_of_grade(gathered, value), human=scorer in targets or None)


def _number_of_grade(gathered: GatheredScores, value: object) -> object:
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
    last = [message for message in messages if message.get("role") == "user"]
    return last[-1].get("content") if last else given


def read_lm_eval(material: Material) -> Imported | None:
    """Read logged samples: repeats in ``resps`` are candidates, metrics labels of the first, filtered one alone."""
    parts = {name: mappings(part) for name, part in mapping(material.document).items() if "samples_" in str(name)}
    if not parts and {"doc_id", "resps", "filtered_resps"} <= material.columns:
        parts = {"": list(material.records)}
    tasks, models = ({where[at] for where in map(_task_and_model, parts)} for at in (0, 1))
    gathered = GatheredScores(material)
    for part, record in ((part, record) for part, records in parts.items() for record in records):
        prompt, (task, model) = _prompt(record), _task_and_model(part)
        asked = f"{task} {as_words(record.get('doc_id'))}" if len(tasks) > 1 else record.get("doc_id")
        for at, text in enumerate(_responses(record.get("resps"))):
            name = f"{model} response {at + 1}" if len(models) > 1 else f"response {at + 1}"
            cell = gathered.cell(asked, name, prompt=prompt, text=text)
            metrics = record.get("metrics")
            for metric in metrics if at == 0 and isinstance(metrics, list) else ():
                if isinstance(metric, str) and isinstance(record.get(metric), int | float):
                    gathered.rate(cell, metric, record[metric], human=metric not in material.chosen_scores)
    if not parts:
        return None
    gathered.say("metrics compare the first response with the target and are its labels; other responses have none")
    return gathered.imported("samples of lm-evaluation-harness")


def _task_and_model(part: str) -> tuple[str, str]:
    """Return what the path of a file of samples, ``MODEL/samples_TASK_DATE.jsonl``, names."""
    folder, _, file = part.rpartition("/")
    return re.sub(r"_\d{4}-.*|\.jsonl.*", "", file.partition("samples_")[2]), folder


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


_FORMAT = "promptfoo results"
_TOTAL = "score"


def read_promptfoo(material: Material) -> Imported | None:
    """Read results of promptfoo: provider and template are a candidate, ``namedScores`` judges, people's labels."""
    results = _results(material)
    if results is None:
        return None
    gathered = GatheredScores(material)
    templates = {as_words(mapping(result.get("prompt")).get("label")) for result in results if "prompt" in result}
    for result in results:
        _add_result(gathered, result, several=len(templates) > 1)
    return gathered.imported(_FORMAT)


def _results(material: Material) -> Sequence[Record] | None:
    document = material.document
    if isinstance(document, Mapping):
        inner = document.get("results")
        results = mappings(inner.get("results")) if isinstance(inner, Mapping) else mappings(inner)
        return results if any("namedScores" in result and "vars" in result for result in results) else None
    if {"namedScores", "vars"} <= material.columns:
        return material.records
    return list(_results_of_csv(material)) if "Named Scores #1" in material.columns else None


def _results_of_csv(material: Material) -> Iterator[Record]:
    """Yield the results of a CSV, which has a block of columns for each output, beginning with its text."""
    names = list(material.records[0])
    starts = [at - 1 for at, name in enumerate(names) if name.startswith("Status #")]
    for row in material.records:
        variables = {name: row[name] for name in names[: starts[0]]}
        for block, start in enumerate(starts, start=1):
            provider, _, label = re.sub(r" #\d+$", "", names[start]).removeprefix("[").partition("] ")
            prompt = {"label": label, "raw": None}
            named = json.loads(row[f"Named Scores #{block}"] or "{}")
            output = {"vars": variables, "provider": provider, "prompt": prompt, "response": row[names[start]]}
            yield {**output, "namedScores": named, "score": row.get(f"Score #{block}")}


def _add_result(gathered: GatheredScores, one: Record, *, several: bool) -> None:
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


_CASES = ("cases", "results", "rows", "data", "items", "experiments", "spans")
_INPUTS = ("input", "inputs", "user_input", "question", "prompt", "query", "datasource_item")
_OUTPUTS = ("output", "outputs", "response", "answer", "completion", "sample")
_SCORES = ("scores", "feedback_scores", "evaluations", "evals", "annotations", "results")
_IDS = ("prompt_id", "source_case_name", "example_id", "dataset_record_id", "datasource_item_id", "case_id")
_NAMES = ("candidate", "variant", "model", "experiment", "experiment_name", "model_name")
_PEOPLE = ("human", "ui", "annotation", "annotator", "app", "user")


def read_scored_records(material: Material) -> Imported | None:
    """Read records as of pydantic-evals and Braintrust: those of one input are candidates, people's scores labels."""
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
        records: Sequence[Record] = next((rows for key in _CASES if (rows := mappings(document.get(key)))), [])
    elif material.columns & {*_INPUTS} and material.columns & {*_SCORES}:
        records = material.records
    else:
        return None
    is_scored = any(_first(record, _INPUTS) is not None and any(_values(record)) for record in records[:50])
    return records if is_scored else None


def _values(record: Record) -> Iterator[tuple[str, Any, bool | None]]:
    """Yield name and value of each score, and whether a person gave it where that is known."""
    held = next((record[key] for key in _SCORES if isinstance(record.get(key), Mapping | list)), None)
    if isinstance(held, Mapping):
        for name, score in held.items():
            inner = score if isinstance(score, Mapping) else {"value": score}
            yield str(name), _number_of_score(inner), _by_a_person(inner)
    for score in mappings(held):
        name = next(
            (score[key] for key in ("name", "key", "metric", "label_name") if isinstance(score.get(key), str)), None
        )
        if name is not None:
            yield name, _number_of_score(score), _by_a_person(score)


def _number_of_score(score: Record) -> Any:
    result = score.get("result")
    inner: Record = result if isinstance(result, Mapping) else {}
    number = next(
        (place[key] for place in (score, inner) for key in ("score", "value") if place.get(key) is not None), None
    )
    if isinstance(number, bool):
        return float(number)
    return number if isinstance(number, int | float | str) else None


def _by_a_person(score: Record) -> bool | None:
    kinds = [score.get(key) for key in ("source", "annotator_kind", "source_type")]
    return True if any(isinstance(kind, str) and kind.lower() in _PEOPLE for kind in kinds) else None


def _first(record: Record, keys: Sequence[str]) -> Any:
    first_value = next((record[key] for key in keys if record.get(key) is not None), None)
    return as_words(first_value) if isinstance(first_value, Mapping) and not first_value else first_value
