"""Decide what a service answers, without any network; count what it has seen and what it was paid for."""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote

from bonwise.calls.ask import Choice, Reply
from bonwise.calls.bill import Usage
from bonwise.calls.rate_limits import RateLimits, Window
from bonwise.errors import UsageError
from bonwise.testing.faults import Fault, Faults
from bonwise.testing.stand_in import stand_in
from bonwise.testing.wire import (
    Service,
    WireError,
    WireRequest,
    WireResponse,
    body_digest,
    broken_stream,
    error_response,
    rate_limit_headers,
    reply_body,
    service_of,
    tokens,
)

__all__ = ["IGNORABLE", "Cloud", "Counts", "Delivery", "RequestTarget", "Script", "endpoint_of"]


Cloud = Literal["", "azure", "bedrock", "vertex"]

_AZURE = re.compile(r"/openai/deployments/.+/chat/completions$")
_NAMING_PATHS: Mapping[Cloud, re.Pattern[str]] = {
    "bedrock": re.compile(r"/model/(?P<model>[^/]+)/invoke$"),
    # Some SDKs quote a slash in a model's name, and some do not.
    "vertex": re.compile(r"/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>.+):rawPredict$"),
}
"""Paths that name the model, which the body then does not."""


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request went."""

    service: Service
    """Whose language is spoken there."""
    cloud: Cloud = ""
    """Empty at the service itself."""
    model: str = ""
    """The model that the path names; empty where the body does."""

    def whole(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body as the service would get it, with the model; WireError where the cloud would refuse it."""
        if not self.model:
            return dict(body)
        if "model" in body:
            raise WireError("invalid", "model: Extra inputs are not permitted", "model")
        if not body.get("anthropic_version"):
            raise WireError("invalid", "anthropic_version: Field required", "anthropic_version")
        return {"model": self.model, **body}

    def keys(self, headers: Mapping[str, str]) -> set[str]:
        """Return the keys that a request shows; of a signed one the id of its key."""
        names = ["authorization"]
        if self.service == "anthropic" and not self.cloud:
            # Anthropic takes either header, and its SDK has sent both.
            names = ["x-api-key", "authorization"]
        elif self.cloud == "azure":
            names = ["api-key", "authorization"]
        shown = {headers.get(name, "").removeprefix("Bearer ") for name in names}
        signed = re.search(r"Credential=([^/]+)/", headers.get("authorization", ""))
        return shown if signed is None else {signed[1]}


def endpoint_of(path: str) -> RequestTarget | None:
    """Tell whose endpoint a path is; None where it is nobody's."""
    service = service_of(path)
    if service is None:
        return None
    if service == "openai":
        return RequestTarget(service, "azure" if _AZURE.search(path) else "")
    for cloud, pattern in _NAMING_PATHS.items():
        found = pattern.search(path)
        if found:
            return RequestTarget(service, cloud, unquote(found["model"]))
    return RequestTarget(service) if path.endswith("/v1/messages") else None


_OVERLOADED = 529
"""Only Anthropic itself has this status."""

_BEDROCK = {
    400: "ValidationException",
    403: "UnrecognizedClientException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_VERTEX = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


_AZURE_FILTER = {
    "type": None,
    "status": 400,
    "innererror": {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {
            "hate": {"filtered": True, "severity": "high"},
            "jailbreak": {"filtered": False, "detected": False},
        },
    },
}


def request_id_header(service: Service, cloud: Cloud) -> str:
    """Return the header in which a server names a request."""
    if cloud == "bedrock":
        return "x-amzn-requestid"
    return "x-request-id" if service == "openai" else "request-id"


def as_cloud_error(cloud: Cloud, response: WireResponse) -> WireResponse:
    """Return a service's error as a cloud would say it."""
    error = json.loads(response.content)["error"]
    if cloud == "azure" and error["code"] == "content_filter":
        return replace(response, content=json.dumps({"error": {**error, **_AZURE_FILTER}}).encode())
    if cloud not in {"bedrock", "vertex"}:
        return response
    message = error["message"]
    status = 503 if response.status == _OVERLOADED else response.status
    if cloud == "vertex":
        error = {"code": status, "message": message, "status": _VERTEX.get(status, "UNKNOWN")}
        return WireResponse(status, response.headers, json.dumps({"error": error}).encode())
    # Bedrock does not say when to come back.
    status = 403 if status == 401 else status
    kind = _BEDROCK.get(status, "ModelErrorException")
    return WireResponse(status, {"x-amzn-errortype": kind}, json.dumps({"message": message}).encode())


@dataclass(slots=True)
class Counts:
    """What a scripted service has seen.

    Examples
    --------
    >>> Counts(paid=Counter({"a": 2, "b": 1})).paid_again
    {'a': 1}
    """

    requests: int = 0
    """All that arrived, whatever they got."""
    paid: Counter[str] = field(default_factory=Counter)
    """By `bonwise.testing.wire.body_digest`: requests that were accepted and worked on. They are paid even if the
    connection breaks, the answer is unreadable, or nobody waits for it.
    """
    delivered: Counter[str] = field(default_factory=Counter)
    """By digest: paid answers that were handed over whole."""
    refusals: int = 0
    """Paid answers in which the model refused."""
    faults: Counter[str] = field(default_factory=Counter)
    """By kind: errors sent and faults played."""
    in_flight: int = 0
    """Requests at work now, and the most there were at once."""
    peak: int = 0
    """Requests at work now, and the most there were at once."""

    @property
    def answers(self) -> int:
        """All paid answers."""
        return self.paid.total()

    @property
    def paid_again(self) -> dict[str, int]:
        """How often each body was paid beyond the first time; bodies paid once are left out."""
        return {digest: times - 1 for digest, times in self.paid.items() if times > 1}

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON's types, with the totals."""
        return {
            "requests": self.requests,
            "answers": self.answers,
            "paid": dict(self.paid),
            "paid_again": self.paid_again,
            "delivered": dict(self.delivered),
            "refusals": self.refusals,
            "faults": dict(self.faults),
            "in_flight": self.in_flight,
            "peak": self.peak,
        }


IGNORABLE: Mapping[str, frozenset[str]] = {
    "n": frozenset({"n"}),
    "logprobs": frozenset({"logprobs", "top_logprobs"}),
    "schema": frozenset({"response_format", "output_config"}),
}
"""What a server may ignore, with the parameters that this means."""

_MINUTE = 60.0
_NOT_PLAYED = ("stream", "tools", "functions")
_FOREIGN = {"openai": ("output_config",), "anthropic": ("n", "logprobs", "top_logprobs", "response_format")}


@dataclass(slots=True)
class Delivery:
    """A response and how it is to be handed over."""

    response: WireResponse
    delay: float = 0.0
    """Seconds before the first byte."""
    cut_at: int | None = None
    """Break the connection after so many bytes of the content."""
    digest: str = ""
    """Of the body, where the answer is paid; empty otherwise."""


@dataclass(eq=False)
class Script:
    """A model service that is not there: OpenAI's or Anthropic's own, or one of Azure, Bedrock or Vertex.

    What it answers depends on the request, on the seed and on how often the same body was asked before, never on
    the order of different requests (but for `rate_limit` and `quota`, which count them). Not for several threads.

    Attributes
    ----------
    counts : Counts
        What was seen and paid so far.

    Examples
    --------
    >>> script = Script(answer=lambda request: request.user.upper())
    >>> body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
    >>> said = script.receive("POST", "/v1/chat/completions", {}, body, now=0.0)
    >>> json.loads(said.response.content)["choices"][0]["message"]["content"]
    'HI'
    """

    answer: Callable[[WireRequest], str | Choice] = stand_in
    """From a `bonwise.testing.wire.WireRequest` to the text of the answer, or to a `bonwise.calls.ask.Choice` where
    it should end otherwise or carry log probabilities. Called once a sample. See `bonwise.testing.stand_in.stand_in`
    for the default.
    """
    faults: Faults = field(default_factory=Faults, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    """Of the faults."""
    latency: float = field(default=0.0, kw_only=True)
    """Seconds before each response."""
    rate_limit: int | None = field(default=None, kw_only=True)
    """Requests accepted in any minute; more get 429, and all responses carry the headers."""
    ignores: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Of ``n``, ``logprobs`` and ``schema``: taken without a word, and without effect."""
    refuses_parameters: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Fields of a body that get 400."""
    usage: Callable[[WireRequest, Reply], Usage | None] | None = field(default=None, kw_only=True)
    """From the request and the reply to its `Usage`, or to None; by default about four characters a token."""
    context_length: int | None = field(default=None, kw_only=True)
    """More prompt tokens than this get 400."""
    quota: int | None = field(default=None, kw_only=True)
    """So many answers are paid; later requests find the account exhausted."""
    keys: frozenset[str] | None = field(default=None, kw_only=True)
    """The API keys and models that exist; by default any, and any."""
    models: frozenset[str] | None = field(default=None, kw_only=True)
    """The API keys and models that exist; by default any, and any."""
    on_paid: Callable[[WireRequest], None] | None = field(default=None, kw_only=True)
    """Called with each `WireRequest` when it is accepted, before it is answered."""
    clock: Callable[[], float] = field(default=time.time, kw_only=True, repr=False)
    """Seconds since 1970, for headers that name an instant."""
    counts: Counts = field(default_factory=Counts, init=False, repr=False)
    _attempts: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    _accepted: deque[float] = field(default_factory=deque, init=False, repr=False)

    def __post_init__(self) -> None:
        unknown = set(self.ignores) - IGNORABLE.keys()
        if unknown:
            raise UsageError(f"cannot ignore {sorted(unknown)}", hint=f"choose from {', '.join(IGNORABLE)}")
        # A plain set is what people write.
        self.refuses_parameters = frozenset(self.refuses_parameters)

    def receive(self, method: str, path: str, headers: Mapping[str, str], content: bytes, now: float) -> Delivery:
        """Take a request in and decide what becomes of it; `finish` is to follow.

        Parameters
        ----------
        method, path : str
        headers : mapping of str to str
            In lower case.
        content : bytes
        now : float
            Seconds of any clock that does not go back, for the rate limit.
        """
        self.counts.requests += 1
        self.counts.in_flight += 1
        self.counts.peak = max(self.counts.peak, self.counts.in_flight)
        request_target = endpoint_of(path)
        endpoint = request_target or RequestTarget("anthropic" if "anthropic-version" in headers else "openai")
        request_id = f"req_{self.seed:08x}{self.counts.requests:016x}"
        try:
            _check_path(method, path, request_target)
            delivery = self._answered(self._read(endpoint, headers, content), now)
        except WireError as error:
            self.counts.faults[error.kind] += 1
            said = error_response(endpoint.service, error, request_id)
            delivery = Delivery(as_cloud_error(endpoint.cloud, said), self.latency)
        except BaseException:
            self.counts.in_flight -= 1
            raise
        self._sign(endpoint, delivery, request_id, now)
        return delivery

    def finish(self, delivery: Delivery, *, whole: bool) -> None:
        """Note that a request is done with, and whether its response was handed over whole."""
        self.counts.in_flight -= 1
        if whole and delivery.digest:
            self.counts.delivered[delivery.digest] += 1

    def _read(self, endpoint: RequestTarget, headers: Mapping[str, str], content: bytes) -> WireRequest:
        service = endpoint.service
        if self.keys is not None and self.keys.isdisjoint(endpoint.keys(headers)):
            raise WireError("denied")
        body = endpoint.whole(_parsed(content))
        _check_form(service, body)
        digest = body_digest(body)
        hidden = frozenset().union(*(IGNORABLE[name] for name in self.ignores))
        heard = {name: one for name, one in body.items() if name not in hidden} if hidden else body
        request = WireRequest(service, heard, digest, attempt=self._attempts[digest])
        if self.models is not None and request.model not in self.models:
            raise WireError("unknown_model")
        for name in body:
            if name in self.refuses_parameters:
                raise WireError("unsupported", parameter=name)
        if self.context_length is not None and _prompt_tokens(request) > self.context_length:
            raise WireError("too_long")
        return request

    def _answered(self, request: WireRequest, now: float) -> Delivery:
        self._admit(now)
        self._attempts[request.digest] += 1
        fault = self.faults.of_attempt(self.seed, request.digest, request.attempt)
        match fault:
            case "throttled":
                raise WireError(fault, retry_after=self.faults.wait(self.seed, request.digest, request.attempt))
            case "server_error" | "overloaded":
                raise WireError(fault)
        if self.faults.refused(self.seed, request.digest, "filtered"):
            raise WireError("filtered")
        self.counts.paid[request.digest] += 1
        if self.on_paid is not None:
            self.on_paid(request)
        content = reply_body(request, self._reply(request))
        delivery = Delivery(WireResponse(200, {}, content), self.latency, digest=request.digest)
        return self._faulty(request.service, delivery, fault)

    def _admit(self, now: float) -> None:
        if self.quota is not None and self.counts.answers >= self.quota:
            raise WireError("quota")
        if self.rate_limit is None:
            return
        while self._accepted and self._accepted[0] <= now - _MINUTE:
            self._accepted.popleft()
        if len(self._accepted) >= self.rate_limit:
            raise WireError("throttled", retry_after=max(0.001, self._accepted[0] + _MINUTE - now))
        self._accepted.append(now)

    def _reply(self, request: WireRequest) -> Reply:
        if self.faults.refused(self.seed, request.digest):
            self.counts.refusals += 1
            choices = tuple(Choice("", "refusal", "I cannot help with that.") for _ in range(request.samples))
        else:
            choices = (
                self._choice(request),
                *(self._choice(replace(request, sample=at)) for at in range(1, request.samples)),
            )
        reply = Reply(choices, None, request.model, "fp_scripted")
        return replace(reply, usage=(self.usage or _usage)(request, reply))

    def _choice(self, request: WireRequest) -> Choice:
        said = self.answer(request)
        choice = said if isinstance(said, Choice) else Choice(said)
        pieces = tokens(choice.text) if choice.logprobs is None else [logprob.token for logprob in choice.logprobs]
        most = len(pieces)
        if self.faults.cut_short(self.seed, request.digest, request.sample):
            self.counts.faults["truncated"] += 1
            most //= 2
        elif request.max_tokens is None or most <= request.max_tokens:
            return choice
        most = min(most, request.max_tokens or most)
        told = None if choice.logprobs is None else choice.logprobs[:most]
        return Choice("".join(pieces[:most]), "length", logprobs=told)

    def _faulty(self, service: Service, delivery: Delivery, fault: Fault | None) -> Delivery:
        if fault is None:
            return delivery
        self.counts.faults[fault] += 1
        response = delivery.response
        half = len(response.content) // 2
        match fault:
            case "slow":
                delivery.delay += self.faults.slow_seconds
            case "cut":
                delivery.cut_at = half
            case "malformed":
                delivery.response = replace(response, content=response.content[:half])
            case "broken_stream":
                delivery.response = broken_stream(service, response)
        return delivery

    def _sign(self, endpoint: RequestTarget, delivery: Delivery, request_id: str, now: float) -> None:
        """Add the headers that every response has."""
        service = endpoint.service
        named = request_id_header(service, endpoint.cloud)
        headers = {"content-type": "application/json", named: request_id, **delivery.response.headers}
        if self.rate_limit is not None and endpoint.cloud not in {"bedrock", "vertex"}:
            reset = max(0.0, self._accepted[-1] + _MINUTE - now) if self._accepted else 0.0
            window = Window(self.rate_limit, self.rate_limit - len(self._accepted), reset)
            headers |= rate_limit_headers(service, RateLimits(requests=window), self.clock())
        delivery.response = WireResponse(delivery.response.status, headers, delivery.response.content)


def _check_path(method: str, path: str, found: RequestTarget | None) -> None:
    if method != "POST" or found is None:
        raise WireError("unknown_path", f"Invalid URL ({method} {path})")


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise WireError("invalid", "We could not parse the JSON body of your request.") from None
    if not isinstance(body, dict):
        raise WireError("invalid", "The JSON body of your request is no object.")
    return body


def _no_number(name: str) -> None:
    raise ValueError(name)


def _check_form(service: Service, body: Mapping[str, Any]) -> None:
    messages = body.get("messages")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise WireError("invalid", "you must provide a model parameter", "model")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise WireError("invalid", "messages: expected a list of at least one message", "messages")
    if service == "anthropic" and "max_tokens" not in body:
        raise WireError("invalid", "max_tokens: Field required", "max_tokens")
    for name, least in (("n", 1), ("max_tokens", 1), ("max_completion_tokens", 1), ("top_logprobs", 0)):
        value = body.get(name, least)
        if value is not None and (not isinstance(value, int) or value < least):
            raise WireError("invalid", f"{name}: expected a whole number of at least {least}", name)
    for name in _FOREIGN[service]:
        if name in body:
            raise WireError("invalid", f"{name}: Extra inputs are not permitted", name)
    for name in _NOT_PLAYED:
        if body.get(name):
            raise WireError("invalid", f"{name}: a scripted service does not play this", name)


def _prompt_tokens(request: WireRequest) -> int:
    return math.ceil((len(request.system) + len(request.user)) / 4)


def _usage(request: WireRequest, reply: Reply) -> Usage:
    return Usage(uncached=_prompt_tokens(request), output=sum(len(tokens(choice.text)) for choice in reply.choices))
