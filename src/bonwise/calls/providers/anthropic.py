"""Anthropic, and every server that speaks its Messages."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, ClassVar

from bonwise.calls.ask import Ask, AttemptError, Choice, Finish, Model, Problem, Reply, Request, encoded
from bonwise.calls.bill import PartialUsage, Usage
from bonwise.calls.providers import protocol, secrets, service, supplied, wire
from bonwise.calls.rate_limits import anthropic_limits

if TYPE_CHECKING:
    from bonwise.calls.providers.clients import SdkClient
    from bonwise.table.images import Image

SERVICE = service.Service(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "ANTHROPIC_CUSTOM_HEADERS",
)
ENDPOINT = "/v1/messages"
NO_KEY = "none"
"""Sent where no key is set: the SDK insists on one, and servers of one's own need none."""

VERSION_HEADER = "anthropic-version"
API_VERSION = "2026-10-21"
"""What the bodies here are written for. Each request carries it, so an SDK with another default changes nothing."""


NOT_IN_KEY = frozenset({"metadata"})
"""Fields that change nothing in what an answer says."""

SETS = frozenset({"model", "messages", "system", "max_tokens", "output_config.format", "stream"})
"""Fields that no parameter of the user's may set."""

NAMES: Mapping[str, str] = {
    "output_config": r"(?<!\w)output_(?:config|format)(?!\w)|json_schema|[Ss]tructured [Oo]utputs?|output format"
}
"""What a request can do without, and how servers call it."""

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class Anthropic:
    """Messages, through the official SDK.

    The key is read from ``ANTHROPIC_API_KEY``, or else ``ANTHROPIC_AUTH_TOKEN``; a server of one's own
    (``base_url`` or ``ANTHROPIC_BASE_URL``) works without one.
    """

    name: ClassVar[str] = "anthropic"
    capabilities: ClassVar[protocol.Capabilities] = protocol.Capabilities(
        temperature=False,
        samples=False,
        logprobs=False,
        schema=True,
        images=True,
        draws_differ_by="the provider's own noise only: its requests carry no temperature",
    )

    sets: ClassVar[frozenset[str]] = SETS
    sdk: ClassVar[str] = "anthropic"
    rate_limits = staticmethod(anthropic_limits)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key; raises where there is no key."""
        return SERVICE.account(model) if model.client is None else model.client.account

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:  # noqa: ARG002
        """Build the request for one sample, the only number a request can ask for."""
        body = messages_body(ask, dropped)
        address, version = _server(ask.model)
        model = ask.model.name
        parameters = messages_parameters(body) | {name: body[name] for name in ask.params if name in body}
        extra, images = frozenset(ask.params), {image.reference: image for _, image in ask.images}
        return Request(self.name, address.url, version, ENDPOINT, body, model, parameters, NOT_IN_KEY, extra, images)

    def client(self, model: Model, connection: protocol.Connection) -> protocol.Client:
        """Make a client for the model's server, in the running event loop, or send by the user's own."""
        if model.client is not None:
            return model.client.connected(connection, VERSION_HEADER)
        return self._sdk_client(model, connection)

    def batches(self, model: Model, connection: protocol.Connection, version: str) -> protocol.BatchClient:
        """Make what sends batches to the model's server."""
        return AnthropicBatches(self._sdk_client(model, connection, capped=False), service.version_alone(version))

    def _sdk_client(self, model: Model, connection: protocol.Connection, *, capped: bool = True) -> SdkClient:
        # The SDK and what it stands on take most of a second to import.
        import anthropic  # noqa: PLC0415

        from bonwise.calls.providers.clients import SdkClient, connecting  # noqa: PLC0415

        access = SERVICE.access(model.base_url)
        key, is_token = access.key, access.key.variable == "ANTHROPIC_AUTH_TOKEN"
        settings = connecting(anthropic, access.address, connection, access.headers, capped=capped)
        client = anthropic.AsyncAnthropic(
            api_key=None if is_token else key.secret or NO_KEY,
            auth_token=key.secret if is_token else None,
            **settings,
        )
        return SdkClient(
            client, settings["http_client"], anthropic, access.address.origin, VERSION_HEADER, secrets=access.secrets
        )

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        return messages_reply(content)

    def problem(self, response: protocol.Response, now: float) -> Problem:
        """Say what an unsuccessful response means."""
        return wire.problem_of(response, now, NAMES)


_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What a live call would have answered with an error of a kind; any other is of status 500."""


class AnthropicBatches:
    """The batches of one server, by ``/v1/messages/batches``; nothing but its requests tells whose a batch is."""

    most_requests, most_bytes = 100_000, 256 * 10**6
    is_marked = False

    def __init__(self, client: SdkClient, version: str) -> None:
        self._client = client
        self._headers = {VERSION_HEADER: version}
        self.aclose = client.aclose

    def line(self, custom_id: str, endpoint: str, body: str) -> bytes:  # noqa: ARG002 - the interface of others
        """Return one request as a part of the list."""
        return f',{{"custom_id":"{custom_id}","params":{body}}}'.encode()

    async def submit(self, lines: IO[bytes], endpoint: str, mark: str) -> str:  # noqa: ARG002 - as above
        """Create the batch, its list read from the file piece by piece, and return its id."""
        from bonwise.calls.providers.clients import pieces_of  # noqa: PLC0415 - what sends is loaded when needed

        before, after = b'{"requests":[', b"]}"
        size = lines.seek(0, os.SEEK_END) - lines.seek(1)  # each line begins with a comma
        headers = {**self._headers, "content-length": str(len(before) + size + len(after))}

        async def created(sdk: Any) -> Any:
            response = await sdk.post(
                f"{ENDPOINT}/batches",
                content=pieces_of(lines, before, after),
                cast_to=protocol.http_library(import_module("anthropic")).Response,
                options={"headers": headers},
            )
            return wire.loaded_line(response.content).get("id")

        return str(await self._client.do(created, _problem) or "")

    async def sent_since(self, since: float, mark: str, requests: int) -> list[protocol.BatchStatus]:  # noqa: ARG002
        """Return the batches of so many requests: which of them it is, only their results tell."""

        async def alike(sdk: Any) -> list[protocol.BatchStatus]:
            as_large = []
            async for batch in sdk.messages.batches.list(limit=100, extra_headers=self._headers):
                if batch.created_at.timestamp() < since:
                    break
                if _requests(batch) == requests:
                    as_large.append(_batch_status(batch))
            return as_large

        return await self._client.do(alike, _problem)

    async def status(self, batch: str) -> protocol.BatchStatus:
        """Ask how far a batch is."""
        asked = lambda sdk: sdk.messages.batches.retrieve(batch, extra_headers=self._headers)  # noqa: E731
        return _batch_status(await self._client.do(asked, _problem))

    async def results(self, status: protocol.BatchStatus) -> AsyncIterator[protocol.BatchLine]:
        """Yield the lines of its results."""
        for file in status.files:
            if not self._client.is_at(file):
                raise AttemptError(Problem("denied", "its results are at another server, which gets no key"))
            opened = partial(_results, batch=status.id, headers=self._headers)
            async for line in self._client.lines(opened, _problem):
                if line.strip():
                    yield _batch_line(wire.loaded_line(line))


@asynccontextmanager
async def _results(sdk: Any, batch: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    # Older SDKs have no other way to a response that is not read at once.
    decoder = await sdk.messages.batches.results(batch, extra_headers=headers)
    try:
        yield decoder
    finally:
        await decoder.close()


def _problem(response: protocol.Response, now: float) -> Problem:
    return wire.problem_of(response, now, NAMES)


def _requests(batch: Any) -> int:
    counts = batch.request_counts
    return int(counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired)


def _batch_status(batch: Any) -> protocol.BatchStatus:
    ended = batch.processing_status == "ended"
    files = (batch.results_url,) if ended and batch.results_url else ()
    gone = "" if files or not ended else "its results are no longer kept"
    return protocol.BatchStatus(batch.id, ended, _requests(batch) - batch.request_counts.processing, files, gone)


def _batch_line(line: Mapping[str, Any]) -> protocol.BatchLine:
    custom_id, result = _text(line.get("custom_id")), line.get("result")
    result = result if isinstance(result, dict) else {}
    kind = result.get("type")
    if kind == "succeeded":
        return protocol.BatchLine(custom_id, protocol.Response(200, {}, encoded(result.get("message"))))
    if kind == "errored":
        error = result.get("error")
        inner = error.get("error") if isinstance(error, dict) else None
        status = _STATUS.get(_text(inner.get("type")) if isinstance(inner, dict) else "", 500)
        return protocol.BatchLine(custom_id, protocol.Response(status, {}, encoded(error)))
    return protocol.BatchLine(custom_id, None, secrets.one_line(f"the batch has no answer: {_text(kind)}"))


def _server(model: Model) -> tuple[service.Address, str]:
    """Return where the requests go, and the version that enters the ledger's key."""
    if model.client is not None:
        return model.client.address, model.client.version(_version_of(model.client), VERSION_HEADER)
    return SERVICE.server(model.base_url, _version(), VERSION_HEADER)


def _version_of(client: supplied.SuppliedClient) -> str:
    """Return the version that is sent by a client of the user's; Bedrock and Vertex get theirs from the SDK."""
    if not client.sends(VERSION_HEADER):
        return ""
    return client.headers.values.get(VERSION_HEADER) or API_VERSION


def _version() -> str:
    """Return the version that is sent: the environment's headers may name another, and then mean it."""
    return service.custom_headers(SERVICE.headers_variable).values.get(VERSION_HEADER) or API_VERSION


def messages_body(ask: Ask, dropped: frozenset[str]) -> dict[str, Any]:
    """Build the body: never with a temperature, log probabilities or several samples."""
    body: dict[str, Any] = {
        "model": ask.model.name,
        "max_tokens": ask.max_tokens,
        "messages": [{"role": "user", "content": [*map(_block, ask.pieces())] if ask.images else ask.user}],
    }
    if ask.system:
        body["system"] = ask.system
    body |= {name: value for name, value in ask.params.items() if name not in dropped}
    if ask.schema is not None and "output_config" not in dropped:
        form = {"type": "json_schema", "schema": dict(ask.schema)}
        body["output_config"] = {**ask.params.get("output_config", {}), "format": form}
    return body


def _block(piece: str | Image) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    as_base64 = {"type": "base64", "media_type": piece.media_type, "data": piece.reference}
    return {"type": "image", "source": {"type": "url", "url": piece.reference} if piece.address else as_base64}


def messages_parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a body shapes the sampling."""
    return {"max_tokens": body["max_tokens"], "schema": "output_config" in body}


def messages_reply(content: bytes) -> Reply:
    """Read a successful response; what is not an answer is a `ValueError`."""
    body = wire.loaded(content)
    blocks = body.get("content")
    if not isinstance(blocks, list):
        raise ValueError("an answer without content")  # noqa: TRY004 - the contract of readers is ValueError
    word = _text(body.get("stop_reason"))
    finish, text, elsewhere = _FINISH.get(word, "other"), _said(blocks), ""
    if not text.strip() and (finish == "stop" or word in {"", "tool_use"}):
        text, elsewhere = _elsewhere(blocks)
        finish = "stop" if text else finish
    choice = Choice(text, finish, _detail(word, body.get("stop_details")), elsewhere=elsewhere)
    usage, partial_usage = _usage(body.get("usage"), said=bool(choice.text))
    return Reply((choice,), usage, model=_text(body.get("model")), partial_usage=partial_usage)


def _said(blocks: list[Any]) -> str:
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "".join(_text(text) for text in texts)


def _elsewhere(blocks: list[Any]) -> tuple[str, str]:
    """Return the answer of blocks without words; or else where the words stand and what to set."""
    named = [block for block in blocks if isinstance(block, dict)]
    calls = [block.get("input") for block in named if block.get("type") == "tool_use"]
    thinking = "".join(_text(block.get("thinking")) for block in named if block.get("type") == "thinking")
    return wire.answer_elsewhere(calls, thinking, "thinking")


def _detail(word: str, details: object) -> str:
    category = _text(details.get("category")) if isinstance(details, dict) else ""
    return f"{word}: {category}" if category else word


def _usage(usage: object, *, said: bool) -> tuple[Usage | None, PartialUsage | None]:
    if not isinstance(usage, dict):
        return None, None
    split, details = usage.get("cache_creation"), usage.get("output_tokens_details")
    split, details = (part if isinstance(part, dict) else {} for part in (split, details))
    # The input's tokens leave out those read from the cache and those written to it.
    inputs = (
        usage.get("input_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cache_creation_input_tokens"),
        split.get("ephemeral_1h_input_tokens"),
        split.get("ephemeral_5m_input_tokens"),
    )
    uncached, read, written, hour, minutes = wire.counts(*inputs)
    output, reasoning = wire.counts(usage.get("output_tokens"), details.get("thinking_tokens"))
    # Five minutes is how long a cache lives unless more was asked for.
    minutes = max(written - hour, minutes)
    counted = Usage(uncached, read, minutes, hour, output, reasoning)
    # Every prompt has tokens, and so has every answer that says something: there, zero is no count.
    readable = wire.count_of(inputs[0]) is not None and all(
        part is None or wire.count_of(part) is not None for part in inputs
    )
    output_told = output > 0 or (not said and wire.count_of(usage.get("output_tokens")) is not None)
    return wire.usages(
        counted, input_told=readable and counted.input > 0, output_told=output_told, total=usage.get("total_tokens")
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
