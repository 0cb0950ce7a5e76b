"""The study of routing that an audit's page shows, where the table holds signals to route by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.cli.arguments import say
from bonwise.errors import InputError

if TYPE_CHECKING:
    from bonwise.auditing.audit import Audit
    from bonwise.routing.study import RouteStudy

__all__ = ["routing"]


def routing(found: Audit) -> list[RouteStudy]:
    """Return the study for a table with stated intervals or repeated draws; nothing for others.

    What the scores alone tell of a prompt is no signal that a judge gave, and ``bonwise route`` studies it.
    """
    table = found.table
    if table is None or found.picks is not None:
        return []
    stated = {"ci_width", "low", "high"} & set(table.frame.columns)
    if not stated and found.draws < 2:
        return []
    from bonwise.routing.study import route

    settings = found.settings
    try:
        study = route(
            table,
            exclude=(*settings.exclude, *settings.control),
            confidence=settings.confidence,
            seed=settings.seed,
            shape=settings.shape,
        )
    except InputError as error:
        say(f"the page has no routing curves: {error.message}")
        return []
    return [study]
