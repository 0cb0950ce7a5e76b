from __future__ import annotations

import asyncio
import json
from itertools import count

import pytest

from bonwise.errors import JudgeError, UsageError
from hosts.generation_rules import (
    GENERATION_RULES,
    TOKENS_IN,
    TOKENS_OUT,
    DrawError,
    Generated,
    broken,
    by_length,
    draws_side_by_side,
    ends_with_its_caller,
)

pytest.importorskip("agents")

from agents import Agent, Model, ModelResponse, ModelSettings, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.retry import ModelRetryAdvice, ModelRetrySettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from pydantic import BaseModel

from bonwise.hosts.openai_agents import BestOfNAgentModel

QUIET = RunConfig(tracing_disabled=True)
ADVICE = ModelRetryAdvice(suggested=False, reason="the model's own")


def said(text):
    """Make a message."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id=f"m{text}", type="message", role="assistant", status="completed", content=[part])


def calling(colour):
    """Make a thought and a tool call."""
    thought = ResponseReasoningItem(
        id=f"r{colour}", type="reasoning", summary=[{"type": "summary_text", "text": "a long thought" * 9}]
    )
    call = ResponseFunctionToolCall(
        type="function_call", call_id=colour, name="paint", arguments=json.dumps({"colour": colour})
    )
    return [thought, call]


class Scripted(Model):
    """Gives one answer after the other."""

    def __init__(self, answers):
        self.answers, self.asked, self.ended, self._numbers = answers, [], [], count()

    async def get_response(self, system_instructions, input, *rest, **named):  # noqa: A002
        self.asked.append(input)
        answer = self.answers[next(self._numbers)]
        if isinstance(answer, Exception):
            raise answer
        output = answer if isinstance(answer, list) else [said(answer)]
        return ModelResponse(output, one_usage(), response_id=f"answer {len(self.asked)}")

    def stream_response(self, *given, **named):
        raise AssertionError("streamed past the judge")

    async def close(self):
        self.ended.append("closed")

    def get_retry_advice(self, request):
        return ADVICE

    async def _cleanup_on_run_end(self, owner):
        self.ended.append("run")


def one_usage():
    """Return what an answer takes."""
    return Usage(requests=1, input_tokens=TOKENS_IN, output_tokens=TOKENS_OUT, total_tokens=TOKENS_IN + TOKENS_OUT)


async def run(agent, given="Name a colour", **more):
    """Await the result of a run, and its trail."""
    found = await Runner.run(agent, given, run_config=QUIET, **more)
    return found, found.raw_responses[-1].bonwise


async def streamed(agent, given="Name a colour", **more):
    """Read a run as a stream: its text deltas are the answer."""
    found, deltas, trail = Runner.run_streamed(agent, given, run_config=QUIET, **more), [], None
    async for event in found.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            deltas.append(event.data.delta)
        if event.type == "raw_response_event" and event.data.type == "response.completed":
            trail, text = json.loads(event.data.response.metadata["bonwise"]), "".join(deltas)
            deltas.clear()
    if isinstance(found.final_output, str):
        assert text == found.final_output
    return found, trail


HOW = {"run": run, "stream": streamed}


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_rules_of_generation(rule, how):
    """Each rule holds for the model of an agent, streamed or not."""

    def generate(judge, answers, **settings):
        scripted = Scripted(answers)
        best = BestOfNAgentModel(scripted, judge, len(answers), **settings)
        found, trail = asyncio.run(how(Agent("painter", model=best)))
        usage = found.context_wrapper.usage
        return Generated(
            found.final_output, trail, (usage.input_tokens, usage.output_tokens), best.best_of, len(scripted.asked)
        )

    rule(generate)


@pytest.mark.parametrize("rule", [ends_with_its_caller, draws_side_by_side])
def test_rules_of_loops(rule):
    """The model works in the caller's loop and ends with its caller."""

    async def request(judge, n, answer):
        class Waiting(Scripted):
            async def get_response(self, *given, **named):
                return ModelResponse([said(await answer())], Usage(), response_id=None)

        return await run(Agent("painter", model=BestOfNAgentModel(Waiting([]), judge, n)))

    asyncio.run(rule(request))


def test_requests_and_the_winners_own_response_are_kept():
    """Each candidate counts as a request, and the response goes on under the winner's identifier."""
    best = BestOfNAgentModel(Scripted(["red", "scarlet", "tan"]), by_length, 3)
    found, _ = asyncio.run(run(Agent("painter", model=best)))
    usage = found.context_wrapper.usage
    assert (usage.requests, len(usage.request_usage_entries)) == (3, 3)
    assert found.last_response_id == "answer 2"


def test_run_sync():
    """Code without a loop gets the best answer too."""
    best = BestOfNAgentModel(Scripted(["red", "scarlet"]), by_length, 2)
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        try:
            found = Runner.run_sync(Agent("painter", model=best), "Name a colour", run_config=QUIET)
        finally:
            asyncio.set_event_loop(None)
    assert found.final_output == "scarlet"


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_every_step_of_an_agent_is_chosen(how):
    """A step that calls a tool is chosen among, and so is the answer after it; the judge sees the exchange."""
    prompts, texts, painted = [], [], []

    def judge(prompt, text):
        prompts.append(prompt)
        texts.append(text)
        return len(text)

    @function_tool
    def paint(colour: str) -> str:
        """Paint."""
        painted.append(colour)
        return f"{colour} is on the wall"

    scripted = Scripted([calling("red"), calling("scarlet"), "done", "done at last"])
    agent = Agent("painter", instructions="Be brief.", model=BestOfNAgentModel(scripted, judge, 2), tools=[paint])
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    given = [{"role": "user", "content": [{"type": "input_text", "text": "Like this:"}, picture]}]
    found, _ = asyncio.run(how(agent, given))
    assert (found.final_output, painted) == ("done at last", ["scarlet"])
    assert prompts[0] == "system: Be brief.\n\nuser: Like this:\n[image]"
    assert 'assistant: tool call: paint({"colour": "scarlet"})' in prompts[-1]
    assert "tool: scarlet is on the wall" in prompts[-1]
    assert set(texts[:2]) == {'tool call: paint({"colour": "red"})', 'tool call: paint({"colour": "scarlet"})'}
    assert scripted.ended == (["run"] if hasattr(Model, "_cleanup_on_run_end") else [])


class Paint(BaseModel):
    """What to paint with."""

    colour: str


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_structured_output_is_chosen_among(how):
    """The judge reads the JSON, and the winner's is parsed."""
    answers = [json.dumps({"colour": one}) for one in ("red", "scarlet", "tan")]
    agent = Agent("painter", model=BestOfNAgentModel(Scripted(answers), by_length, 3), output_type=Paint)
    found, trail = asyncio.run(how(agent))
    assert found.final_output == Paint(colour="scarlet")
    assert trail["decided_by"] == "score"


RETRY = ModelSettings(retry=ModelRetrySettings(max_retries=2, policy=lambda context: True))


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_a_host_that_retries_does_not_pay_again(how):
    """An error of the judge is not retried under a policy that retries everything; one of the model is."""
    scripted = Scripted(["red", "scarlet", "tan", "blue"])
    best = BestOfNAgentModel(scripted, broken, 2, on_failure="raise")
    with pytest.raises(JudgeError, match="out of order"):
        asyncio.run(how(Agent("painter", model=best, model_settings=RETRY)))
    assert len(scripted.asked) == 2
    scripted = Scripted([DrawError("busy"), DrawError("busy"), "red", "scarlet"])
    best = BestOfNAgentModel(scripted, by_length, 2)
    found, _ = asyncio.run(how(Agent("painter", model=best, model_settings=RETRY)))
    assert found.final_output == "scarlet"


def test_a_conversation_of_the_service_is_refused():
    """Each candidate would be added to it; nothing is drawn. A session of the host's is fine."""
    scripted = Scripted(["red", "scarlet"])
    agent = Agent("painter", model=BestOfNAgentModel(scripted, by_length, 2))
    with pytest.raises(UsageError, match="each candidate would be added to the conversation"):
        asyncio.run(run(agent, conversation_id="c1"))
    assert scripted.asked == []
    session = SQLiteSession("s1")
    found, _ = asyncio.run(run(agent, session=session))
    session.close()
    assert found.final_output == "scarlet"


def test_what_the_host_asks_the_model_reaches_it():
    """Closing and advice of retries are the model's."""
    scripted = Scripted([])
    best = BestOfNAgentModel(scripted, by_length, 2)
    asyncio.run(best.close())
    assert scripted.ended == ["closed"]

    class Request:
        error = DrawError("busy")

    assert best.get_retry_advice(Request()) is ADVICE
