"""Anthropic's Messages: a body from an ask, a reply from a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.calls.ask import Ask
from bonwise.calls.providers.wire import count, loaded
from bonwise.calls.reply import Choice, Finish, Reply
from bonwise.calls.usage import Usage

__all__ = ["NAMES", "NOT_IN_KEY", "messages_body", "messages_parameters", "messages_reply"]

NOT_IN_KEY = frozenset({"metadata"})
"""Fields that change nothing in what an answer says."""

NAMES: Mapping[str, str] = {
    "output_config": r"(?<!\w)output_(?:config|format)(?!\w)|json_schema|[Ss]tructured [Oo]utputs?|output format",
}
"""What a request can do without, and how servers call it."""

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def messages_body(ask: Ask, dropped: frozenset[str]) -> dict[str, Any]:
    """Build the body: never with a temperature, log probabilities or several samples."""
    body: dict[str, Any] = {
        "model": ask.model.name,
        "max_tokens": ask.max_tokens,
        "messages": [{"role": "user", "content": ask.user}],
    }
    if ask.system:
        body["system"] = ask.system
    if ask.schema is not None and "output_config" not in dropped:
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(ask.schema)}}
    return body


def messages_parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a body shapes the sampling."""
    return {"max_tokens": body["max_tokens"], "schema": "output_config" in body}


def messages_reply(content: bytes) -> Reply:
    """Read a successful response.

    Raises
    ------
    ValueError
        It is not an answer.

    Examples
    --------
    >>> messages_reply(b'{"content": [{"type": "text", "text": "7"}], "stop_reason": "end_turn"}').choices
    (Choice(text='7', finish='stop', detail='end_turn', logprobs=None),)
    """
    body = loaded(content)
    blocks = body.get("content")
    if not isinstance(blocks, list):
        raise ValueError("an answer without content")  # noqa: TRY004 - the contract of readers is ValueError
    word = _text(body.get("stop_reason"))
    choice = Choice(_said(blocks), _FINISH.get(word, "other"), _detail(word, body.get("stop_details")))
    return Reply((choice,), _usage(body.get("usage")), model=_text(body.get("model")))


def _said(blocks: list[Any]) -> str:
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "".join(_text(text) for text in texts)


def _detail(word: str, details: object) -> str:
    category = _text(details.get("category")) if isinstance(details, dict) else ""
    return f"{word}: {category}" if category else word


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    # The input's tokens leave out those read from the cache and those written to it.
    uncached, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    split, details = usage.get("cache_creation"), usage.get("output_tokens_details")
    split, details = (part if isinstance(part, dict) else {} for part in (split, details))
    hour, minutes = (count(split.get(f"ephemeral_{ttl}_input_tokens")) for ttl in ("1h", "5m"))
    if not (uncached or output or read or written or hour or minutes):
        return None
    # Five minutes is how long a cache lives unless more was asked for.
    minutes = max(written - hour, minutes)
    reasoning = min(count(details.get("thinking_tokens")), output)
    return Usage(uncached, read, minutes, hour, output, reasoning)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
