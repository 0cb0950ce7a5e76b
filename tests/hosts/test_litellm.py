from __future__ import annotations

import asyncio
import json
import os
from itertools import count

import pytest

from bonwise.errors import JudgeError, UsageError
from hosts.generation_rules import (
    GENERATION_RULES,
    TOKENS_IN,
    TOKENS_OUT,
    Generated,
    broken,
    by_length,
    draws_side_by_side,
    ends_with_its_caller,
)
from hosts.generation_rules import DrawError as AnyDrawError

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise the import asks the network
litellm = pytest.importorskip("litellm")

from litellm.integrations.custom_logger import CustomLogger
from litellm.llms.custom_llm import CustomLLM

from bonwise.hosts.litellm import BestOfNLLM, _drawn, _response, register

litellm.suppress_debug_info = True
PROMPT = [{"role": "user", "content": "Name a colour"}]
PRICE = 0.25


class DrawError(AnyDrawError, litellm.exceptions.OpenAIError):
    """What a model raises, and LiteLLM passes on as it is."""

    status_code = 400

    def __str__(self):
        return "busy"


class Scripted(CustomLLM):
    """Gives one answer after the other."""

    def __init__(self, answers):
        super().__init__()
        self.answers, self.asked, self._numbers = answers, [], count()

    def completion(self, *given, **named):
        self.asked.append(named)
        return answered(self.answers[next(self._numbers)])

    async def acompletion(self, *given, **named):
        self.asked.append(named)
        answer = self.answers[next(self._numbers)]
        return answered(await answer() if callable(answer) else answer)


def answered(answer):
    """Make a response."""
    if isinstance(answer, Exception):
        raise DrawError
    message = answer if isinstance(answer, dict) else {"role": "assistant", "content": answer}
    usage = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    found = litellm.ModelResponse(
        model="scripted", choices=[{"index": 0, "message": message, "finish_reason": finish}], usage=usage
    )
    found._hidden_params["response_cost"] = PRICE
    return found


@pytest.fixture(autouse=True)
def _own_providers(monkeypatch):
    """Forget what a test has registered."""
    for name in ("custom_provider_map", "_custom_providers", "provider_list", "callbacks"):
        monkeypatch.setattr(litellm, name, list(getattr(litellm, name)))


def provided(judge, answers, n=None, **settings):
    """Make the provider, and what stands behind it."""
    scripted = Scripted(answers)
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": scripted}]
    return register(judge, n or len(answers), **settings), scripted


def read(chunks):
    """Put a stream together, and find its trail."""
    trails = [getattr(one.choices[0].delta, "provider_specific_fields", None) for one in chunks if one.choices]
    (trail,) = [one["bonwise"] for one in trails if one and "bonwise" in one]
    found = litellm.stream_chunk_builder(chunks, messages=PROMPT)
    # The builder of an older LiteLLM looks at the last chunk alone, which has the usage.
    reasons = [one.choices[0].finish_reason for one in chunks if one.choices]
    (found.choices[0].finish_reason,) = [one for one in reasons if one]
    found.bonwise = trail
    return found


def streamed(**asked):
    """Ask for a stream."""
    return read(list(litellm.completion(stream=True, stream_options={"include_usage": True}, **asked)))


async def astreamed(**asked):
    """Ask for a stream in a loop."""
    found = await litellm.acompletion(stream=True, stream_options={"include_usage": True}, **asked)
    return read([one async for one in found])


HOW = {
    "completion": litellm.completion,
    "acompletion": lambda **asked: asyncio.run(litellm.acompletion(**asked)),
    "stream": streamed,
    "astream": lambda **asked: asyncio.run(astreamed(**asked)),
}


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_rules_of_generation(rule, how):
    """Each rule holds for the provider, streamed or not."""

    def generate(judge, answers, **settings):
        scripted = Scripted(answers)
        litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": scripted}]
        litellm.provider_list = [one for one in litellm.provider_list if one != "bon"]
        handler = register(judge, len(answers), **settings)
        found = how(model="bon/scripted/m", messages=PROMPT)
        usage = found.usage.prompt_tokens, found.usage.completion_tokens
        return Generated(found.choices[0].message.content, found.bonwise, usage, handler.best_of, len(scripted.asked))

    rule(generate)


@pytest.mark.parametrize("rule", [ends_with_its_caller, draws_side_by_side])
def test_rules_of_loops(rule):
    """The provider works in the caller's loop and ends with its caller."""

    async def request(judge, n, answer):
        provided(judge, [answer] * n)
        return await litellm.acompletion(model="bon/scripted/m", messages=PROMPT)

    asyncio.run(rule(request))


def test_the_request_reaches_the_model():
    """Settings, tools, headers, key and address are passed on to each draw."""
    _, scripted = provided(by_length, ["red", "scarlet"])
    tool = {"type": "function", "function": {"name": "paint", "parameters": {"type": "object", "properties": {}}}}
    litellm.completion(
        model="bon/scripted/m",
        messages=PROMPT,
        temperature=0.5,
        tools=[tool],
        api_key="k",
        api_base="http://x",
        extra_headers={"a": "b"},
    )
    assert len(scripted.asked) == 2
    for one in scripted.asked:
        assert (one["model"], one["messages"], one["api_key"], one["api_base"]) == ("m", PROMPT, "k", "http://x")
        assert one["optional_params"]["temperature"] == 0.5
        assert one["optional_params"]["tools"] == [tool]
        assert one["headers"] == {"a": "b"}


def test_callbacks_hear_of_the_whole_call_once():
    """The cost that LiteLLM logs is that of all candidates; no candidate is counted a second time."""
    logged = []

    class Kept(CustomLogger):
        async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
            logged.append((kwargs["response_cost"], response_obj.usage.prompt_tokens))

    provided(by_length, ["red", "scarlet", "tan"])
    litellm.callbacks = [Kept()]

    async def ask():
        found = await litellm.acompletion(model="bon/scripted/m", messages=PROMPT)
        for _ in range(100):
            if logged:
                break
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        return found

    found = asyncio.run(ask())
    assert found._hidden_params["response_cost"] == 3 * PRICE
    assert logged == [(3 * PRICE, 3 * TOKENS_IN)]


def test_a_cost_that_is_not_known_of_all_is_not_known():
    """The cost of some candidates would look like that of all."""
    handler = BestOfNLLM(by_length, 2)
    drawn = [_drawn(answered("red")), _drawn(answered("scarlet"))]
    drawn[0].answer._hidden_params["response_cost"] = None

    assert _response(handler.best_of.pick("p", drawn))._hidden_params["response_cost"] is None


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_tool_calls_are_chosen_among(how):
    """The judge reads the calls, and the winner's come back."""
    answers = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": name,
                    "type": "function",
                    "function": {"name": "paint", "arguments": json.dumps({"colour": name})},
                }
            ],
        }
        for name in ("red", "scarlet", "tan")
    ]
    provided(by_length, answers)
    choice = how(model="bon/scripted/m", messages=PROMPT).choices[0]
    (call,) = choice.message.tool_calls
    assert (call.id, call.function.name) == ("scarlet", "paint")
    assert json.loads(call.function.arguments) == {"colour": "scarlet"}
    assert choice.finish_reason == "tool_calls"


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_an_error_of_the_judge_is_not_retried(how):
    """Neither retries of a call nor the unjudged pick pay a second time."""
    _, scripted = provided(broken, ["red", "scarlet", "tan", "blue"], 2, on_failure="raise")
    with pytest.raises(JudgeError, match="out of order"):
        how(model="bon/scripted/m", messages=PROMPT, num_retries=3)
    assert len(scripted.asked) == 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_router_does_not_retry_either(asynchronous):
    """The router of the host, which retries most errors, asks once and has no other deployment answer."""
    _, scripted = provided(broken, ["red", "scarlet", "tan", "blue"], 2, on_failure="raise")
    deployment = {"model_name": "best", "litellm_params": {"model": "bon/scripted/m"}}
    router = litellm.Router([deployment], num_retries=3, retry_after=0)
    with pytest.raises(Exception, match="out of order"):  # the router raises it under a class of its own
        asyncio.run(router.acompletion("best", PROMPT)) if asynchronous else router.completion("best", PROMPT)
    assert len(scripted.asked) == 2


def test_a_router_serves_it():
    """A deployment may be a best-of-n model."""
    provided(by_length, ["red", "scarlet"])
    router = litellm.Router([{"model_name": "best", "litellm_params": {"model": "bon/scripted/m"}}])
    assert asyncio.run(router.acompletion("best", PROMPT)).choices[0].message.content == "scarlet"


def test_n_of_a_request_is_refused():
    """It would be ignored otherwise, and nothing is paid."""
    _, scripted = provided(by_length, ["red", "scarlet"])
    with pytest.raises(litellm.BadRequestError, match="n is a setting of the best-of-n provider"):
        litellm.completion(model="bon/scripted/m", messages=PROMPT, n=2)
    assert scripted.asked == []


def test_a_cache_does_not_make_all_candidates_one():
    """LiteLLM's cache answers equal requests alike; the draws of one request go past it."""
    provided(by_length, ["red", "scarlet", "tan"])
    litellm.cache = litellm.Cache()
    try:
        found = litellm.completion(model="bon/scripted/m", messages=PROMPT, caching=True)
        assert found.bonwise["decided_by"] == "score"
    finally:
        litellm.cache = None


def test_a_name_is_taken_once():
    """A second provider of one name would never be asked."""
    register(by_length, 2)
    with pytest.raises(UsageError, match="LiteLLM has a provider named bon"):
        register(broken, 2)
    with pytest.raises(UsageError, match="LiteLLM has a provider named openai"):
        register(by_length, 2, provider="openai")
