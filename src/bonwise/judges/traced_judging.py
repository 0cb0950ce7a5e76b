"""The span of the use of a judge, with what it found of each candidate as events."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Score, Verdict
from bonwise.errors import BonwiseError
from bonwise.judges.judgment import Judgment
from bonwise.tracing import UNTRACED, Untraced, span

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.judges.protocol import Judge

__all__ = ["Outcomes", "note_outcomes", "spent", "traced_judging"]

P = ParamSpec("P")
Outcomes = Sequence[Judgment | BonwiseError | None]


def traced_judging(
    judged: Callable[Concatenate[Engine, Judge, P], Coroutine[Any, Any, Judgment]],
) -> Callable[Concatenate[Engine, Judge, P], Coroutine[Any, Any, Judgment]]:
    """Trace a function that lets an engine's judge look at one pool."""

    @wraps(judged)
    def traced(engine: Engine, judge: Judge, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Judgment]:
        current = span(f"judge {judge.name}", "EVALUATOR")
        course = judged(engine, judge, *args, **kwargs)
        return course if current is UNTRACED else _told(current, judge.name, course)

    return traced


async def _told(current: Untraced, judge: str, course: Coroutine[Any, Any, Judgment]) -> Judgment:
    with current:
        found = await course
        note_outcomes(current, judge, (found,))
    return found


def note_outcomes(current: Untraced, judge: str, found: Outcomes) -> None:
    """Note what a judge found in the calls of one use, and what all of them took."""
    candidates, bill = 0, Bill()
    for one in found:
        if isinstance(one, BonwiseError):
            current.fail(type(one).__name__)
        elif one is not None:
            candidates, bill = candidates + len(one.verdicts), bill + one.bill
            for verdict in one.verdicts:
                current.event("gen_ai.evaluation.result", _evaluation(judge, verdict))
    current.note({"bonwise.judge": judge, "bonwise.candidates": candidates, **spent(bill)})


def _evaluation(judge: str, verdict: Verdict) -> dict[str, Any]:
    name = {"gen_ai.evaluation.name": judge}
    if isinstance(verdict, Score):
        return name | {"gen_ai.evaluation.score.value": verdict.value}
    # Why it is unscored may quote what the model said.
    return name | {"error.type": "owed" if verdict.owed else "unscored"}


def spent(bill: Bill) -> dict[str, Any]:
    """Return the attributes that say what judging took."""
    return {
        "bonwise.calls": bill.calls,
        "bonwise.from_ledger": bill.from_ledger,
        "bonwise.input_tokens": bill.input_tokens,
        "bonwise.output_tokens": bill.output_tokens,
        "bonwise.cost": bill.cost,
    }
