"""The page of an audit: the verdict, its figures, what they rest on, and the prompts behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bonwise.report.metric_table import named
from bonwise.report.page.data_section import data_section, left_out_notes, partial_section
from bonwise.report.page.head import facts, title
from bonwise.report.page.judge_figures import judge_figures
from bonwise.report.page.layout import Page, Part, Prompts
from bonwise.report.page.metrics_section import metrics_section
from bonwise.report.page.section import MOST_DRAWN, Section
from bonwise.report.page.several_judges import side_by_side
from bonwise.report.page.verdict_section import gates_section, verdict_of, verdict_of_several

__all__ = ["audit_page"]

_Document = Mapping[str, Any]


_METRICS_ALONE: _Document = {
    "chance": None,
    "differences": None,
    "spread": None,
    "strata": (),
    "strata_left_out": (),
}
"""Without exhibits the metrics can still be drawn."""


def audit_page(
    document: _Document,
    *,
    exhibits: _Document | None = None,
    studies: Mapping[str | None, Sequence[Section]] | None = None,
    more: str | None = None,
) -> Page:
    """Lay out a document of schema ``bonwise.audit/1``.

    Parameters
    ----------
    document : mapping
    exhibits : mapping, optional
        What is drawn and the worst prompts, of schema ``bonwise.exhibits/1``; without it neither is on the page.
    studies : mapping of str or None to sequence of Section
        Studies made on the same table, by the judge whose they are; under None those of the whole table.
    more : str, optional
        Name of the file beside the page that holds a row for each prompt.
    """
    several, studies = "judges" in document, studies or {}
    parts = list(_several(document, exhibits, studies) if several else _alone(document, exhibits))
    whole = Part(studies.get(None, ()))
    return Page(title(document), facts(document), [*parts, whole], _prompts(document, exhibits, more))


def _alone(document: _Document, exhibits: _Document | None) -> Iterator[Part]:
    settings = document["settings"]
    shown = _METRICS_ALONE if exhibits is None else exhibits["judges"][document["judge"]]
    sections = [*gates_section(document), *_others(document), *_of_judge(document, settings, shown, "")]
    yield Part(sections, verdict=verdict_of(document, settings))


def _several(
    document: _Document, exhibits: _Document | None, studies: Mapping[str | None, Sequence[Section]]
) -> Iterator[Part]:
    judges, settings = document["judges"], document["settings"]
    opening = [*gates_section(document), *_compared(document), *_others(document)]
    yield Part(opening, verdict=verdict_of_several(judges, settings))
    drawn = dict.fromkeys(judges, _METRICS_ALONE) if exhibits is None else exhibits["judges"]
    for at, (name, judge) in enumerate(judges.items(), start=1):
        anchor = f"judge-{at}"
        shown = drawn[name] if len(judges) <= MOST_DRAWN else None
        sections = _of_judge(judge, settings, shown, f"{anchor}-")
        studied = [replace(one, anchor=f"{anchor}-{one.anchor}") for one in studies.get(name, ())]
        yield Part([*sections, *studied], name, anchor, verdict_of(judge, settings))


def _compared(document: _Document) -> Iterator[Section]:
    """Yield what compares the judges; the first of it says where drawings are missing."""
    first, *others = side_by_side(document)
    many = len(document["judges"])
    note = f"Of {many:,} judges each has tables below and no drawings: up to {MOST_DRAWN} judges are drawn in full."
    yield replace(first, notes=[*first.notes, note]) if many > MOST_DRAWN else first
    yield from others


def _of_judge(judge: _Document, settings: _Document, shown: _Document | None, prefix: str) -> Iterator[Section]:
    yield data_section(judge, f"{prefix}data")
    yield metrics_section(judge, settings, f"{prefix}metrics")
    yield from partial_section(judge, settings, f"{prefix}missing-labels")
    if shown is not None:
        yield from judge_figures(judge["metrics"], shown, prefix, settings.get("reference"))


def _others(document: _Document) -> Iterator[Section]:
    """Yield what is to be known of the table and no judge's own."""
    notes = [f"{name} {role}" for name, role in document.get("covariates", {}).items()]
    notes += left_out_notes(document["settings"])
    if notes:
        yield Section("Of the table", "table", sentences=notes)


def _prompts(document: _Document, exhibits: _Document | None, more: str | None) -> Prompts | None:
    if exhibits is None or not exhibits["prompts"]["rows"]:
        return None
    found = exhibits["prompts"]
    label = named("label", document["settings"].get("reference"))
    return Prompts(found["rows"], found["of"], more, "judges" in document, label)
