"""A document of schema ``bonwise.compare/1`` as sections of a page: what two sets of picks differ by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.printable import printable
from bonwise.report.compare_text import compare_parts
from bonwise.report.metric_table import interval, number
from bonwise.report.page.figures.forest import Row, forest_figure
from bonwise.report.page.section import Figure, Section
from bonwise.report.page.told import lines, tables

__all__ = ["compare_sections"]

_Document = Mapping[str, Any]

_SIDES = ("first", "second")
_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))
_COSTS = (("calls_per_prompt", "calls"), ("tokens_per_prompt", "tokens"))


def compare_sections(document: _Document) -> list[Section]:
    """Return what the page of a comparison holds.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.compare/1``.

    Returns
    -------
    list of Section
        The differences, then both sides with all that the text says.
    """
    parts = list(compare_parts(document))
    counted, *others = lines(parts)[1:]
    return [
        Section(
            "First minus second",
            "differences",
            sentences=[*_findings(document), counted.text],
            figures=_figures(document),
        ),
        Section(
            "Both sides",
            "sides",
            tables=tables(parts, ["Worth and cost of both, and their differences"]),
            notes=[line.text for line in others],
        ),
    ]


def _findings(document: _Document) -> list[str]:
    names = [printable(document[side]["source"], longest=60) for side in _SIDES]
    said = [f"First: {names[0]}. Second: {names[1]}."]
    for key, word in (("recovery", "Recovery"), ("gain", "Gain"), *((k, w.capitalize()) for k, w in _COSTS)):
        sides = [document[side]["metrics"][key] for side in _SIDES]
        if all(side["estimate"] is not None for side in sides):
            per = " a prompt" if key in dict(_COSTS) else ""
            both = ", ".join(f"{side} {_said(found, per)}" for side, found in zip(_SIDES, sides, strict=True))
            said.append(f"{word}{per}: {both}; {_difference(document['differences'][key])}.")
    return said


def _difference(found: _Document) -> str:
    if found["estimate"] is None:
        return "no difference can be computed"
    figure = f"the first has {number(abs(found['estimate']))} {'less' if found['estimate'] < 0 else 'more'}"
    if found["estimate"] == 0:
        figure = "they do not differ"
    if found["low"] is None:
        return f"{figure} (no interval)"
    apart = found["low"] > 0 or found["high"] < 0
    return f"{figure}, and the interval of the difference {interval(found)} {'excludes' if apart else 'holds'} 0"


def _said(found: _Document, per: str) -> str:
    value = f"{found['estimate']:,.1f}" if per else number(found["estimate"])
    return value + ("" if found["low"] is None else f" {interval(found)}")


def _figures(document: _Document) -> list[Figure]:
    differences = document["differences"]
    shares = [_row(word, differences[key]) for key, word in _SHARES]
    gain = [_row("gain", differences["gain"])]
    return [
        *forest_figure(
            shares,
            "compare-shares",
            "Differences of the picks",
            f"First minus second, paired by prompt: {_in_words(shares)}. Right of 0 the first is better.",
            across="first - second",
        ),
        *forest_figure(
            gain,
            "compare-gain",
            "Difference of the gain",
            f"First minus second, in the unit of the labels: {_in_words(gain)}.",
            across="first - second, in units of the label",
        ),
        *_values(document),
    ]


def _values(document: _Document) -> list[Figure]:
    first, second = (document[side]["metrics"] for side in _SIDES)
    rows = [
        _row("random pick", first["value_random"]),
        _row(f"first: {document['first']['source']}", first["value_judge"]),
        _row(f"second: {document['second']['source']}", second["value_judge"]),
        _row("best candidate", first["value_oracle"]),
    ]
    words = ("random pick", "first", "second", "best candidate")
    said = _in_words([(word, *row[1:]) for word, row in zip(words, rows, strict=True)])
    return forest_figure(
        rows,
        "compare-values",
        "Value of the picks",
        f"Mean label: {said}. How sure the difference is, the paired drawings say, not these two intervals.",
        None,
        across="mean label",
        roles=("random", "judge", "other", "oracle"),
    )


def _row(word: str, found: _Document) -> Row:
    return (word, found["estimate"], found["low"], found["high"])


def _in_words(rows: list[Row]) -> str:
    return "; ".join(
        f"{word} {number(value)}" + ("" if low is None else f" [{number(low)}, {number(high)}]")
        for word, value, low, high in rows
        if value is not None
    )
