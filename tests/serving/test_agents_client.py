"""The OpenAI Agents SDK as a client, where it is installed."""

from __future__ import annotations

import asyncio

import openai
import pytest

agents = pytest.importorskip("agents")

from serving.upstreams import DrawingUpstream, in_thread, served  # noqa: E402


def test_an_agent_gets_the_winner(tmp_path, monkeypatch):
    """An agent whose model is the endpoint's answers with the best of four, whole and as a stream."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    agents.set_tracing_disabled(disabled=True)
    upstream = DrawingUpstream()

    async def run(address):
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="x") as client:
            model = agents.OpenAIChatCompletionsModel("bon/fast", client)
            agent = agents.Agent(name="painter", instructions="Be brief.", model=model)
            whole = await agents.Runner.run(agent, "Name a colour")
            streamed = agents.Runner.run_streamed(agent, "Name another")
            async for _ in streamed.stream_events():
                pass
            return whole, streamed

    with in_thread(upstream.app) as url:
        settings = f'[models.fast]\nupstream = "openai/m"\nbase_url = "{url}/v1"\njudge = "local:length"\n'
        with served(tmp_path, settings) as (_, address):
            whole, streamed = asyncio.run(run(address))
    assert whole.final_output == upstream.best("Name a colour")
    assert streamed.final_output == upstream.best("Name another")
    usage = whole.context_wrapper.usage
    assert usage.output_tokens == sum(map(len, upstream.drawn["Name a colour"]))
