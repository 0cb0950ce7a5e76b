"""A document of schema ``bonwise.route/1`` as sections of a page: which prompts are worth a stronger judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.printable import printable
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.page.section import Figure, Section, figures_of
from bonwise.report.page.told import Line, lines, tables
from bonwise.report.route_text import route_parts

__all__ = ["route_sections"]

_Document = Mapping[str, Any]

_PANELS = 3
"""Signals whose values are drawn, the one to take and the best of the others; the table holds them all."""


def route_sections(document: _Document) -> list[Section]:
    """Return a section for each judge of a study of routing.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.route/1``.

    Returns
    -------
    list of Section
        The last one tells in its notes which judges could not be studied.
    """
    settings = document["settings"]
    judges = document["judges"] if "judges" in document else {document["judge"]: document}
    sections = []
    for at, (name, judge) in enumerate(judges.items()):
        last = at == len(judges) - 1
        one = {**judge, "judge": name, "settings": settings if at == 0 else _told_once(settings)}
        refused = document.get("not_studied", {}) if last else {}
        sections.append(_section(name, {**one, "not_studied": refused}, f"route-{at + 1}"))
    return sections


def _told_once(settings: _Document) -> _Document:
    """Return the settings without what is said of the file, not of a judge."""
    return {key: value for key, value in settings.items() if key != "labels_left_out"}


def _section(name: str, judge: _Document, anchor: str) -> Section:
    only = {key: value for key, value in judge.items() if key != "judges"}
    parts = list(route_parts(only))
    findings, notes = _parted(lines(parts)[1:])
    return Section(
        f"Which prompts to send on: {printable(name, longest=60)}",
        anchor,
        sentences=findings,
        figures=_figures(judge, anchor),
        tables=tables(parts),
        notes=notes,
    )


def _parted(said: Sequence[Line]) -> tuple[list[str], list[str]]:
    """Return what was found, which stands from the first bold line on, and what to keep in mind."""
    start = next((at for at, line in enumerate(said) if line.style == "bold"), len(said))
    caveats = [line for line in said if line.style == "yellow"]
    findings = [line for line in said[start:] if line not in caveats]
    return [line.text for line in findings], [line.text for line in said if line not in findings]


def _figures(judge: _Document, key: str) -> list[Figure]:
    taken, share = judge["recommendation"]["signal"], judge["settings"]["share"]
    known = {name: found["shares"] for name, found in judge["signals"].items() if found["shares"]}
    if not known:
        return []
    # The one to take is drawn last, on top of the others; after it the better ones come first.
    names = sorted(known, key=lambda name: (name == taken, _at(known[name], share)["captured"] or 0.0))
    guide = Guide(f"{100 * share:g}%", x=share)
    return [
        *_captured(known, names, guide, share, f"{key}-captured"),
        *(
            figure
            for at, name in enumerate(names[: -_PANELS - 1 : -1])
            for figure in _value(name, known[name], judge, guide, f"{key}-value-{at + 1}")
        ),
    ]


def _captured(
    known: Mapping[str, Sequence[_Document]], names: Sequence[str], guide: Guide, share: float, key: str
) -> list[Figure]:
    curves = [
        _curve(
            name, known[name], "captured", ("low", "high") if name == names[-1] else (), foremost=name == names[-1]
        )
        for name in names
    ]
    at = {name: _at(known[name], share) for name in reversed(names)}
    said = ", ".join(f"{name} {_percent(one['captured'])}{_ends(one)}" for name, one in at.items())
    says = (
        "Part of the possible lift over random routing that each signal captures; a perfect order captures 100%, a "
        f"random one 0%. With {100 * share:g}% sent on: {said}."
    )
    return figures_of(
        curves_figure(
            curves,
            key,
            "Captured by share sent on",
            says,
            across="share of the prompts sent on",
            up="part of the possible lift",
            guides=[guide, Guide("random", y=0.0)],
            percent="xy",
        )
    )


def _value(name: str, shares: Sequence[_Document], judge: _Document, guide: Guide, key: str) -> list[Figure]:
    perfect = judge["perfect"]
    share = judge["settings"]["share"]
    at, best = _at(shares, share), _at(perfect, share)
    random = [_less(one["value"], one["lift"]) for one in shares]
    curves = [
        Curve("random order", [one["share"] for one in shares], random, role="random", dashed=True),
        Curve("perfect order", [one["share"] for one in perfect], [one["value"] for one in perfect], role="oracle"),
        _curve(name, shares, "value", ("value_low", "value_high"), foremost=True),
    ]
    says = (
        f"Mean label with {100 * share:g}% sent on by {name}: {_value_of(at)}"
        f"{_interval(at, 'value_low', 'value_high')}, {_value_of(best)} in the perfect order"
    )
    chance = _less(at["value"], at["lift"])
    says += "." if chance is None else f", {chance:.3f} at random."
    return figures_of(
        curves_figure(
            curves,
            key,
            f"Value by share sent on: {name}",
            says,
            across="share of the prompts sent on",
            up="mean label",
            guides=[guide],
            percent="x",
        )
    )


def _curve(name: str, shares: Sequence[_Document], what: str, ends: Sequence[str], *, foremost: bool) -> Curve:
    low, high = ([one[end] for one in shares] for end in ends) if ends else ([], [])
    role = "judge" if foremost else "other"
    return Curve(name, [one["share"] for one in shares], [one[what] for one in shares], low, high, role, not foremost)


def _at(shares: Sequence[_Document], share: float) -> _Document:
    return next(one for one in shares if one["share"] == share)


def _less(value: float | None, lift: float | None) -> float | None:
    return None if value is None or lift is None else value - lift


def _value_of(found: _Document) -> str:
    return "no figure" if found["value"] is None else f"{found['value']:.3f}"


def _interval(found: _Document, low: str, high: str) -> str:
    return "" if found[low] is None else f" [{found[low]:.3f}, {found[high]:.3f}]"


def _percent(value: float | None) -> str:
    return "no figure" if value is None else f"{round(100 * value) + 0:d}%"


def _ends(found: _Document) -> str:
    return "" if found["low"] is None else f" [{_percent(found['low'])}, {_percent(found['high'])}]"
