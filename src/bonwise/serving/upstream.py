"""The model behind the endpoint: draws candidates by one call or by several, with its own key or that of who asks."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from bonwise import strict_json
from bonwise.calls import prices, retry
from bonwise.calls.ask import AttemptError, Problem, Request, encoded
from bonwise.calls.providers import openai, protocol, service, supplied, wire
from bonwise.calls.tokens import MOST_OF_AN_IMAGE, most_input_tokens
from bonwise.printable import printable
from bonwise.serving import api_errors, chat_models
from bonwise.serving.config import ModelConfig
from bonwise.table.text_files import DEEPEST, is_deeper

_MOST = 256
"""Keys whose clients are kept at once."""


def bearer_key(authorization: str) -> str:
    """Return the key of an ``Authorization`` header; ApiError 401 where it holds none."""
    scheme, _, key = authorization.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key or not key.isascii() or not key.isprintable():
        raise api_errors.ApiError(
            401, "this model is asked with your own key: send Authorization: Bearer KEY", "invalid_api_key"
        )
    return key


class ForwardedKeys:
    """One client per key, over connections that all of them share and that keep no cookie. Of one event loop."""

    def __init__(self, address: service.Address, connection: protocol.Connection) -> None:
        # The SDK takes most of a second to import.
        import openai  # noqa: PLC0415

        from bonwise.calls.providers.clients import no_cookies  # noqa: PLC0415 - it loads the HTTP library

        self._sdk, self._address, self._connection = openai, address, connection
        self._http: Any = openai.DefaultAsyncHttpxClient(
            timeout=connection.timeout, follow_redirects=False, cookies=no_cookies()
        )
        self._clients: OrderedDict[bytes, protocol.Client] = OrderedDict()

    def client(self, key: str) -> protocol.Client:
        """Return the client that sends with a key; what a server repeats of the key is hidden."""
        digest = hashlib.sha256(key.encode()).digest()
        found = self._clients.pop(digest, None) or self._made(key)
        self._clients[digest] = found
        if len(self._clients) > _MOST:
            self._clients.popitem(last=False)
        return found

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _made(self, key: str) -> protocol.Client:
        client = self._sdk.AsyncOpenAI(api_key=key, base_url=self._address.url, http_client=self._http, max_retries=0)
        # The SDK reads them from the environment, and they are those of another account.
        client.organization = client.project = None
        return protocol.provider("openai").client(supplied.supplied_model("openai/any", client), self._connection)


_CAN_DO_WITHOUT = {"n": openai.NAMES["n"]}
"""Whatever else of a request the upstream does not take is the client's to mend."""

CLIENTS = 16
"""Clients of one upstream: a request takes longer in a large pool of connections than in one of many small ones."""


@dataclass(slots=True)
class DrawnChoices:
    """What the upstream gave for one request."""

    choices: list[dict[str, Any]] = field(default_factory=list)
    """The upstream's own objects, in the order of the draws."""
    answers: list[dict[str, Any]] = field(default_factory=list)
    """The answer that each choice came in."""
    usages: list[dict[str, Any] | None] = field(default_factory=list)
    """One per answer; None where the upstream stated none."""
    failed: list[str] = field(default_factory=list)
    """Why others are missing."""
    calls: int = 0
    """Answers."""
    unknown: int = 0
    """Calls that were sent and never answered, which the upstream may bill."""
    cost: float | None = 0.0
    """US dollars for all answers; None where a price or a usage is not known."""
    most_cost: float = 0.0
    """US dollars for all calls, by the most that what was sent can cost where it is not known."""
    sender: protocol.Client | None = field(default=None, repr=False)
    """What sends with the key of the client that asks; None where the server's own key is used."""

    def begin(self, most: float) -> None:
        """Count a call that is sent and not answered yet."""
        self.unknown += 1
        self.most_cost += most

    def end(self, most: float, cost: float | None) -> None:
        """Count what a call cost that was answered, or that nobody bills."""
        self.unknown -= 1
        self.most_cost += 0.0 if cost is None else cost - most
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def add(self, answer: dict[str, Any], wanted: int) -> None:
        """Take the choices of an answer, at most as many as are wanted; one that cannot be read is a failed draw."""
        for one in answer["choices"][:wanted]:
            wrong = _wrong_with(one)
            if wrong:
                self.failed.append(wrong)
            else:
                self.choices.append(one)
                self.answers.append(answer)
        usage = answer.get("usage")
        self.usages.append(usage if isinstance(usage, dict) else None)
        self.calls += 1


class UpstreamError(Exception):
    """No candidate could be drawn: the problem of the first call."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


class Upstream:
    """Draws candidates from one model. Belongs to one event loop."""

    def __init__(self, config: ModelConfig, price: prices.Price | None) -> None:
        self._config, self._price = config, price
        self._clients: list[protocol.Client] = []
        self._in_use = [0] * CLIENTS
        self._base_url = openai.SERVICE.address(config.base_url).url
        self._forwarded: ForwardedKeys | None = None
        self._takes_n: bool | None = {"n": True, "calls": False}.get(config.draw)

    def open(self) -> None:
        """Make the clients, in the running event loop."""
        config = self._config
        connection = protocol.Connection(
            timeout=config.timeout, attempt_timeout=config.timeout, connections=CLIENTS, transport=config.transport
        )
        if config.forward_client_key:
            self._forwarded = ForwardedKeys(openai.SERVICE.address(config.base_url), connection)
            return
        # aiohttp does not mind a large pool.
        count = 1 if config.transport == "aiohttp" else CLIENTS
        self._clients = [protocol.provider("openai").client(config.model, connection) for _ in range(count)]
        self._in_use = [0] * count

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.aclose()
        if self._forwarded is not None:
            await self._forwarded.aclose()

    def worst_cost(self, body: Mapping[str, Any], wanted: int) -> float:
        """Return the most that drawing can cost, in US dollars, where no call is repeated; 0 without a price."""
        # With n in it: no body that is sent is longer, even where a seed has grown.
        return wanted * self._most_cost(self._request({**body, "n": wanted}), 1)

    def _most_cost(self, request: Request, choices: int) -> float:
        if self._price is None:
            return 0.0
        inputs = most_input_tokens(len(request.content), len(request.body["messages"]))
        # Within a text its quotation marks are escaped.
        inputs += request.content.count(b'"type":"image_url"') * MOST_OF_AN_IMAGE
        output = request.body.get("max_completion_tokens", request.body.get("max_tokens", 0))
        prediction = request.body.get("prediction")
        output += 0 if prediction is None else len(encoded(prediction))
        return prices.Prices.most_cost(self._price, inputs, choices * output)

    async def draw(self, drawn: DrawnChoices, body: Mapping[str, Any], wanted: int, client_key: str = "") -> None:
        """Draw candidates into `drawn`, which tells at any time what was sent.

        Where the upstream honours ``n``, one call draws them all. What is missing is drawn by calls of its own; an
        upstream that gave one choice where several were asked for is from then on asked by several calls. A ``seed``
        grows by one per call: calls with one seed would draw one and the same candidate. `body` comes without ``n``.
        `client_key` is sent in place of the server's own key where the settings say so. Raises UpstreamError where no
        call brought a candidate.
        """
        drawn.sender = None if self._forwarded is None else self._forwarded.client(client_key)
        first: Problem | None = None
        if wanted > 1 and self._takes_n is not False:
            first = await self._draw_at_once(body, wanted, drawn)
            if first is not None and first.kind != "unsupported":
                raise UpstreamError(first)
        missing = wanted - len(drawn.choices) - len(drawn.failed)
        if missing:
            problems = await self._draw_one_by_one(body, missing, drawn, begun=len(drawn.choices))
            drawn.failed += [printable(problem.message, longest=200) for problem in problems]
            first = problems[0] if problems else None
        if not drawn.choices:
            raise UpstreamError(first or Problem("broken", drawn.failed[0]))

    async def _draw_at_once(self, body: Mapping[str, Any], wanted: int, drawn: DrawnChoices) -> Problem | None:
        try:
            answer = await self._answered(self._request({**body, "n": wanted}), drawn)
        except AttemptError as error:
            problem = error.problem
            if problem.kind == "unsupported" and self._config.draw == "auto":
                self._takes_n = False
            elif problem.kind == "unsupported":
                return Problem("rejected", problem.message, problem.status, problem.parameter)
            return problem
        drawn.add(answer, wanted)
        if self._takes_n is None and len(answer["choices"]) == 1:
            self._takes_n = False
        return None

    async def _draw_one_by_one(
        self, body: Mapping[str, Any], count: int, drawn: DrawnChoices, *, begun: int
    ) -> list[Problem]:
        """Draw by calls of their own, at once; return what went wrong."""
        seed = body.get("seed")
        counts = isinstance(seed, int) and not isinstance(seed, bool)
        plain = self._request(dict(body))
        requests = [
            self._request({**body, "seed": seed + at}) if counts and at else plain  # type: ignore[operator]
            for at in range(begun, begun + count)
        ]
        tasks = [asyncio.ensure_future(self._answered(request, drawn)) for request in requests]
        try:
            await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
        problems = []
        for task in tasks:
            error = task.exception()
            if error is None:
                drawn.add(task.result(), 1)
            elif isinstance(error, AttemptError):
                problems.append(error.problem)
            else:
                raise error
        return problems

    def _request(self, body: dict[str, Any]) -> Request:
        return Request("openai", self._base_url, "", openai.ENDPOINT, body, self._config.model.name)

    async def _answered(self, request: Request, drawn: DrawnChoices) -> dict[str, Any]:
        """Ask, again where waiting may help."""

        async def attempt(_number: int) -> dict[str, Any]:
            drawn.begin(most)
            try:
                answer = await self._attempt(request, drawn.sender)
            except AttemptError as error:
                if not error.problem.sent:
                    drawn.end(most, 0.0)
                raise
            drawn.end(most, self._cost(answer))
            return answer

        most = self._most_cost(request, request.body.get("n", 1))

        try:
            return await attempt(1)
        except AttemptError as error:
            if self._config.attempts == 1 or not error.problem.transient:
                raise
            return await retry.until_answered(attempt, attempts=self._config.attempts, failed=error)

    def _cost(self, answer: Mapping[str, Any]) -> float | None:
        usage = None if self._price is None else openai.chat_usage(answer.get("usage"))
        return None if self._price is None or usage is None else prices.Prices.cost(self._price, usage)

    async def _attempt(self, request: Request, sender: protocol.Client | None) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._config.timeout):
                response = await (self._sent(request) if sender is None else sender.send(request))
        except TimeoutError:
            raise AttemptError(Problem("timeout", "the upstream gave no answer in time", sent=True)) from None
        if not 200 <= response.status < 300:
            raise AttemptError(wire.problem_of(response, time.time(), _CAN_DO_WITHOUT))
        answer = _read(response.content)
        if answer is None:
            raise AttemptError(Problem("broken", "the upstream's reply is not a chat completion", sent=True))
        return answer

    async def _sent(self, request: Request) -> protocol.Response:
        at = self._in_use.index(min(self._in_use))
        self._in_use[at] += 1
        try:
            return await self._clients[at].send(request)
        finally:
            self._in_use[at] -= 1


def _read(content: bytes) -> dict[str, Any] | None:
    """Return a chat completion as it came; None where it is none."""
    try:
        body = wire.loaded(content)
        chat_models.Completion.model_validate(body)
    except (ValueError, RecursionError):
        return None
    return None if is_deeper(body, DEEPEST) else body


def _wrong_with(choice: object) -> str:
    """Say why a choice is not a candidate; empty where it is one."""
    try:
        chat_models.DrawnChoice.model_validate(choice)
    except ValidationError as error:
        document = choice if isinstance(choice, dict) else None
        return f"the candidate cannot be read: {strict_json.refusal(error, document, whole='it')}"
    return ""
