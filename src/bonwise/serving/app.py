"""The endpoint as an ASGI application."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import io
import json
import logging
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, BinaryIO

from bonwise.calls.ask import ASKER
from bonwise.calls.prices import Prices
from bonwise.serving import EXTRA, api_errors, best_of_model, chat_request, client_keys, metrics
from bonwise.serving.config import ServeConfig

EXTRA.require("bonwise serve")

from starlette.applications import Starlette  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.requests import Request  # noqa: E402
from starlette.responses import Response  # noqa: E402
from starlette.routing import Route  # noqa: E402
from starlette.types import ASGIApp, Receive, Scope, Send  # noqa: E402

logger = logging.getLogger("bonwise.serving")

_JSON = "application/json"

RESERVED = "reserved"
"""In the state of a connection that was taken although there were too many: only ``/health`` is answered on it."""


class ChatEndpoint:
    """The models of a file of settings behind OpenAI's paths.

    `run` is the folder for judges' answers; without `limits`, accounts of keys are this process's alone.
    `metrics_of_others` returns metrics of processes at the same address. Once `closing`, each answer is the last on
    its connection; `cut_off` tells whether a request was given up for lack of time. Upstreams and judges need keys.
    """

    def __init__(
        self, config: ServeConfig, run: str | None = None, limits: client_keys.KeyLimits | None = None
    ) -> None:
        prices = Prices.load()
        self.models = {name: best_of_model.BestOfModel(one, prices, run) for name, one in config.models.items()}
        for model in self.models.values():
            model.check_access()
            if any(key.max_cost is not None for key in config.keys):
                model.check_prices()
        self.records = metrics.RequestRecords()
        self.metrics_of_others: Callable[[], list[dict[str, float]]] = list
        self.closing = self.cut_off = False
        self._config, self._ring = config, client_keys.KeyRing(config.keys)
        self._limits = client_keys.KeyLimits() if limits is None else limits
        self._under_way = self._large_answers = 0
        self._made = int(time.time())
        self.app = self._application()

    def _application(self) -> Starlette:
        routes = [
            Route("/v1/chat/completions", self._answering(self._chat), methods=["POST"]),
            Route("/v1/models", self._answering(self._list), methods=["GET"]),
            Route("/v1/models/{name:path}", self._answering(self._list), methods=["GET"]),
            Route("/health", self._answering(self._health), methods=["GET"]),
            Route("/metrics", self._answering(self._metrics), methods=["GET"]),
        ]
        handlers: dict[Any, Any] = {HTTPException: self._no_such_path}
        entry = [Middleware(self._guarded)]
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._open, middleware=entry)
        app.router.redirect_slashes = False
        return app

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        """Refuse requests whose length is stated in two ways."""

        async def enter(scope: Scope, receive: Receive, send: Send) -> None:
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope.get("headers", ())}:
                # A proxy in front may believe the other one, and take the rest for a request of somebody else.
                error = api_errors.bad_request("send Content-Length or Transfer-Encoding, not both")
                error.headers["connection"] = "close"
                await _refusal(error)(scope, receive, send)
                return
            await app(scope, receive, send)

        return enter

    @asynccontextmanager
    async def _open(self, _app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as opened:
            for model in self.models.values():
                await opened.enter_async_context(model)
            yield

    def _answering(self, work: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Give every path its errors in OpenAI's shape."""

        async def answer(request: Request) -> Response:
            try:
                response = await work(request)
            except api_errors.ApiError as error:
                response = _refusal(error)
            except Exception:
                logger.exception("internal error")
                response = _refusal(api_errors.ApiError(500, "internal error", "internal_error", kind="server_error"))
            if self.closing:
                response.headers["connection"] = "close"
            return response

        return answer

    async def _no_such_path(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        code = "method_not_allowed" if status == 405 else "unknown_url"
        known = "POST /v1/chat/completions, GET /v1/models, GET /health, GET /metrics"
        message = f"{request.method} {request.url.path[:200]} is not served here; there is {known}"
        return _refusal(api_errors.ApiError(status, message, code))

    def _key(self, request: Request) -> client_keys.ClientKey | None:
        """Return the client's key; None where clients need none, and it is no web page of a stranger's that asks."""
        if request.scope.get("state", {}).get(RESERVED):
            refusal = _overloaded(
                f"the server has {self._config.limits.max_connections} connections, as many as it takes"
            )
            refusal.headers["connection"] = "close"
            raise refusal
        if not self._ring:
            client_keys.refuse_foreign(request.method, request.headers, self._config.limits.allowed_hosts)
            return None
        found = self._ring.find(request.headers.get("authorization", ""))
        if found is None:
            said = "no API key was given" if "authorization" not in request.headers else "the API key is not known"
            raise api_errors.ApiError(401, f"{said}: send Authorization: Bearer KEY", "invalid_api_key")
        return found

    async def _health(self, _request: Request) -> Response:
        said = {"status": "closing" if self.closing else "ok"}
        return Response(json.dumps(said), 503 if self.closing else 200, media_type=_JSON)

    async def _metrics(self, request: Request) -> Response:
        self._key(request)
        counted = [self.records.metrics.values, *self.metrics_of_others()]
        return Response(metrics.rendered(counted), media_type="text/plain; version=0.0.4")

    async def _list(self, request: Request) -> Response:
        self._key(request)
        entries = [self._entry(name) for name in self.models]
        asked = request.path_params.get("name")
        if asked is None:
            return Response(best_of_model.written({"object": "list", "data": entries}), media_type=_JSON)
        found = next((entry for entry in entries if entry["id"] == asked), None)
        if found is None:
            raise api_errors.ApiError(
                404, f"the model {asked[:80]!r} does not exist here", "model_not_found", param="model"
            )
        return Response(best_of_model.written(found), media_type=_JSON)

    def _entry(self, name: str) -> dict[str, Any]:
        return {"id": f"{chat_request.PREFIX}{name}", "object": "model", "created": self._made, "owned_by": "bonwise"}

    async def _chat(self, request: Request) -> Response:
        record = self.records.begin(request.headers.get("x-request-id", "")[:100] or f"bon-{uuid.uuid4().hex}")
        limits = self._config.limits
        if self._under_way >= limits.max_requests:
            refusal = _overloaded(f"the server works on {limits.max_requests} requests, as many as it takes")
            return self._ended(record, refusal, _refusal(refusal))
        self._under_way += 1
        response: Response | None = None
        error: api_errors.ApiError | None = None
        try:
            key = self._key(request)
            record.key = key.name if key else ""
            body = await chat_request.read_body(
                request.headers, request.receive, most=limits.max_body, seconds=limits.body_timeout
            )
            asked_for = chat_request.read_request(
                body, self._config.models, request.headers.get("authorization", ""), key
            )
            record.model = asked_for.config.name
            ASKER.set(_asker(key, asked_for))
            await self._within_limits(key, asked_for, record.outcome, request)
            response = self._response(asked_for, record.outcome)
        except api_errors.ApiError as found:
            error, response = found, _refusal(found)
        except BaseException as found:
            self.cut_off = self.cut_off or isinstance(found, asyncio.CancelledError)
            self.records.end(record, 500, "internal_error")
            raise
        finally:
            if response is None:
                self._leave()
        self._large_answers = 2 if len(response.body) > _KEPT else self._large_answers
        return _Sent(self._ended(record, error, response), self._leave)

    def _leave(self) -> None:
        self._under_way -= 1

    def give_memory_back(self) -> None:
        """Give the system what large answers took, which the C library would keep: to be called now and then."""
        if self._large_answers:
            self._large_answers -= 1
            with suppress(OSError, AttributeError, TypeError):  # only one of the C libraries needs it
                ctypes.CDLL(None).malloc_trim(0)

    def _ended(
        self, record: metrics.RequestRecord, error: api_errors.ApiError | None, response: Response
    ) -> Response:
        self.records.end(record, 200 if error is None else error.status, "" if error is None else error.code)
        response.headers["x-request-id"] = record.request_id
        return response

    async def _within_limits(
        self,
        key: client_keys.ClientKey | None,
        asked_for: chat_request.ChatRequest,
        outcome: best_of_model.RequestOutcome,
        request: Request,
    ) -> None:
        if key is None or not key.limited:
            await self._while_there(asked_for, outcome, request)
            return
        model = self.models[asked_for.config.name]
        worst = model.worst_cost(asked_for) if key.max_cost is not None else 0.0
        admitted = self._limits.admit(key, worst)
        try:
            await self._while_there(asked_for, outcome, request)
        finally:
            self._limits.settle(admitted, outcome.charge(worst))

    async def _while_there(
        self, asked_for: chat_request.ChatRequest, outcome: best_of_model.RequestOutcome, request: Request
    ) -> None:
        """Answer as long as the client waits for it: one that leaves ends its draws and its judging."""
        work = asyncio.ensure_future(self.models[asked_for.config.name].answer(asked_for, outcome))
        gone = asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise chat_request.client_has_left()
            work.result()
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    def _response(self, asked_for: chat_request.ChatRequest, outcome: best_of_model.RequestOutcome) -> Response:
        chosen, drawn = outcome.chosen, outcome.drawn
        if chosen is None or drawn is None:
            raise AssertionError("an answer without a choice")
        ranking = best_of_model.ranked_draws(chosen, asked_for.choices)
        trail = best_of_model.trail_of_request(chosen, drawn, ranking)
        answer, headers = best_of_model.completion(drawn, ranking, trail), best_of_model.headers_of(trail)
        if not asked_for.stream:
            return Response(best_of_model.written(answer), headers=headers, media_type=_JSON)
        # All of it is known: nothing is kept back while the client reads.
        events = b"".join(best_of_model.stream_of(answer, usage_chunk=asked_for.usage_chunk))
        return Response(events, headers={**headers, "cache-control": "no-cache"}, media_type="text/event-stream")


def _asker(key: client_keys.ClientKey | None, asked_for: chat_request.ChatRequest) -> str:
    """Return whose answers of the judge a request may use; empty where all clients are one user, or share them."""
    if asked_for.config.share_judgements or not (key or asked_for.client_key):
        return ""
    return f"key {key.name}" if key else hashlib.sha256(asked_for.client_key.encode()).hexdigest()


_KEPT = 2**16
"""Bytes of an answer that stay in memory while a client reads it; a larger one waits in a file."""


class _Sent(Response):
    """An answer that tells when it is sent, and takes next to no memory meanwhile."""

    def __init__(self, plain: Response, sent: Callable[[], None]) -> None:
        self._file, self._sent = _file(bytes(plain.body)), sent
        self.status_code, self.raw_headers = plain.status_code, plain.raw_headers

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Send it, piece by piece as the client takes it."""
        try:
            with self._file as file:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                for piece in iter(lambda: file.read(_KEPT), b""):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._sent()


def _file(content: bytes) -> BinaryIO:
    if len(content) > _KEPT:
        with suppress(OSError):  # a disk that is full costs memory, and no answer that is paid
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it is closed when it has been sent
            file.write(content)
            file.seek(0)
            return file
    return io.BytesIO(content)


def _overloaded(message: str) -> api_errors.ApiError:
    return api_errors.ApiError(503, message, "overloaded", kind="server_error", headers={"retry-after": "1"})


def _refusal(error: api_errors.ApiError) -> Response:
    return Response(best_of_model.written(error.body()), error.status, headers=error.headers, media_type=_JSON)
