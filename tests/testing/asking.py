"""Both services asked through their own clients, and once through any http client."""

from __future__ import annotations

import json

import anthropic
import openai

SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "score": {"type": "integer"},
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "choice": {"type": "string", "enum": ["A", "B", "TIE"]},
        "confidence": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        "probability": {"type": "number"},
    },
    "required": ["reason", "score", "low", "high", "choice", "confidence", "probability"],
    "additionalProperties": False,
}


def chat_body(user="Which?", *, system="Judge.", schema=None, **others):
    """Return the body of a chat completion."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = {"model": "gpt-5-mini", "messages": messages, **others}
    if schema:
        told = {"name": "verdict", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": told}
    return body


def message_body(user="Which?", *, system="Judge.", schema=None, **others):
    """Return the body of a message."""
    messages = [{"role": "user", "content": user}]
    body = {"model": "claude-opus-5", "max_tokens": 500, "system": system, "messages": messages, **others}
    if schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


BODIES = {"openai": ("/v1/chat/completions", chat_body), "anthropic": ("/v1/messages", message_body)}


def received(script, service="openai", *, now=0.0, headers=None, **said):
    """Let a script answer one request at once; return the delivery."""
    path, body = BODIES[service]
    delivery = script.receive("POST", path, headers or {}, json.dumps(body(**said)).encode(), now)
    script.finish(delivery, whole=delivery.cut_at is None)
    return delivery


def content(delivery):
    """Return the JSON of a delivery."""
    return json.loads(delivery.response.content)


async def ask_openai(http, url="http://scripted", **said):
    """Ask through the client of OpenAI, its own retries switched off."""
    async with openai.AsyncOpenAI(api_key="sk-1", base_url=f"{url}/v1", max_retries=0, http_client=http) as client:
        return await client.chat.completions.create(**chat_body(**said))


async def ask_anthropic(http, url="http://scripted", **said):
    """Ask through the client of Anthropic, its own retries switched off."""
    async with anthropic.AsyncAnthropic(api_key="sk-1", base_url=url, max_retries=0, http_client=http) as client:
        return await client.messages.create(**message_body(**said))


ASK = {"openai": ask_openai, "anthropic": ask_anthropic}

OVERLOADED = {"openai": "InternalServerError", "anthropic": "OverloadedError"}
"""The exception that each client has for an overloaded service."""


def words(reply):
    """Return the text of either service's reply."""
    return reply.choices[0].message.content if hasattr(reply, "choices") else reply.content[0].text


def client(http, transport=None, **settings):
    """Return a client of an HTTP library that looks at no proxy settings."""
    return http.AsyncClient(transport=transport, trust_env=False, **settings)
