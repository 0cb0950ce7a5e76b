"""A document of schema ``bonwise.compare/1`` as sections of a page: what two sets of picks differ by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from bonwise.report.compare_text import compare_parts
from bonwise.report.digits import estimate_and_ends
from bonwise.report.figures.forest import Row, forest_figure
from bonwise.report.figures.names import short
from bonwise.report.page.section import Figure, Section, figures_of
from bonwise.report.page.told import lines, tables

__all__ = ["compare_sections"]

_Document = Mapping[str, Any]

_SIDES = ("first", "second")
_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))
_TABLE = "Worth and cost of both, and their differences"
_PATH = 100
"""Letters of a path in a sentence."""

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
            tables=tables(parts, [_TABLE]),
            notes=[line.text for line in others],
        ),
    ]


def _findings(document: _Document) -> list[str]:
    names = [short(document[side]["source"], _PATH) for side in _SIDES]
    said = [f"First: {names[0]}. Second: {names[1]}."]
    for key, word in (("recovery", "Recovery"), ("gain", "Gain"), *((k, w.capitalize()) for k, w in _COSTS)):
        sides = [document[side]["metrics"][key] for side in _SIDES]
        if all(side["estimate"] is not None for side in sides):
            per = " a prompt" if key in dict(_COSTS) else ""
            both = ", ".join(f"{side} {_said(found)}" for side, found in zip(_SIDES, sides, strict=True))
            said.append(f"{word}{per}: {both}; {_difference(document['differences'][key])}.")
    return said


def _difference(found: _Document) -> str:
    if found["estimate"] is None:
        return "no difference can be computed"
    size, ends = estimate_and_ends(found)
    figure = f"the first has {size.removeprefix('-')} {'less' if found['estimate'] < 0 else 'more'}"
    if found["estimate"] == 0:
        figure = "they do not differ"
    if found["low"] is None:
        return f"{figure} (no interval)"
    apart = found["low"] > 0 or found["high"] < 0
    return f"{figure}, and the interval of the difference {ends} {'excludes' if apart else 'holds'} 0"


def _said(found: _Document) -> str:
    value, ends = estimate_and_ends(found)
    return value if found["low"] is None else f"{value} {ends}"


def _figures(document: _Document) -> list[Figure]:
    differences = document["differences"]
    shares = {word: differences[key] for key, word in _SHARES}
    gain = {"gain": differences["gain"]}
    return [
        *_forest(
            shares,
            "compare-shares",
            "Differences of the picks",
            f"First minus second, paired by prompt: {_in_words(shares)}. Right of 0 the first is better.",
            across="first - second",
        ),
        *_forest(
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
    values = [first["value_random"], first["value_judge"], second["value_judge"], first["value_oracle"]]
    words = ("random pick", *_SIDES, "best candidate")
    # A folder says less than the file in it.
    files = [f"{side}: {PurePath(document[side]['source']).name or document[side]['source']}" for side in _SIDES]
    said = _in_words(dict(zip(words, values, strict=True)))
    return _forest(
        dict(zip((words[0], *files, words[-1]), values, strict=True)),
        "compare-values",
        "Value of the picks",
        f"Mean label: {said}. How sure the difference is, the paired drawings say, not these two intervals.",
        zero=None,
        across="mean label",
        roles=("random", "judge", "other", "oracle"),
    )


def _forest(found: Mapping[str, _Document], key: str, title: str, says: str, **drawn: Any) -> list[Figure]:
    rows: list[Row] = [(word, one["estimate"], one["low"], one["high"]) for word, one in found.items()]
    return figures_of(forest_figure(rows, key, title, says, said=[_beside(one) for one in found.values()], **drawn))


def _beside(found: _Document) -> str:
    if found["estimate"] is None:
        return "no figure"
    return f"{_said(found)} (no interval)" if found["low"] is None else _said(found)


def _in_words(found: Mapping[str, _Document]) -> str:
    return "; ".join(f"{word} {_said(one)}" for word, one in found.items() if one["estimate"] is not None)
