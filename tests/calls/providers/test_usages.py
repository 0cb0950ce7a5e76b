"""Every shape in which services and gateways tell what a call took: the largest count that is told holds."""

from __future__ import annotations

import asyncio
import json
import math

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.engine import Engine
from bonwise.calls.providers.anthropic import messages_reply
from bonwise.calls.providers.openai import chat_reply, chat_usage
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.scoring import judge_pools
from bonwise.testing import script as script_module
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from calls.scripted_runs import in_memory, pools
from cli.commands import pool_file, typed


def chat(told, text="7"):
    """Read a usage as it comes with an answer in OpenAI's form."""
    answer = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": told}
    return chat_reply(json.dumps(answer).encode())


def message(told, text="7"):
    """Read a usage as it comes with an answer in Anthropic's form."""
    answer = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": told}
    return messages_reply(json.dumps(answer).encode())


def openai(prompt, output, total=None, *, cached=None, written=None, reasoning=None, **more):
    """Return a usage in OpenAI's form."""
    told = {"prompt_tokens": prompt, "completion_tokens": output, **more}
    told |= {} if total is None else {"total_tokens": total}
    inputs = {"cached_tokens": cached, "cache_write_tokens": written}
    inputs = {name: value for name, value in inputs.items() if value is not None}
    told |= {"prompt_tokens_details": inputs} if inputs else {}
    return told | ({} if reasoning is None else {"completion_tokens_details": {"reasoning_tokens": reasoning}})


AUDIO = {"audio_tokens": 0, "cached_tokens": 64}
NO_DETAILS = {"prompt_tokens_details": None, "completion_tokens_details": None}
NEW_API = {"input_tokens": 0, "output_tokens": 0, "input_tokens_details": None}

# Who tells it so, what is told, and (input, read from a cache, written to one, output, reasoning) of it.
CHAT = [
    ("OpenAI", openai(120, 30, 150), (120, 0, 0, 30, 0)),
    ("OpenAI, cached", openai(1200, 30, 1230, cached=1024), (176, 1024, 0, 30, 0)),
    ("OpenAI, written to the cache", openai(1200, 30, 1230, cached=0, written=1024), (176, 0, 1024, 30, 0)),
    ("OpenAI, reasoning inside", openai(120, 330, 450, reasoning=300), (120, 0, 0, 330, 300)),
    ("OpenAI, all is reasoning", openai(120, 300, 420, reasoning=300), (120, 0, 0, 300, 300)),
    ("OpenAI, audio beside", {**openai(120, 30, 150), "prompt_tokens_details": AUDIO}, (56, 64, 0, 30, 0)),
    ("OpenAI, several choices", openai(120, 90, 210), (120, 0, 0, 90, 0)),
    ("Azure", openai(120, 30, 150, cached=0, reasoning=0), (120, 0, 0, 30, 0)),
    ("Azure, reasoning", openai(120, 630, 750, cached=0, reasoning=600), (120, 0, 0, 630, 600)),
    ("Azure, details null", {**openai(120, 30, 150), **NO_DETAILS}, (120, 0, 0, 30, 0)),
    ("xAI, reasoning beside", openai(32, 9, 135, cached=6, reasoning=94), (26, 6, 0, 103, 94)),
    ("xAI, no reasoning", openai(32, 9, 41, cached=6, reasoning=0), (26, 6, 0, 9, 0)),
    ("xAI, sources", openai(32, 9, 135, reasoning=94, num_sources_used=0), (32, 0, 0, 103, 94)),
    ("xAI through a gateway without a total", openai(32, 9, reasoning=94), (32, 0, 0, 103, 94)),
    ("xAI through a gateway without details", openai(32, 9, 135), (32, 0, 0, 103, 0)),
    ("xAI, more reasoning than the total leaves", openai(32, 9, 100, reasoning=94), (32, 0, 0, 103, 94)),
    ("Gemini, thoughts in the total alone", openai(10, 3, 1013), (10, 0, 0, 1003, 0)),
    ("Gemini, no thoughts", openai(10, 3, 13), (10, 0, 0, 3, 0)),
    ("Gemini, thoughts told beside", openai(10, 3, 1013, reasoning=1000), (10, 0, 0, 1003, 1000)),
    ("Gemini, cached", openai(2000, 3, 2103, cached=1800), (200, 1800, 0, 103, 0)),
    ("Gemini through LiteLLM, thoughts inside", openai(10, 1003, 1013, reasoning=1000), (10, 0, 0, 1003, 1000)),
    (
        "DeepSeek",
        openai(1000, 20, 1020, prompt_cache_hit_tokens=640, prompt_cache_miss_tokens=360),
        (360, 640, 0, 20, 0),
    ),
    (
        "DeepSeek, reasoner",
        openai(1000, 420, 1420, reasoning=400, prompt_cache_hit_tokens=0, prompt_cache_miss_tokens=1000),
        (1000, 0, 0, 420, 400),
    ),
    (
        "DeepSeek, hits named twice",
        openai(1000, 20, 1020, cached=640, prompt_cache_hit_tokens=640, prompt_cache_miss_tokens=360),
        (360, 640, 0, 20, 0),
    ),
    (
        "DeepSeek behind a gateway that drops the prompt",
        {"completion_tokens": 20, "prompt_cache_hit_tokens": 640, "prompt_cache_miss_tokens": 360},
        (360, 640, 0, 20, 0),
    ),
    (
        "DeepSeek, hits and misses beyond the prompt",
        openai(360, 20, 1020, prompt_cache_hit_tokens=640, prompt_cache_miss_tokens=360),
        (360, 640, 0, 20, 0),
    ),
    ("Mistral", openai(14, 5, 19), (14, 0, 0, 5, 0)),
    ("Mistral, null audio", openai(14, 5, 19, prompt_audio_seconds=None), (14, 0, 0, 5, 0)),
    ("Mistral, cached beside the details", openai(140, 5, 145, num_cached_tokens=128), (12, 128, 0, 5, 0)),
    (
        "Mistral, details in the singular",
        {**openai(140, 5, 145), "prompt_token_details": {"cached_tokens": 128}},
        (12, 128, 0, 5, 0),
    ),
    ("Cohere's compatible endpoint", openai(14, 5, 19), (14, 0, 0, 5, 0)),
    ("Cohere behind a gateway", {"input_tokens": 14, "output_tokens": 5, "total_tokens": 19}, (14, 0, 0, 5, 0)),
    ("Bedrock's compatible endpoint", openai(14, 5, 19), (14, 0, 0, 5, 0)),
    ("Bedrock's own names", {"inputTokens": 14, "outputTokens": 5, "totalTokens": 19}, (14, 0, 0, 5, 0)),
    (
        "Bedrock's own names, cached",
        {"inputTokens": 14, "outputTokens": 5, "totalTokens": 1219, "cacheReadInputTokens": 1200},
        (14, 1200, 0, 5, 0),
    ),
    (
        "Bedrock's own names, written",
        {"inputTokens": 14, "outputTokens": 5, "totalTokens": 1219, "cacheWriteInputTokens": 1200},
        (14, 0, 1200, 5, 0),
    ),
    ("OpenRouter", openai(14, 5, 19, cost=0.0001, is_byok=False), (14, 0, 0, 5, 0)),
    ("OpenRouter, reasoning", openai(14, 105, 119, reasoning=100, cost=0.0001), (14, 0, 0, 105, 100)),
    ("OpenRouter, both caches", openai(2000, 5, 2005, cached=1500, written=400), (100, 1500, 400, 5, 0)),
    ("OpenRouter, details null", {**openai(14, 5, 19), "completion_tokens_details": None}, (14, 0, 0, 5, 0)),
    ("vLLM", openai(14, 5, 19, prompt_tokens_details=None), (14, 0, 0, 5, 0)),
    ("vLLM, cached", openai(140, 5, 145, cached=128), (12, 128, 0, 5, 0)),
    ("vLLM, other order", {"total_tokens": 19, "completion_tokens": 5, "prompt_tokens": 14}, (14, 0, 0, 5, 0)),
    ("SGLang, reasoning at the top", openai(14, 105, 119, reasoning_tokens=100), (14, 0, 0, 105, 0)),
    ("llama.cpp", openai(14, 5, 19), (14, 0, 0, 5, 0)),
    ("Ollama", openai(14, 5, 19), (14, 0, 0, 5, 0)),
    ("Together", openai(14, 5, 19, cached_tokens=0), (14, 0, 0, 5, 0)),
    ("Together, cached at the top", openai(140, 5, 145, cached_tokens=128), (12, 128, 0, 5, 0)),
    ("Moonshot, cached at the top", openai(140, 5, 145, cached_tokens=128), (12, 128, 0, 5, 0)),
    ("Groq", openai(14, 5, 19, queue_time=0.02, prompt_time=0.001, total_time=0.1), (14, 0, 0, 5, 0)),
    ("Groq, cached", openai(140, 5, 145, cached=128, queue_time=0.02), (12, 128, 0, 5, 0)),
    ("Groq, reasoning", openai(14, 105, 119, reasoning=100, total_time=0.1), (14, 0, 0, 105, 100)),
    ("Fireworks", openai(140, 5, 145, cached=128), (12, 128, 0, 5, 0)),
    ("Perplexity, reasoning beside", openai(14, 5, 19, reasoning_tokens=0, citation_tokens=0), (14, 0, 0, 5, 0)),
    ("Perplexity, a total with more in it", openai(14, 5, 719, citation_tokens=400), (14, 0, 0, 705, 0)),
    (
        "LiteLLM for Anthropic",
        openai(2000, 5, 2005, cached=1500, cache_read_input_tokens=1500, cache_creation_input_tokens=400),
        (100, 1500, 400, 5, 0),
    ),
    (
        "LiteLLM for Anthropic, written in the details",
        {**openai(2000, 5, 2005), "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_tokens": 400}},
        (1600, 0, 400, 5, 0),
    ),
    (
        "a gateway that leaves Anthropic's cache beside",
        openai(5, 7, 912, cache_read_input_tokens=900),
        (5, 900, 0, 7, 0),
    ),
    ("the same without a total", openai(5, 7, cache_creation_input_tokens=900), (5, 0, 900, 7, 0)),
    ("new-api, names of both interfaces", openai(14, 5, 19, **NEW_API), (14, 0, 0, 5, 0)),
    (
        "new-api, the other names filled",
        {**openai(0, 0, 0), "input_tokens": 14, "output_tokens": 5},
        (14, 0, 0, 5, 0),
    ),
    (
        "a gateway to Responses",
        {
            "input_tokens": 140,
            "output_tokens": 105,
            "total_tokens": 245,
            "input_tokens_details": {"cached_tokens": 128},
            "output_tokens_details": {"reasoning_tokens": 100},
        },
        (12, 128, 0, 105, 100),
    ),
    ("Cloudflare", openai(14, 5, 19), (14, 0, 0, 5, 0)),
    ("Databricks, floating point", openai(14.0, 5.0, 19.0), (14, 0, 0, 5, 0)),
    ("contradicting: a total below its parts", openai(14, 5, 12), (14, 0, 0, 5, 0)),
    ("contradicting: a total of nothing", openai(14, 5, 0), (14, 0, 0, 5, 0)),
    ("contradicting: more cached than prompt", openai(10, 1, 11, cached=99), (10, 99, 0, 1, 0)),
    ("contradicting: more reasoning than answer", openai(10, 1, 11, reasoning=99), (10, 0, 0, 100, 99)),
    ("negative: the total", openai(14, 5, -19), (14, 0, 0, 5, 0)),
    ("negative: the cached", openai(14, 5, 19, cached=-3), (14, 0, 0, 5, 0)),
    ("negative: the reasoning", openai(14, 5, 19, reasoning=-3), (14, 0, 0, 5, 0)),
    ("text: the total", openai(14, 5, "19"), (14, 0, 0, 5, 0)),
    ("text: the cached", openai(14, 5, 19, cached="8"), (14, 0, 0, 5, 0)),
    ("no number: the total", openai(14, 5, math.nan), (14, 0, 0, 5, 0)),
    ("true: the total", openai(14, 5, True), (14, 0, 0, 5, 0)),
    ("huge: the total", openai(14, 5, 2**53), (14, 0, 0, 2**53 - 14, 0)),
    ("beyond every count: the total", openai(14, 5, 10**400), (14, 0, 0, 5, 0)),
    ("a list of details", {**openai(14, 5, 19), "prompt_tokens_details": [1]}, (14, 0, 0, 5, 0)),
]

# (input, read from a cache, written for minutes, written for an hour, output, reasoning)
CREATED = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 300}
MESSAGES = [
    ("Anthropic", {"input_tokens": 14, "output_tokens": 5}, (14, 0, 0, 0, 5, 0)),
    (
        "Anthropic, no cache",
        {
            "input_tokens": 14,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 5,
            "service_tier": "standard",
        },
        (14, 0, 0, 0, 5, 0),
    ),
    (
        "Anthropic, read",
        {"input_tokens": 14, "cache_read_input_tokens": 900, "output_tokens": 5},
        (14, 900, 0, 0, 5, 0),
    ),
    (
        "Anthropic, written",
        {"input_tokens": 14, "cache_creation_input_tokens": 400, "output_tokens": 5},
        (14, 0, 400, 0, 5, 0),
    ),
    (
        "Anthropic, written for both times",
        {"input_tokens": 14, "cache_creation_input_tokens": 400, "cache_creation": CREATED, "output_tokens": 5},
        (14, 0, 100, 300, 5, 0),
    ),
    (
        "Anthropic, null where there is no cache",
        {
            "input_tokens": 14,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": None,
            "output_tokens": 5,
        },
        (14, 0, 0, 0, 5, 0),
    ),
    (
        "Anthropic, all of it cached",
        {"input_tokens": 0, "cache_read_input_tokens": 900, "output_tokens": 5},
        (0, 900, 0, 0, 5, 0),
    ),
    (
        "Anthropic, thinking inside",
        {"input_tokens": 14, "output_tokens": 305, "output_tokens_details": {"thinking_tokens": 300}},
        (14, 0, 0, 0, 305, 300),
    ),
    (
        "thinking beside",
        {"input_tokens": 14, "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 300}},
        (14, 0, 0, 0, 305, 300),
    ),
    (
        "Bedrock by the SDK",
        {"input_tokens": 14, "cache_read_input_tokens": 0, "output_tokens": 5},
        (14, 0, 0, 0, 5, 0),
    ),
    ("Vertex by the SDK", {"input_tokens": 14, "output_tokens": 5}, (14, 0, 0, 0, 5, 0)),
    (
        "DeepSeek's Messages",
        {"input_tokens": 14, "cache_read_input_tokens": 64, "output_tokens": 5, "service_tier": "standard"},
        (14, 64, 0, 0, 5, 0),
    ),
    (
        "a gateway's total with thoughts",
        {"input_tokens": 14, "output_tokens": 5, "total_tokens": 619},
        (14, 0, 0, 0, 605, 0),
    ),
    (
        "a gateway's total as it adds up",
        {"input_tokens": 14, "output_tokens": 5, "total_tokens": 19},
        (14, 0, 0, 0, 5, 0),
    ),
    ("vLLM's Messages", {"input_tokens": 14, "output_tokens": 5}, (14, 0, 0, 0, 5, 0)),
    ("negative total", {"input_tokens": 14, "output_tokens": 5, "total_tokens": -1}, (14, 0, 0, 0, 5, 0)),
]

# What is told by half, and what of it can be read: input told, output told, total, and the sum of what was told.
HALF = [
    ("Gemini, no answer counted", openai(10, None, 510), (True, False, 510, 10)),
    ("Vertex, no answer counted but its thoughts", openai(10, 0, 510, reasoning=500), (True, False, 510, 510)),
    ("the prompt is zero", openai(0, 5, 19), (False, True, 19, 5)),
    ("the answer is zero although there is text", openai(14, 0, 19), (True, False, 19, 14)),
    ("texts for numbers", openai("14", "5", 19), (False, False, 19, 0)),
    ("negative prompt", openai(-14, 5, 19), (False, True, 19, 5)),
    ("negative answer", openai(14, -5, None), (True, False, None, 14)),
    ("a total alone", {"total_tokens": 19}, (False, False, 19, 0)),
    ("infinite answer", openai(14, math.inf, 19), (True, False, 19, 14)),
    ("cached alone", {"cached_tokens": 128, "completion_tokens": 5}, (False, True, None, 133)),
]


def ids(cases):
    """Name cases by who tells them."""
    return [case[0] for case in cases]


def test_the_tables_hold_what_they_are_to_hold():
    """Each case is told by somebody else, and there are enough of them."""
    assert len(CHAT) + len(MESSAGES) + len(HALF) >= 100
    for cases in (CHAT, MESSAGES, HALF):
        assert len(set(ids(cases))) == len(cases)


@pytest.mark.parametrize(("_who", "told", "expected"), CHAT, ids=ids(CHAT))
def test_a_usage_of_chat_completions(_who, told, expected):
    """Kinds of input do not overlap, reasoning is a part of the output, and no total is undercut."""
    read, cached, written, output, reasoning = expected
    usage = chat(told).usage
    assert usage == Usage(read, cached, written, 0, output, reasoning) == chat_usage(told)
    totals = [told.get(name) for name in ("total_tokens", "totalTokens")]
    assert all(usage.total >= one for one in totals if isinstance(one, int) and one <= 2**53)


@pytest.mark.parametrize(("_who", "told", "expected"), MESSAGES, ids=ids(MESSAGES))
def test_a_usage_of_messages(_who, told, expected):
    """The cache stands beside the input here."""
    assert message(told).usage == Usage(*expected)


@pytest.mark.parametrize(("_who", "told", "expected"), HALF, ids=ids(HALF))
def test_a_usage_that_is_told_by_half(_who, told, expected):
    """It is no usage; what can be read is kept, and the rest is reckoned."""
    reply = chat(told)
    partial = reply.partial_usage
    assert reply.usage is None
    assert (partial.input_told, partial.output_told, partial.total, partial.told.total) == expected


REASONING = 25_000


@pytest.fixture
def reasoning_beside(monkeypatch):
    """Have every answer take 25,000 tokens of reasoning that only its total tells of; return what was told."""
    body, told = script_module.reply_body, []

    def changed(request, reply):
        whole = json.loads(body(request, reply))
        usage = whole["usage"]
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"] + REASONING
        told.append(usage)
        return json.dumps(whole).encode()

    monkeypatch.setattr(script_module, "reply_body", changed)
    for name in ("OPENAI_BASE_URL", "BONWISE_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    return told


def billed(told):
    """Return what a server charges at the prices of gpt-5-mini: 0.25 and 2 US dollars per million tokens."""
    return sum(0.25 * one["prompt_tokens"] + 2.0 * (one["total_tokens"] - one["prompt_tokens"]) for one in told) / 1e6


@pytest.mark.parametrize("at_once", [1, 4, 16])
def test_a_limit_on_money_holds_within_the_calls_in_flight(reasoning_beside, at_once):
    """A server that takes more than it may: what it bills is what is counted, and only those in flight exceed."""

    async def run():
        async with Engine(max_cost=0.5, max_concurrency=at_once, connection=in_memory(Script())) as engine:
            judge = judge_from_spec("pointwise:openai/gpt-5-mini")
            async for _ in judge_pools(pools(200), [judge], engine):
                pass
        return engine.spending

    spending = asyncio.run(run())
    each = billed(reasoning_beside[:1])
    assert spending.cost == pytest.approx(billed(reasoning_beside))
    assert spending.cost <= 0.5 + at_once * each
    assert spending.overruns == len(reasoning_beside) < 200
    assert spending.exceeded == {"max_cost=0.5": spending.cost}


def test_an_overrun_is_said(reasoning_beside, tmp_path, capsys):
    """The command says how many answers were too long, and how far it went beyond the limit."""
    with ScriptedServer(Script()).in_thread() as server:
        done = typed(
            capsys,
            *("judge", pool_file(tmp_path / "pools.jsonl", {f"p{at}": ["a", "b"] for at in range(100)})),
            *("--judge", "pointwise:openai/gpt-5-mini", "--base-url", f"{server.url}/v1", "--max-tokens", "400000"),
            *("--run", tmp_path / "run", "--out", tmp_path / "scores.csv", "--max-concurrency", "2"),
        )
    count = sum(one["total_tokens"] for one in reasoning_beside)
    assert done.code == 4, done.err
    assert 400_000 < count < 400_000 + 2 * (REASONING + 1000)
    assert f"max_tokens=400000 was exceeded by calls in flight: {count:,} is spent" in done.err
    assert f"{len(reasoning_beside)} answers were longer than allowed" in done.err
