"""What a server silently did not do, seen from its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.reply import Choice
    from bonwise.calls.request import Request

__all__ = ["ignored"]


def ignored(ask: Ask, request: Request, choice: Choice) -> Iterator[str]:
    """Yield a line for each thing that was asked for, accepted with success, and not done."""
    if choice.finish != "stop":
        return
    if request.parameters.get("top_logprobs") and not choice.logprobs:
        yield f"{ask.model} sends no logprobs although it was asked to"
    if request.parameters.get("schema") and not choice.text.lstrip().startswith("{"):
        yield f"{ask.model} ignores the schema of the answer"
