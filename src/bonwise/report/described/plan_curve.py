"""What a plan shows at each number of labels, drawn as a curve."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.plan import PlanDocument
from bonwise.report.blocks import Drawing
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.report.numbers import Unit, count, number, setting

__all__ = ["plan_curve"]


def plan_curve(document: PlanDocument) -> list[Drawing[Curves]]:
    """Draw power, or half-width, by number of labels; nothing where no number of labels shows any."""
    power = document.shows == "power"
    found = [(row.labels, row.power if power else row.half_width) for row in document.power_table]
    known = [(labels, value) for labels, value in found if value is not None]
    if not known:
        return []
    unit: Unit = "share" if power else "points"
    name = document.shows.replace("_", "-")
    points = ", ".join(f"{number(value, unit)} with {count(labels)}" for labels, value in known)
    return curves_figure(
        [Curve(name, [labels for labels, _ in known], [value for _, value in known], points=True)],
        f"plan-{name}",
        "Power by number of labels" if power else "Half-width by number of labels",
        f"{name.capitalize()} {points} labels; lines only join the points. {_needed(document)}",
        across="labels",
        up="probability of finding the effect" if power else "half-width of the interval",
        guides=list(_guides(document)),
        up_to=1.0 if power else None,
    )


def _guides(document: PlanDocument) -> Iterator[Guide]:
    settings = document.settings
    asked = settings.power if document.shows == "power" else settings.half_width
    if asked is not None:
        yield Guide(f"asked for: {setting(asked)}", y=asked)
    if document.labels is not None:
        yield Guide(f"{count(document.labels)} needed", x=document.labels)
    if settings.labels is not None and settings.labels != document.labels:
        yield Guide(f"{count(settings.labels)} there", x=settings.labels)


def _needed(document: PlanDocument) -> str:
    needed, there = document.labels, document.settings.labels
    said = "No number of labels is enough" if needed is None else f"The plan takes {count(needed)}"
    return said + ("." if there is None else f"; there are {count(there)}.")
