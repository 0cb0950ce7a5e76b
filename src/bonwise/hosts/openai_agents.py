"""The OpenAI Agents SDK: a model that answers with the best of n answers of another model."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from bonwise.errors import BonwiseError, UsageError
from bonwise.hosts import HOSTS
from bonwise.hosts.generation import BestOfN, DrawnAnswer
from bonwise.selection.settings import SelectorSettings

HOSTS["openai_agents"].require("bonwise.hosts.openai_agents")

from agents import Model, ModelResponse, Usage  # noqa: E402
from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest  # noqa: E402
from openai.types.responses import (  # noqa: E402
    Response,
    ResponseCompletedEvent,
    ResponseOutputItemDoneEvent,
    ResponseTextDeltaEvent,
    ResponseUsage,
)

__all__ = ["BestOfNAgentModel", "BestOfNResponse"]


@dataclass
class BestOfNResponse(ModelResponse):
    """The response that won, with the usage of all candidates."""

    bonwise: dict[str, Any] = field(default_factory=dict)
    """How it was chosen, and what the judge took."""


class BestOfNAgentModel(Model):
    """A model that asks another one n times and answers with the best response.

    ``usage`` of the response is the sum of all candidates, and each is a request; ``bonwise`` says how it was chosen
    and what the judge took. Streaming chooses first, then gives the winner; the trail is then JSON in ``metadata`` of
    the completed response. Tool calls, handoffs and structured output are chosen among as well. A conversation that
    the service keeps is refused: each candidate would be added to it.

    Parameters
    ----------
    model : agents.Model
        The model that is asked.
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.generation.BestOfN`; what it says of a failing judge holds here too. The SDK does not
        retry an error of the judge.
    n : int
        Candidates, at least 1.
    **settings
        Of `bonwise.Selector`.

    Attributes
    ----------
    best_of : BestOfN
        Counts, and what judging has cost.
    """

    def __init__(self, model: Model, judge: Any, n: int = 4, **settings: Unpack[SelectorSettings]) -> None:
        self.model = model
        self.best_of = BestOfN(judge, n, **settings)

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - the host's name
        *rest: Any,
        **named: Any,
    ) -> BestOfNResponse:
        """Ask the model n times at once and return the best response."""
        if named.get("conversation_id"):
            raise UsageError(
                "each candidate would be added to the conversation that the service keeps",
                hint="use a session, or previous_response_id, in place of conversation_id",
            )

        async def draw(_: int) -> DrawnAnswer[ModelResponse]:
            response = await self.model.get_response(system_instructions, input, *rest, **named)
            return DrawnAnswer(response, {"role": "assistant", "content": list(_contents(response.output))})

        chosen = await self.best_of.achoose(list(_prompt(system_instructions, input)), draw)
        best, usage = chosen.best.answer, Usage()
        for one in chosen.drawn:
            usage.add(one.answer.usage)
        return BestOfNResponse(**(vars(best) | {"usage": usage}), bonwise=chosen.trail())

    async def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Choose first, then stream the winner: its texts, its items and the whole."""
        best = await self.get_response(*given, **named)
        number = iter(range(1 << 30))
        for index, item in enumerate(best.output):
            for at, part in enumerate(getattr(item, "content", None) or ()):
                if part.type == "output_text":
                    place = {"item_id": item.id, "output_index": index, "content_index": at}
                    yield ResponseTextDeltaEvent(
                        type="response.output_text.delta",
                        delta=part.text,
                        logprobs=[],
                        sequence_number=next(number),
                        **place,
                    )
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=index, sequence_number=next(number)
            )
        yield ResponseCompletedEvent(
            type="response.completed", response=_completed(best), sequence_number=next(number)
        )

    async def close(self) -> None:
        """Close the model."""
        await self.model.close()

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """Return the model's advice; after an error of the judge the candidates are not paid for again."""
        if isinstance(request.error, BonwiseError):
            return ModelRetryAdvice(suggested=False, replay_safety="unsafe", reason="the candidates are paid")
        return self.model.get_retry_advice(request)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        clean = getattr(self.model, "_cleanup_on_run_end", None)  # newer versions have it
        if clean is not None:
            await clean(owner)


def _completed(best: BestOfNResponse) -> Response:
    usage = ResponseUsage(
        input_tokens=best.usage.input_tokens,
        input_tokens_details=best.usage.input_tokens_details,
        output_tokens=best.usage.output_tokens,
        output_tokens_details=best.usage.output_tokens_details,
        total_tokens=best.usage.total_tokens,
    )
    return Response(
        id=best.response_id or "",
        created_at=time.time(),
        model="bonwise",
        object="response",
        output=best.output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
        metadata={"bonwise": json.dumps(best.bonwise)},
        usage=usage,
    )


def _prompt(instructions: str | None, given: str | list[Any]) -> Iterator[dict[str, Any]]:
    if instructions:
        yield {"role": "system", "content": instructions}
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if "role" in item:
            yield item
        elif "output" in item:
            yield {"role": "tool", "content": item["output"]}
        elif item.get("type") != "reasoning":
            yield {"role": "assistant", "content": [item]}


def _contents(output: Sequence[Any]) -> Iterator[Any]:
    for item in output:
        yield from item.content if item.type == "message" else (item,)
