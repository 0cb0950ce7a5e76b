"""What comes back: the winner as the upstream's own object, the usage of all, the trail; whole or as a stream."""

from __future__ import annotations

import json
import subprocess
import time

import httpx
import openai
import pytest
from pydantic import BaseModel

from bonwise.testing import Script, ScriptedServer
from serving.upstreams import KEY, in_thread, served

PATH = "/v1/chat/completions"


def ask(text="Name a colour", model="bon/fast", **more):
    """Return the body of a request."""
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def test_the_winner_is_the_upstreams_own_object(upstream, client):
    """The longest of four answers, with every field of the upstream's answer; the usage is the sum of all."""
    raw = client.chat.completions.with_raw_response.create(**ask())
    found = raw.parse()
    assert found.choices[0].message.content == upstream.best("Name a colour")
    assert len(upstream.drawn["Name a colour"]) == 4
    assert (found.id, found.model, found.service_tier) == ("chatcmpl-1", "m-2026", "default")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (7, upstream.tokens["output"])
    assert found.usage.completion_tokens_details.reasoning_tokens == 8
    trail = found.bonwise
    assert trail == json.loads(raw.headers["x-bonwise-trail"])
    lengths = [len(one) for one in upstream.drawn["Name a colour"]]
    assert trail["index"] == lengths.index(max(lengths))
    assert sorted(range(4), key=trail["scores"].__getitem__) == sorted(range(4), key=lengths.__getitem__)
    assert trail["choices"] == [trail["index"]]
    assert (trail["decided_by"], trail["unjudged"], trail["candidates"]) == ("score", False, 4)
    assert trail["judge_usage"] == {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}
    assert trail["upstream"] == {"calls": 1, "cost": None}
    assert "x-bonwise-unjudged" not in raw.headers
    assert upstream.authorizations == {f"Bearer {KEY}"}


def test_several_calls_where_the_upstream_does_not_honour_n(upstream, client):
    """What is missing is drawn by calls of its own; the usage is the sum of all calls."""
    upstream.honours_n = False
    for number, calls in ((1, 4), (2, 4)):
        found = client.chat.completions.create(**ask(f"Prompt {number}"))
        assert found.choices[0].message.content == upstream.best(f"Prompt {number}")
        assert len(upstream.drawn[f"Prompt {number}"]) == 4
        assert found.usage.prompt_tokens == 7 * calls
        assert found.bonwise["upstream"]["calls"] == calls
    assert found.usage.completion_tokens == sum(map(len, upstream.drawn["Prompt 2"]))
    assert [body.get("n") for body in upstream.bodies] == [4, *[None] * 7]


def test_a_refused_n_is_no_error(upstream, client):
    """An upstream that refuses the parameter is asked by several calls."""
    upstream.refuses_n = True
    found = client.chat.completions.create(**ask("Refused"))
    assert found.choices[0].message.content == upstream.best("Refused")
    assert [body.get("n") for body in upstream.bodies] == [4, None, None, None, None]


def test_a_seed_grows_from_call_to_call(upstream, client):
    """Calls with one seed would draw one and the same answer."""
    client.chat.completions.create(**ask(model="bon/calls", seed=40))
    assert sorted(body["seed"] for body in upstream.bodies) == [40, 41, 42]
    client.chat.completions.create(**ask(model="bon/fast", seed=40))
    assert upstream.bodies[-1]["seed"] == 40


def test_all_other_fields_are_passed_on(upstream, client):
    """Parameters of the request reach the upstream; those of the endpoint's own do not."""
    client.chat.completions.create(**ask(temperature=0.3, max_completion_tokens=9, extra_body={"top_k": 3}))
    sent = upstream.bodies[-1]
    assert (sent["temperature"], sent["max_completion_tokens"], sent["top_k"], sent["model"]) == (0.3, 9, 3, "m")
    assert "stream" not in sent


def test_more_choices_are_a_ranking(upstream, client):
    """With n the best candidates come back, best first; more than the model draws otherwise are drawn too."""
    for wanted, drawn in ((3, 4), (6, 6)):
        upstream.drawn.clear()
        found = client.chat.completions.create(**ask(n=wanted))
        texts = [one.message.content for one in found.choices]
        assert texts == sorted(upstream.drawn["Name a colour"], key=len, reverse=True)[:wanted]
        assert [one.index for one in found.choices] == list(range(wanted))
        assert found.bonwise["candidates"] == drawn
        assert len(found.bonwise["choices"]) == wanted
    with pytest.raises(openai.BadRequestError, match="n must be a whole number from 1 to 6") as refused:
        client.chat.completions.create(**ask(n=7))
    assert refused.value.param == "n"


def test_a_stream_is_the_winner(upstream, client):
    """The winner comes in chunks, then its end with the trail, then the usage of all candidates."""
    chunks = list(client.chat.completions.create(**ask(stream=True, stream_options={"include_usage": True})))
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == upstream.best("Name a colour")
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == upstream.tokens["output"]
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    ends = [chunk.choices[0].finish_reason for chunk in chunks[:-1]]
    assert ends == [None, "stop"]
    assert chunks[1].bonwise["decided_by"] == "score"
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}


def test_a_stream_without_usage_ends_with_done(upstream, address):
    """Nobody who does not ask gets a chunk of usage; the last line is as OpenAI has it."""
    with httpx.stream("POST", address + PATH, json=ask(stream=True)) as response:
        lines = [line for line in response.iter_lines() if line]
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "x-bonwise-trail" in response.headers
    assert lines[-1] == "data: [DONE]"
    assert all("usage" not in json.loads(line[6:]) for line in lines[:-1])


def test_the_clients_own_stream_helper(upstream, client):
    """The accumulating helper of the official client puts the message together."""
    with client.chat.completions.stream(**ask("Stream it")) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == upstream.best("Stream it")


TOOLS = [{"type": "function", "function": {"name": "paint", "parameters": {"type": "object"}}}]


def test_tool_calls_are_chosen_among(upstream, client):
    """The judge reads the calls; the winner's stand in the answer, and in a stream with their index."""
    found = client.chat.completions.create(**ask("Paint", tools=TOOLS))
    call = found.choices[0].message.tool_calls[0]
    assert json.loads(call.function.arguments)["colour"] == upstream.best("Paint")
    assert found.choices[0].finish_reason == "tool_calls"
    chunks = list(client.chat.completions.create(**ask("Again", tools=TOOLS, stream=True)))
    delta = chunks[0].choices[0].delta.tool_calls[0]
    assert (delta.index, json.loads(delta.function.arguments)["colour"]) == (0, upstream.best("Again"))


def test_tools_are_refused_where_the_settings_say_so(upstream, client):
    """Nothing is drawn for a request with tools then."""
    with pytest.raises(openai.BadRequestError, match="bon/careful takes no tools"):
        client.chat.completions.create(**ask(model="bon/careful", tools=TOOLS))
    assert upstream.calls == 0


def test_structured_output_is_chosen_among(upstream, client):
    """The schema goes to the upstream, and the winner is parsed by the official client."""

    class Colour(BaseModel):
        colour: str

    found = client.chat.completions.parse(**ask("Structured"), response_format=Colour)
    assert found.choices[0].message.parsed.colour == upstream.best("Structured")
    assert upstream.bodies[-1]["response_format"]["type"] == "json_schema"


def test_audio_is_refused(client, upstream):
    """A judge of text cannot read it."""
    with pytest.raises(openai.BadRequestError, match="only text can be judged"):
        client.chat.completions.create(**ask(modalities=["text", "audio"], audio={"voice": "x", "format": "mp3"}))
    assert upstream.calls == 0


def test_curl(upstream, address):
    """Another client."""
    command = ["curl", "-s", "-D", "-", f"{address}{PATH}", "-H", "content-type: application/json"]
    done = subprocess.run([*command, "-d", json.dumps(ask("By curl"))], capture_output=True, text=True, check=True)
    head, _, body = done.stdout.replace("\r", "").partition("\n\n")
    assert head.splitlines()[0] == "HTTP/1.1 200 OK"
    assert json.loads(body)["choices"][0]["message"]["content"] == upstream.best("By curl")


def test_a_failing_judge_costs_no_candidate(upstream, client, endpoint):
    """One of the paid candidates comes back, marked; it is counted, and the judge's failure is told."""
    raw = client.chat.completions.with_raw_response.create(**ask("Unjudged", model="bon/careful"))
    found = raw.parse()
    assert found.choices[0].message.content in upstream.drawn["Unjudged"]
    assert raw.headers["x-bonwise-unjudged"] == "true"
    assert found.bonwise["unjudged"] is True
    assert found.bonwise["decided_by"] == "random"
    assert found.usage.completion_tokens == upstream.tokens["output"]
    assert endpoint.records.metrics.values['bonwise_unjudged_total{model="careful"}'] == 1


def test_where_asked_to_raise_nobody_asks_again(upstream, client):
    """The official client, which asks up to three times, asks once; what was paid stands in the body."""
    with pytest.raises(openai.APIStatusError, match="the judge failed") as raised:
        client.chat.completions.create(**ask("Strict", model="bon/strict"))
    assert raised.value.status_code == 424
    assert raised.value.response.json()["usage"]["completion_tokens"] == upstream.tokens["output"]
    assert len(upstream.drawn["Strict"]) == 2


def test_the_usage_of_a_judge_stands_apart(upstream, tmp_path, monkeypatch):
    """It is in the trail and not in the usage; with prices both have a cost."""
    with ScriptedServer(Script()).in_thread() as judge, in_thread(upstream.app) as url:
        prices = tmp_path / "prices.toml"
        one = '[[price]]\nprovider = "openai"\nbase_url = "{}/v1"\nmodels = ["*"]\ninput = 1.0\noutput = 10.0\n'
        prices.write_text(one.format(url) + one.format(judge.url), encoding="utf-8")
        monkeypatch.setenv("BONWISE_PRICES", str(prices))
        settings = f"""
            [models.judged]
            upstream = "openai/m"
            base_url = "{url}/v1"
            judge = "pointwise:openai/judge"
            judge_base_url = "{judge.url}/v1"
            n = 3
        """
        with served(tmp_path, settings) as (_, address):
            found = httpx.post(address + PATH, json=ask("Judged", model="bon/judged"), timeout=30).json()
    trail = found["bonwise"]
    assert trail["judge_usage"]["calls"] == 3
    assert trail["judge_usage"]["input_tokens"] > 0
    assert trail["judge_usage"]["cost"] > 0
    output = sum(map(len, upstream.drawn["Judged"]))
    assert found["usage"]["completion_tokens"] == output
    assert trail["upstream"]["cost"] == pytest.approx((7 * 1.0 + output * 10.0) / 1e6)


def test_a_client_that_leaves_ends_its_draws(upstream, address, endpoint):
    """The calls of the upstream are given up, and the request is logged as left."""
    upstream.latency = 5.0
    before = endpoint.records.metrics.values.get('bonwise_requests_total{model="calls",status="499"}', 0)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(address + PATH, json=ask(model="bon/calls"), timeout=0.5)
    for _ in range(100):
        now = endpoint.records.metrics.values.get('bonwise_requests_total{model="calls",status="499"}', 0)
        if now > before:
            break
        time.sleep(0.05)
    assert now == before + 1
    assert endpoint.records.metrics.values["bonwise_requests_in_flight"] == 0
