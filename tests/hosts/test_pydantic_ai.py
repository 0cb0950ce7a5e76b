from __future__ import annotations

import asyncio
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

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, models
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from bonwise.hosts.pydantic_ai import BestOfNModel

models.ALLOW_MODEL_REQUESTS = False


class Scripted:
    """Gives one answer after the other, and keeps what it was asked."""

    def __init__(self, answers):
        self.answers, self.asked, self._numbers = answers, [], count()

    def model(self):
        return FunctionModel(self.answer)

    async def answer(self, messages, info):
        self.asked.append(messages)
        answer = self.answers[next(self._numbers)]
        if isinstance(answer, Exception):
            raise answer
        parts = answer if isinstance(answer, list) else [TextPart(answer)]
        usage = RequestUsage(input_tokens=TOKENS_IN, output_tokens=TOKENS_OUT)
        return ModelResponse(parts=parts, usage=usage, model_name="scripted")


def run_sync(agent, prompt="Name a colour"):
    """Wait for an agent; the host leaves the loop that it makes open, so it gets one that is closed."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        try:
            return agent.run_sync(prompt)
        finally:
            asyncio.set_event_loop(None)


async def run(agent):
    """Await the answer of an agent."""
    return await agent.run("Name a colour")


async def streamed(agent):
    """Read the answer of an agent as a stream."""
    async with agent.run_stream("Name a colour") as found:
        said = [text async for text in found.stream_text(delta=True, debounce_by=None)]
    assert "".join(said) == await found.get_output()
    return found


HOW = {
    "run": lambda agent: asyncio.run(run(agent)),
    "run_sync": run_sync,
    "stream": lambda agent: asyncio.run(streamed(agent)),
}


def generated(judge, answers, how, **settings):
    """Ask an agent whose model is the best of n."""
    scripted = Scripted(answers)
    best = BestOfNModel(scripted.model(), judge, len(answers), **settings)
    message = how(Agent(best)).all_messages()[-1]
    usage = message.usage
    return Generated(
        message.text,
        message.metadata["bonwise"],
        (usage.input_tokens, usage.output_tokens),
        best.best_of,
        len(scripted.asked),
    )


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_rules_of_generation(rule, how):
    """Each rule holds for the model of an agent, streamed or not."""
    rule(lambda judge, answers, **settings: generated(judge, answers, how, **settings))


@pytest.mark.parametrize("rule", [ends_with_its_caller, draws_side_by_side])
def test_rules_of_loops(rule):
    """The model works in the caller's loop and ends with its caller."""

    async def request(judge, n, answer):
        async def model(messages, info):
            return ModelResponse(parts=[TextPart(await answer())])

        return await Agent(BestOfNModel(FunctionModel(model), judge, n)).run("Name a colour")

    asyncio.run(rule(request))


def test_the_usage_of_a_run_holds_all_candidates():
    """The run's usage adds up what each request took; a request counts once, whatever n."""
    best = BestOfNModel(Scripted(["red", "blue"]).model(), by_length, 2)
    found = run_sync(Agent(best), "Name a colour")
    usage = found.usage() if callable(found.usage) else found.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 2 * TOKENS_IN, 2 * TOKENS_OUT)


class Paint(BaseModel):
    """What to paint with."""

    colour: str


def calling(name, colour):
    """Make the parts of a response that calls a tool."""
    return [ThinkingPart("a long thought about it " * len(colour)), ToolCallPart(name, {"colour": colour})]


@pytest.mark.parametrize("how", ["run", "stream"])
def test_structured_output_is_chosen_among(how):
    """A schema is a tool call to the host: the judge reads the calls, and not the thoughts before them."""
    seen = []

    def judge(prompt, text):
        seen.append(text)
        return len(text)

    scripted = Scripted([calling("final_result", one) for one in ("red", "scarlet", "tan")])
    agent = Agent(BestOfNModel(scripted.model(), judge, 3), output_type=Paint)

    async def ask():
        if how == "run":
            return (await agent.run("Paint it")).output
        async with agent.run_stream("Paint it") as found:
            return await found.get_output()

    assert asyncio.run(ask()) == Paint(colour="scarlet")
    assert 'tool call: final_result({"colour": "red"})' in seen
    assert not any("thought" in one for one in seen)


def test_every_step_of_an_agent_is_chosen():
    """A step that calls a tool is chosen among, and so is the answer after it; the judge sees the whole exchange."""
    prompts = []

    def judge(prompt, text):
        prompts.append(prompt)
        return len(text)

    answers = [calling("paint", "red"), calling("paint", "scarlet"), "done", "done at last"]
    best = BestOfNModel(Scripted(answers).model(), judge, 2)
    agent = Agent(best, instructions="Be brief.", system_prompt="You paint.")
    painted = []

    @agent.tool_plain
    def paint(colour: str) -> dict[str, str]:
        painted.append(colour)
        return {"done": colour}

    picture = BinaryContent(b"\x89PNG", media_type="image/png")
    assert run_sync(agent, ["Like this:", picture]).output == "done at last"
    assert painted == ["scarlet"]
    assert best.best_of.totals.counts.selections == 2
    first, last = prompts[0], prompts[-1]
    assert "system: You paint." in first
    assert "system: Be brief." in first
    assert "user: Like this:\n[image]" in first
    assert 'assistant: tool call: paint({"colour": "scarlet"})' in last
    assert 'tool: {"done":"scarlet"}' in last


def test_a_host_that_falls_back_does_not_pay_again():
    """A failing judge is no failing model: no other model is asked, whether it raises or not."""
    other = Scripted(["other"])
    best = BestOfNModel(Scripted(["red", "blue"]).model(), broken, 2)
    message = run_sync(Agent(FallbackModel(best, other.model())), "p").all_messages()[-1]
    assert message.metadata["bonwise"]["unjudged"] is True
    strict = BestOfNModel(Scripted(["red", "blue"]).model(), broken, 2, on_failure="raise")
    with pytest.raises(JudgeError):
        run_sync(Agent(FallbackModel(strict, other.model()), retries=2), "p")
    assert other.asked == []


def test_what_cannot_be_chosen_among_is_refused():
    """A batch and a response that is finished later are errors, not picks that nobody chose."""
    best = BestOfNModel(Scripted([]).model(), by_length, 2)
    with pytest.raises(UsageError, match="a batch answers each request once"):
        asyncio.run(best.batch_encode(object()))

    async def later(messages, info):
        return ModelResponse(parts=[], state="suspended")

    with pytest.raises(UsageError, match="the response is not finished"):
        run_sync(Agent(BestOfNModel(FunctionModel(later), by_length, 2)), "p")


def test_an_answer_without_text_is_unscored_and_not_the_first():
    """Thoughts alone are no answer; the one with words wins."""
    scripted = Scripted([[ThinkingPart("long, long thoughts")], "red"])
    best = BestOfNModel(scripted.model(), by_length, 2)
    message = run_sync(Agent(best), "p").all_messages()[-1]
    assert message.text == "red"
    assert list(message.metadata["bonwise"]["unscored"].values()) == ["no text"]
