"""Several judges side by side: a summary, paired differences, and who was not audited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.report.figures.forest import Row, forest_figure
from bonwise.report.figures.names import pair as paired
from bonwise.report.metric_table import interval, named, number
from bonwise.report.page.section import Figure, Section, Table, figures_of

__all__ = ["side_by_side"]

_Document = Mapping[str, Any]

_SUMMARY = ("recovery", "within_r", "global_r", "inflation", "tie_rate", "top1_accuracy")
_DIFFERENCES = ("recovery", "within_r")
_PAIRS_SHOWN = 100


def side_by_side(document: _Document) -> Iterator[Section]:
    """Yield the sections that compare the judges of a document of schema ``bonwise.audit/1``."""
    reference = document["settings"].get("reference")
    yield Section("Judges side by side", "judges", tables=[_summary(document["judges"], reference)])
    if document["comparisons"]:
        yield _differences(document["comparisons"])
    if document["not_audited"]:
        rows = list(document["not_audited"].items())
        yield Section("Not audited", "not-audited", tables=[Table(("judge", "why"), rows, words=(0, 1))])


def _summary(judges: Mapping[str, _Document], reference: str | None) -> Table:
    names = [named(key, reference) for key in _SUMMARY]
    rows = []
    for name, judge in judges.items():
        metrics = judge["metrics"]
        figures = [number(metrics[key]["estimate"]) for key in _SUMMARY]
        counts = f"{judge['data']['labelled_prompts']:,}"
        rows.append(
            (name, judge["verdict"]["level"], figures[0], interval(metrics["recovery"]), *figures[1:], counts)
        )
    headers = ("judge", "verdict", names[0], "its interval", *names[1:], "prompts")
    return Table(headers, rows, title="Each judge on its complete prompts", words=(0, 1))


def _differences(comparisons: Sequence[_Document]) -> Section:
    rows = []
    for pair in comparisons[:_PAIRS_SHOWN]:
        row = [pair["first"], pair["second"], f"{pair['prompts']:,}"]
        for key in _DIFFERENCES:
            found = pair["differences"].get(key)
            row += ["-", "-"] if found is None else [number(found["estimate"]), interval(found)]
        rows.append(row)
    more = len(comparisons) - _PAIRS_SHOWN
    headers = ("first", "second", "prompts", "recovery", "its interval", "within_r", "its interval")
    return Section(
        "Paired differences",
        "differences",
        sentences=["First judge minus second, on the prompts that both scored completely, paired by prompt."],
        figures=_forest(comparisons),
        tables=[Table(headers, rows, title="First minus second", words=(0, 1))],
        notes=[f"{more:,} more pairs are in the JSON document (--json FILE)."] if more > 0 else [],
    )


def _forest(comparisons: Sequence[_Document]) -> list[Figure]:
    return [
        figure
        for key in _DIFFERENCES
        for figure in figures_of(
            forest_figure(
                [_row(pair, key) for pair in comparisons if key in pair["differences"]],
                f"paired-{key.replace('_', '-')}",
                f"Difference of {key}",
                f"{key} of the first judge minus that of the second; right of 0 the first does better.",
                across=f"difference of {key}",
            )
        )
    ]


def _row(pair: _Document, key: str) -> Row:
    found = pair["differences"][key]
    return paired(pair["first"], pair["second"]), found["estimate"], found["low"], found["high"]
