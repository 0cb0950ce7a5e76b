"""A document of schema ``bonwise.plan/1`` as sections of a page: the study, its power, and what to type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.printable import printable
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.page.section import Figure, Section, Table, figures_of
from bonwise.report.page.told import tables
from bonwise.report.plan_text import plan_parts, plan_rows, planned_with

__all__ = ["plan_sections"]

_Document = Mapping[str, Any]


def plan_sections(document: _Document) -> list[Section]:
    """Return what the page of a plan holds.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.plan/1``.

    Returns
    -------
    list of Section
        The plan with its power curve; the commands to type next, where there are any.
    """
    study = Table(("figure", "of the plan"), list(plan_rows(document)), "The study", (0, 1))
    sections = [
        Section(
            "The plan",
            "plan",
            sentences=[*_lead(document), *(printable(one, longest=600) for one in _verdict_first(document))],
            figures=_figures(document),
            tables=[study, *tables(plan_parts(document), ["What a study shows"])],
            notes=[f"Planned with {planned_with(document)}."],
        )
    ]
    if document["commands"]:
        typed = Table(("command",), [[line] for line in document["commands"]], code=(0,))
        sections.append(Section("Type next", "next", tables=[typed]))
    return sections


def _lead(document: _Document) -> list[str]:
    """Return what was asked for: a number of labels, and what they are to show."""
    if document["labels"] is None:
        return []
    settings = document["settings"]
    effect = ", ".join(f"{name} {value:.4g}" for name, value in document["effect"].items() if name != "half_width")
    aims = (("power", "power"), ("half_width", "a half-width of"))
    asked = [f"with {words} {settings[key]:g}" for key, words in aims if key in settings]
    planned = [f"planned for {effect}"] if effect else []
    question = printable(document["question"], longest=60)
    counts = f"{document['labels']:,} labels on {document['prompts']:,} prompts"
    return [f"{', '.join([f'{counts} answer {question}', *asked, *planned])}."]


def _verdict_first(document: _Document) -> list[str]:
    """Return the sentences in their order, the one of the verdict before the others."""
    verdict = document["verdict"].capitalize()
    return sorted(document["sentences"], key=lambda one: not one.startswith(verdict))


def _figures(document: _Document) -> list[Figure]:
    table = document["power_table"]
    if not table:
        return []
    shown = "power" if "power" in table[0] else "half_width"
    known = [(row["labels"], row[shown]) for row in table if row[shown] is not None]
    if not known:
        return []
    name = shown.replace("_", "-")
    points = ", ".join(f"{value:.3f} with {labels:,}" for labels, value in known)
    guides = _guides(document, shown)
    return figures_of(
        curves_figure(
            [Curve(name, [labels for labels, _ in known], [value for _, value in known], points=True)],
            f"plan-{name}",
            "Power by number of labels" if shown == "power" else "Half-width by number of labels",
            f"{name.capitalize()} {points} labels; lines only join the points. {_needed(document)}",
            across="labels",
            up="probability of finding the effect" if shown == "power" else "half-width of the interval",
            guides=guides,
            up_to=1.0 if shown == "power" else None,
        )
    )


def _guides(document: _Document, shown: str) -> list[Guide]:
    settings = document["settings"]
    asked = settings.get("power") if shown == "power" else settings.get("half_width")
    lie = [] if asked is None else [Guide(f"asked for: {asked:g}", y=asked)]
    stand = [] if document["labels"] is None else [Guide(f"{document['labels']:,} needed", x=document["labels"])]
    there = settings.get("labels")
    if there is not None and there != document["labels"]:
        stand.append(Guide(f"{there:,} there", x=there))
    return [*lie, *stand]


def _needed(document: _Document) -> str:
    needed, there = document["labels"], document["settings"].get("labels")
    said = "No number of labels is enough" if needed is None else f"The plan takes {needed:,}"
    return said + ("." if there is None else f"; there are {there:,}.")
