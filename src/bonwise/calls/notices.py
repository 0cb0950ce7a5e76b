"""What cannot be asked of a provider, and what a server silently did not do."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.providers.protocol import Capabilities
    from bonwise.calls.reply import Choice
    from bonwise.calls.request import Request

__all__ = ["ignored", "left_out", "refuse_impossible"]


def ignored(ask: Ask, request: Request, choice: Choice) -> Iterator[str]:
    """Yield a line for each thing that was asked for, accepted with success, and not done.

    An empty answer, a refusal and a filtered answer show nothing of what the server can do.

    Examples
    --------
    >>> from bonwise.calls.ask import Ask, Model
    >>> from bonwise.calls.reply import Choice
    >>> from bonwise.calls.request import Request
    >>> ask = Ask(Model("openai", "m"), "", "Why?", read=str, schema={"type": "object", "required": ["score"]})
    >>> request = Request("openai", "http://localhost", "", "/chat/completions", {}, "m", {"schema": True})
    >>> list(ignored(ask, request, Choice('{"score": 7}')))
    []
    >>> list(ignored(ask, request, Choice("Seven, I would say")))
    ['openai/m ignores the JSON schema that it was sent']
    """
    if choice.finish not in {"stop", "length"} or not choice.text.strip():
        return
    if request.parameters.get("top_logprobs") and not choice.logprobs:
        yield f"{ask.model} sends no logprobs although it was asked to"
    if request.parameters.get("schema") and ask.schema is not None and not _may_follow(ask.schema, choice):
        yield f"{ask.model} ignores the JSON schema that it was sent"


def _may_follow(schema: Mapping[str, Any], choice: Choice) -> bool:
    """Tell whether an answer may have been bound to the schema of an object; one that was cut is seen in part."""
    answer = choice.text.rpartition("</think>")[2].strip()
    if not answer or answer.startswith("<think>"):
        return True
    if choice.finish == "length":
        return answer.startswith("{")
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= set(schema.get("required", ()))


def left_out(ask: Ask, refused: Collection[str], capabilities: Capabilities) -> list[str]:
    """Return a line for each parameter that this ask wants and its provider or server is known not to take.

    Raises
    ------
    bonwise.errors.UsageError
        It could not be answered as it needs.
    """
    refuse_impossible(ask, capabilities)
    return list(_left_out(ask, refused, capabilities))


def _left_out(ask: Ask, refused: Collection[str], capabilities: Capabilities) -> Iterator[str]:
    if ask.temperature is not None and not capabilities.temperature:
        yield f"{ask.model} takes no temperature: none is sent"
    wanted = {
        "n": ask.samples > 1,
        "temperature": ask.temperature is not None,
        "logprobs": ask.top_logprobs > 0,
        "top_logprobs": ask.top_logprobs > 0,
        "response_format": ask.schema is not None,
        "output_config": ask.schema is not None,
    }
    for parameter in sorted(refused):
        if parameter == "n" and wanted["n"]:
            yield f"{ask.model} sends one answer per call, whatever n asks for: each draw is a call of its own"
        elif wanted.get(parameter, True):
            yield f"{ask.model} does not take {parameter}: left out"


def refuse_impossible(ask: Ask, capabilities: Capabilities) -> None:
    """Refuse, before it is paid for, an ask that could not be answered as it needs.

    Raises
    ------
    bonwise.errors.UsageError
        It needs log probabilities, which the provider never sends.
    """
    if ask.top_logprobs and not capabilities.logprobs:
        raise UsageError(
            f"{ask.model.provider} sends no log probabilities, which this judge needs",
            hint="choose another judge, such as probability or interval, or another provider",
        )
