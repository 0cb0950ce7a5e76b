"""The study of requirements on a page: the curve with the judge on it, the targets and what others would recover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bonwise.printable import printable
from bonwise.report.figures.colours import COLOURS
from bonwise.report.figures.names import short
from bonwise.report.metric_table import interval, interval_header, named, number
from bonwise.report.page.canvas import drawn
from bonwise.report.page.many_requirements import many_requirements
from bonwise.report.page.section import Figure, Section, Table
from bonwise.report.requirements_text import share

__all__ = ["requirements_sections"]

_Document = Mapping[str, Any]

_LINES = (("within_r", "within_r", "judge"), ("effective_agreement", "effective agreement", "oracle"))
"""What is drawn: key, name and colour."""

_YARDSTICK = (
    "The curve is that of a judge whose score is the label plus normal noise, alike for all candidates and not "
    "rounded, on these labels with their spread and ties. A judge with errors of another kind lies above or below it."
)

_TITLE = "What a wanted recovery takes"


def requirements_sections(document: _Document, *, drawn: bool = True) -> list[Section]:
    """Return a section a judge; without figures one over all judges, in words and tables.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.study/1``, study ``requirements``.
    drawn : bool
        Whether the sections have figures.
    """
    judges, settings = document["judges"], document["settings"]
    if not drawn and len(judges) > 1:
        return [_over_all(document)]
    several = len(judges) > 1
    return [
        _section(name, judge, settings, f"-{at}" if several else "", drawn=drawn)
        for at, (name, judge) in enumerate(judges.items())
    ]


def _section(name: str, judge: _Document, settings: _Document, suffix: str, *, drawn: bool) -> Section:
    anchor = f"requirements{suffix}"
    return Section(
        f"{_TITLE}: {printable(name, longest=60)}" if suffix else _TITLE,
        anchor,
        _sentences(judge, settings),
        [_figure(name, judge, anchor)] if drawn and judge["curve"] else [],
        _tables(judge, settings),
        [named(_YARDSTICK, settings.get("reference"))],
    )


def _sentences(judge: _Document, settings: _Document) -> list[str]:
    return [named(sentence, settings.get("reference")) for sentence in judge["sentences"]]


def _over_all(document: _Document) -> Section:
    over, judges, settings = many_requirements(document), document["judges"], document["settings"]
    tables = _together({name: _tables(judge, settings) for name, judge in judges.items()})
    said = [(name, " ".join(_sentences(judge, settings))) for name, judge in judges.items()]
    return replace(
        over,
        tables=[*over.tables, *tables, Table(("judge", "found"), said, "Found of each judge", words=(0, 1))],
        notes=[named(_YARDSTICK, settings.get("reference"))],
    )


def _together(tables: Mapping[str, Sequence[Table]]) -> list[Table]:
    """Return the tables of all judges once where they are the same, as of the same labels; else with names."""
    first: Sequence[Table] = max(tables.values(), key=len)
    if all(some == first for some in tables.values()):
        return list(first)
    return [
        replace(
            table,
            headers=("judge", *table.headers),
            rows=[(name, *row) for name, some in tables.items() for one in some[at : at + 1] for row in one.rows],
            words=(0,),
        )
        for at, table in enumerate(first)
    ]


def _figure(name: str, judge: _Document, key: str) -> Figure:
    shown = short(name)
    says = "Within_r and effective agreement of a judge of plain noise, by what it recovers; bars are intervals."
    own = judge["judge"]
    if _has_place(own):
        says += (
            f" The diamond is {printable(name, longest=60)}: within_r {own['within_r']['estimate']:.3f}, "
            f"recovery {own['recovery']['estimate']:.3f}."
        )
    if _has_place(own) and own["expected_recovery"]["estimate"] is not None:
        says += (
            f" The dotted line runs from it to the curve at the same within_r, a recovery of "
            f"{own['expected_recovery']['estimate']:.3f}."
        )
    svg = drawn(lambda axes: _paint(axes, judge, shown), key=key)
    return Figure(svg, "Quality needed for a wanted recovery", says)


def _has_place(own: _Document) -> bool:
    return own["within_r"]["estimate"] is not None and own["recovery"]["estimate"] is not None


def _paint(axes: Axes, judge: _Document, shown: str) -> None:
    recoveries = [one["recovery"] for one in judge["curve"]]
    for metric, words, colour in _LINES:
        axes.plot(recoveries, [one[metric] for one in judge["curve"]], color=COLOURS[colour], label=words)
        _points(axes, judge["targets"], metric, COLOURS[colour])
    own, lowest = judge["judge"], 0.0
    if _has_place(own):
        _mark(axes, own, shown)
        lowest = min(own["within_r"]["estimate"] - 0.05, 0.0)
        axes.set_xlim(min(own["recovery"]["estimate"] - 0.05, 0.0), 1.0)
    else:
        axes.set_xlim(0.0, 1.0)
    axes.set_ylim(lowest, 1.0)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("recovery")
    axes.set_ylabel("needed")
    axes.grid(visible=True)
    axes.legend(loc="lower right")


def _points(axes: Axes, targets: Sequence[_Document], metric: str, colour: str) -> None:
    for one in targets:
        found = one[metric]
        if found["estimate"] is None:
            continue
        axes.plot([one["target"]], [found["estimate"]], "o", color=colour, markersize=4)
        if found["low"] is not None:
            axes.plot([one["target"]] * 2, [found["low"], found["high"]], color=colour, linewidth=3, alpha=0.45)


def _mark(axes: Axes, own: _Document, shown: str) -> None:
    recovery, within_r, expected = (own[key]["estimate"] for key in ("recovery", "within_r", "expected_recovery"))
    if expected is not None:
        axes.plot([recovery, expected], [within_r, within_r], color=COLOURS["bad"], linestyle=":", linewidth=1.6)
    # A legend leaves out what starts with an underscore.
    label = f" {shown}" if shown.startswith("_") else shown
    axes.plot([recovery], [within_r], "D", color=COLOURS["bad"], markersize=6, label=label)


def _tables(judge: _Document, settings: _Document) -> list[Table]:
    if not judge["curve"]:
        return []
    return [_targets(judge, settings), *([_inverse(judge, settings)] if judge["inverse"] else [])]


def _targets(judge: _Document, settings: _Document) -> Table:
    width = interval_header(settings["confidence"])
    rows = [
        [
            share(one["target"]),
            *(cell for key, *_ in _LINES for cell in (number(one[key]["estimate"]), interval(one[key]))),
        ]
        for one in judge["targets"]
    ]
    headers = ("recovery", "needs within_r", width, "needs effective agreement", width)
    return Table(headers, rows, "Needed for a wanted recovery", words=())


def _inverse(judge: _Document, settings: _Document) -> Table:
    width = interval_header(settings["confidence"])
    rows = [
        [f"{one['within_r']:g}", number(one["recovery"]["estimate"]), interval(one["recovery"])]
        for one in judge["inverse"]
    ]
    return Table(("within_r", "recovers", width), rows, "Recovered by a judge of plain noise", words=())
