"""LiteLLM: a provider whose models answer with the best of n answers of the model that their name ends with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Unpack

from bonwise.errors import BonwiseError, JudgeError, UsageError
from bonwise.hosts import HOSTS, adapters, generation
from bonwise.selection.settings import SelectorSettings

HOSTS["litellm"].require("bonwise.hosts.litellm")

import litellm  # noqa: E402
from litellm.exceptions import OpenAIError, UnsupportedParamsError  # noqa: E402
from litellm.llms.custom_llm import CustomLLM  # noqa: E402
from litellm.utils import custom_llm_setup  # noqa: E402

__all__ = ["BestOfNLLM", "NotChosenError", "register"]


_ONE_CALL: Mapping[str, Any] = {"no-log": True, "cache": {"no-cache": True, "no-store": True}}
"""A draw is part of the call that LiteLLM logs, and a cached answer would make all candidates one and the same."""


class NotChosenError(JudgeError, OpenAIError):
    """The judge failed after the candidates were paid. LiteLLM and its router do not retry this error."""

    status_code = 424  # of the codes that LiteLLM does not retry: something that was depended on failed


class BestOfNLLM(CustomLLM):
    """A provider of LiteLLM's: ``bon/openai/gpt-5-mini`` asks ``openai/gpt-5-mini`` n times and returns the best.

    The response is the winner's own. Its ``usage`` and its cost are the sums of all candidates; ``bonwise`` says how
    it was chosen and what the judge took. Streaming chooses first, then streams the winner; the trail is in
    ``provider_specific_fields`` of its last piece. Tool calls and structured output are chosen among as well.
    LiteLLM's cache is not used for draws, and its callbacks hear of the whole call alone. ``n`` of a request is
    refused: the provider has its own.

    Parameters
    ----------
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

    def __init__(self, judge: Any, n: int = 4, **settings: Unpack[SelectorSettings]) -> None:
        super().__init__()
        self.best_of = generation.BestOfN(judge, n, **settings)

    def completion(self, model: str, messages: list[Any], *_: Any, **given: Any) -> Any:
        """Ask the model n times, side by side, and return the best response."""
        call = _call(model, messages, given)
        try:
            return _response(self.best_of.choose(messages, lambda _: _drawn(litellm.completion(**call))))
        except BonwiseError as error:
            raise _not_retried(error, given) from error

    async def acompletion(self, model: str, messages: list[Any], *_: Any, **given: Any) -> Any:
        """Do the same in the running event loop."""
        call = _call(model, messages, given)

        async def draw(_: int) -> generation.DrawnAnswer[Any]:
            return _drawn(await litellm.acompletion(**call))

        try:
            return _response(await self.best_of.achoose(messages, draw))
        except BonwiseError as error:
            raise _not_retried(error, given) from error

    def streaming(self, *given: Any, **named: Any) -> Iterator[Any]:
        """Choose first, then stream the winner."""
        return _pieces(self.completion(*given, **named))

    async def astreaming(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Do the same in the running event loop."""
        for piece in _pieces(await self.acompletion(*given, **named)):
            yield piece


def register(judge: Any, n: int = 4, *, provider: str = "bon", **settings: Unpack[SelectorSettings]) -> BestOfNLLM:
    """Make the provider known to LiteLLM, so that ``bon/MODEL`` is a model for `litellm.completion` and its router.

    Parameters
    ----------
    judge, n, **settings
        As of `BestOfNLLM`.
    provider : str
        What its models begin with.

    Raises
    ------
    bonwise.errors.UsageError
        There is a provider of this name.
    """
    names = [one["provider"] for one in litellm.custom_provider_map]
    if provider in names or provider in litellm.provider_list:
        raise UsageError(f"LiteLLM has a provider named {provider}", hint="give another provider=")
    handler = BestOfNLLM(judge, n, **settings)
    litellm.custom_provider_map.append({"provider": provider, "custom_handler": handler})
    custom_llm_setup()  # a router of an older LiteLLM looks for the provider before anything is asked
    return handler


def _call(model: str, messages: list[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    failed = getattr(given["logging_obj"], "bonwise_error", None)
    if failed is not None:
        raise failed
    asked = {
        name: value for name, value in given["optional_params"].items() if name not in {"stream", "stream_options"}
    }
    if asked.pop("n", 1) not in {1, None}:
        raise UnsupportedParamsError("n is a setting of the best-of-n provider", llm_provider="bonwise", model=model)
    named = {"api_base": given.get("api_base"), "api_key": given.get("api_key"), "timeout": given.get("timeout")}
    named["extra_headers"] = given.get("headers") or None
    kept = {name: value for name, value in named.items() if value is not None}
    return {"model": model, "messages": messages, **_ONE_CALL, **kept, **asked}


def _drawn(response: Any) -> generation.DrawnAnswer[Any]:
    return generation.DrawnAnswer(response, response.choices[0].message)


def _response(chosen: generation.Chosen[generation.DrawnAnswer[Any]]) -> Any:
    best, drawn = chosen.best.answer, [one.answer for one in chosen.drawn]
    usages = [one.usage.model_dump() for one in drawn if getattr(one, "usage", None) is not None]
    costs = [one._hidden_params.get("response_cost") for one in drawn]  # noqa: SLF001 - where LiteLLM keeps it
    if usages:
        best.usage = litellm.Usage(**adapters.added_usage(usages))
    # Without the cost of all there is none: a part of it would look like the whole.
    best._hidden_params["response_cost"] = None if None in costs else sum(costs)  # noqa: SLF001
    best.bonwise = chosen.trail()
    return best


def _pieces(response: Any) -> Iterator[dict[str, Any]]:
    choice, usage = response.choices[0], getattr(response, "usage", None)
    piece: dict[str, Any] = {"text": "", "is_finished": False, "finish_reason": "", "usage": None, "tool_use": None}
    if choice.message.content:
        yield piece | {"text": choice.message.content, "index": 0}
    for at, call in enumerate(choice.message.tool_calls or ()):
        yield piece | {"tool_use": {**call.model_dump(), "index": at}, "index": 0}
    took = None if usage is None else usage.model_dump()
    last = {"is_finished": True, "finish_reason": choice.finish_reason, "usage": took, "index": 0}
    yield piece | last | {"provider_specific_fields": {"bonwise": response.bonwise}}


def _not_retried(error: BonwiseError, given: Mapping[str, Any]) -> NotChosenError:
    found = NotChosenError(error.message, hint=error.hint)
    # `num_retries` of `acompletion` retries whatever is raised, with the logging object of the first attempt.
    given["logging_obj"].bonwise_error = found
    return found
