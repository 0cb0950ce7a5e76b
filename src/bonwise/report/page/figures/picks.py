"""What the picks are worth: recovery and top-1 accuracy, and values, between a random pick and the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.report.metric_table import interval, named, number
from bonwise.report.page.figures.forest import Mark, Row, forest_figure
from bonwise.report.page.section import Figure

__all__ = ["picks_figures"]

_Document = Mapping[str, Any]

_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))
_VALUES = (("value_random", "random pick"), ("value_judge", "judge's pick"), ("value_oracle", "oracle's pick"))
_ROLES = ("random", "judge", "oracle")


def picks_figures(
    metrics: _Document | None, chance: _Document | None, key: str, *, reference: str | None = None
) -> list[Figure]:
    """Draw how far the picks come between random ones (0, or chance) and the oracle's (1), and their values.

    Parameters
    ----------
    metrics : mapping or None
        A judge's metrics of a document of schema ``bonwise.audit/1``.
    chance : mapping or None
        ``top1_accuracy`` and ``hit_rate`` of random picks; None where unknown.
    key : str
        Of the drawings.
    reference : str, optional
        What stands in for the oracle, as the document's settings have it.

    Returns
    -------
    list of Figure
        Empty where no metric has a figure.
    """
    if metrics is None:
        return []
    return [*_shares(metrics, chance or {}, key, reference), *_values(metrics, key, reference)]


def _shares(metrics: _Document, chance: _Document, key: str, reference: str | None) -> list[Figure]:
    there = _there(metrics, _SHARES)
    marks, said = [], []
    random_pick, oracle = "random pick", named("oracle", reference)
    for at, (name, word) in enumerate(there):
        random = 0.0 if name == "recovery" else chance.get(name)
        if random is not None:
            marks.append(Mark(at, random, "random", random_pick))
        marks.append(Mark(at, 1.0, "oracle", oracle))
        against = "" if random is None else f", {number(random)} at random"
        said.append(f"{word} {_figure(metrics[name])}{against}")
    says = f"{'; '.join(said)}. The {oracle} has 1; where its best candidates tie, no pick is sure to be its top one."
    rows = _rows(metrics, there)
    return forest_figure(rows, f"{key}-shares", "Between random and best", _upper(says), None, marks=marks)


def _values(metrics: _Document, key: str, reference: str | None) -> list[Figure]:
    there = [(name, named(word, reference)) for name, word in _there(metrics, _VALUES)]
    roles = [role for role, (name, _) in zip(_ROLES, _VALUES, strict=True) if name in dict(there)]
    said = "; ".join(f"{word} {_figure(metrics[name])}" for name, word in there)
    across = named("mean label", reference)
    says = f"{_upper(across)}: {said}."
    return forest_figure(
        _rows(metrics, there), f"{key}-values", "Value of the picks", says, None, across=across, roles=roles
    )


def _there(metrics: _Document, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, word) for name, word in names if metrics.get(name, {}).get("estimate") is not None]


def _rows(metrics: _Document, names: Sequence[tuple[str, str]]) -> list[Row]:
    return [(word, *(metrics[name][end] for end in ("estimate", "low", "high"))) for name, word in names]


def _figure(found: _Document) -> str:
    return f"{number(found['estimate'])} {'(no interval)' if found['low'] is None else interval(found)}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
