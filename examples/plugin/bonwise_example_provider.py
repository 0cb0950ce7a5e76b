"""A provider: judges ask models that Ollama serves on this machine, in Ollama's own language.

After ``pip install ./examples/plugin``::

    bonwise select pools.jsonl --judge pointwise:ollama/llama3.2
    bonwise select pools.jsonl --judge pointwise:ollama/llama3.2 --base-url http://gpu-box:11434
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from bonwise.calls.ask import Ask, AttemptError, Choice, Finish, Kind, Model, Problem, Reply, Request
from bonwise.calls.bill import Usage
from bonwise.calls.providers.protocol import Capabilities, Connection, Response, http_library
from bonwise.calls.providers.service import Address, read_address
from bonwise.calls.providers.wire import count_of, counts, loaded, problem_of, usages
from bonwise.calls.rate_limits import RateLimits
from bonwise.errors import UsageError

__all__ = ["Ollama"]

HERE = "http://127.0.0.1:11434"
LARGEST = 32 * 2**20
NAMES = {"format": r"(?<!\w)format(?!\w)", "temperature": r"(?<!\w)temperature(?!\w)"}
"""What a request can do without, and how the server calls it."""

_FINISH: Mapping[str, Finish] = {"stop": "stop", "length": "length"}


class Ollama:
    """Ollama's ``/api/chat``. It needs no key."""

    name: ClassVar[str] = "ollama"
    capabilities: ClassVar[Capabilities] = Capabilities(
        temperature=True,
        samples=False,
        logprobs=False,
        schema=True,
        draws_differ_by="sampling at the temperature that was sent",
    )

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:
        """Build the request for an ask, without the parameters known to be refused."""
        del samples  # always 1, because the capabilities say so
        options: dict[str, Any] = {"num_predict": ask.max_tokens}
        if ask.temperature is not None and "temperature" not in dropped:
            options["temperature"] = ask.temperature
        messages = [{"role": "system", "content": ask.system}] if ask.system else []
        messages.append({"role": "user", "content": ask.user})
        body = {"model": ask.model.name, "messages": messages, "stream": False, "options": options}
        schema = ask.schema is not None and "format" not in dropped
        if schema:
            body["format"] = ask.schema
        parameters = options | {"schema": schema}
        return Request(self.name, _server(ask.model).url, "", "/api/chat", body, ask.model.name, parameters)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart; there are none."""
        del model
        return "none"

    def client(self, model: Model, connection: Connection) -> _Client:
        """Make a client for the model's server, in the running event loop."""
        if isinstance(connection.transport, str):
            raise UsageError("ollama has a client of its own", hint="leave transport out")
        return _Client(_server(model), connection)

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        body = loaded(content)
        message = body.get("message")
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(text, str) or not body.get("done"):
            raise ValueError("the answer is cut short, or of another shape")
        told = [count_of(body.get(name)) for name in ("prompt_eval_count", "eval_count")]
        sent, answered = counts(*told)
        usage, part = usages(
            Usage(uncached=sent, output=answered),
            input_told=told[0] is not None,
            output_told=told[1] is not None,
            total=None,
        )
        detail = str(body.get("done_reason", ""))
        choice = Choice(text, _FINISH.get(detail, "other"), detail)
        return Reply((choice,), usage, str(body.get("model", "")), partial_usage=part)

    def problem(self, response: Response, now: float) -> Problem:
        """Say what an unsuccessful response means."""
        return problem_of(response, now, NAMES)

    def rate_limits(self, headers: Mapping[str, str], now: float) -> RateLimits:
        """Read the allowances a response names; this server has none."""
        del headers, now
        return RateLimits()


class _Client:
    """A connection to one server, by the HTTP library that the SDKs of bonwise bring."""

    def __init__(self, address: Address, connection: Connection) -> None:
        import openai  # noqa: PLC0415 - takes most of a second to import

        self._http = http_library(openai)
        self._address, self._seconds = address, connection.attempt_timeout
        self._client = self._http.AsyncClient(
            auth=address.login,
            timeout=self._http.Timeout(connection.timeout, connect=connection.connect_timeout),
            limits=self._http.Limits(max_keepalive_connections=connection.connections),
            transport=connection.transport,
        )

    async def send(self, request: Request) -> Response:
        """Send once, without any retry."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._sent(request)
        except TimeoutError:
            problem = Problem("timeout", f"{self._address.origin}: no answer in {self._seconds:g} s", sent=True)
        except self._http.HTTPError as error:
            kind: Kind = "timeout" if isinstance(error, self._http.TimeoutException) else "broken"
            unsent = isinstance(error, self._http.ConnectError | self._http.ConnectTimeout)
            problem = Problem(kind, f"{self._address.origin}: {type(error).__name__}", sent=not unsent)
        # Raised outside the handlers: an error of the library holds the request.
        raise AttemptError(problem)

    async def _sent(self, request: Request) -> Response:
        url = f"{self._address.url}{request.endpoint}"
        headers = {"content-type": "application/json"}
        async with self._client.stream("POST", url, content=request.content, headers=headers) as response:
            content = b""
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LARGEST:
                    told = f"{self._address.origin}: more than {LARGEST} bytes"
                    raise AttemptError(Problem("oversized", told, response.status_code, sent=True))
            return Response(response.status_code, dict(response.headers), content)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _server(model: Model) -> Address:
    return read_address(model.base_url or HERE, "base_url")
