"""What a judge prefers at equal label, in sentences and by group of candidates."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.audited.candidate_effects import CandidateEffect, CandidateEffects
from bonwise.documents.estimate import EstimateRecord
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.numbers import Unit, count, estimate, interval, number

__all__ = ["preferences_at_equal_label"]

_SHOWN = 12
"""Groups of candidates that a terminal shows."""

_TITLES = {"length": "Length", "family": "Family", "position": "Place"}

_ROWS: tuple[tuple[str, str, Unit], ...] = (
    ("score", "effect on the score at equal label, sd", "number"),
    ("score_unadjusted", "the same without the label, sd", "number"),
    ("score_jointly", "the same at equal other attributes too, sd", "number"),
    ("recovery_cost", "cost in recovery", "points"),
    ("regret_cost", "cost in label points per pick", "number"),
)


def preferences_at_equal_label(found: CandidateEffects, anchor: str) -> Part:
    """Return what a judge prefers at equal label.

    Parameters
    ----------
    found : CandidateEffects
    anchor : str
    """
    blocks: list[Block] = [Said("finding", " ".join(one.sentences)) for one in found.effects]
    blocks += [Said("caveat", note) for note in found.notes]
    blocks += _groups(found)
    told = [one for one in found.effects if one.score is not None]
    blocks += [Part("", [_figures(one), _manner(one)], "detail") for one in told]
    return Part("What the judge prefers at equal label", blocks, anchor=anchor)


def _groups(found: CandidateEffects) -> Iterator[Table]:
    columns = (
        Column("candidates", "name"),
        Column("of picks"),
        Column("of best labels"),
        Column("difference"),
        Column("its interval"),
        Column("by chance", spare=2),
        Column("prompts", spare=1),
    )
    rows = [
        Row(
            (
                printable(group.group, longest=60),
                estimate(group.picked, "share"),
                estimate(group.best, "share"),
                estimate(group.difference, "points", sign=True),
                interval(group.difference, "points", sign=True),
                number(group.chance, "share"),
                count(group.prompts),
            ),
            group="" if at else _TITLES[one.attribute],
        )
        for one in found.effects
        for at, group in enumerate(one.groups)
    ]
    if rows:
        yield Table(columns, rows, "Picks by group, in prompts that hold the group and others", at_a_glance=_SHOWN)


def _figures(one: CandidateEffect) -> Table:
    columns = (Column(_TITLES[one.attribute], "name"), Column("estimate"), Column("its interval"), Column("prompts"))
    rows = []
    for key, title, unit in _ROWS:
        found: EstimateRecord | None = getattr(one, key)
        if found is not None:
            rows.append((title, estimate(found, unit, sign=True), interval(found, unit, sign=True), count(found.n)))
    return Table.of(columns, rows, f"{_TITLES[one.attribute]} ({printable(one.source)}): {one.contrast}")


def _manner(one: CandidateEffect) -> Said:
    how = (
        "an indicator for each of its levels"
        if one.adjusted_for == "levels"
        else "straight pieces that join at its quintiles"
    )
    return Said(
        "note",
        f"The label is adjusted for with {how}, within prompts. A cost compares the picks with those of scores "
        "without the effect, which is estimated on other prompts; candidates that the judge ties stay tied.",
    )
