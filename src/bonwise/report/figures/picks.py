"""What the picks are worth: recovery and top-1 accuracy, and values, between a random pick and the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bonwise.documents.exhibits import Chance
from bonwise.report.blocks import Drawing
from bonwise.report.figures.forest import Forest, ReferenceMark, Row, forest_figure
from bonwise.report.numbers import Bounded, number, with_interval
from bonwise.report.wording import named

__all__ = ["picks_figures"]

_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))
_VALUES = (("value_random", "random pick"), ("value_judge", "judge's pick"), ("value_oracle", "oracle's pick"))
_ROLES = ("random", "judge", "oracle")

_Metrics = Mapping[str, Bounded]


def picks_figures(
    metrics: Mapping[str, Bounded] | None, chance: Chance | None, key: str, *, reference: str | None = None
) -> list[Drawing[Forest]]:
    """Draw how far the picks come between random ones (0, or chance) and the oracle's (1), and their values.

    Parameters
    ----------
    metrics : mapping of str to Bounded, or None
        A judge's metrics of a document of schema ``bonwise.audit/1``.
    chance : Chance or None
    key : str
        Of the drawings.
    reference : str, optional
        What stands in for the oracle, as the document's settings have it.

    Returns
    -------
    list of Drawing
        Empty where no metric has a figure.
    """
    if metrics is None:
        return []
    return [*_shares(metrics, chance, key, reference), *_values(metrics, key, reference)]


def _shares(metrics: _Metrics, chance: Chance | None, key: str, reference: str | None) -> list[Drawing[Forest]]:
    there = _there(metrics, _SHARES)
    at_random = {"recovery": 0.0}
    if chance is not None:
        reached = {"top1_accuracy": chance.top1_accuracy, "hit_rate": chance.hit_rate}
        at_random |= {name: value for name, value in reached.items() if value is not None}
    marks, said = [], []
    oracle = named("oracle", reference)
    for at, (name, word) in enumerate(there):
        against = ""
        if name in at_random:
            marks.append(ReferenceMark(at, at_random[name], "random", "random pick"))
            against = f", {number(at_random[name], 'share')} at random"
        marks.append(ReferenceMark(at, 1.0, "oracle", oracle))
        said.append(f"{word} {with_interval(metrics[name], 'share')}{against}")
    says = (
        f"{'; '.join(said)}. The {oracle} has 100%; where its best candidates tie, no pick is sure to be its top one."
    )
    return forest_figure(
        _rows(metrics, there),
        f"{key}-shares",
        "Between random and best",
        _upper(says),
        None,
        across="share",
        marks=marks,
        unit="share",
    )


def _values(metrics: _Metrics, key: str, reference: str | None) -> list[Drawing[Forest]]:
    there = [(name, named(word, reference)) for name, word in _there(metrics, _VALUES)]
    roles = [role for role, (name, _) in zip(_ROLES, _VALUES, strict=True) if name in dict(there)]
    said = "; ".join(f"{word} {with_interval(metrics[name])}" for name, word in there)
    across = named("mean label", reference)
    says = f"{_upper(across)}: {said}."
    return forest_figure(
        _rows(metrics, there), f"{key}-values", "Value of the picks", says, None, across=across, roles=roles
    )


def _there(metrics: _Metrics, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, word) for name, word in names if name in metrics and metrics[name].estimate is not None]


def _rows(metrics: _Metrics, names: Sequence[tuple[str, str]]) -> list[Row]:
    return [(word, metrics[name].estimate, metrics[name].low, metrics[name].high) for name, word in names]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
