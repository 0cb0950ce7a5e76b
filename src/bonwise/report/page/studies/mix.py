"""The page of a study of mixed difficulty: the curve over both legs, and the change of every metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.printable import printable
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.metric_table import named, number
from bonwise.report.mix_change import change_notes, change_rows
from bonwise.report.page.section import Figure, Section, Table, figures_of

__all__ = ["mix_sections"]

_Document = Mapping[str, Any]

_OVER_PAIRS = (("global_r", "judge"), ("sign_agreement", "oracle"), ("effective_agreement", "other"))
_OVER_PROMPTS = (("recovery", "judge"), ("within_r", "oracle"), ("top1_accuracy", "other"))
_HOW = (
    "Between the ends the curve is calculated: at 30% the easy candidates are shown in 30% of the pools that hold "
    "them, in expectation over which. Nothing is simulated. Intervals have the prompt as their unit."
)


def mix_sections(document: _Document, *, drawn: bool = True) -> list[Section]:
    """Return one section a judge.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.study/1``, study ``mix``.
    drawn : bool
        Whether the sections have figures.
    """
    settings, judges = document["settings"], document["judges"]
    return [
        _section(name, judge, settings, "" if len(judges) == 1 else f"-{at}", drawn=drawn)
        for at, (name, judge) in enumerate(judges.items())
    ]


def _section(name: str, judge: _Document, settings: _Document, suffix: str, *, drawn: bool) -> Section:
    reference = settings.get("reference")
    return Section(
        title="Easy candidates mixed in" + (f": {printable(name, longest=60)}" if suffix else ""),
        anchor=f"mix{suffix}",
        sentences=[named(printable(sentence, longest=1000), reference) for sentence in judge["sentences"]],
        figures=_figures(judge["points"], suffix) if drawn else [],
        tables=[_change(judge, settings)],
        notes=[_HOW, *change_notes(judge["change"], reference)],
    )


def _figures(points: Sequence[_Document], suffix: str) -> list[Figure]:
    whole = next(point for point in points if point["share"] == 1)["easy_pairs"]
    first = [point for point in points if not point["towards"]]
    return [
        *figures_of(
            curves_figure(
                [_curve(points, "easy_pairs", *one) for one in _OVER_PAIRS],
                f"mix-pairs{suffix}",
                "Agreement by the share of easy pairs",
                f"{_from_to(points, _OVER_PAIRS)} as easy pairs rise from 0% to 100% of the pairs; from "
                f"{100 * whole:.0f}% on every pool shows its control.",
                across="easy pairs among all pairs",
                up="",
                guides=[Guide("every pool", x=whole)],
                percent="x",
            )
        ),
        *figures_of(
            curves_figure(
                [_curve(first, "share", *one) for one in _OVER_PROMPTS],
                f"mix-prompts{suffix}",
                "What is picked, by the share of the pools with the control shown",
                f"{_from_to(first, _OVER_PROMPTS)} as the control enters the pools.",
                across="shown, of the pools that hold the control",
                up="",
                percent="x",
            )
        ),
    ]


def _curve(points: Sequence[_Document], over: str, metric: str, role: str) -> Curve:
    found = [point["metrics"][metric] for point in points]
    y, low, high = ([one[key] for one in found] for key in ("estimate", "low", "high"))
    return Curve(metric, [point[over] for point in points], y, low, high, role, points=True)


def _from_to(points: Sequence[_Document], curves: Sequence[tuple[str, str]]) -> str:
    ends = points[0]["metrics"], points[-1]["metrics"]
    parts = [
        f"{metric} {number(ends[0][metric]['estimate'])} to {number(ends[1][metric]['estimate'])}"
        for metric, _ in curves
    ]
    return ", ".join(parts)


def _change(judge: _Document, settings: _Document) -> Table:
    headers, rows = change_rows(judge, settings)
    return Table(
        headers=headers,
        rows=rows,
        title="Each metric without and with the control, paired by prompt",
        strong=[at for at, row in enumerate(rows) if row[0].rstrip(" *") in {"global_r", "recovery"}],
    )
