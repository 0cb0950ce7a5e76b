"""What two services say when they do not answer, and what their headers say about their pace."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from bonwise.calls.rate_limits import RateLimits, Window
from bonwise.testing.wire import Service, WireResponse

__all__ = ["ErrorKind", "WireError", "error_response", "rate_limit_headers"]

ErrorKind = Literal[
    "throttled", "quota", "server_error", "overloaded", "denied", "unknown_model", "unknown_path", "invalid",
    "unsupported", "too_long",
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
}


class WireError(Exception):
    """A request that is not answered.

    Parameters
    ----------
    kind : str
        See `ErrorKind`.
    message : str, optional
        Instead of what the service says for this kind.
    parameter : str, optional
        The parameter at fault.
    retry_after : float, optional
        Seconds to wait, said in the headers.
    """

    def __init__(
        self, kind: ErrorKind, message: str = "", parameter: str = "", retry_after: float | None = None
    ) -> None:
        self.kind: ErrorKind = kind
        self.message = message
        self.parameter = parameter
        self.retry_after = retry_after
        super().__init__(kind, message, parameter)


def error_response(service: Service, error: WireError, request_id: str) -> WireResponse:
    """Write an error as a service would; its headers say no more than when to come back.

    Examples
    --------
    >>> said = error_response("anthropic", WireError("overloaded"), "req_1")
    >>> said.status, json.loads(said.content)["error"]["type"]
    (529, 'overloaded_error')
    """
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


def rate_limit_headers(service: Service, limits: RateLimits, now: float) -> dict[str, str]:
    """Write allowances as headers, in the spelling of a service.

    Parameters
    ----------
    service : {'openai', 'anthropic'}
        OpenAI names requests and tokens, with a duration; Anthropic all four, with an instant.
    limits : RateLimits
    now : float
        Seconds since 1970.

    Examples
    --------
    >>> limits = RateLimits(requests=Window(500, 499, 63.0))
    >>> rate_limit_headers("openai", limits, 0.0)["x-ratelimit-reset-requests"]
    '1m3s'
    >>> rate_limit_headers("anthropic", limits, 0.0)["anthropic-ratelimit-requests-reset"]
    '1970-01-01T00:01:03Z'
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
