"""The span and the log line of one selection, with how it was decided and what it took."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from bonwise.judges.traced_judging import spent
from bonwise.printable import printable
from bonwise.tracing import UNTRACED, Untraced, logger, span

if TYPE_CHECKING:
    from bonwise.selection.selection import Selection
    from bonwise.selection.settings import SelectionSettings

__all__ = ["traced_selection"]

_LOG = logger("selection")

P = ParamSpec("P")
Choosing = Callable[Concatenate["SelectionSettings", P], Coroutine[Any, Any, "Selection"]]


def traced_selection(choosing: Choosing[P]) -> Choosing[P]:
    """Trace a function that picks from one pool."""

    @wraps(choosing)
    def traced(settings: SelectionSettings, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Selection]:
        current = span("select", "CHAIN")
        course = choosing(settings, *args, **kwargs)
        quiet = current is UNTRACED and not _LOG.isEnabledFor(logging.WARNING)
        return course if quiet else _told(current, settings, course)

    return traced


async def _told(current: Untraced, settings: SelectionSettings, course: Coroutine[Any, Any, Selection]) -> Selection:
    with current:
        pick = await course
        if pick.failure:
            current.fail("judge")
            _LOG.warning(
                "judge %s failed, and the pick was decided by %s", printable(settings.judge.name), pick.decided_by
            )
        else:
            _LOG.debug("judge %s: the pick was decided by %s", printable(settings.judge.name), pick.decided_by)
        if current.recording:
            current.note(_found(settings, pick))
    return pick


def _found(settings: SelectionSettings, pick: Selection) -> dict[str, Any]:
    return {
        "bonwise.judge": settings.judge.name,
        "bonwise.strategy": settings.strategy.name,
        "bonwise.prompt_id": None if pick.prompt_id is None else str(pick.prompt_id),
        "bonwise.candidates": len(pick.ids),
        "bonwise.index": pick.index,
        "bonwise.best": pick.best_id,
        "bonwise.decided_by": pick.decided_by,
        "bonwise.p_best": _of_the_pick(pick.p_best, pick.index),
        "bonwise.expected_regret": pick.expected_regret,
        "bonwise.tied": len(pick.tied),
        "bonwise.unscored": len(pick.unscored),
        "bonwise.evaluations": pick.evaluations,
        "bonwise.routed": None if pick.routed is None else pick.routed.strong is not None,
        **spent(pick.bill),
    }


def _of_the_pick(values: Sequence[float | None], index: int | None) -> float | None:
    return None if index is None or not values else values[index]
