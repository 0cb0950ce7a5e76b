"""A request of a client: its body, read within bounds, what of it goes to the upstream, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from bonwise.calls.tokens import most_input_tokens
from bonwise.errors import UsageError
from bonwise.serving.api_errors import ApiError, bad_request
from bonwise.serving.config import ModelConfig
from bonwise.serving.upstream import bearer_key
from bonwise.table.chat import prompt_text

__all__ = ["PREFIX", "ChatRequest", "client_has_left", "read_body", "read_request"]

PREFIX = "bon/"
"""What the name of a model of this endpoint begins with."""

_OWN = frozenset({"model", "n", "stream", "stream_options"})
"""Fields that the endpoint answers itself; all others go to the upstream as they are."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request, checked."""

    config: ModelConfig
    """Of the model that it asks for."""
    prompt: str
    """What the judge sees as the prompt."""
    passed_on: dict[str, Any]
    """The body for the upstream, but for ``n``."""
    choices: int
    """How many it asks for."""
    stream: bool
    """Whether the answer is streamed, and ends with a chunk of usage."""
    usage_chunk: bool
    """Whether the answer is streamed, and ends with a chunk of usage."""
    input_bound: int
    """Input tokens that one call of the upstream has at most; media that are named by an address are not in it."""
    client_key: str = field(default="", repr=False)
    """The key that candidates are drawn with, where the settings forward the client's; else empty."""

    @property
    def candidates(self) -> int:
        """How many are drawn."""
        return max(self.config.n, self.choices)

    @property
    def output_bound(self) -> int | None:
        """Output tokens that a candidate has at most; None where nobody says."""
        found = self.passed_on.get("max_completion_tokens", self.passed_on.get("max_tokens"))
        return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def read_request(content: bytes, models: Mapping[str, ModelConfig], authorization: str = "") -> ChatRequest:
    """Read a request; ApiError 400: cannot be answered as it is, 401: no client key where needed, 404: no model."""
    body = _loaded(content)
    config = _model(body.get("model"), models)
    prompt = _prompt(body.get("messages"))
    stream = _flag(body, "stream")
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping):
        raise bad_request("stream_options is not an object", "stream_options", "invalid_type")
    _refuse_what_cannot_be_chosen(body, config)
    passed_on = {"model": config.model.name, **{name: value for name, value in body.items() if name not in _OWN}}
    if config.max_tokens is not None and not {"max_tokens", "max_completion_tokens"} & passed_on.keys():
        passed_on["max_completion_tokens"] = config.max_tokens
    return ChatRequest(
        config,
        prompt,
        passed_on,
        _choices(body, config),
        stream,
        _flag(options, "include_usage"),
        most_input_tokens(len(content), len(body["messages"])),
        bearer_key(authorization) if config.forward_client_key else "",
    )


def _loaded(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise bad_request("the body is not a JSON object", code="invalid_json")
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _model(name: object, models: Mapping[str, ModelConfig]) -> ModelConfig:
    if not isinstance(name, str):
        raise bad_request("model is missing: name one as bon/NAME", "model", "missing_required_parameter")
    found = models.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    if found is None:
        known = ", ".join(f"{PREFIX}{one}" for one in models)
        raise ApiError(404, f"the model {name[:80]!r} does not exist here: {known}", "model_not_found", param="model")
    return found


def _prompt(messages: object) -> str:
    if not isinstance(messages, list):
        raise bad_request("messages is missing, or is not a list", "messages", "missing_required_parameter")
    try:
        return prompt_text(messages)
    except (UsageError, RecursionError) as error:
        raise bad_request(f"messages cannot be read: {error}", "messages") from None


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name)
    if not isinstance(value, bool | None):
        raise bad_request(f"{name} is neither true nor false", name, "invalid_type")
    return bool(value)


def _choices(body: Mapping[str, Any], config: ModelConfig) -> int:
    asked = body.get("n")
    if asked is None:
        return 1
    if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= config.most_choices:
        raise bad_request(
            f"n must be a whole number from 1 to {config.most_choices}: so many of the candidates come back, ranked",
            "n",
        )
    return asked


def _refuse_what_cannot_be_chosen(body: Mapping[str, Any], config: ModelConfig) -> None:
    """Refuse answers that a judge of text cannot read."""
    modalities = body.get("modalities")
    if body.get("audio") is not None or (isinstance(modalities, list) and modalities not in ([], ["text"])):
        raise bad_request(
            "only text can be judged: leave audio and modalities out", "modalities", "unsupported_value"
        )
    if config.tools == "refuse":
        for name in ("tools", "functions"):
            if body.get(name):
                raise bad_request(f"{PREFIX}{config.name} takes no {name}", name, "unsupported_parameter")


Receive = Callable[[], Awaitable[Any]]

_DISCARDED = 2**28
"""Bytes of a body that is too large which are read and thrown away: a client that is cut off sees no answer."""

_PATIENCE = 10.0
"""Seconds for that."""


async def read_body(headers: Mapping[str, str], receive: Receive, *, most: int, seconds: float) -> bytes:
    """Return a request's body; ApiError 413: above `most` bytes, 408: above `seconds`, 499: the client left."""
    stated = headers.get("content-length", "")
    if stated.isdigit() and int(stated) > most:
        # A client that asks first sends nothing at all.
        if headers.get("expect", "").lower() != "100-continue":
            await _discard(receive, 0)
        raise _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise client_has_left()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    break
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise ApiError(
            408, f"the body did not arrive within {seconds:g} s", "request_timeout", headers={"connection": "close"}
        ) from None
    parts.clear()
    await _discard(receive, size)
    raise _too_large(most)


def client_has_left() -> ApiError:
    """Return the error of a client that closed its connection; nobody reads it but the log."""
    return ApiError(499, "the client closed its connection", "client_closed_request")


async def _discard(receive: Receive, size: int) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            while size < _DISCARDED:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _too_large(most: int) -> ApiError:
    return ApiError(
        413, f"the body is larger than {most} bytes", "request_too_large", headers={"connection": "close"}
    )
