"""The study of calibration on a page: changes by method, drawn and in tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.printable import printable
from bonwise.report.calibration_text import CHANGES, interval_note, labelled_note, percent, percent_interval, signed
from bonwise.report.figures.forest import forest_figure
from bonwise.report.metric_table import interval, interval_header, named, number
from bonwise.report.page.section import Figure, Section, Table, figures_of

__all__ = ["calibration_sections"]

_Document = Mapping[str, Any]

_DRAWN = ("recovery", "within_r", "global_r", "sign_agreement")


def calibration_sections(document: _Document, *, drawn: bool = True) -> list[Section]:
    """Return one section a judge.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.study/1``, study ``calibration``.
    drawn : bool
        Whether the sections have figures.
    """
    several = len(document["judges"]) > 1
    return [
        _section(name, judge, document["settings"], at if several else None, drawn=drawn)
        for at, (name, judge) in enumerate(document["judges"].items(), 1)
    ]


def _section(name: str, judge: _Document, settings: _Document, number_of: int | None, *, drawn: bool) -> Section:
    title = "Calibration" if number_of is None else f"Calibration of {printable(name, longest=60)}"
    anchor = "calibration" if number_of is None else f"calibration-{number_of}"
    reference = settings.get("reference")
    return Section(
        title,
        anchor,
        [named(printable(sentence), reference) for sentence in judge["sentences"]],
        [
            figure
            for metric in (_DRAWN if drawn else ())
            for figure in _figures(metric, judge, settings, f"{anchor}-{metric.replace('_', '-')}")
        ],
        [_changes(judge, settings), _picks(judge)],
        _notes(judge, settings),
    )


def _notes(judge: _Document, settings: _Document) -> list[str]:
    data = judge["data"]
    known = ", ".join(printable(one, longest=40) for one in judge["covariates"]) or "none"
    notes = [
        f"{data['prompts']:,} labelled prompts in {settings['folds']} folds, each calibrated by a map of the others.",
        interval_note(judge),
        f"Covariates: {known}.",
    ]
    if data["method"] == "labelled_only":
        notes.append(f"{labelled_note(data).capitalize()}.")
    return notes


def _figures(metric: str, judge: _Document, settings: _Document, key: str) -> list[Figure]:
    changes = {_words(method): found["changes"][metric] for method, found in judge["methods"].items()}
    said = [
        f"{method} {signed(one['estimate'])} {interval(one)}"
        if one["estimate"] is not None
        else f"{method} unknown, {one['reason']}"
        for method, one in changes.items()
    ]
    return figures_of(
        forest_figure(
            [(method, one["estimate"], one["low"], one["high"]) for method, one in changes.items()],
            key,
            f"Change of {metric}",
            f"Calibrated minus raw {metric}, a dot a method with its {100 * settings['confidence']:g}% interval: "
            f"{'; '.join(said)}. At the line nothing changes.",
            across=f"change of {metric}",
        )
    )


def _words(method: str) -> str:
    return method.replace("_", " ")


def _changes(judge: _Document, settings: _Document) -> Table:
    rows: list[list[str]] = []
    strong = []
    for method, found in judge["methods"].items():
        for metric in CHANGES:
            change, relative = found["changes"][metric], found["relative"].get(metric)
            if metric == "recovery":
                strong.append(len(rows))
            rows.append(
                [
                    _words(method),
                    metric,
                    number(judge["raw"]["metrics"][metric]["estimate"]),
                    number(found["metrics"][metric]["estimate"]),
                    signed(change["estimate"]),
                    interval(change),
                    "" if relative is None else _relative(relative),
                ]
            )
    width = interval_header(settings["confidence"])
    headers = ("method", "metric", "raw", "calibrated", "change", width, "in %")
    return Table(headers, rows, "What calibrating changes", words=(0, 1), strong=strong)


def _relative(found: _Document) -> str:
    if found["estimate"] is None:
        return "-"
    return f"{percent(found['estimate'])} {percent_interval(found)}"


def _picks(judge: _Document) -> Table:
    headers = ("method", "picks changed", "of them without a tie", "newly tied", "ties broken", "prompts")
    rows = []
    for method, found in judge["methods"].items():
        whole, untied = found["picks"]["all"], found["picks"]["without_ties"]
        rows.append(
            [
                _words(method),
                f"{whole['picks_changed']:,}",
                f"{untied['picks_changed']:,}",
                f"{whole['picks_newly_tied']:,}",
                f"{whole['ties_broken']:,}",
                f"{whole['prompts']:,}",
            ]
        )
    return Table(headers, rows, "What becomes of the picks")
