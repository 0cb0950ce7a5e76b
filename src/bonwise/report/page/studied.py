"""What the page of every study tells in one way: findings, what they rest on, and who was not studied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from bonwise.printable import printable
from bonwise.report.left_out import labels_left_out
from bonwise.report.page.layout import Findings
from bonwise.report.page.section import Section, Table

__all__ = ["beside_data", "by_judge", "findings", "not_studied", "study_data"]

_Document = Mapping[str, Any]

_Count = tuple[str, int]
_Loss = tuple[str, str, str]
"""What was lost, why, and how many."""


def findings(section: Section, *, lead: int = 0) -> Section:
    """Return a section that folds all sentences but the first few, and sets some of them out."""
    given = {one.name: getattr(section, one.name) for one in fields(Section)}
    return Findings(**given, lead=lead) if section.sentences else section


def by_judge(audit: _Document, study: _Document) -> Iterator[tuple[str | None, _Document]]:
    """Yield the document of a study for each judge that the page of an audit has a part for; else the whole.

    What compares judges, or was made on another table, is nobody's own. Who was not studied stays with the whole.
    """
    own, judges = audit.get("judges", {}), study.get("judges", {})
    source = audit["settings"].get("source")
    if not own or not judges or study.get("kind", "strategies") != "strategies":
        yield None, study
        return
    if not set(judges) <= set(own) or study["settings"].get("source") != source:
        yield None, study
        return
    for name, judge in judges.items():
        yield name, {**study, "judges": {name: judge}, "not_studied": {}}
    if study.get("not_studied"):
        yield None, {**study, "judges": {}}


def study_data(document: _Document) -> Iterator[Section]:
    """Yield the counts behind the figures of a study, and what was left out and why."""
    data = {name: judge["data"] for name, judge in document["judges"].items() if judge.get("data")}
    counts = {name: _counts(one) for name, one in data.items()}
    losses = {name: _losses(one) for name, one in data.items()}
    if data:
        notes = [str(part) for part in labels_left_out(document["settings"])]
        yield Section("Data", "data", _described(data), tables=[_table(counts), *_lost(losses)], notes=notes)


def beside_data(document: _Document, audit: _Document) -> Iterator[Section]:
    """Yield of the same only what the page of the audit does not say already."""
    counts, losses = {}, {}
    for name, judge in document["judges"].items():
        data, known = judge.get("data", {}), audit.get("judges", {audit.get("judge"): audit}).get(name)
        told = {} if known is None else _told(known["data"])
        counts[name] = _counts(
            {key: count for key, count in data.items() if count and count not in told.get(key, ())}
        )
        # Prompts that the audit dropped too stand in its own section.
        same = known is not None and data.get("dropped") == _reasons(known["data"]["dropped"])
        losses[name] = _losses({**data, "dropped": {}} if same else data)
    counts = {name: some for name, some in counts.items() if some}
    tables = [*([_table(counts)] if counts else []), *_lost(losses)]
    if tables:
        study, source = document["study"].replace("_", "-"), document["settings"].get("source")
        whose = "" if source == audit["settings"].get("source") else f" of {printable(source, longest=120)}"
        said = [f"What the study of {study}{whose} rests on, where it differs from the data of the audit."]
        yield Section(f"Data of the study of {study}", f"{study}-data", said, tables=tables)


def not_studied(document: _Document) -> Iterator[Section]:
    """Yield the judges that were not studied, and why."""
    rows = list(document.get("not_studied", {}).items())
    if rows:
        yield Section("Not studied", "not-studied", tables=[Table(("judge", "why"), rows, words=(0, 1))])


def _described(data: Mapping[str, _Document]) -> list[str]:
    alone = [name for name, one in data.items() if one.get("method") == "labelled_only"]
    whose = "" if len(data) == 1 else f" of {', '.join(printable(name, longest=60) for name in alone)}"
    return [f"The figures{whose} describe the labelled prompts alone."] if alone else []


def _counts(data: _Document) -> list[_Count]:
    return [(_words(key), value) for key, value in data.items() if _is_count(value)]


def _losses(data: _Document) -> list[_Loss]:
    """Return what was lost for a reason: a mapping of reasons to counts, or of names to reasons."""
    found = []
    for key, value in data.items():
        for why, count in value.items() if isinstance(value, Mapping) else ():
            if _is_count(count) and count:
                found.append((_words(key), str(why), f"{count:,}"))
            elif isinstance(count, str) and key in {"left_out", "dropped"}:
                found.append((f"{_words(key)}: {why}", count, ""))
    return found


def _lost(losses: Mapping[str, list[_Loss]]) -> Iterator[Table]:
    several = len(losses) > 1
    rows = [(*((name,) if several else ()), *one) for name, some in losses.items() for one in some]
    if rows:
        headers = (*(("judge",) if several else ()), "what", "why", "how many")
        yield Table(headers, rows, "Left out", words=range(len(headers) - 1))


def _table(counts: Mapping[str, list[_Count]]) -> Table:
    if len(counts) == 1:
        (some,) = counts.values()
        return Table(("what", "how many"), [(what, f"{count:,}") for what, count in some], "Counts")
    heads = list(dict.fromkeys(what for some in counts.values() for what, _ in some))
    shown = {name: dict(some) for name, some in counts.items()}
    rows = [(name, *(f"{some[head]:,}" if head in some else "-" for head in heads)) for name, some in shown.items()]
    return Table(("judge", *heads), rows, "Counts")


def _told(data: _Document) -> dict[str, set[int]]:
    """Return, by the key of a study, the counts that the audit's own section tells.

    By key, for a count is not told because a number of something else happens to be the same.
    """
    prompts = {data["prompts"], data["labelled_prompts"]}
    return {
        **dict.fromkeys(("prompts", "studied_prompts", "mixed_prompts"), prompts),
        "rows": {data["rows"]},
        "unlabelled_prompts": {data["prompts"] - data["labelled_prompts"]},
    }


def _reasons(dropped: list[_Document]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in dropped:
        found[one["reason"]] = found.get(one["reason"], 0) + 1
    return found


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _words(key: str) -> str:
    return key.replace("_", " ")
