"""Services that score documents by a query: Cohere, Jina, Voyage, and servers of vLLM and of TEI."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isfinite
from typing import Any, ClassVar

from bonwise.calls.ask import Ask, Choice, Model, Reply, Request, encoded
from bonwise.calls.bill import Usage
from bonwise.calls.providers import clients, protocol, service, wire
from bonwise.calls.rate_limits import openai_limits
from bonwise.errors import UsageError

_LOSING = frozenset({"model", "top_n", "top_k", "return_documents", "return_text"})
"""Fields that bonwise sets, or that would leave documents out."""
_KEPT = ("index", "relevance_score", "score", "classes")


def question(query: str | None, documents: list[str], route: str = "rerank") -> str:
    """Return what `Ask.user` holds where a service of this kind is asked; without a query it is None."""
    return encoded({"route": route, "query": query, "documents": documents}).decode()


@dataclass(frozen=True, eq=False)
class Reranker:
    """A provider whose requests hold one query and all documents."""

    name: str
    default_url: str
    routes: Mapping[str, tuple[str, str, str]]
    """By the name of a route its path, and what it calls the query (nothing in pairs) and the documents."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Fields that every request has."""
    local: bool = False
    """Whether the usual address is this machine, where no key is needed."""

    capabilities: ClassVar[protocol.Capabilities] = protocol.Capabilities(
        temperature=False,
        samples=False,
        logprobs=False,
        schema=False,
        draws_differ_by="the service's own noise only: its requests carry no temperature",
    )
    operation: ClassVar[str] = "rerank"
    sdk: ClassVar[str] = "openai"  # for its HTTP library alone
    rate_limits = staticmethod(openai_limits)
    problem = staticmethod(partial(wire.problem_of, names={}))

    @cached_property
    def service(self) -> service.Service:
        """The address, and the variables of the environment that speak of it."""
        stem = self.name.upper()
        variables = f"{stem}_BASE_URL", (f"{stem}_API_KEY",), f"{stem}_CUSTOM_HEADERS"
        return service.Service(self.name, self.default_url, *variables, needs_key=not self.local)

    @property
    def sets(self) -> frozenset[str]:
        """Fields that no parameter of the user's may set."""
        return _LOSING.union(*(names for _, *names in self.routes.values())) - {""}

    def route(self, name: str) -> tuple[str, str, str]:
        """Return a route; a `UsageError` where there is none of that name."""
        if name not in self.routes:
            raise UsageError(f"{self.name} has no route {name!r}", hint=f"its routes are {', '.join(self.routes)}")
        return self.routes[name]

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:  # noqa: ARG002
        """Build the request for all documents of a question."""
        try:
            asked = json.loads(ask.user)
            path, query, documents = self.route(asked["route"])
            texts = {query: asked["query"], documents: asked["documents"]} if query else _inputs(asked, documents)
        except (ValueError, TypeError, KeyError):
            wrong = f"{self.name} scores documents and answers no questions"
            raise UsageError(wrong, hint=f"write rerank:{ask.model}") from None
        extra = {name: value for name, value in ask.params.items() if name not in dropped}
        # TEI serves one model, and is not told which.
        model = {} if self.name == "tei" else {"model": ask.model.name}
        body = {**model, **texts, **self.constants, **extra}
        address, version = self.service.server(ask.model.base_url)
        sent = frozenset(ask.params)
        return Request(self.name, address.url, version, path, body, ask.model.name, extra, extra=sent)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key; raises where there is no key."""
        return self.service.account(model)

    def client(self, model: Model, connection: protocol.Connection) -> protocol.Client:
        """Make a client for the model's server, in the running event loop."""
        return _PlainClient(self.service.access(model.base_url), connection)

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        # TEI alone answers by a list, which holds no usage.
        bare = content.lstrip()[:1] == b"["
        body = wire.loaded(b'{"results":%b}' % content if bare else content)
        items, usage = body.get("results", body.get("data")), body.get("usage")
        if not isinstance(items, list):
            raise ValueError("an answer without scores")  # noqa: TRY004 - the contract of readers is ValueError
        items = [_with_classes(item, at) for at, item in enumerate(items)]
        scores = [
            {name: _plain(item[name]) for name in _KEPT if name in item} for item in items if isinstance(item, dict)
        ]
        total = wire.most_told(usage, "total_tokens", "prompt_tokens") if isinstance(usage, dict) else None
        return Reply((Choice(encoded(scores).decode()),), None if total is None else Usage(uncached=total))


def _inputs(asked: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return texts to classify: as they are for vLLM, each in a list for TEI, after the query if there is one."""
    query, documents = asked["query"], asked["documents"]
    if name == "input":
        return {name: documents}
    return {name: [[text] if query is None else [query, text] for text in documents]}


def _with_classes(item: Any, at: int) -> Any:
    """Return an item with the numbers of its classes by name: vLLM states them by place, TEI in a list per text."""
    if isinstance(item, list):
        parts = [part for part in item if isinstance(part, dict) and isinstance(part.get("label"), str)]
        named = {part["label"]: part.get("score") for part in parts}
        return {"index": at, "classes": named if len(named) == len(item) else {}}
    if isinstance(item, dict) and isinstance(item.get("probs"), list):
        return item | {"classes": {str(place): number for place, number in enumerate(item["probs"])}}
    return item


def _plain(value: Any) -> Any:
    """Return a value in which text stands for what JSON has no number for; the reader names it."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return str(value) if isinstance(value, list) or (isinstance(value, float) and not isfinite(value)) else value


_RERANK = ("/rerank", "query", "documents")
_OF_VLLM = {"rerank": _RERANK, "score": ("/score", "text_1", "text_2"), "classify": ("/classify", "", "input")}
_OF_TEI = {"rerank": ("/rerank", "query", "texts"), "classify": ("/predict", "", "inputs")}
cohere = partial(Reranker, "cohere", "https://api.cohere.com", {"rerank": ("/v2/rerank", "query", "documents")})
jina = partial(Reranker, "jina", "https://api.jina.ai/v1", {"rerank": _RERANK}, {"return_documents": False})
voyage = partial(Reranker, "voyage", "https://api.voyageai.com/v1", {"rerank": _RERANK})
vllm = partial(Reranker, "vllm", "http://127.0.0.1:8000", _OF_VLLM, local=True)
tei = partial(Reranker, "tei", "http://127.0.0.1:8080", _OF_TEI, local=True)


class _PlainClient(clients.SdkClient):
    """Sends by the HTTP library of an SDK, without the SDK."""

    def __init__(self, access: service.Access, connection: protocol.Connection) -> None:
        import openai  # noqa: PLC0415 - it and its HTTP library take a while to import

        http_client = clients.connecting(openai, access.address, connection, access.headers)["http_client"]
        super().__init__(http_client, http_client, openai, access.address.origin, secrets=access.secrets)
        self._sent = {"Content-Type": "application/json"}
        if access.key.secret and access.address.login is None:
            self._sent["Authorization"] = f"Bearer {access.key.secret}"

    async def _sent_by_sdk(self, request: Request, content: bytes) -> Any:
        url = request.base_url + request.endpoint
        return await self._http_client.post(url, content=content, headers=self._sent)

    def aclose(self) -> Coroutine[Any, Any, None]:
        """Close the connections."""
        closing: Coroutine[Any, Any, None] = self._http_client.aclose()
        return closing
