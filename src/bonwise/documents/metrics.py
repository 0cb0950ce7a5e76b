"""The metrics of an audit as reports show them: in groups, each with what it says and its unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from bonwise.stats.catalog import METRICS
from bonwise.stats.estimand import Group, Metric

__all__ = ["GROUPS", "Metric", "MetricGroup", "metric_of"]


class MetricGroup(NamedTuple):
    """Metrics under one heading, in their order."""

    title: Group
    metrics: Sequence[Metric]


GROUPS: Sequence[MetricGroup] = [
    MetricGroup(title, sorted((one for one in METRICS if one.group == title), key=lambda one: one.place))
    for title in get_args(Group)
]
"""Every metric once."""

_BY_NAME = {one.name: one for one in METRICS}


def metric_of(name: str) -> Metric:
    """Return what is told of a metric.

    Examples
    --------
    >>> metric_of("recovery").meaning
    'share of the possible gain'
    """
    return _BY_NAME[name]
