"""A request of a client: its body, read within bounds, what of it goes to the upstream, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from bonwise import strict_json
from bonwise.errors import UsageError
from bonwise.serving import chat_models, client_keys, upstream
from bonwise.serving.api_errors import ApiError, bad_request
from bonwise.serving.config import ModelConfig
from bonwise.table.chat import prompt_text

PREFIX = "bon/"
"""What the name of a model of this endpoint begins with."""

_OWN = {"model", "n", "stream", "stream_options"}
"""Fields that the endpoint answers itself; all others go to the upstream."""

_PARTS = ("text", "refusal", "image_url", "input_audio")
_TOOLS = ("function", "custom")
_TIERS = ("auto", "default", "flex")
"""What has a bounded cost, of parts of messages, of tools and of tiers."""


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
    usage_chunk: bool
    """Both: whether the answer is streamed, and ends with a chunk of usage."""
    client_key: str = field(default="", repr=False)
    """The key that candidates are drawn with, where the settings forward the client's; else empty."""

    @property
    def candidates(self) -> int:
        """How many are drawn."""
        return max(self.config.n, self.choices)


def read_request(
    content: bytes,
    models: Mapping[str, ModelConfig],
    authorization: str = "",
    key: client_keys.ClientKey | None = None,
) -> ChatRequest:
    """Read a request; ApiError 400 for what cannot be answered, 401 for no client key, 404 for no model."""
    document = _document(content)
    config = _model(document.get("model"), models)
    body = _body(document)
    _refuse_what_cannot_be_chosen(body, config)
    if key is not None and key.limited:
        _refuse_unknown(body)
    if key is not None and key.max_cost is not None:
        _refuse_unbounded(body)
    passed_on = _passed_on(body, config)
    options = body.stream_options or chat_models.StreamOptions()
    return ChatRequest(
        config,
        _prompt(passed_on["messages"]),
        passed_on,
        _choices(body, config),
        bool(body.stream),
        bool(options.include_usage),
        upstream.bearer_key(authorization) if config.forward_client_key else "",
    )


def _document(content: bytes) -> dict[str, Any]:
    try:
        return strict_json.received_object(content)
    except ValueError as error:
        raise bad_request(str(error), code="invalid_json") from None


def _body(document: Mapping[str, Any]) -> chat_models.ChatBody:
    try:
        return chat_models.ChatBody.model_validate(document)
    except ValidationError as error:
        message = strict_json.refusal(error, document, whole="the body")
        wrong = error.errors(include_url=False)[0]
        kind = "invalid_type" if wrong["type"].endswith("_type") else "invalid_value"
        code = "missing_required_parameter" if wrong["type"] == "missing" else kind
        raise bad_request(message, str(wrong["loc"][0]) if wrong["loc"] else None, code) from None


def _passed_on(body: chat_models.ChatBody, config: ModelConfig) -> dict[str, Any]:
    """Return the body for the upstream: fields that are given, and one limit of output."""
    sent = body.model_dump(exclude_unset=True, exclude=_OWN)
    sent = {"model": config.model.name, **{name: value for name, value in sent.items() if value is not None}}
    limit = "max_tokens" if "max_tokens" in sent and "max_completion_tokens" not in sent else "max_completion_tokens"
    given = [one for one in (sent.get(limit), config.max_tokens) if one is not None]
    sent.pop("max_tokens", None)
    return {**sent, limit: min(given)} if given else sent


def _model(name: object, models: Mapping[str, ModelConfig]) -> ModelConfig:
    if not isinstance(name, str):
        raise bad_request("model is missing: name one as bon/NAME", "model", "missing_required_parameter")
    found = models.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    if found is None:
        known = ", ".join(f"{PREFIX}{model}" for model in models)
        raise ApiError(404, f"the model {name[:80]!r} does not exist here: {known}", "model_not_found", param="model")
    return found


def _prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    try:
        return prompt_text(messages)
    except UsageError as error:
        raise bad_request(f"messages cannot be read: {error}", "messages") from None


def _choices(body: chat_models.ChatBody, config: ModelConfig) -> int:
    asked = 1 if body.n is None else body.n
    if asked > config.most_choices:
        raise bad_request(
            f"n must be a whole number from 1 to {config.most_choices}: so many of the candidates come back, ranked",
            "n",
        )
    return asked


def _refuse_what_cannot_be_chosen(body: chat_models.ChatBody, config: ModelConfig) -> None:
    """Refuse answers that a judge of text cannot read."""
    if body.audio is not None or body.modalities not in (None, [], ["text"]):
        raise bad_request(
            "only text can be judged: leave audio and modalities out", "modalities", "unsupported_value"
        )
    if config.tools == "refuse":
        for name in ("tools", "functions"):
            if getattr(body, name):
                raise bad_request(f"{PREFIX}{config.name} takes no {name}", name, "unsupported_parameter")


def _refuse_unknown(body: chat_models.ChatBody) -> None:
    """Refuse what is not in the model of a request: it may multiply what an answer costs."""
    for name in body.model_extra or {}:
        raise bad_request(f'unknown parameter "{name[:80]}"', name[:80], "unknown_parameter")


def _refuse_unbounded(body: chat_models.ChatBody) -> None:
    """Refuse what costs more than its bytes and the limit of output say."""
    contents = [one.content for one in body.messages if isinstance(one.content, list)]
    kinds = [part.get("type") for content in contents for part in content if isinstance(part, dict)]
    # An earlier answer in speech is named by its id.
    speech = any((one.model_extra or {}).get("audio") is not None for one in body.messages)
    unbounded = {
        "web_search_options": body.web_search_options is not None,
        "service_tier": body.service_tier not in (None, *_TIERS),
        "tools": any(one.get("type") not in _TOOLS for one in body.tools or ()),
        "messages": speech or any(kind not in _PARTS for kind in kinds),
    }
    for name in (name for name, is_unbounded in unbounded.items() if is_unbounded):
        message = f"{name} costs more than can be bounded, and this key has a max_cost"
        raise bad_request(message, name, "unsupported_parameter")


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
