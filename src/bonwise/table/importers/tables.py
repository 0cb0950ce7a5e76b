"""Tables in other shapes: a column per model or judge, lists in cells, chosen and rejected responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError
from bonwise.printable import listed
from bonwise.table import nested
from bonwise.table.importers.material import GatheredScores, Imported, Material, Record, as_words
from bonwise.table.roles import by_key, claims, key_of, names_a_label, score_of

_TEXTS = ("responses", "completions", "candidates", "answers", "outputs", "generations", "samples", "choices")
_NAMES = ("models", "candidateids", "candidatenames", "systems", "policies", "names", "ids", "modelnames")
_SCORES = ("scores", "judgescores", "rewards", "ratings", "grades", "rmscores", "modelscores")
_LABELS = ("labels", "oraclelabels", "humanlabels", "golds", "correct", "iscorrect", "humanscores", "humanratings")
_OF_ITEM = {
    "name": ("candidate", "model", "id", "name", "policy", "system"),
    "text": ("text", "response", "completion", "output", "answer", "content"),
}


def read_wide(material: Material) -> Imported | None:
    """Read a column of scores per judge, ``NAME_score``, or per candidate where no column names candidates.

    There may also be a column of labels per candidate, ``NAME_label``, and then no scores.
    """
    if material.frame is None:
        return None
    frame, names = material.frame, by_key(material.frame.columns)
    labels = {named[0]: name for name in frame.columns if (named := score_of(name)) and named[1] == "label"}
    scores = _score_columns(material)
    scores = scores if len(scores) > 1 else {}
    if not scores and len(labels) < 2:
        return None
    prompt = _column("prompt_id", names, material)
    if prompt is None:
        return None
    candidate = _column("candidate", names, material, skip=(prompt, *scores.values()))
    if candidate is None:
        return _wide_candidates(material, prompt, scores, labels)
    if not scores:
        return None
    kept = [name for name in frame.columns if name not in scores.values()]
    parts = [frame[kept].assign(judge=judge, judge_score=frame[column]) for judge, column in scores.items()]
    made = _row_by_row(parts, scores.values()).rename(columns={prompt: "prompt_id", candidate: "candidate"})
    if material.chosen_label in made.columns:
        made = made.rename(columns={material.chosen_label: "oracle_label"})
    how = f"the columns {listed(scores.values())} are judges"
    return Imported("a column per judge", made, (how,), ())


def _row_by_row(parts: Sequence[pd.DataFrame], columns: Iterable[str]) -> pd.DataFrame:
    """Put what becomes of a row together; the index names row and column."""
    named = [
        part.set_axis([f"{row} ({column})" for row in part.index])
        for part, column in zip(parts, columns, strict=True)
    ]
    order = np.argsort(np.tile(np.arange(len(parts[0])), len(parts)), kind="stable")
    return pd.concat(named).iloc[order]


def _wide_candidates(
    material: Material, prompt: str, scores: Mapping[str, str], labels: Mapping[str, str]
) -> Imported:
    frame, candidates = material.frame if material.frame is not None else pd.DataFrame(), scores or labels
    labels = {key_of(name): column for name, column in labels.items()}
    words = {key_of(name): name for name in frame.columns}
    parts, texts = [], set()
    for candidate in candidates:
        key = key_of(candidate)
        text = next(
            (words[key + end] for end in ("response", "answer", "output", "text") if key + end in words), None
        )
        part = pd.DataFrame({"prompt_id": frame[prompt], "candidate": candidate, "judge_score": None})
        if scores:
            part["judge_score"] = frame[scores[candidate]]
        part["oracle_label"] = frame[labels[key]] if key in labels else None
        if text is not None:
            part["text"] = frame[text]
            texts.add(text)
        parts.append(part)
    taken = {*texts, *scores.values(), *labels.values(), prompt, *(c for part in parts for c in part.columns)}
    rest = [name for name in frame.columns if name not in taken]
    made = _row_by_row([part.join(frame[rest]) for part in parts], candidates.values())
    lacks = () if labels else ("no label of a person: a column NAME_label per candidate, or --labels",)
    lacks = lacks if scores else ("no judge's score: score the responses with bonwise judge",)
    made = made.drop(columns=[*([] if labels else ["oracle_label"]), *([] if scores else ["judge_score"])])
    how = f"the columns {listed(candidates.values())} are the {'scores' if scores else 'labels'} of candidates"
    return Imported("a column per candidate", made, (how,), lacks)


def _score_columns(material: Material) -> dict[str, str]:
    """Return the columns of scores by whose they are."""
    chosen = material.chosen_scores
    if len(chosen) > 1:
        missing = [name for name in chosen if name not in material.columns]
        if missing:
            raise ColumnError(
                f"{material.source}: no column named {listed(missing)} for judge_score",
                hint=f"the columns are {listed(material.columns)}",
            )
        return {(named[0] if (named := score_of(name)) else name): name for name in chosen}
    if chosen or material.frame is None:
        return {}
    columns: dict[str, str] = {}
    for name in material.frame.columns:
        named = score_of(name)
        if named is not None and named[1] == "score" and not names_a_label(name):
            columns[named[0]] = name
    return columns


def _column(
    role: str, names: Mapping[str, Sequence[str]], material: Material, skip: Sequence[str] = ()
) -> str | None:
    named = material.named.get(role)
    if named is not None:
        return named if named in material.columns else None
    fitting = (column for group in claims(role, names) for column in group if column not in skip)
    return next(fitting, None)


def read_list_columns(material: Material) -> Imported | None:
    """Read a row per prompt whose cells hold lists: responses, scores, labels, names, or objects of these."""
    names = by_key(material.columns)
    lists = {kind: _present(names, keys) for kind, keys in _LISTS.items()}
    first = lists["texts"] or lists["scores"] or (lists["names"] and lists["labels"])
    records = material.records
    if first is None or not any(_list(record.get(first)) for record in records[:50]):
        return None
    if {"prompt", "candidates"} <= material.columns and lists["scores"] is None:
        return None  # pools, which are judged first
    gathered = GatheredScores(material)
    prompt = _column("prompt_id", names, material)
    for place, record in enumerate(records, start=1):
        _add_lists(gathered, record, record.get(prompt) if prompt else f"row {place}", lists)
    if prompt is None:
        gathered.say("prompts are numbered in the order of the file")
    gathered.say(f"a row is a prompt; its lists are {listed(name for name in lists.values() if name)}")
    return gathered.imported("lists of candidates")


_LISTS = {"texts": _TEXTS, "names": _NAMES, "scores": _SCORES, "labels": _LABELS}


def _present(names: Mapping[str, Sequence[str]], keys: Sequence[str]) -> str | None:
    return next((names[key][0] for key in keys if key in names), None)


def _add_lists(gathered: GatheredScores, record: Record, prompt: object, lists: Mapping[str, str | None]) -> None:
    columns = {kind: _list(record.get(name)) if name else [] for kind, name in lists.items()}
    size = max(map(len, columns.values()))
    if prompt is None or not size:
        gathered.skipped += 1
        return
    for at in range(size):
        item = {kind: cells[at] if at < len(cells) else None for kind, cells in columns.items()}
        text, name = item["texts"], item["names"]
        inner: Record = text if isinstance(text, Mapping) else {}
        name = name if name is not None else _of(inner, "name")
        cell = gathered.cell(
            prompt,
            gathered.repeated(prompt, name) if name is not None else f"c{at}",
            prompt=record.get("prompt", record.get("instruction")),
            text=_of(inner, "text") if inner else text,
        )
        if item["scores"] is not None:
            gathered.rate(cell, lists["scores"] or "", item["scores"], human=False)
        if item["labels"] is not None:
            gathered.rate(cell, lists["labels"] or "", item["labels"], human=True)
        for key, value in _inner_scores(inner):
            gathered.rate(cell, key, value)


def _list(value: object) -> list[Any]:
    """Return a list, one that is written as JSON text too; nothing of any other cell."""
    value = nested.plain_cell(value)
    return value if isinstance(value, list) else []


def _of(item: Record, what: str) -> Any:
    return next((item[key] for key in _OF_ITEM[what] if item.get(key) is not None), None)


def _inner_scores(item: Record) -> Iterator[tuple[str, Any]]:
    """Yield the values of an object that are scores or labels by their name."""
    for key, value in item.items():
        telling = (
            names_a_label(key) or score_of(key) is not None or key_of(key) in ("score", "rating", "reward", "label")
        )
        if telling and isinstance(value, int | float | str):
            yield key, value


def read_chosen_rejected(material: Material) -> Imported | None:
    """Read pairs of chosen and rejected responses, or lists of these, as labels 1 and 0, scores beside them."""
    names = by_key(material.columns)
    texts = {side: _present(names, (side, f"{side}response", f"response{side}", f"{side}answer")) for side in _SIDES}
    scores = {side: _present(names, [form.format(side) for form in _SCORE_FORMS]) for side in _SIDES}
    if None in texts.values() and None in scores.values():
        return None
    gathered = GatheredScores(material)
    prompt = _column("prompt_id", names, material)
    used = {prompt, *texts.values(), *scores.values(), "prompt", "instruction"}
    for place, record in enumerate(material.records, start=1):
        asked = record.get(prompt) if prompt is not None else None
        words = record.get("prompt", record.get("instruction"))
        strata = {name: value for name, value in record.items() if name not in used and isinstance(value, str | int)}
        identifier = asked if asked is not None else words if words is not None else f"row {place}"
        for side, label in _SIDES.items():
            _add_side(gathered, record, (identifier, words), side, label, texts[side], scores[side])
        gathered.describe(identifier, strata)
    gathered.say("chosen = 1, rejected = 0")
    return gathered.imported("chosen and rejected responses")


_SIDES = {"chosen": 1, "rejected": 0}
_SCORE_FORMS = ("{}score", "score{}", "scores{}", "{}scores", "{}reward", "reward{}", "{}rating", "results{}")


def _add_side(
    gathered: GatheredScores,
    record: Record,
    prompt: tuple[object, object],
    side: str,
    label: int,
    text: str | None,
    score: str | None,
) -> None:
    texts = _sides(record.get(text) if text else None)
    scores = _numbers(record.get(score) if score else None)
    for at in range(max(len(texts), len(scores))):
        name = side if max(len(texts), len(scores)) == 1 else f"{side} {at + 1}"
        cell = gathered.cell(
            prompt[0],
            gathered.repeated(prompt[0], name),
            prompt=prompt[1],
            text=texts[at] if at < len(texts) else None,
        )
        if at < len(scores):
            gathered.rate(cell, "judge", scores[at], human=False)
        gathered.rate(cell, "chosen", label, human=True)


def _sides(value: object) -> list[object]:
    """Return the responses of one side: several texts, or one text or conversation."""
    if value is None:
        return []
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        return value
    if isinstance(value, list) and value and isinstance(value[-1], Mapping) and "content" in value[-1]:
        return [as_words(value[-1]["content"])]
    return [value]


def _numbers(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
