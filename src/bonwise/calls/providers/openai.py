"""OpenAI, and every server that speaks its Chat Completions."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import IO, TYPE_CHECKING, Any, ClassVar

from bonwise.calls.ask import (
    Ask,
    Choice,
    Finish,
    Model,
    Problem,
    Reply,
    Request,
    TokenLogprobs,
    encoded,
    logprobs_taken,
)
from bonwise.calls.bill import Usage
from bonwise.calls.providers import protocol, secrets, service, wire
from bonwise.calls.rate_limits import openai_limits

if TYPE_CHECKING:
    from bonwise.calls.providers.clients import SdkClient
    from bonwise.table.images import Image

SERVICE = service.Service(
    "openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY",), "OPENAI_CUSTOM_HEADERS"
)
ENDPOINT = "/chat/completions"
DECISIONS = "/decisions"
NO_KEY = "none"
"""Sent where no key is set: the SDK insists on one, and servers of one's own need none."""


MOST_LOGPROBS = 20
"""More alternatives for a token cannot be asked for."""

NOT_IN_KEY = frozenset({"n", "metadata", "user", "safety_identifier"})
"""Fields that change nothing in what an answer says. ``n`` asks for several at once; the sample index says which."""

NAMES: Mapping[str, str] = {
    "temperature": r"(?<!\w)temperature(?!\w)",
    "response_format": r"(?<!\w)response[_ ]format(?!\w)|(?:json|JSON)[_ ](?:schema|mode)|guided decoding"
    r"|[Ss]tructured [Oo]utputs?",
    "logprobs": r"(?<!\w)logprobs(?!\w)",
    "top_logprobs": r"(?<!\w)top_logprobs(?!\w)",
    "n": r"""['"`]n['"`]|\bn (?:must|=|>)|\bn:""",
    "max_completion_tokens": r"(?<!\w)max_completion_tokens(?!\w)",
    "max_tokens": r"(?<!\w)max_tokens(?!\w)",
}
"""What a request can do without, and how servers call it."""

SETS = frozenset({"model", "messages", "input", "questions", "stream", *NAMES})
"""Fields that no parameter of the user's may set."""

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
    "recitation": "filter",
    "prohibited_content": "filter",
    "blocklist": "filter",
    "spii": "filter",
    "refusal": "refusal",
}

_FAILED = frozenset({"error", "network_error", "insufficient_system_resource", "abort", "aborted"})
"""Words for an end that is the server's failure."""

_THINKING = ("reasoning_content", "reasoning", "thinking")
"""What servers call the field of the thinking."""


class OpenAI:
    """Chat Completions, through the official SDK.

    The key is read from ``OPENAI_API_KEY``; a server of one's own (``base_url`` or ``OPENAI_BASE_URL``)
    works without one.
    """

    name: ClassVar[str] = "openai"
    capabilities: ClassVar[protocol.Capabilities] = protocol.Capabilities(
        temperature=True,
        samples=True,
        logprobs=True,
        schema=True,
        draws_differ_by="sampling at the temperature that was sent",
        seed=True,
        images=True,
        decisions=True,
    )

    sets: ClassVar[frozenset[str]] = SETS
    sdk: ClassVar[str] = "openai"
    rate_limits = staticmethod(openai_limits)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key; raises where there is no key."""
        return SERVICE.account(model) if model.client is None else model.client.account

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:
        """Build the request for some samples of an ask, without the parameters known to be refused."""
        decides = ask.question is not None
        body = decision_body(ask, dropped) if decides else chat_body(ask, samples, dropped)
        address, version = _server(ask.model)
        parameters = {} if decides else chat_parameters(body)
        parameters |= {name: body[name] for name in ask.params if name in body}
        where, extra = DECISIONS if decides else ENDPOINT, frozenset(ask.params)
        model, images = ask.model.name, {image.reference: image for _, image in ask.images}
        return Request(self.name, address.url, version, where, body, model, parameters, NOT_IN_KEY, extra, images)

    def client(self, model: Model, connection: protocol.Connection) -> protocol.Client:
        """Make a client for the model's server, in the running event loop, or send by the user's own."""
        if model.client is not None:
            return model.client.connected(connection)
        return self._sdk_client(model, connection)

    def batches(self, model: Model, connection: protocol.Connection, version: str) -> protocol.BatchClient:  # noqa: ARG002
        """Make what sends batches to the model's server."""
        return OpenAIBatches(self._sdk_client(model, connection, capped=False))

    def _sdk_client(self, model: Model, connection: protocol.Connection, *, capped: bool = True) -> SdkClient:
        # The SDK and what it stands on take most of a second to import.
        import openai  # noqa: PLC0415

        from bonwise.calls.providers.clients import SdkClient, connecting  # noqa: PLC0415

        access = SERVICE.access(model.base_url)
        settings = connecting(openai, access.address, connection, access.headers, capped=capped)
        client = openai.AsyncOpenAI(api_key=access.key.secret or NO_KEY, **settings)
        # Whose the account is, the SDK reads from the environment and sends along.
        account = (client.organization or "", client.project or "")
        return SdkClient(
            client, settings["http_client"], openai, access.address.origin, secrets=(*account, *access.secrets)
        )

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        return chat_reply(content)

    def problem(self, response: protocol.Response, now: float) -> Problem:
        """Say what an unsuccessful response means."""
        return wire.problem_of(response, now, NAMES)


_WAITS = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
"""States of a batch whose results are still to come."""


class OpenAIBatches:
    """The batches of one server, by ``/files`` and ``/batches``; the mark of a submission is in its metadata."""

    most_requests, most_bytes = 50_000, 200 * 10**6
    is_marked = True

    def __init__(self, client: SdkClient) -> None:
        self._client = client
        self.aclose = client.aclose

    def line(self, custom_id: str, endpoint: str, body: str) -> bytes:
        """Return one request as a line of the input file."""
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":"/v1{endpoint}","body":'
        return f"{head}{body}}}\n".encode()

    async def submit(self, lines: IO[bytes], endpoint: str, mark: str) -> str:
        """Upload the input, create a batch of it, and return its id."""
        lines.seek(0)
        named = (f"bonwise-{mark}.jsonl", lines, "application/jsonl")
        file = await self._client.do(lambda sdk: sdk.files.create(file=named, purpose="batch"), _problem)
        asked = {"input_file_id": file.id, "endpoint": f"/v1{endpoint}", "completion_window": "24h"}
        batch = await self._client.do(lambda sdk: sdk.batches.create(**asked, metadata={"bonwise": mark}), _problem)
        return str(batch.id or "")

    async def sent_since(self, since: float, mark: str, requests: int) -> list[protocol.BatchStatus]:  # noqa: ARG002
        """Return the batches that carry the mark."""

        async def marked(sdk: Any) -> list[protocol.BatchStatus]:
            with_mark = []
            async for batch in sdk.batches.list(limit=100):
                if batch.created_at < since:
                    break
                if (batch.metadata or {}).get("bonwise") == mark:
                    with_mark.append(_batch_status(batch))
            return with_mark

        return await self._client.do(marked, _problem)

    async def status(self, batch: str) -> protocol.BatchStatus:
        """Ask how far a batch is."""
        return _batch_status(await self._client.do(lambda sdk: sdk.batches.retrieve(batch), _problem))

    async def results(self, status: protocol.BatchStatus) -> AsyncIterator[protocol.BatchLine]:
        """Yield the lines of its output file and of its error file."""
        for file in status.files:
            opened = partial(_streamed, file=file)
            async for line in self._client.lines(opened, _problem):
                if line.strip():
                    yield _batch_line(wire.loaded_line(line))


def _streamed(sdk: Any, file: str) -> Any:
    return sdk.files.with_streaming_response.content(file)


def _problem(response: protocol.Response, now: float) -> Problem:
    return wire.problem_of(response, now, NAMES)


def _batch_status(batch: Any) -> protocol.BatchStatus:
    counts = batch.request_counts
    files = tuple(file for file in (batch.output_file_id, batch.error_file_id) if file)
    errors = [error.message or error.code or "" for error in (batch.errors and batch.errors.data) or ()]
    failure = secrets.one_line(f"the service refused the batch: {'; '.join(errors[:3]) or batch.status}")
    failed = batch.status == "failed" and not files
    done = counts.completed + counts.failed if counts else 0
    return protocol.BatchStatus(batch.id, batch.status not in _WAITS, done, files, failure if failed else "")


def _batch_line(line: Mapping[str, Any]) -> protocol.BatchLine:
    response, error = line.get("response"), line.get("error")
    custom_id = _text(line.get("custom_id"))
    if isinstance(response, dict) and response.get("body") is not None:
        headers = {"x-request-id": _text(response.get("request_id"))}
        status = wire.count_of(response.get("status_code")) or 500
        return protocol.BatchLine(custom_id, protocol.Response(status, headers, encoded(response["body"])))
    words = _text(error.get("message")) or _text(error.get("code")) if isinstance(error, dict) else ""
    return protocol.BatchLine(custom_id, None, secrets.one_line(words or "the batch has no answer"))


def _server(model: Model) -> tuple[service.Address, str]:
    """Return where the requests go, and the version that enters the ledger's key."""
    if model.client is not None:
        return model.client.address, model.client.version()
    return SERVICE.server(model.base_url)


def chat_body(ask: Ask, samples: int, dropped: frozenset[str]) -> dict[str, Any]:
    """Build the body; a parameter in `dropped` is left out, and a limit of tokens always stands."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": ask.system}] if ask.system else []
    messages.append({"role": "user", "content": [_part(piece) for piece in ask.pieces()] if ask.images else ask.user})
    body: dict[str, Any] = {"model": ask.model.name, "messages": messages, _limit(dropped): ask.max_tokens}
    if ask.temperature is not None:
        body["temperature"] = ask.temperature
    if samples > 1:
        body["n"] = samples
    if ask.top_logprobs and "logprobs" not in dropped:
        most = min(MOST_LOGPROBS, logprobs_taken(ask.top_logprobs, dropped))
        body |= {"logprobs": True, "top_logprobs": most}
    if ask.schema is not None:
        schema = {"name": "answer", "strict": True, "schema": dict(ask.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    body |= ask.params
    return {name: value for name, value in body.items() if name not in dropped or name == _limit(dropped)}


def decision_body(ask: Ask, dropped: frozenset[str]) -> dict[str, Any]:
    """Build the body of a question to the endpoint for decisions, which no SDK has to know."""
    question = {**(ask.question or {}), "instructions": ask.system}
    extra = {name: value for name, value in ask.params.items() if name not in dropped}
    parts = [_part(piece, "input_") for piece in ask.pieces()]
    judged: Any = [{"role": "user", "content": parts}] if ask.images else ask.user
    return {"model": ask.model.name, "input": judged, "questions": [question], **extra}


def _part(piece: str | Image, prefix: str = "") -> dict[str, Any]:
    """Return a part of what is judged, in which a reference stands for an image."""
    if isinstance(piece, str):
        return {"type": f"{prefix}text", "text": piece}
    url: Any = piece.reference if prefix else {"url": piece.reference}
    return {"type": "input_image" if prefix else "image_url", "image_url": url}


def chat_parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a body shapes the sampling."""
    parameters = {name: body[name] for name in ("temperature", "top_logprobs", "n") if name in body}
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return {"max_tokens": limit, "schema": "response_format" in body, **parameters}


def chat_reply(content: bytes) -> Reply:
    """Read a successful response; what is not an answer is a `ValueError`."""
    body = wire.loaded(content)
    choices = body.get("choices", body.get("answers"))
    if not isinstance(choices, list) or not choices:
        raise ValueError("an answer without choices")
    read = tuple(map(_choice if "choices" in body else _decision, choices))
    usage, partial_usage = wire.chat_usages(body.get("usage"), said=any(choice.text for choice in read))
    return Reply(
        read,
        usage,
        model=_text(body.get("model")),
        fingerprint=_text(body.get("system_fingerprint")),
        partial_usage=partial_usage,
    )


def chat_usage(usage: object) -> Usage | None:
    """Return the usage that a successful response states; None where it states none, or only a part."""
    return wire.chat_usages(usage, said=True)[0]


def _limit(dropped: frozenset[str]) -> str:
    old = "max_completion_tokens" in dropped and "max_tokens" not in dropped
    return "max_tokens" if old else "max_completion_tokens"


def _choice(choice: object) -> Choice:
    if not isinstance(choice, dict):
        raise ValueError("a choice without a message")  # noqa: TRY004 - the contract of readers is ValueError
    word = _text(choice.get("finish_reason"))
    finish = _FINISH.get(word.lower().partition(":")[0], "other")
    failed = _failure(word, choice.get("error"))
    message = choice.get("message", {"content": choice.get("text")} if "text" in choice or failed else None)
    if message is None and finish == "filter":
        message = {}  # Azure's filter may take all of it
    if not isinstance(message, dict):
        raise ValueError("a choice without a message")  # noqa: TRY004 - the contract of readers is ValueError
    text, refusal = _content(message.get("content"))
    refusal = _text(message.get("refusal")) or refusal
    if refusal:
        return Choice(text or refusal, "refusal", refusal, _logprobs(choice.get("logprobs")))
    elsewhere = ""
    if not (text.strip() or failed) and (finish == "stop" or word in {"", "tool_calls", "function_call"}):
        text, elsewhere = _elsewhere(message)
        finish = "stop" if text else finish
    return Choice(text, finish, word, _logprobs(choice.get("logprobs")), failed, elsewhere)


def _decision(answer: object) -> Choice:
    if not isinstance(answer, dict) or not isinstance(answer.get("type"), str):
        raise ValueError("a decision without a type")  # noqa: TRY004 - the contract of readers is ValueError
    if answer["type"] == "refusal":
        return Choice("", "refusal", "the model declined to answer the question")
    return Choice(encoded(answer).decode())


def _failure(word: str, error: object) -> str:
    """Return why a choice is no answer, in one line; empty where the server names no failure."""
    if not error and word.lower() not in _FAILED:
        return ""
    words = error.get("message") if isinstance(error, dict) else error
    return (
        "the choice ended in an error: "
        f"{secrets.one_line(words) if isinstance(words, str) and words else word or 'unnamed'}"
    )


def _elsewhere(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the answer of a message without words; or else where its words stand and what to set."""
    calls, single = message.get("tool_calls"), message.get("function_call")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions += [single] if isinstance(single, dict) else []
    arguments = [function.get("arguments") if isinstance(function, dict) else None for function in functions]
    field = next((name for name in _THINKING if _text(message.get(name)).strip()), "")
    return wire.answer_elsewhere(arguments, _text(message.get(field)), field)


def _content(content: object) -> tuple[str, str]:
    """Return what was said and what was refused; parts of other kinds, such as reasoning, are neither."""
    if isinstance(content, dict) and "type" not in content:
        return encoded(content).decode() if content else "", ""  # a gateway has parsed the object of the schema
    if not isinstance(content, list | dict):
        return _text(content), ""
    listed = content if isinstance(content, list) else [content]
    if all(isinstance(part, str) for part in listed):
        return "".join(map(_text, listed)), ""
    parts = [part for part in listed if isinstance(part, dict)]
    words = "".join(_text(part.get("text")) for part in parts if part.get("type") in {"text", "output_text"})
    return words, "".join(_text(part.get("refusal")) for part in parts if part.get("type") == "refusal")


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
    if token["token"] not in alternatives and not _is_listed(token, alternatives):
        _add(alternatives, token)
    return TokenLogprobs(token["token"], alternatives)


def _is_listed(token: Mapping[str, Any], alternatives: Mapping[str, float]) -> bool:
    """Tell whether the chosen token stands among the likeliest with other white space, and is not one beside them."""
    value, word = _logprob(token.get("logprob")), token["token"].strip()
    if value is None or not any(other.strip() == word for other in alternatives):
        return False
    # A token beside the likeliest ones is not likelier than they are; servers round.
    return value >= min(alternatives.values()) - 0.001


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


def _sum(first: float, other: float) -> float:
    low, high = sorted((first, other))
    return high if high == -math.inf else high + math.log1p(math.exp(low - high))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
