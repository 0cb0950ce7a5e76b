"""Pydantic AI: a model that answers with the best of n answers of another model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, NoReturn, Unpack

from bonwise.errors import UsageError
from bonwise.hosts import HOSTS
from bonwise.hosts.generation import BestOfN, DrawnAnswer
from bonwise.selection.settings import SelectorSettings

HOSTS["pydantic_ai"].require("bonwise.hosts.pydantic_ai")

from pydantic_ai.messages import ModelMessage, ModelResponse  # noqa: E402
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse  # noqa: E402
from pydantic_ai.models.wrapper import WrapperModel  # noqa: E402
from pydantic_ai.settings import ModelSettings  # noqa: E402

__all__ = ["BestOfNModel"]


_ROLES = {"system-prompt": "system", "tool-return": "tool"}
_CALLS = {"tool-call": "tool_call", "builtin-tool-call": "tool_call"}


class BestOfNModel(WrapperModel):
    """A model that asks another one n times and answers with the best response.

    The response is the winner's own. Its ``usage`` is the sum of all candidates; how it was chosen and what the judge
    took is in ``metadata["bonwise"]``. Streaming chooses first, then gives each part of the winner as one event. Tool
    calls are chosen among as well, and so is structured output: the judge reads the calls. Batches and responses that
    the provider finishes later are refused, because there is nothing to choose from yet.

    Parameters
    ----------
    wrapped : Model or str
        The model that is asked, or its name.
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.generation.BestOfN`; what it says of a failing judge holds here too.
    n : int
        Candidates, at least 1.
    **settings
        Of `bonwise.Selector`.

    Attributes
    ----------
    best_of : BestOfN
        Counts, and what judging has cost.
    """

    def __init__(self, wrapped: Model | str, judge: Any, n: int = 4, **settings: Unpack[SelectorSettings]) -> None:
        super().__init__(wrapped)
        self.best_of = BestOfN(judge, n, **settings)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask the model n times at once and return the best response."""

        async def draw(_: int) -> DrawnAnswer[ModelResponse]:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            if response.state == "suspended":
                raise UsageError("the response is not finished", hint="do not ask for it in the background")
            return DrawnAnswer(response, {"role": "assistant", "content": list(_contents(response.parts))})

        chosen = await self.best_of.achoose(list(_prompt(messages)), draw)
        best = chosen.best.answer
        usage = reduce(add, (one.answer.usage for one in chosen.drawn))
        return replace(best, usage=usage, metadata={**(best.metadata or {}), "bonwise": chosen.trail()})

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Choose first, then stream the winner."""
        del run_context
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(
            response, model_request_parameters=model_request_parameters, replay_events=True
        )

    async def batch_encode(self, request: Any) -> NoReturn:
        """Refuse: a batch answers each request once, and nothing would be chosen."""
        del request
        raise UsageError(
            "a batch answers each request once", hint="send requests one by one, or the model's own batch"
        )


def _prompt(messages: Sequence[ModelMessage]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if isinstance(message, ModelResponse):
            yield {"role": "assistant", "content": list(_contents(message.parts))}
            continue
        if message.instructions:
            yield {"role": "system", "content": message.instructions}
        for part in message.parts:
            ask = getattr(part, "model_response_str", None) or getattr(part, "model_response", None)
            content = ask() if callable(ask) else getattr(part, "content", None)
            if content is None:
                continue
            said = content if isinstance(content, str) else [_content(one) for one in content]
            yield {"role": _ROLES.get(part.part_kind, "user"), "content": said}


def _contents(parts: Sequence[Any]) -> Iterator[dict[str, Any]]:
    return (_content(part) for part in parts if getattr(part, "content", True) is not None)


def _content(part: Any) -> dict[str, Any]:
    kind = getattr(part, "part_kind", None) or getattr(part, "kind", None)
    if kind in _CALLS:
        return {"type": _CALLS[kind], "name": part.tool_name, "arguments": part.args or {}}
    if isinstance(part, str) or kind in {"text", "text-content"}:
        return {"type": "text", "text": part if isinstance(part, str) else part.content}
    return {"type": part.media_type if kind == "binary" else str(kind)}
