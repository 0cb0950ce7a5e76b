"""An answer is final only if the model gave one, and a reply that cannot be read is asked for a second time."""

from __future__ import annotations

import asyncio
import json

import pytest

from bonwise.calls.ask import Ask, Choice, Model
from bonwise.calls.attempts import fault_of
from bonwise.calls.engine import AskRun, Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.calls.providers.anthropic import messages_reply
from bonwise.calls.providers.openai import chat_reply
from bonwise.calls.providers.protocol import Response, provider
from bonwise.calls.tokens import input_tokens
from bonwise.judges.judging import judge_with
from bonwise.judges.pointwise import Pointwise
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing.script import Script
from calls.scripted_runs import in_memory
from calls.virtual_time import run_virtual

MODEL = Model("openai", "gpt-5-mini")
CLAUDE = Model("anthropic", "claude-opus-5")
JUDGE = Pointwise("openai/gpt-5-mini")
GOOD = '{"score": 70}'
AGAIN = "openai/gpt-5-mini was asked again where a reply could not be read"


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-2")


def scripted(*replies, **settings):
    """Return a script whose requests get these replies one after the other, the last one for ever."""
    left = list(replies)
    return Script(lambda _: left.pop(0) if len(left) > 1 else left[0], **settings)


def judged(script, texts=("an answer",), **settings):
    """Judge candidates with an engine of their own on virtual time; return verdicts and engine."""

    async def main():
        async with Engine(connection=in_memory(script), **settings) as engine:
            found = await judge_with(engine, JUDGE, "Why?", list(texts))
            return found.verdicts, engine

    return run_virtual(main())


def question(number=0, **settings):
    """Return a question whose words are the answer."""
    return Ask(
        **{"model": MODEL, "system": "", "user": f"Question {number}?", "read": lambda choice: choice.text} | settings
    )


def asked(script, ask, **settings):
    """Ask a question with an engine of its own on virtual time; return readings and engine."""

    async def main():
        async with Engine(connection=in_memory(script), **settings) as engine:
            return [one.reading for one in (await engine.ask(ask)).answers], engine

    return run_virtual(main())


# What a reply holds.


def chat(finish="stop", /, choice=(), **message):
    """Return a chat completion of one choice."""
    whole = {"message": {"role": "assistant", "content": None} | message, "finish_reason": finish} | dict(choice)
    return {"choices": [whole]}


def call(arguments):
    """Return a tool call of a chat completion."""
    return {"id": "c", "type": "function", "function": {"name": "judge", "arguments": arguments}}


ANSWERED = {
    "words": (chat(content=GOOD), GOOD),
    "null content, a tool call": (chat("tool_calls", tool_calls=[call(GOOD)]), GOOD),
    "empty content, a tool call that stopped": (chat(content="", tool_calls=[call(GOOD)]), GOOD),
    "arguments that were parsed": (chat("tool_calls", tool_calls=[call({"score": 70})]), GOOD),
    "the older function call": (chat("function_call", function_call={"name": "f", "arguments": GOOD}), GOOD),
    "the whole object among the thinking": (chat(reasoning_content=f"\n{GOOD}\n"), GOOD),
    "the same under another name": (chat(reasoning=GOOD, content=""), GOOD),
    "the same under a third name": (chat(thinking=GOOD, content=""), GOOD),
    "behind the end of the thinking": (chat(reasoning_content="Rather good.</think>\n85"), "85"),
    "text parts": (chat(content=[{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": GOOD}]), GOOD),
    "one part that is no list": (chat(content={"type": "text", "text": GOOD}), GOOD),
    "a list of texts": (chat(content=['{"score":', " 70}"]), GOOD),
    "content that was parsed": (chat(content={"score": 70}), '{"score":70}'),
    "the shape of text completions": ({"choices": [{"text": GOOD, "finish_reason": "stop"}]}, GOOD),
    "no word for the end": (chat(None, content=GOOD), GOOD),
    "words beside thinking": (chat(content=GOOD, reasoning_content="About 30."), GOOD),
}


@pytest.mark.parametrize(("body", "text"), ANSWERED.values(), ids=ANSWERED)
def test_an_answer_is_read_where_its_shape_is_clear(body, text):
    """Wherever it stands, and it is no failure."""
    (choice,) = chat_reply(json.dumps(body).encode()).choices
    assert (choice.text, fault_of(choice), choice.elsewhere) == (text, "", "")


FAILED = {
    "empty": (chat(content=""), "the reply is empty"),
    "null": (chat(), "the reply is empty"),
    "blank": (chat(content=" \n"), "the reply is empty"),
    "no part": (chat(content=[]), "the reply is empty"),
    "an empty object": (chat(content={}), "the reply is empty"),
    "no word for the end": (chat(None, content=""), "the reply is empty"),
    "blank thinking": (chat(content="", reasoning_content=" "), "the reply is empty"),
    "ended in an error": (
        chat("error", choice={"error": {"code": 502, "message": "Upstream\nfailed"}}, content='{"sco'),
        "the choice ended in an error: Upstream failed",
    ),
    "an error without a message": (
        {"choices": [{"error": {"code": 500}, "finish_reason": None}]},
        "the choice ended in an error: unnamed",
    ),
    "an error beside whole words": (
        chat(choice={"error": "lost"}, content=GOOD),
        "the choice ended in an error: lost",
    ),
    "the word alone": (chat("error", content=GOOD), "the choice ended in an error: error"),
    "no resources": (
        chat("insufficient_system_resource", content=""),
        "the choice ended in an error: insufficient_system_resource",
    ),
    "the network": (chat("network_error", content=""), "the choice ended in an error: network_error"),
    "given up": (chat("abort", content="4"), "the choice ended in an error: abort"),
}


@pytest.mark.parametrize(("body", "fault"), FAILED.values(), ids=FAILED)
def test_a_choice_that_is_no_answer_says_why(body, fault):
    """Empty, or ended in an error whatever was said until then."""
    assert fault_of(chat_reply(json.dumps(body).encode()).choices[0]) == fault


FINAL = {
    "a refusal": chat(refusal="No."),
    "a filter": chat("content_filter", content=""),
    "a filter of another name": chat("content_filter: PROHIBITED_CONTENT", content=""),
    "recitation": chat("RECITATION", content=""),
    "cut while thinking": chat("length", content="", reasoning_content="Let me"),
    "an unknown end": chat("guardrail_intervened", content=""),
}


@pytest.mark.parametrize("body", FINAL.values(), ids=FINAL)
def test_what_another_call_would_not_mend_is_no_passing_failure(body):
    """Refusals, filters, cuts and ends of unknown names stay as they are."""
    (choice,) = chat_reply(json.dumps(body).encode()).choices
    assert (fault_of(choice), choice.elsewhere) == ("", "")
    assert choice.finish != "stop"


ELSEWHERE = {
    "two tool calls": (chat("tool_calls", tool_calls=[call(GOOD), call(GOOD)]), "it is 2 tool calls; serve"),
    "arguments that are no object": (chat("tool_calls", tool_calls=[call("70")]), "it is a tool call; serve"),
    "broken arguments": (chat("tool_calls", tool_calls=[call('{"score": 7')]), "it is a tool call; serve"),
    "thinking": (chat(content="", reasoning_content="Perhaps 70."), "its words stand in reasoning_content; turn"),
    "a number among the thinking": (chat(content="", reasoning="85"), "its words stand in reasoning; turn"),
}


@pytest.mark.parametrize(("body", "where"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_where_the_words_stand_is_said(body, where):
    """Nothing is read there, and nothing is taken for empty."""
    (choice,) = chat_reply(json.dumps(body).encode()).choices
    assert (choice.text, fault_of(choice)) == ("", "")
    assert choice.elsewhere.startswith(where)


BLOCKS = {
    "words": ([{"type": "text", "text": GOOD}], "end_turn", (GOOD, "", "")),
    "a tool": ([{"type": "tool_use", "input": {"score": 70}}], "tool_use", (GOOD, "", "")),
    "two tools": (
        [{"type": "tool_use", "input": {"score": 70}}] * 2,
        "tool_use",
        ("", "", "it is 2 tool calls; serve the model without tools"),
    ),
    "thinking alone": (
        [{"type": "thinking", "thinking": "70?"}],
        "end_turn",
        ("", "", "its words stand in thinking; turn thinking off for this model, or raise max_tokens"),
    ),
    "nothing": ([], "end_turn", ("", "the reply is empty", "")),
    "an empty block": ([{"type": "text", "text": ""}], "end_turn", ("", "the reply is empty", "")),
    "refused": ([], "refusal", ("", "", "")),
    "cut": ([{"type": "thinking", "thinking": "70?"}], "max_tokens", ("", "", "")),
}


@pytest.mark.parametrize(("blocks", "reason", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_blocks_of_messages(blocks, reason, expected):
    """The same for the other language."""
    (choice,) = messages_reply(json.dumps({"content": blocks, "stop_reason": reason}).encode()).choices
    assert (choice.text, fault_of(choice), choice.elsewhere) == expected


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 500, 503, 529])
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_an_overloaded_server_is_asked_again_under_any_status(name, status):
    """The word counts, not the number."""
    content = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    problem = provider(name).problem(Response(status, {}, content), 0.0)
    assert (problem.kind, problem.transient) == ("overloaded", True)


# What becomes of it.


@pytest.mark.parametrize("model", [MODEL, CLAUDE], ids=str)
def test_an_empty_reply_is_asked_for_again_and_never_stored(tmp_path, model):
    """The answer that comes in the end is the answer; all replies are paid; the next run sends nothing."""
    script = scripted(Choice(""), Choice(""), Choice("fine"))
    found, engine = asked(script, question(model=model), ledger=tmp_path)
    assert found == ["fine"]
    assert (engine.totals.bill.calls, engine.totals.bill.unknown, engine.totals.retries) == (3, 0, 2)
    assert engine.totals.bill.input_tokens == 3 * (engine.totals.bill.input_tokens // 3) > 0
    assert engine.spending.calls == 3
    again, engine = asked(script, question(model=model), ledger=tmp_path)
    assert (again, engine.totals.bill.calls) == (["fine"], 0)


def test_a_reply_that_stays_empty_is_pending(tmp_path):
    """After the last attempt it is owed, and the next run asks again."""
    script = scripted(Choice(""), Choice(""), Choice("fine"))
    (reading,), engine = asked(script, question(), ledger=tmp_path, attempts=2)
    assert reading == Unscored("owed: no answer in the response: the reply is empty", owed=True)
    assert engine.totals.bill.owed == 1
    again, _ = asked(script, question(), ledger=tmp_path, attempts=2)
    assert again == ["fine"]


def test_of_several_draws_only_the_empty_ones_are_asked_for_again(tmp_path):
    """What came is kept, and the number of draws is not taken for ignored."""
    sizes = []
    answers = iter([Choice("one"), Choice(""), Choice("three"), Choice("two")])
    script = Script(lambda _: next(answers), on_paid=lambda request: sizes.append(request.samples))
    found, engine = asked(script, question(samples=3), ledger=tmp_path)
    assert sizes == [3, 1]
    assert sorted(found) == ["one", "three", "two"]
    assert not engine.totals.notices
    again, engine = asked(script, question(samples=3), ledger=tmp_path)
    assert (again, engine.totals.bill.calls) == (found, 0)


def test_where_an_answer_stands_is_part_of_the_reason():
    """The reader's own reason comes first."""
    read = chat_reply(json.dumps(ELSEWHERE["thinking"][0]).encode()).choices[0]
    script = Script(lambda _: "unused")
    ask = question(read=lambda choice: Unscored("empty reply") if choice is read else choice.text)

    async def main():
        async with Engine(connection=in_memory(script)) as engine:
            request = provider("openai").request(ask, 1, frozenset())
            run = AskRun(engine, ask, request, engine.endpoint(ask))
            return run._read(read, 0, from_ledger=False)

    reason = run_virtual(main()).reading.reason
    assert reason.startswith("empty reply: its words stand in reasoning_content; turn thinking off")


# The second ask.


@pytest.mark.parametrize(
    "first", ["Fine.", '{"score": 70', '{"score": 7} or {"score": 8}', "<think>70</think>", "170"]
)
def test_what_cannot_be_read_is_asked_for_a_second_time(tmp_path, first):
    """The second answer counts, the next run finds it without a call, and ``reask=0`` turns it off."""
    script = scripted(first, GOOD)
    found, engine = judged(script, ledger=tmp_path)
    assert found == (Score(0.7),)
    assert engine.totals.bill.calls == script.counts.requests == 2
    assert engine.totals.notices[AGAIN] == 1
    for settings, expected in (({}, True), ({"reask": 0}, False), ({"reask": 1}, True), ({"offline": True}, True)):
        again, engine = judged(script, ledger=tmp_path, **settings)
        assert engine.totals.bill.calls == 0
        assert isinstance(again[0], Score) == expected, settings
        assert AGAIN not in engine.totals.notices


SETTLED = {
    "refused": Choice("", "refusal", "policy"),
    "filtered": Choice("", "filter"),
    "cut": Choice('{"sco', "length"),
    "refused in words": Choice("I am sorry, I cannot do that."),
    "refused in words beside a number": Choice("I'm sorry, but I can't assist with that.\n0"),
    "cannot judge": Choice('{"score": null, "why": "nothing to judge"}'),
}


@pytest.mark.parametrize("first", SETTLED.values(), ids=SETTLED)
def test_what_a_model_will_not_say_is_not_asked_for_again(tmp_path, first):
    """One call, final; an explicit ``reask=1`` asks once more."""
    script = scripted(first, GOOD)
    (verdict,), _ = judged(script, ledger=tmp_path)
    assert isinstance(verdict, Unscored)
    assert not verdict.owed
    assert script.counts.requests == 1
    found, _ = judged(script, ledger=tmp_path, reask=1)
    assert found == (Score(0.7),)


def test_there_is_one_second_ask_only(tmp_path):
    """However it ends, and also for the next run."""
    script = scripted("Fine.", "Good.", GOOD)
    for calls in (2, 0):
        (verdict,), engine = judged(script, ledger=tmp_path)
        assert (verdict.raw, verdict.owed, engine.totals.bill.calls) == ("Good.", False, calls)


def test_answers_that_were_stored_without_a_second_ask_keep_none(tmp_path):
    """A run that paid with ``reask=0`` costs nothing afterwards."""
    script = scripted("Fine.", GOOD)
    first, _ = judged(script, ledger=tmp_path, reask=0)
    again, engine = judged(script, ledger=tmp_path)
    assert first == again
    assert (engine.totals.bill.calls, script.counts.requests) == (0, 1)


def test_the_same_question_twice_at_once_gets_one_second_ask(tmp_path):
    """Both take what it brought."""
    script = scripted("Fine.", GOOD, latency=1.0)

    async def main():
        async with Engine(tmp_path, connection=in_memory(script)) as engine:
            return await asyncio.gather(*(judge_with(engine, JUDGE, "Why?", ["x"]) for _ in range(3)))

    assert {one.verdicts for one in run_virtual(main())} == {(Score(0.7),)}
    assert script.counts.requests == 2


@pytest.mark.parametrize(("limit", "calls"), [({"max_calls": 1}, 1), ({"max_calls": 2}, 2), ({}, 1)])
def test_a_limit_that_does_not_cover_it_stops_the_second_ask(limit, calls):
    """The first answer stands, and nothing is pending."""
    (ask,) = JUDGE.asks("Why?", ["an answer"])
    _, most = input_tokens(ask, provider("openai").request(ask, 1, frozenset()))
    limits = limit or {"max_tokens": most + ask.max_tokens + 5}
    script = scripted("Fine.", GOOD)
    (verdict,), engine = judged(script, **limits)
    assert script.counts.requests == calls
    assert isinstance(verdict, Score if calls == 2 else Unscored)
    assert engine.totals.bill.owed == 0


def test_a_second_ask_that_brings_nothing_changes_nothing(tmp_path):
    """The first answer stands, is no pending one, and is not asked about by the next run."""
    script = scripted("Fine.", Choice(""))
    for requests in (2, 2):
        (verdict,), engine = judged(script, ledger=tmp_path, attempts=1)
        assert (verdict.raw, verdict.owed, engine.totals.bill.owed) == ("Fine.", False, 0)
        assert script.counts.requests == requests


@pytest.mark.parametrize(("deadline", "calls"), [(5.0, 1), (7.0, 2), (None, 2)])
def test_too_little_time_stops_the_second_ask(deadline, calls):
    """Where few answers are known, as long as the first one took has to be left."""
    script = scripted("Fine.", GOOD, latency=3.0)
    (verdict,), _ = judged(script, deadline=deadline)
    assert script.counts.requests == calls
    assert isinstance(verdict, Score if calls == 2 else Unscored)


@pytest.mark.parametrize(("latency", "calls"), [(4.5, 1), (3.0, 2)])
def test_the_median_answer_time_has_to_be_left(latency, calls):
    """Of the answers so far, however long the first answer took this time."""
    script = Script(latency=1.0)

    async def main():
        async with Engine(connection=in_memory(script), deadline=5.0, max_concurrency=4) as engine:
            for number in range(40):
                await engine.ask(question(number))
            before = script.counts.requests
            endpoint = engine.endpoint(question())
            endpoint.latencies.patience = None
            script.latency, script.answer = latency, lambda _: "Fine."
            await judge_with(engine, JUDGE, "Why?", ["x"])
            return script.counts.requests - before, endpoint.latencies.median

    requests, median = run_virtual(main())
    assert median == pytest.approx(1.0, abs=0.1)
    assert requests == calls


@pytest.mark.parametrize(("reask", "times"), [(None, 2), (0, 1), (1, 2), (2, 3)])
def test_the_bounds_of_an_estimate_hold_second_asks(reask, times):
    """What is expected stays; what it can come to at most is that of all asks."""
    engine = Engine(reask=reask)
    once = estimate_asks(Engine(reask=0), [question(samples=2)])
    found = estimate_asks(engine, [question(samples=2)])
    assert (found.calls, found.cost) == (once.calls, once.cost)
    assert found.calls_most == times * once.calls
    assert found.output_tokens_most == times * once.output_tokens_most
    assert found.cost_most == pytest.approx(times * once.cost_most)
