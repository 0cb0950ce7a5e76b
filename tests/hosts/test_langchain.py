from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.hosts.reranking import DocumentRanker
from hosts.generation_rules import GENERATION_RULES, TOKENS_IN, TOKENS_OUT, Generated, broken
from hosts.reranker_rules import RERANKER_RULES, Reranked, by_length, does_not_block

pytest.importorskip("langchain_core")

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel, PrivateAttr

from bonwise.hosts.langchain import BestOfNChatModel, JudgeCompressor, choosing_runnable


class Scripted(BaseChatModel):
    """Gives one answer after the other."""

    answers: list[Any]
    _next: Any = PrivateAttr(default_factory=count)

    @property
    def _llm_type(self):
        return "scripted"

    @property
    def asked(self):
        return self._next.__reduce__()[1][0]

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[one if isinstance(one, dict) else getattr(one, "name", "") for one in tools])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        answer = self.answers[next(self._next)]
        if isinstance(answer, Exception):
            raise answer
        usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}
        given = answer if isinstance(answer, AIMessage) else AIMessage(content=answer)
        message = given.model_copy(update={"usage_metadata": usage, "response_metadata": {"finish_reason": "stop"}})
        return ChatResult(generations=[ChatGeneration(message=message)])


def documents(texts):
    """Make documents."""
    return [Document(page_content=text, metadata={"at": at}, id=f"d{at}") for at, text in enumerate(texts)]


def outcome(compressor, given, found):
    """Return what the rules look at."""
    assert all(one.id == f"d{one.metadata['at']}" for one in found)
    return Reranked(
        [one.page_content for one in found],
        [one.metadata.get("relevance_score") for one in found],
        [one.metadata["bonwise"] for one in found],
        compressor.ranker,
        unchanged=all(one.metadata == {"at": at} for at, one in enumerate(given)),
    )


def compressed(judge, query, texts, top=None, **settings):
    """Rerank in the calling thread."""
    compressor = JudgeCompressor.of(judge, top_n=top, **settings)
    given = documents(texts)
    return outcome(compressor, given, compressor.compress_documents(given, query))


async def acompressed(judge, query, texts, top=None, **settings):
    """Rerank in a loop."""
    compressor = JudgeCompressor.of(judge, top_n=top, **settings)
    given = documents(texts)
    return outcome(compressor, given, await compressor.acompress_documents(given, query))


@pytest.mark.parametrize("rule", RERANKER_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(
    "drive",
    [compressed, lambda *given, **settings: asyncio.run(acompressed(*given, **settings))],
    ids=["sync", "async"],
)
def test_rules_of_rerankers(rule, drive):
    """Each rule holds for the compressor."""
    rule(drive)


def test_the_compressor_works_in_the_callers_loop():
    """It blocks no loop, and ends with its caller."""
    asyncio.run(does_not_block(acompressed))


@pytest.mark.parametrize("given", [{}, {"judge": by_length, "ranker": 1}, {"ranker": 1, "deadline": 2.0}])
def test_a_compressor_takes_a_judge_or_a_ranker(given):
    """By keyword too; neither, both, or settings of a ranker that has its own are one error."""
    assert JudgeCompressor(judge=by_length, top_n=1).compress_documents([Document("red"), Document("blue")], "q")
    assert JudgeCompressor(ranker=DocumentRanker(by_length)).top_n is None
    given = {name: DocumentRanker(by_length) if name == "ranker" else value for name, value in given.items()}
    with pytest.raises(UsageError, match=r"takes a judge|has its settings already"):
        JudgeCompressor(**given)


def test_a_score_of_another_reranker_is_not_taken_for_one_of_the_judge():
    """A document that had a relevance score and is not scored now has none."""
    compressor = JudgeCompressor.of(by_length)
    given = [Document(page_content="what?", metadata={"relevance_score": 0.99}), Document(page_content="red")]
    found = compressor.compress_documents(given, "colours")
    assert [one.metadata.get("relevance_score") for one in found] == [3.0, None]
    assert given[0].metadata == {"relevance_score": 0.99}


def model(judge, answers, how, **settings):
    """Ask the best-of-n chat model."""
    inner = Scripted(answers=answers)
    best = BestOfNChatModel.of(inner, judge, len(answers), **settings)
    message = how(best)
    usage = message.usage_metadata
    return Generated(
        message.content,
        message.response_metadata["bonwise"],
        (usage["input_tokens"], usage["output_tokens"]),
        best.best_of,
        best._asked.asked,
    )


def streamed(best):
    """Add up the chunks of a stream."""
    chunks = list(best.stream("Name a colour"))
    total = chunks[0]
    for one in chunks[1:]:
        total += one
    return total


HOW = {
    "invoke": lambda best: best.invoke("Name a colour"),
    "ainvoke": lambda best: asyncio.run(best.ainvoke("Name a colour")),
    "stream": streamed,
}


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_rules_of_generation(rule, how):
    """Each rule holds for the chat model, streamed or not."""
    rule(lambda judge, answers, **settings: model(judge, answers, how, **settings))


def test_the_judge_sees_the_messages_as_the_prompt():
    """System and user messages reach the judge."""
    seen = []

    def judge(prompt, text):
        seen.append(prompt)
        return len(text)

    best = BestOfNChatModel.of(Scripted(answers=["red", "blue"]), judge, 2)
    best.invoke([SystemMessage("Be brief."), HumanMessage("Name a colour")])
    assert set(seen) == {"system: Be brief.\n\nuser: Name a colour"}


def test_a_cache_does_not_make_all_candidates_one():
    """LangChain's cache answers equal requests alike; the draws of one request go past it."""
    set_llm_cache(InMemoryCache())
    try:
        inner = Scripted(answers=["red", "scarlet", "blue", "tan"], cache=True)
        message = BestOfNChatModel.of(inner, by_length, 4).invoke("Name a colour")
        assert (message.content, message.response_metadata["bonwise"]["decided_by"]) == ("scarlet", "score")
    finally:
        set_llm_cache(None)


def test_callbacks_hear_of_every_draw():
    """Each draw is a run below that of the best-of-n model."""

    class Runs(BaseCallbackHandler):
        def __init__(self):
            self.parents = []

        def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id=None, **kwargs):
            self.parents.append((parent_run_id, run_id))

    runs = Runs()
    BestOfNChatModel.of(Scripted(answers=["red", "blue"]), by_length, 2).invoke("p", {"callbacks": [runs]})
    (top,) = [run for parent, run in runs.parents if parent is None]
    assert [parent for parent, run in runs.parents if run != top] == [top, top]


@tool
def paint(colour: str) -> str:
    """Paint."""
    return colour


def calling(colour):
    """Make a message that calls a tool."""
    return AIMessage(content="", tool_calls=[{"name": "paint", "args": {"colour": colour}, "id": colour}])


def test_tool_calls_are_chosen_among():
    """The judge reads the calls, and the winner's call comes back."""
    bound = BestOfNChatModel.of(Scripted(answers=[calling("red"), calling("scarlet")]), by_length, 2)
    message = bound.bind_tools([paint]).invoke("Paint it")
    assert message.tool_calls[0]["args"] == {"colour": "scarlet"}


def test_structured_output_is_chosen_among():
    """A schema becomes a tool call, of which the best is parsed."""

    class Paint(BaseModel):
        colour: str

    answers = [
        AIMessage(content="", tool_calls=[{"name": "Paint", "args": {"colour": name}, "id": name}])
        for name in ("red", "scarlet", "tan")
    ]
    best = BestOfNChatModel.of(Scripted(answers=answers), by_length, 3)
    assert best.with_structured_output(Paint).invoke("Paint it") == Paint(colour="scarlet")


def test_with_retry_does_not_pay_again_for_a_failing_judge():
    """A host that retries every exception draws n candidates once: a failing judge raises none."""
    inner = Scripted(answers=["red", "blue", "tan", "pink"])
    best = BestOfNChatModel.of(inner, broken, 2)
    message = best.with_retry(stop_after_attempt=2, wait_exponential_jitter=False).invoke("p")
    assert message.response_metadata["bonwise"]["unjudged"] is True
    assert best._asked.asked == 2


def test_the_runnable_chooses():
    """It takes a prompt with candidates, sync and async, and chains."""
    chain = choosing_runnable(by_length) | RunnableLambda(lambda chosen: chosen.best)
    given = {"prompt": "Name a colour", "candidates": ["red", "scarlet"]}
    assert chain.invoke(given) == "scarlet"
    assert asyncio.run(chain.ainvoke(given)) == "scarlet"
    assert choosing_runnable(broken).invoke(given).unjudged
    assert list(chain.batch([given, given])) == ["scarlet", "scarlet"]


def test_a_selector_is_closed_by_its_owner():
    """The adapter takes a selector as it is."""
    with bw.Selector(by_length) as selector:
        compressor = JudgeCompressor.of(selector)
        assert compressor.compress_documents(documents(["red", "blue"]), "q")[0].page_content == "blue"


class TestAgents:
    """The middleware of agents."""

    def run(self, judge, answers, how="invoke", n=None, **settings):
        from langchain.agents import create_agent

        from bonwise.hosts.langchain_agents import BestOfNMiddleware

        inner = Scripted(answers=answers)
        middleware = BestOfNMiddleware(judge, n or len(answers), **settings)
        agent = create_agent(inner, tools=[paint], middleware=[middleware])
        given = {"messages": [{"role": "user", "content": "Name a colour"}]}
        found = agent.invoke(given) if how == "invoke" else asyncio.run(agent.ainvoke(given))
        return found["messages"], middleware

    @pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
    @pytest.mark.parametrize("how", ["invoke", "ainvoke"])
    def test_rules_of_generation(self, rule, how):
        """Each rule holds for an agent with the middleware."""

        def generate(judge, answers, **settings):
            messages, middleware = self.run(judge, answers, how, **settings)
            last = messages[-1]
            usage = last.usage_metadata["input_tokens"], last.usage_metadata["output_tokens"]
            trail = last.response_metadata["bonwise"]
            return Generated(last.content, trail, usage, middleware.best_of, len(answers))

        rule(generate)

    def test_every_step_of_an_agent_is_chosen(self):
        """A step that calls a tool is chosen among, and so is the answer after it."""
        answers = [calling("red"), calling("scarlet"), "done", "done at last"]
        messages, middleware = self.run(by_length, answers, n=2)
        assert [one.content for one in messages if one.type == "tool"] == ["scarlet"]
        assert messages[-1].content == "done at last"
        assert middleware.best_of.totals.counts.selections == 2

    def test_an_interrupt_is_passed_on(self):
        """What interrupts the graph is no failed draw."""
        from langgraph.errors import GraphInterrupt

        from bonwise.hosts.langchain_agents import BestOfNMiddleware

        middleware = BestOfNMiddleware(by_length, 3)

        def handler(request):
            raise GraphInterrupt

        class Request:
            model, messages, system_message = object(), [HumanMessage("p")], None

        with pytest.raises(GraphInterrupt):
            middleware.wrap_model_call(Request(), handler)

    def test_a_retry_middleware_does_not_pay_again(self):
        """A host that retries every exception draws n candidates once."""
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelRetryMiddleware

        from bonwise.hosts.langchain_agents import BestOfNMiddleware

        best = BestOfNMiddleware(broken, 2)
        agent = create_agent(
            Scripted(answers=["red", "blue", "tan", "pink"]),
            tools=[],
            middleware=[ModelRetryMiddleware(max_retries=1, initial_delay=0.0), best],
        )
        found = agent.invoke({"messages": [{"role": "user", "content": "Name a colour"}]})["messages"][-1]
        assert found.response_metadata["bonwise"]["unjudged"] is True
        assert best.best_of.totals.counts.selections == 1
