"""The metrics of an audit as reports show them: in groups, each with what it says and its unit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, get_args

from bonwise.stats.catalog import ALL_METRICS
from bonwise.stats.estimand import Group, Metric, Unit

_BY_NAME = {metric.name: metric for metric in ALL_METRICS}

_INSTEAD = ("top1_accuracy", "gain", "hit_rate")
"""Figures to read first where those that should be are undefined."""


class MetricGroup(NamedTuple):
    """Metrics under one heading, in their order."""

    title: str
    metrics: Sequence[Metric]


GROUPS = [
    MetricGroup(
        title, sorted((metric for metric in ALL_METRICS if metric.group == title), key=lambda metric: metric.place)
    )
    for title in get_args(Group)
]
"""Every metric once."""

METRICS_FIRST: Sequence[Metric] = [
    *(metric for group in GROUPS for metric in group.metrics if metric.headline),
    *(_BY_NAME[name] for name in _INSTEAD),
]
"""The figures to read first, in their order."""


def groups_of(names: Collection[str]) -> Sequence[MetricGroup]:
    """Return metrics in groups; those that this version does not know come last."""
    groups = [
        MetricGroup(group.title, [metric for metric in group.metrics if metric.name in names]) for group in GROUPS
    ]
    strange = [
        Metric(name, group="Over all cells", meaning="", unit="number") for name in names if name not in _BY_NAME
    ]
    return [group for group in (*groups, MetricGroup("Others", strange)) if group.metrics]


def unit_of(name: str) -> Unit:
    """Return the unit of a metric."""
    return _BY_NAME[name].unit if name in _BY_NAME else "number"
