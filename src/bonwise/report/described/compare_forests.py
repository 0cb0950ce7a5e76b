"""The drawings of two sets of picks: differences with their intervals, and values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from bonwise.documents.compare import CompareDocument, SideRecord
from bonwise.documents.estimate import EstimateRecord
from bonwise.report.blocks import Drawing
from bonwise.report.figures.forest import Forest, Row, forest_figure
from bonwise.report.numbers import Unit, estimate, with_interval

__all__ = ["compare_forests"]

_GAIN = "gain"
_BY_CHANCE, _OF_PICKS, _OF_BEST = "value_random", "value_judge", "value_oracle"

_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))

_Figures = Mapping[str, EstimateRecord]


def compare_forests(document: CompareDocument) -> list[Drawing[Forest]]:
    """Draw what the picks differ by, and their values."""
    differences = document.differences
    shares = {word: differences[key] for key, word in _SHARES}
    gain = {_GAIN: differences[_GAIN]}
    return [
        *forest_figure(
            _rows(shares),
            "compare-shares",
            "Differences of the picks",
            f"First minus second, paired by prompt: {_in_words(shares, 'points')}. Right of 0 the first is better.",
            across="first - second",
            said=_beside(shares, "points"),
        ),
        *forest_figure(
            _rows(gain),
            "compare-gain",
            "Difference of the gain",
            f"First minus second, in the unit of the labels: {_in_words(gain)}.",
            across="first - second, in units of the label",
            said=_beside(gain),
        ),
        *_values(document),
    ]


def _values(document: CompareDocument) -> list[Drawing[Forest]]:
    first, second = document.first.metrics, document.second.metrics
    values = [first[_BY_CHANCE], first[_OF_PICKS], second[_OF_PICKS], first[_OF_BEST]]
    said = _in_words(dict(zip(("random pick", "first", "second", "best candidate"), values, strict=True)))
    files = (f"first: {_file(document.first)}", f"second: {_file(document.second)}")
    shown = dict(zip(("random pick", *files, "best candidate"), values, strict=True))
    return forest_figure(
        _rows(shown),
        "compare-values",
        "Value of the picks",
        f"Mean label: {said}. How sure the difference is, the paired drawings say, not these two intervals.",
        None,
        across="mean label",
        roles=("random", "judge", "other", "oracle"),
        said=_beside(shown),
    )


def _file(side: SideRecord) -> str:
    # A folder says less than the file in it.
    return PurePath(side.source).name or side.source


def _rows(found: _Figures) -> list[Row]:
    return [(word, one.estimate, one.low, one.high) for word, one in found.items()]


def _beside(found: _Figures, unit: Unit = "number") -> list[str]:
    return [_written(one, unit) for one in found.values()]


def _written(found: EstimateRecord, unit: Unit) -> str:
    if found.estimate is None:
        return "no figure"
    return with_interval(found, unit, sign=unit == "points")


def _in_words(found: _Figures, unit: Unit = "number") -> str:
    known = {word: one for word, one in found.items() if one.estimate is not None}
    return "; ".join(
        f"{word} {estimate(one, unit) if one.low is None else _written(one, unit)}" for word, one in known.items()
    )
