"""What the benchmark of calls measures: bonwise and what a user would call a model with instead, one a process.

Every contender sends the same questions, at most 64 at once. Each imports only what it needs, so that a contender
runs in an environment where the others are not installed.
"""

# ruff: noqa: PLC0415 - a contender runs where the others are not installed, so each imports for itself

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

CONCURRENCY = 64
MODEL = "gpt-5-mini"
KEY = "no-key-is-needed"
SYSTEM = "You judge answers. Reply with one JSON object that holds a score from 0 to 100."
TEXT = "Which of the many reasons that were given does the answer name, and does it weigh them well? " * 21
ANSWER = {
    "id": "answer",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": MODEL,
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"score": 85}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 5, "total_tokens": 505},
}

Call = Callable[[int], Awaitable[object]]
"""Asks the question of that number."""


def http() -> Any:
    """Return the HTTP library that the installed SDK stands on."""
    import openai

    from bonwise.calls.providers.protocol import http_library

    return http_library(openai)


def in_memory() -> Any:
    """Return a transport that answers at once."""
    library = http()
    content = json.dumps(ANSWER).encode()

    async def answer(_request: Any) -> Any:
        return library.Response(200, content=content, headers={"content-type": "application/json"})

    return library.MockTransport(answer)


def question(number: int) -> str:
    """Return a question of about two thousand characters that no other number has."""
    return f"{number}. {TEXT}"


def body(number: int) -> dict[str, Any]:
    """Return the request that everyone sends."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question(number)}]
    return {"model": MODEL, "messages": messages, "max_completion_tokens": 1024}


@asynccontextmanager
async def sdk(base_url: str | None) -> AsyncIterator[Any]:
    """Yield a client of the official SDK, in memory where there is no address."""
    import openai

    memory = None if base_url else http().AsyncClient(transport=in_memory())
    async with openai.AsyncOpenAI(api_key=KEY, base_url=base_url, max_retries=0, http_client=memory) as client:
        yield client


@asynccontextmanager
async def raw_post(base_url: str | None, _folder: Path) -> AsyncIterator[Call]:
    """The SDK without its typed layer: the least that a call through it can cost."""
    response_type = http().Response
    async with sdk(base_url) as client:

        async def call(number: int) -> object:
            response = await client.post("/chat/completions", body=body(number), cast_to=response_type)
            return json.loads(response.content)["choices"][0]["message"]["content"]

        yield call


@asynccontextmanager
async def create(base_url: str | None, _folder: Path) -> AsyncIterator[Call]:
    """What the SDK's guide shows."""
    async with sdk(base_url) as client:

        async def call(number: int) -> object:
            return (await client.chat.completions.create(**body(number))).choices[0].message.content

        yield call


@asynccontextmanager
async def bare_http(base_url: str | None, _folder: Path) -> AsyncIterator[Call]:
    """The HTTP library of the SDK alone."""
    async with http().AsyncClient(transport=None if base_url else in_memory()) as client:

        async def call(number: int) -> object:
            response = await client.post(f"{base_url or 'http://memory'}/chat/completions", json=body(number))
            return json.loads(response.content)["choices"][0]["message"]["content"]

        yield call


@asynccontextmanager
async def bare_aiohttp(base_url: str | None, _folder: Path) -> AsyncIterator[Call]:
    """Aiohttp alone."""
    import aiohttp

    async with aiohttp.ClientSession() as session:

        async def call(number: int) -> object:
            async with session.post(f"{base_url}/chat/completions", json=body(number)) as response:
                return (await response.json())["choices"][0]["message"]["content"]

        yield call


@asynccontextmanager
async def engine(base_url: str | None, folder: Path | None, transport: Any = None) -> AsyncIterator[Call]:
    """bonwise: limiter, spending, retries; with a folder also the ledger."""
    from bonwise.calls.ask import Ask, Model
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection

    connection = Connection(transport=transport if base_url else in_memory())
    async with Engine(folder, connection=connection) as made:

        async def call(number: int) -> object:
            ask = Ask(Model("openai", MODEL, base_url), SYSTEM, question(number), lambda choice: choice.text)
            (answer,) = (await made.ask(ask)).answers
            if not isinstance(answer.reading, str):
                raise TypeError(answer.reading)
            return answer.reading

        yield call


def engine_alone(base_url: str | None, _folder: Path) -> AbstractAsyncContextManager[Call]:
    """bonwise, and no ledger."""
    return engine(base_url, None)


@asynccontextmanager
async def judgments(_base_url: str | None, folder: Path) -> AsyncIterator[Call]:
    """Whole judgments of one candidate: prompt file, question, answer, score."""
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection
    from bonwise.judges.judging import judge_with
    from bonwise.judges.registry import judge_from_spec

    judge = judge_from_spec(f"pointwise:openai/{MODEL}")
    async with Engine(folder, connection=Connection(transport=in_memory())) as made:

        async def call(number: int) -> object:
            return (await judge_with(made, judge, "Why?", [question(number)])).verdicts[0].value

        yield call


@asynccontextmanager
async def langchain(base_url: str | None, _folder: Path) -> AsyncIterator[Call]:
    """langchain-openai."""
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, base_url=base_url, api_key=KEY, max_retries=0, max_completion_tokens=1024)

    async def call(number: int) -> object:
        return (await model.ainvoke([("system", SYSTEM), ("human", question(number))])).content

    yield call


@asynccontextmanager
async def litellm(base_url: str | None, _folder: Path) -> AsyncIterator[Call]:
    """LiteLLM."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches one from the network
    from litellm import acompletion

    async def call(number: int) -> object:
        asked = body(number) | {"model": f"openai/{MODEL}"}
        return (await acompletion(**asked, api_base=base_url, api_key=KEY, num_retries=0)).choices[0].message.content

    yield call


CONTENDERS: dict[str, Callable[[str | None, Path], AbstractAsyncContextManager[Call]]] = {
    "raw post": raw_post,
    "create": create,
    "httpx": bare_http,
    "aiohttp": bare_aiohttp,
    "bonwise without a ledger": engine_alone,
    "bonwise": engine,
    "bonwise by aiohttp": partial(engine, transport="aiohttp"),
    "bonwise, answers stored": engine,
    "bonwise, judgments stored": judgments,
    "langchain-openai": langchain,
    "litellm": litellm,
}
STORED = ("bonwise, answers stored", "bonwise, judgments stored")
"""Measured in a second pass: the first one stores what they find."""


async def ask_all(call: Call, numbers: range) -> None:
    """Ask all questions, at most so many at once."""
    left = iter(numbers)

    async def worker() -> None:
        for number in left:
            await call(number)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


async def measure(name: str, base_url: str | None, folder: Path, calls: int) -> dict[str, float]:
    """Measure one contender: CPU of the process with its threads, after a warm-up that also connects."""
    contender = CONTENDERS[name]
    if name in STORED:
        async with contender(base_url, folder) as call:
            await ask_all(call, range(calls))
    async with contender(base_url, folder) as call:
        await ask_all(call, range(-2 * CONCURRENCY, 0))
        before, since = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        await ask_all(call, range(calls))
        after, until = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {"user": user / calls, "system": system / calls, "wall": (until - since) / calls}


def main() -> None:
    """Measure what the first argument says, and print it as JSON."""
    asked = json.loads(sys.argv[1])
    os.environ["OPENAI_API_KEY"] = KEY
    folder = Path(asked["folder"])
    print(json.dumps(asyncio.run(measure(asked["name"], asked["base_url"], folder, asked["calls"]))))


if __name__ == "__main__":
    main()
