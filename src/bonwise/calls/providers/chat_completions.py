"""OpenAI's Chat Completions: a body from an ask, a reply from a body."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bonwise.calls.ask import Ask
from bonwise.calls.providers.wire import count, loaded
from bonwise.calls.reply import Choice, Finish, Reply, TokenLogprobs
from bonwise.calls.usage import Usage

__all__ = ["NAMES", "NOT_IN_KEY", "chat_body", "chat_parameters", "chat_reply"]

MOST_LOGPROBS = 20
"""More alternatives for a token cannot be asked for."""

NOT_IN_KEY = frozenset({"n", "metadata", "user", "safety_identifier"})
"""Fields that change nothing in what an answer says. ``n`` asks for several at once; the sample index says which."""

NAMES: Mapping[str, str] = {
    "temperature": r"(?<!\w)temperature(?!\w)",
    "response_format": r"(?<!\w)response_format(?!\w)|json_schema|[Ss]tructured [Oo]utputs?",
    "logprobs": r"(?<!\w)logprobs(?!\w)",
    "top_logprobs": r"(?<!\w)top_logprobs(?!\w)",
    "n": r"""['"`]n['"`]|\bn (?:must|=|>)|\bn:""",
    "max_completion_tokens": r"(?<!\w)max_completion_tokens(?!\w)",
    "max_tokens": r"(?<!\w)max_tokens(?!\w)",
}
"""What a request can do without, and how servers call it."""

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
    "refusal": "refusal",
}


def chat_body(ask: Ask, samples: int, dropped: frozenset[str]) -> dict[str, Any]:
    """Build the body; a parameter in `dropped` is left out, and a limit of tokens always stands."""
    messages = [{"role": "system", "content": ask.system}] if ask.system else []
    messages.append({"role": "user", "content": ask.user})
    body: dict[str, Any] = {"model": ask.model.name, "messages": messages, _limit(dropped): ask.max_tokens}
    if ask.temperature is not None:
        body["temperature"] = ask.temperature
    if samples > 1:
        body["n"] = samples
    if ask.top_logprobs and "logprobs" not in dropped:
        body |= {"logprobs": True, "top_logprobs": min(ask.top_logprobs, MOST_LOGPROBS)}
    if ask.schema is not None:
        schema = {"name": "answer", "strict": True, "schema": dict(ask.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {name: value for name, value in body.items() if name not in dropped or name == _limit(dropped)}


def chat_parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a body shapes the sampling."""
    parameters = {name: body[name] for name in ("temperature", "top_logprobs", "n") if name in body}
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return {"max_tokens": limit, "schema": "response_format" in body, **parameters}


def chat_reply(content: bytes) -> Reply:
    """Read a successful response.

    Raises
    ------
    ValueError
        It is not an answer.

    Examples
    --------
    >>> chat_reply(b'{"choices": [{"message": {"content": "7"}, "finish_reason": "stop"}]}').choices
    (Choice(text='7', finish='stop', detail='stop', logprobs=None),)
    """
    body = loaded(content)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("an answer without choices")
    return Reply(
        tuple(_choice(choice) for choice in choices),
        _usage(body.get("usage")),
        model=_text(body.get("model")),
        fingerprint=_text(body.get("system_fingerprint")),
    )


def _limit(dropped: frozenset[str]) -> str:
    old = "max_completion_tokens" in dropped and "max_tokens" not in dropped
    return "max_tokens" if old else "max_completion_tokens"


def _choice(choice: object) -> Choice:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ValueError("a choice without a message")  # noqa: TRY004 - the contract of readers is ValueError
    word = _text(choice.get("finish_reason"))
    finish = _FINISH.get(word.lower(), "other")
    text, refusal = _content(message.get("content"))
    refusal = _text(message.get("refusal")) or refusal
    if refusal:
        return Choice(text or refusal, "refusal", refusal, _logprobs(choice.get("logprobs")))
    return Choice(text, finish, word, _logprobs(choice.get("logprobs")))


def _content(content: object) -> tuple[str, str]:
    """Return what was said and what was refused; parts of other kinds, such as reasoning, are neither."""
    if not isinstance(content, list):
        return _text(content), ""
    parts = [part for part in content if isinstance(part, dict)]
    said = "".join(_text(part.get("text")) for part in parts if part.get("type") in {"text", "output_text"})
    return said, "".join(_text(part.get("refusal")) for part in parts if part.get("type") == "refusal")


def _logprobs(logprobs: object) -> tuple[TokenLogprobs, ...] | None:
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        return None
    return tuple(_token(token) for token in tokens)


def _token(token: object) -> TokenLogprobs:
    if not isinstance(token, dict) or not isinstance(token.get("token"), str):
        raise ValueError("log probabilities without their token")  # noqa: TRY004 - the contract of readers is ValueError
    alternatives: dict[str, float] = {}
    top = token.get("top_logprobs")
    for other in top if isinstance(top, list) else ():
        if isinstance(other, dict):
            _add(alternatives, other)
    if token["token"] not in alternatives:
        _add(alternatives, token)
    return TokenLogprobs(token["token"], alternatives)


def _add(alternatives: dict[str, float], item: Mapping[str, Any]) -> None:
    word, value = item.get("token"), _logprob(item.get("logprob"))
    if not isinstance(word, str) or value is None:
        return
    # Two tokens that read the same: together they are as likely as their sum.
    alternatives[word] = _sum(alternatives[word], value) if word in alternatives else value


def _logprob(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number < math.inf else None  # neither infinity nor NaN


def _sum(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return high if high == -math.inf else high + math.log1p(math.exp(low - high))


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, output = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    if not prompt and not output:
        return None
    inputs, outputs = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    inputs, outputs = (details if isinstance(details, dict) else {} for details in (inputs, outputs))
    # The prompt's tokens include those read from the cache and those written to it.
    read = min(count(inputs.get("cached_tokens")), prompt)
    written = min(count(inputs.get("cache_write_tokens")), prompt - read)
    reasoning = min(count(outputs.get("reasoning_tokens")), output)
    return Usage(prompt - read - written, read, written, 0, output, reasoning)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
