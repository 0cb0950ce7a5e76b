"""Services that score documents by a query: Cohere, Jina, Voyage, and servers of vLLM and of TEI."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Any, ClassVar

from bonwise.calls.ask import Ask, AttemptError, Choice, Model, Problem, Reply, Request, encoded
from bonwise.calls.bill import Usage
from bonwise.calls.providers import protocol, service, wire
from bonwise.calls.rate_limits import openai_limits
from bonwise.errors import UsageError

__all__ = ["VLLM", "Cohere", "Jina", "Reranker", "TextEmbeddingsInference", "Voyage", "question"]


def question(query: str, documents: list[str], route: str = "rerank") -> str:
    """Return what `Ask.user` holds where a service of this kind is asked; `route` is ``rerank`` or ``score``."""
    return encoded({"route": route, "query": query, "documents": documents}).decode()


class Reranker:
    """One service: where it is, what its request holds, and where its reply has scores and tokens."""

    name: ClassVar[str]
    service: ClassVar[service.Service]
    routes: ClassVar[Mapping[str, str]] = {"rerank": "/rerank"}
    """The path of each route below the address."""
    fields: ClassVar[Mapping[str, tuple[str, str]]] = {"rerank": ("query", "documents")}
    """What each route calls the query and the documents."""
    constants: ClassVar[Mapping[str, Any]] = {}
    """Fields that every request has."""
    named: ClassVar[bool] = True
    """Whether a request names the model."""

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

    @property
    def sets(self) -> frozenset[str]:
        """Fields that no parameter of the user's may set: among them what would leave documents out."""
        own = {name for names in self.fields.values() for name in names}
        return frozenset({"model", "top_n", "top_k", "return_documents", "return_text", *own, *self.constants})

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:  # noqa: ARG002
        """Build the request for all documents of a question."""
        try:
            asked = json.loads(ask.user)
            route, documents = asked["route"], asked["documents"]
            query = asked["query"]
        except (ValueError, TypeError, KeyError):
            raise UsageError(
                f"{self.name} scores documents and answers no questions", hint=f"write rerank:{ask.model}"
            ) from None
        if route not in self.routes:
            known = ", ".join(self.routes)
            raise UsageError(f"{self.name} has no route {route!r}", hint=f"its routes are {known}")
        query_field, documents_field = self.fields[route]
        model = {"model": ask.model.name} if self.named else {}
        extra = {name: value for name, value in ask.params.items() if name not in dropped}
        body = {**model, query_field: query, documents_field: documents, **self.constants, **extra}
        address, version = self.service.server(ask.model.base_url)
        endpoint, sent = self.routes[route], frozenset(ask.params)
        return Request(self.name, address.url, version, endpoint, body, ask.model.name, extra, extra=sent)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key; raises where there is no key."""
        return self.service.account(model)

    def client(self, model: Model, connection: protocol.Connection) -> protocol.Client:
        """Make a client for the model's server, in the running event loop."""
        import openai  # noqa: PLC0415 - its HTTP library takes a while to import

        return _HttpClient(openai, self.service.access(model.base_url), connection)

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        body = _body(content)
        items = body if isinstance(body, list) else body.get("results", body.get("data"))
        if not isinstance(items, list):
            raise ValueError("an answer without scores")  # noqa: TRY004 - the contract of readers is ValueError
        scores = [
            {name: item.get(name) for name in _KEPT if name in item} for item in items if isinstance(item, dict)
        ]
        model = "" if isinstance(body, list) else body.get("model")
        return Reply((Choice(encoded(scores).decode()),), _usage(body), model=model if isinstance(model, str) else "")

    def problem(self, response: protocol.Response, now: float) -> Problem:
        """Say what an unsuccessful response means."""
        return wire.problem_of(response, now, {})


_KEPT = ("index", "relevance_score", "score")


def _body(content: bytes) -> Any:
    """Return the object or the list of a successful response."""
    if content.lstrip()[:1] != b"[":
        return wire.loaded(content)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("the answer is cut short, or no JSON") from None


def _usage(body: Any) -> Usage | None:
    """Return the tokens that a service counted; Cohere counts searches and no tokens, TEI nothing."""
    usage = body.get("usage") if isinstance(body, dict) else None
    total = wire.most_told(usage, "total_tokens", "prompt_tokens") if isinstance(usage, dict) else None
    return None if total is None else Usage(uncached=total)


class Cohere(Reranker):
    """Rerank of version 2; the key is read from ``COHERE_API_KEY``, or else ``CO_API_KEY``."""

    name = "cohere"
    service = service.Service(
        "cohere",
        "https://api.cohere.com",
        "COHERE_BASE_URL",
        ("COHERE_API_KEY", "CO_API_KEY"),
        "COHERE_CUSTOM_HEADERS",
    )
    routes: ClassVar[Mapping[str, str]] = {"rerank": "/v2/rerank"}


class Jina(Reranker):
    """The reranker API; the key is read from ``JINA_API_KEY``."""

    name = "jina"
    service = service.Service(
        "jina", "https://api.jina.ai/v1", "JINA_BASE_URL", ("JINA_API_KEY",), "JINA_CUSTOM_HEADERS"
    )
    constants: ClassVar[Mapping[str, Any]] = {"return_documents": False}


class Voyage(Reranker):
    """The reranker API; the key is read from ``VOYAGE_API_KEY``."""

    name = "voyage"
    service = service.Service(
        "voyage", "https://api.voyageai.com/v1", "VOYAGE_BASE_URL", ("VOYAGE_API_KEY",), "VOYAGE_CUSTOM_HEADERS"
    )


class VLLM(Reranker):
    """A server of vLLM, at ``VLLM_BASE_URL``; it needs no key, and gets ``VLLM_API_KEY`` where there is one."""

    name = "vllm"
    service = service.Service(
        "vllm", "http://127.0.0.1:8000", "VLLM_BASE_URL", ("VLLM_API_KEY",), "VLLM_CUSTOM_HEADERS", needs_key=False
    )
    routes: ClassVar[Mapping[str, str]] = {"rerank": "/rerank", "score": "/score"}
    fields: ClassVar[Mapping[str, tuple[str, str]]] = {
        "rerank": ("query", "documents"),
        "score": ("text_1", "text_2"),
    }


class TextEmbeddingsInference(Reranker):
    """A server of TEI, at ``TEI_BASE_URL``; it serves one model, which the name after the slash only labels."""

    name = "tei"
    service = service.Service(
        "tei", "http://127.0.0.1:8080", "TEI_BASE_URL", ("TEI_API_KEY",), "TEI_CUSTOM_HEADERS", needs_key=False
    )
    fields: ClassVar[Mapping[str, tuple[str, str]]] = {"rerank": ("query", "texts")}
    named = False


class _HttpClient:
    """Sends by the HTTP library of an SDK, without the SDK: one attempt a call."""

    def __init__(self, sdk: Any, access: service.Access, connection: protocol.Connection) -> None:
        from bonwise.calls.providers import clients  # noqa: PLC0415 - as the SDK itself

        self._clients, self._http = clients, protocol.http_library(sdk)
        self._client = clients.connecting(sdk, access.address, connection, access.headers)["http_client"]
        self._origin = access.address.origin
        self._headers = {"Content-Type": "application/json"}
        if access.key.secret and access.address.login is None:
            self._headers["Authorization"] = f"Bearer {access.key.secret}"
        self._scrubber = clients.SecretScrubber(access.secrets)

    def __repr__(self) -> str:
        return f"_HttpClient({self._origin!r})"

    async def send(self, request: Request) -> protocol.Response:
        """Send once; raises `bonwise.calls.ask.AttemptError` where nothing came back, or more than anyone needs."""
        problem = None
        try:
            response = await self._client.post(
                request.base_url + request.endpoint, content=request.content, headers=self._headers
            )
        except self._clients.TooLargeError as error:
            problem = self._clients.too_large(self._origin, error.status)
        except (self._http.HTTPError, ssl.SSLError, self._clients.EndOfStream) as error:
            problem = self._clients.no_response(self._http, self._origin, error)
        if problem is not None:
            # Raised here, outside the handlers: the library's error holds the request with its key.
            raise AttemptError(problem)
        return self._scrubber.response(response)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
