"""Requests, answers, errors and headers of two services: OpenAI chat completions and Anthropic messages."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from bonwise.calls.ask import Choice, Reply, TokenLogprobs
from bonwise.calls.bill import Usage
from bonwise.calls.rate_limits import RateLimits, Window

__all__ = [
    "ErrorKind",
    "Service",
    "WireError",
    "WireRequest",
    "WireResponse",
    "body_digest",
    "broken_stream",
    "error_response",
    "rate_limit_headers",
    "reply_body",
    "service_of",
    "tokens",
]

Service = Literal["openai", "anthropic"]

_PIECE = re.compile(r"\s?\w{1,4}|\s?[^\w\s]|\s+")

_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_COMPACT = json.JSONEncoder(separators=(",", ":"))

_CREATED = 1_790_000_000
"""Every answer says it was made in this second: the same request gets the same bytes on any day."""


def service_of(path: str) -> Service | None:
    """Tell whose endpoint a path is; None where it is nobody's."""
    if path.endswith("/chat/completions"):
        return "openai"
    # The last two are those of Bedrock and Vertex.
    return "anthropic" if path.endswith(("/v1/messages", "/invoke", ":rawPredict")) else None


def body_digest(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON body in hexadecimal, whatever the order of its keys."""
    return hashlib.sha256(_SORTED.encode(body).encode()).hexdigest()


def tokens(text: str) -> list[str]:
    """Split a text into pieces of about a token's size; joined they give it back."""
    return _PIECE.findall(text)


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request as it arrived, without its headers, so that no key can be shown.

    Examples
    --------
    >>> body = {"model": "m", "messages": [{"role": "system", "content": "Be brief."}]}
    >>> WireRequest("openai", body, body_digest(body)).system
    'Be brief.'
    """

    service: Service
    body: Mapping[str, Any] = field(repr=False)
    """What the service takes notice of: parameters that it ignores are left out."""
    digest: str
    """`body_digest` of the whole body."""
    sample: int = 0
    """Which of the answers of one request (``n``) is wanted."""
    attempt: int = 0
    """How often the same body was asked before."""

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body.get("model", ""))

    @property
    def system(self) -> str:
        """The instructions, joined."""
        stated = _text(self.body.get("system", ""))
        return "\n".join([stated, *self._said(system=True)]).strip("\n")

    @property
    def user(self) -> str:
        """All that is no instruction, joined."""
        return "\n".join(self._said(system=False))

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that binds the answer."""
        if self.service == "openai":
            found = _at(self.body, "response_format", "json_schema", "schema")
        else:
            found = _at(self.body, "output_config", "format", "schema")
        return found if isinstance(found, dict) else None

    @property
    def samples(self) -> int:
        """How many answers are wanted."""
        return int(self.body.get("n") or 1)

    @property
    def max_tokens(self) -> int | None:
        """The most tokens one answer may have."""
        found = self.body.get("max_completion_tokens", self.body.get("max_tokens"))
        return None if found is None else int(found)

    @property
    def top_logprobs(self) -> int | None:
        """How many alternatives are wanted for each token; None where no probabilities are."""
        return int(self.body.get("top_logprobs") or 0) if self.body.get("logprobs") else None

    def _said(self, *, system: bool) -> Iterator[str]:
        for message in self.body.get("messages", ()):
            if (message.get("role") in {"system", "developer"}) == system:
                yield _text(message.get("content"))


@dataclass(frozen=True, slots=True)
class WireResponse:
    """One response of a service, ready to be sent."""

    status: int
    headers: Mapping[str, str]
    """In lower case, the length left out."""
    content: bytes


def reply_body(request: WireRequest, reply: Reply) -> bytes:
    """Write an answer as the service of the request would.

    Digest and attempt of the request make the id of the answer. Anthropic has a single choice: the first.
    """
    write = _chat_completion if request.service == "openai" else _message
    return _COMPACT.encode(write(request, reply)).encode()


def _chat_completion(request: WireRequest, reply: Reply) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.digest[:24]}{request.attempt}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": reply.model or request.model,
        "choices": [_choice(request, index, choice) for index, choice in enumerate(reply.choices)],
        "usage": None if reply.usage is None else _openai_usage(reply.usage),
        "service_tier": "default",
        "system_fingerprint": reply.fingerprint or None,
    }


_OPENAI_FINISH = {"stop": "stop", "length": "length", "refusal": "stop", "filter": "content_filter"}


def _choice(request: WireRequest, index: int, choice: Choice) -> dict[str, Any]:
    refused = choice.finish == "refusal"
    return {
        "index": index,
        "message": {
            "role": "assistant",
            "content": None if refused else choice.text,
            "refusal": choice.detail or "I cannot help with that." if refused else None,
            "annotations": [],
        },
        "logprobs": _logprobs(choice.logprobs, request.top_logprobs),
        "finish_reason": _OPENAI_FINISH.get(choice.finish) or choice.detail or "tool_calls",
    }


def _logprobs(told: Sequence[TokenLogprobs] | None, top: int | None) -> dict[str, Any] | None:
    if told is None or top is None:
        return None
    listed = [
        _token(one.token, one.alternatives.get(one.token, -9999.0))
        | {"top_logprobs": [_token(token, value) for token, value in _best(one.alternatives, top)]}
        for one in told
    ]
    return {"content": listed, "refusal": None}


def _best(alternatives: Mapping[str, float], top: int) -> list[tuple[str, float]]:
    return sorted(alternatives.items(), key=lambda pair: -pair[1])[:top]


def _token(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "surrogatepass"))}


def _openai_usage(usage: Usage) -> dict[str, Any]:
    written = usage.cache_write_5m + usage.cache_write_1h
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


_ANTHROPIC_STOP = {"stop": "end_turn", "refusal": "refusal", "filter": "refusal"}
_ANTHROPIC_LENGTHS = {"max_tokens", "model_context_window_exceeded"}


def _message(request: WireRequest, reply: Reply) -> dict[str, Any]:
    choice = reply.choices[0]
    refused = choice.finish in {"refusal", "filter"}
    explained = {"type": "refusal", "category": "general_harms", "explanation": choice.detail or None}
    return {
        "id": f"msg_{request.digest[:24]}{request.attempt}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or request.model,
        "content": [{"type": "text", "text": choice.text}] if choice.text else [],
        "stop_reason": _stop_reason(choice),
        "stop_sequence": None,
        "stop_details": explained if refused else None,
        "usage": _anthropic_usage(reply.usage or Usage()),
    }


def _stop_reason(choice: Choice) -> str:
    if choice.finish == "length":
        return choice.detail if choice.detail in _ANTHROPIC_LENGTHS else "max_tokens"
    return _ANTHROPIC_STOP.get(choice.finish) or choice.detail or "pause_turn"


def _anthropic_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.uncached,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "service_tier": "standard",
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _at(body: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(body, dict):
            return None
        body = body.get(key)
    return body


ErrorKind = Literal[
    "throttled", "quota", "server_error", "overloaded", "denied", "unknown_model", "unknown_path", "invalid",
    "unsupported", "too_long", "filtered",
]  # fmt: skip


class _ErrorBody(NamedTuple):
    status: int
    type: str
    code: str | None
    message: str


_BAD = "invalid_request_error"

_OPENAI: dict[ErrorKind, _ErrorBody] = {
    "throttled": _ErrorBody(429, "requests", "rate_limit_exceeded", "Rate limit reached on requests per min (RPM)."),
    "quota": _ErrorBody(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "server_error": _ErrorBody(500, "server_error", None, "The server had an error while processing your request."),
    "overloaded": _ErrorBody(
        503, "server_error", None, "The engine is currently overloaded, please try again later."
    ),
    "denied": _ErrorBody(401, _BAD, "invalid_api_key", "Incorrect API key provided."),
    "unknown_model": _ErrorBody(404, _BAD, "model_not_found", "The model does not exist or you do not have access."),
    "unknown_path": _ErrorBody(404, _BAD, None, "Invalid URL."),
    "invalid": _ErrorBody(400, _BAD, None, "The request is invalid."),
    "unsupported": _ErrorBody(
        400, _BAD, "unsupported_parameter", "Unsupported parameter: '{}' is not supported with this model."
    ),
    "too_long": _ErrorBody(400, _BAD, "context_length_exceeded", "This model's maximum context length is exceeded."),
    "filtered": _ErrorBody(400, _BAD, "content_filter", "The prompt triggered the content management policy."),
}

_ANTHROPIC: dict[ErrorKind, _ErrorBody] = {
    "throttled": _ErrorBody(429, "rate_limit_error", None, "This request would exceed your rate limit."),
    "quota": _ErrorBody(429, "rate_limit_error", "contract_spend_limit_reached", "The spend limit has been reached."),
    "server_error": _ErrorBody(500, "api_error", None, "Internal server error"),
    "overloaded": _ErrorBody(529, "overloaded_error", None, "Overloaded"),
    "denied": _ErrorBody(401, "authentication_error", None, "invalid x-api-key"),
    "unknown_model": _ErrorBody(404, "not_found_error", None, "model not found"),
    "unknown_path": _ErrorBody(404, "not_found_error", None, "Not Found"),
    "invalid": _ErrorBody(400, _BAD, None, "The request is invalid."),
    "unsupported": _ErrorBody(400, _BAD, None, "`{}` is deprecated for this model."),
    "too_long": _ErrorBody(400, _BAD, None, "prompt is too long"),
    "filtered": _ErrorBody(400, _BAD, None, "Output blocked by content filtering policy"),
}


class WireError(Exception):
    """A request not answered; `message` replaces the service's own, `retry_after` is in seconds, in the headers."""

    def __init__(
        self, kind: ErrorKind, message: str = "", parameter: str = "", retry_after: float | None = None
    ) -> None:
        self.kind: ErrorKind = kind
        self.message = message
        self.parameter = parameter
        self.retry_after = retry_after
        super().__init__(kind, message, parameter)


def error_response(service: Service, error: WireError, request_id: str) -> WireResponse:
    """Write an error as a service would; its headers say no more than when to come back."""
    said = (_OPENAI if service == "openai" else _ANTHROPIC)[error.kind]
    message = error.message or said.message.format(error.parameter)
    body: dict[str, Any]
    if service == "openai":
        body = {
            "error": {
                "message": message,
                "type": said.type,
                "param": error.parameter or ("messages" if error.kind == "too_long" else None),
                "code": said.code,
            }
        }
    else:
        inner: dict[str, Any] = {"type": said.type, "message": message}
        if said.code:
            inner["details"] = {"error_code": said.code}
        body = {"type": "error", "error": inner, "request_id": request_id}
    return WireResponse(said.status, dict(_retry_after(service, error.retry_after)), json.dumps(body).encode())


def broken_stream(service: Service, response: WireResponse) -> WireResponse:
    """Return an answer as a stream of events that ends in an error."""
    error = error_response(service, WireError("overloaded"), "req_stream").content.decode()
    answer = response.content.decode()
    if service == "openai":
        lines = [f"data: {answer}", f"data: {error}"]
    else:
        begun = json.dumps({"type": "message_start", "message": json.loads(answer) | {"content": []}})
        lines = [f"event: message_start\ndata: {begun}", f"event: error\ndata: {error}"]
    events = "".join(f"{line}\n\n" for line in lines)
    return WireResponse(200, {**response.headers, "content-type": "text/event-stream"}, events.encode())


def rate_limit_headers(service: Service, limits: RateLimits, now: float) -> dict[str, str]:
    """Write allowances as headers, in the spelling of a service.

    OpenAI names requests and tokens, with a duration; Anthropic all four, with an instant. `now` is in seconds since
    1970.
    """
    if service == "openai":
        return {
            f"x-ratelimit-{part}-{name}": value
            for name, window in (("requests", limits.requests), ("tokens", limits.tokens))
            for part, value in _parts(window, _duration)
        }
    windows = {
        "requests": limits.requests,
        "tokens": limits.tokens,
        "input-tokens": limits.input_tokens,
        "output-tokens": limits.output_tokens,
    }
    return {
        f"anthropic-ratelimit-{name}-{part}": value
        for name, window in windows.items()
        for part, value in _parts(window, lambda reset: _instant(now + reset))
    }


def _parts(window: Window | None, said: Callable[[float], str]) -> Iterator[tuple[str, str]]:
    if window is None:
        return
    yield "limit", str(window.limit)
    if window.remaining is not None:
        yield "remaining", str(window.remaining)
    if window.reset is not None:
        yield "reset", said(window.reset)


def _duration(seconds: float) -> str:
    milliseconds = math.ceil(seconds * 1000 - 1e-6)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, left = divmod(milliseconds / 1000, 60)
    return f"{minutes:g}m{left:g}s" if minutes else f"{left:g}s"


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(math.ceil(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _retry_after(service: Service, seconds: float | None) -> Iterator[tuple[str, str]]:
    if seconds is None:
        return
    yield "retry-after", f"{seconds:g}"
    if service == "openai":
        yield "retry-after-ms", f"{seconds * 1000:g}"
