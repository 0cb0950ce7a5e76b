"""LangChain's agents: middleware by which every answer of the agent's model is the best of n."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Unpack

from bonwise.hosts import HOSTS
from bonwise.hosts.generation import BestOfN, Chosen, DrawnAnswer
from bonwise.selection.settings import SelectorSettings

HOSTS["langchain_agents"].require("bonwise.hosts.langchain_agents")

from langchain.agents.middleware import AgentMiddleware, ModelResponse  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402
from langgraph.errors import GraphBubbleUp  # noqa: E402

from bonwise.hosts.langchain import best_message  # noqa: E402

__all__ = ["BestOfNMiddleware"]


class BestOfNMiddleware(AgentMiddleware):
    """Asks the agent's model n times and goes on with the best answer.

    The judge sees the messages so far as the prompt; tool calls and structured output are chosen among as well. The
    message keeps the usage of all candidates, and the trail of the choice in ``response_metadata["bonwise"]``. A
    cache of LangChain's would make all candidates one and the same: the model is asked past it. What interrupts the
    graph is passed on.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.generation.BestOfN`; what it says of a failing judge holds here too.
    n : int
        Candidates, at least 1.
    **settings
        Of `bonwise.Selector`.
    """

    def __init__(self, judge: Any, n: int = 4, **settings: Unpack[SelectorSettings]) -> None:
        super().__init__()
        self.best_of = BestOfN(judge, n, pass_on=(GraphBubbleUp,), **settings)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model n times, side by side, and return the best response."""
        asked = _past_the_cache(request)
        return _response(self.best_of.choose(_prompt(request), lambda _: _drawn(handler(asked))))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same in the running event loop."""
        asked = _past_the_cache(request)

        async def draw(_: int) -> DrawnAnswer[Any]:
            return _drawn(await handler(asked))

        return _response(await self.best_of.achoose(_prompt(request), draw))


def _drawn(response: Any) -> DrawnAnswer[Any]:
    messages = [response] if isinstance(response, AIMessage) else response.result
    # With structured output a tool's message follows the model's.
    return DrawnAnswer(response, next(message for message in messages if isinstance(message, AIMessage)))


def _prompt(request: Any) -> list[Any]:
    system = getattr(request, "system_message", None)
    return [*([system] if system is not None else []), *request.messages]


def _past_the_cache(request: Any) -> Any:
    model = request.model
    return request.override(model=model.model_copy(update={"cache": False})) if hasattr(model, "cache") else request


def _response(chosen: Chosen[DrawnAnswer[Any]]) -> Any:
    """Return the winner's response, in which its message holds the usage of all and the trail."""
    best = chosen.best
    message = best_message(replace(chosen, best=best.message, drawn=tuple(one.message for one in chosen.drawn)))
    if isinstance(best.answer, AIMessage):
        return message
    result = [message if one is best.message else one for one in best.answer.result]
    return ModelResponse(result=result, structured_response=best.answer.structured_response)
