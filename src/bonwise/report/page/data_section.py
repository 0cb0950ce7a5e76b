"""What an audit's figures rest on: counts, what was dropped and why, how labels were drawn, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.report.amounts import counted
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import interval, named, number
from bonwise.report.page.section import Section, Table
from bonwise.report.sampling_text import sampling_parts

__all__ = ["data_section", "left_out_notes", "partial_section"]

_Document = Mapping[str, Any]

_EXAMPLES = 8

_NO_VALUES = "of values unknown: they need the scale of the labels (--label-scale), and two labelled prompts"


def data_section(judge: _Document, anchor: str) -> Section:
    """Return the counts behind a judge's figures, its dropped prompts by reason, and how labels were drawn."""
    data = judge["data"]
    dropped = _dropped(data["dropped"])
    return Section(
        "Data",
        anchor,
        sentences=list(_counts(data, how_many=len(data["dropped"]))),
        tables=[dropped] if dropped.rows else [],
        notes=[str(part) for part in sampling_parts(judge.get("sampling", {}))],
    )


def partial_section(judge: _Document, settings: _Document, anchor: str) -> Iterator[Section]:
    """Yield what is known of the missing labels: how labelled prompts differ, and worst cases."""
    if "bounds" not in judge and "balance" not in judge:
        return
    reference = settings.get("reference")
    tables = []
    if "balance" in judge:
        rows = [
            (row["feature"], *(number(row[key]) for key in ("labelled", "unlabelled", "difference")), interval(row))
            for row in judge["balance"]
        ]
        headers = ("feature of the scores", "labelled", "unlabelled", "difference", "interval")
        tables.append(Table(headers, rows, title="Labelled against unlabelled prompts"))
    notes = []
    if "bounds" in judge:
        bounds = [
            (named(name, reference), f"{low:.3f}", f"{high:.3f}") for name, (low, high) in judge["bounds"].items()
        ]
        title = "Worst case over the missing labels, all prompts"
        tables += [Table(("metric", "at least", "at most"), bounds, title=title)] if bounds else []
        notes += [] if "value_random" in judge["bounds"] else [f"Worst case {_NO_VALUES}"]
    yield Section("Missing labels", anchor, tables=tables, notes=notes)


def left_out_notes(settings: _Document) -> Sequence[str]:
    """Return what is to be said of labels that were there and not used."""
    return [str(part) for part in labels_left_out(settings)]


def _counts(data: _Document, *, how_many: int) -> Iterator[str]:
    size = data["candidates"]
    if size is None:
        width = f"{data['candidates_min']} to {data['candidates_max']} candidates"
    else:
        width = counted(size, "candidate")
    told = f"{counted(data['prompts'], 'prompt')} with {width} each, {counted(data['rows'], 'row')}"
    if data["labelled_prompts"] < data["prompts"]:
        told += f"; {data['labelled_prompts']:,} labelled completely, {data['partly_labelled_prompts']:,} in part"
    yield f"{told}."
    if data.get("pools_without_pick"):
        yield f"Of {data['pools']:,} pools {data['pools_without_pick']:,} have no pick."
    if how_many:
        yield f"{counted(how_many, 'prompt')} {'were' if how_many > 1 else 'was'} dropped."


def _dropped(dropped: Sequence[_Document]) -> Table:
    reasons: dict[str, list[str]] = {}
    for one in dropped:
        reasons.setdefault(one["reason"], []).append(one["prompt_id"])
    rows = [
        (reason, f"{len(ids):,}", ", ".join(map(str, ids[:_EXAMPLES])) + (", ..." if len(ids) > _EXAMPLES else ""))
        for reason, ids in sorted(reasons.items(), key=lambda row: -len(row[1]))
    ]
    return Table(("why", "prompts", "such as"), rows, title="Dropped prompts", words=(0, 2))
