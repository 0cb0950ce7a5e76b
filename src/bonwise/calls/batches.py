"""Batches of a run folder: planned from questions, submitted once, awaited, and answered into its ledger."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial, reduce
from operator import add
from typing import IO, TYPE_CHECKING, Any

from bonwise.calls import attempts, cost_limit, prices, retry, spending
from bonwise.calls.ask import AttemptError, Model, Problem
from bonwise.calls.bill import NOTHING_PAID, PICO, Bill
from bonwise.calls.ledger import batches as rows
from bonwise.calls.ledger import place
from bonwise.calls.ledger.ledger import Ledger, response_columns
from bonwise.calls.ledger.records import Recorded
from bonwise.calls.providers import protocol, wire
from bonwise.errors import CallError, UsageError
from bonwise.printable import printable

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask, Request
    from bonwise.calls.attempts import CallSize
    from bonwise.calls.endpoint import Endpoint
    from bonwise.calls.engine import Engine
    from bonwise.calls.ledger.batches import BatchAnswer, BatchHeader, BatchRow, PlannedCall
    from bonwise.calls.providers.protocol import BatchClient, BatchLine, BatchStatus

AT_A_TIME = 500
"""Requests that are claimed, or results that are recorded, in one transaction."""

SETTLING = 60.0
"""Seconds after which a service surely lists what was submitted; only then it may be submitted a second time."""

SKEW = 3600.0
"""Seconds by which the clock of a service may be behind."""

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds between two looks at batches: they grow."""

TOLD_EVERY = 300.0
"""Seconds between two lines about a batch that goes on."""


class ProviderBatches:
    """The batches of an engine's ledger.

    Questions of `asks` tell which servers there are. With `wait` their results are awaited. `resubmit` sends again
    what was perhaps submitted. `tell` is given a line when something has happened.
    """

    def __init__(
        self,
        engine: Engine,
        asks: Iterable[Ask],
        *,
        wait: bool = True,
        resubmit: bool = False,
        tell: Callable[[str], None],
    ) -> None:
        if not isinstance(engine.ledger, Ledger):
            raise UsageError("batches need a run folder: their answers come later", hint="name one: run= or --run")
        self._engine, self._ledger, self._tell = engine, engine.ledger, tell
        self._wait, self._resubmit = wait, resubmit
        self._models = {(ask.model.provider, _base_url(ask)): ask.model for ask in asks}
        self._clients: dict[BatchHeader, BatchClient] = {}
        self._headers: dict[tuple[Endpoint, str], BatchHeader] = {}
        self._buffer: dict[BatchHeader, list[PlannedCall]] = {}
        self._buffered: set[bytes] = set()
        self._lock = asyncio.Lock()
        self._open: dict[int, BatchRow] = {}
        self._told: dict[int, float] = {}
        self._troubles = 0
        self._in_doubt = time.monotonic()
        """When this process began to wait for submissions to be listed."""
        self._no_room = ""
        self._reserved: spending.Reservation | None = None
        self._taken = NOTHING_PAID  # by results, in place of what is reserved
        self._uncounted = 0
        self.planning = False
        """Whether questions are put into batches, or are pending."""

    @staticmethod
    def takes(endpoint: Endpoint, ask: Ask) -> bool:
        """Tell whether a question goes into batches: its provider has some, and bonwise its client."""
        has_some = hasattr(endpoint.provider, "batches") and endpoint.model.client is None
        if has_some and (ask.images or ask.question is not None):
            what = "images" if ask.images else "decisions"
            raise UsageError(f"{what} cannot go into batches", hint="leave --batch (batch=) out")
        return has_some

    async def plan(self, endpoint: Endpoint, calls: Iterable[tuple[Sequence[bytes], Request, CallSize]]) -> None:
        """Put calls into batches to be, but those that a batch has already, and those that no limit has room for."""
        for keys, request, size in calls if self.planning else ():
            held = self._ledger.batch_of(keys[0])
            if not self._buffered.isdisjoint(keys) or (held is not None and held[2] == "sent"):
                continue
            price, header = endpoint.price, self._header(endpoint, request)
            if price is None and self._engine.spending.needs_prices:
                raise prices.unpriced(endpoint.model, endpoint.base_url)
            cost = None if size.most_cost is None or price is None else size.most_cost * price.batch
            try:
                self._reserved = self._engine.spending.extend(self._reserved, size.most, cost)
            except spending.SpendingLimitReached as error:
                self._no_room = error.reason
                continue
            body = request.content.decode()
            line = self._client(header).line("_" * 64, request.endpoint, body)
            call = rows.PlannedCall(
                tuple(keys),
                body,
                json.dumps(dict(request.parameters)),
                len(line),
                size.most,
                round((cost or 0.0) * PICO),
            )
            self._buffer.setdefault(header, []).append(call)
            self._buffered.update(keys)
            if len(self._buffered) >= AT_A_TIME:
                await self._claim()

    def reason(self, key: bytes) -> str:
        """Return why an answer is pending."""
        held = None if self.planning else self._ledger.batch_of(key)
        if held is None:
            return self._no_room or "not in a batch yet: the same command puts it into one"
        state, remote, call, note = held
        if call == "sent" and state != "planned":
            return f"in batch {printable(remote)}, which has not ended" if remote else _UNKNOWN
        return note or "not in a batch yet: the same command puts it into one"

    async def begin(self) -> None:
        """Take over what earlier commands have submitted; drop what they had planned only."""
        await self._ledger.work(rows.discard)
        taken = await self._ledger.work(partial(rows.take_over, resubmit=self._resubmit))
        for row in taken:
            self._open[row.id] = row
            cost = None if row.header.price == "null" else row.cost / PICO
            extend = self._engine.spending.extend
            self._reserved = extend(self._reserved, row.tokens, cost, row.requests, forced=True)

    async def submit(self, stopped: asyncio.Event) -> None:
        """Submit all that is planned, until the run is told to end."""
        await self._claim()
        owner = await self._ledger.work(lambda ledger_file: ledger_file.owner)
        for row in [row for row in self._ledger.batches() if (row.state, row.owner) == ("planned", owner)]:
            if not stopped.is_set():
                self._open[row.id] = await self._submitted(row)

    async def collect(self, stopped: asyncio.Event) -> int:
        """Take in the results of what has ended, and wait for the rest; return how many calls were answered."""
        answered, pause = 0, FIRST_PAUSE
        try:
            while self._open and not stopped.is_set():
                for row in list(self._open.values()):
                    answered += await self._look(row)
                if not self._open or not self._wait:
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopped.wait(), pause)
                pause = min(1.5 * pause, LONGEST_PAUSE)
        finally:
            self._settle()
        return answered

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, so that further questions may go into further batches."""
        return not self._open

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()

    async def _claim(self) -> None:
        limit = self._engine.spending.shared
        money = None if limit is None else (round(limit.dollars * PICO), cost_limit.SECONDS[str(limit.window)])
        async with self._lock:
            buffer, self._buffer = self._buffer, {}
            for header, calls in buffer.items():
                client = self._client(header)
                most = (client.most_requests, client.most_bytes)
                if not await self._ledger.work(partial(rows.add, header=header, calls=calls, most=most, money=money)):
                    self._no_room = f"max_cost={limit} leaves no room for the worst case of another call"
            self._buffered.clear()

    def _header(self, endpoint: Endpoint, request: Request) -> BatchHeader:
        about = endpoint, request.api_version
        if about not in self._headers:
            self._headers[about] = _header(endpoint, request, self._engine.terms.price_version)
        return self._headers[about]

    def _client(self, header: BatchHeader) -> BatchClient:
        own = replace(header, model="", price="", price_version="")
        if own not in self._clients:
            model = self._models.get((header.provider, header.base_url))
            model = model or Model(header.provider, header.model, header.base_url)
            service = protocol.provider(header.provider)
            service.account(model)  # CallError where there is no key
            connection = self._engine.connection
            if isinstance(connection.transport, str):
                connection = replace(connection, transport=None)
            made: BatchClient = service.batches(model, connection, header.api_version)  # type: ignore[attr-defined]
            self._clients[own] = made
        return self._clients[own]

    async def _submitted(self, row: BatchRow) -> BatchRow:
        """Submit a batch and return it, with the service's name of it unless nobody knows whether it was."""
        client = self._client(row.header)
        sent = replace(row, state="sending", sent_at=time.time())
        await self._change(row, state="sending", sent_at=sent.sent_at)

        async def attempt(_number: int) -> str | Problem:
            try:
                return await client.submit(lines, row.header.endpoint, row.mark)
            except AttemptError as error:
                if _may_have_arrived(error.problem):
                    return error.problem
                raise

        with self._input(row, client) as lines:
            try:
                remote = await retry.until_answered(attempt, attempts=self._engine.terms.attempts)
            except AttemptError as error:
                await self._change(row, state="planned")  # nothing was submitted: the next command plans it anew
                raise _refusal(row, error.problem) from None
        if isinstance(remote, Problem) or not remote:
            why = remote.message if isinstance(remote, Problem) else "the service gave it no name"
            self._tell(f"batch {row.id}: perhaps submitted ({why}); looking for it")
            self._in_doubt = time.monotonic()
            return sent
        await self._change(row, state="sent", remote=remote)
        self._tell(f"batch {printable(remote)}: {row.requests:,} requests submitted to {row.header.provider}")
        return replace(sent, state="sent", remote=remote)

    @contextmanager
    def _input(self, row: BatchRow, client: BatchClient) -> Iterator[IO[bytes]]:
        """Write the input of a batch into a file without a name, line by line."""
        with (
            tempfile.TemporaryFile(dir=self._ledger.path.parent) as lines,
            place.as_ledger_errors(self._ledger.path),
            closing(place.connect(self._ledger.path, 60.0)) as connection,
        ):
            for custom_id, body in rows.lines_of(connection, row):
                lines.write(client.line(custom_id, row.header.endpoint, body))
            connection.close()
            yield lines

    async def _look(self, row: BatchRow) -> int:
        """See how far a batch is; take in its results where it has ended, and return the number of answers."""
        try:
            if not row.remote:
                row = self._open[row.id] = await self._found(row)
            if not row.remote:
                return 0
            status = await self._client(row.header).status(row.remote)
            self._troubles = 0
            if status.ended:
                return await self._take_in(row, status)
            over = f"{status.done:,} of {row.requests:,} requests are over"
            self._tell_now_and_then(row, f"batch {printable(row.remote)}: {over}")
        except AttemptError as error:
            problem = error.problem
            if problem.status == 404 and self._resubmit:
                await self._ledger.work(partial(rows.lose, row=row))
                del self._open[row.id]
                return 0
            self._troubles += 1
            if not problem.transient or self._troubles > self._engine.terms.attempts:
                raise _refusal(row, problem) from None
            self._tell_now_and_then(row, f"batch {printable(row.remote) or row.id}: {problem.message}")
        return 0

    def _tell_now_and_then(self, row: BatchRow, line: str) -> None:
        now = time.monotonic()
        if now - self._told.get(row.id, -TOLD_EVERY) >= TOLD_EVERY:
            self._told[row.id] = now
            self._tell(line)

    async def _found(self, row: BatchRow) -> BatchRow:
        """Look for a submission of which nobody knows whether it arrived; submit it again once it surely did not."""
        if time.monotonic() - self._in_doubt < SETTLING:
            return row
        client = self._client(row.header)
        for status in await client.sent_since((row.sent_at or 0.0) - SKEW, row.mark, row.requests):
            if await self._ledger.work(partial(rows.is_known, remote=status.id)):
                continue
            if not client.is_marked:
                if not status.ended:
                    self._tell_now_and_then(row, f"batch {row.id}: {printable(status.id)} may be this one")
                    return row
                if not await self._is_its(row, client, status):
                    continue
            await self._change(row, state="sent", remote=status.id)
            self._tell(f"batch {printable(status.id)}: had been submitted")
            return replace(row, state="sent", remote=status.id)
        return await self._submitted(row)

    async def _is_its(self, row: BatchRow, client: BatchClient, status: BatchStatus) -> bool:
        """Tell by the first result of a batch whether it is the one that was submitted."""
        if status.failure:
            raise CallError(f"batch {status.id} may be one of this run: {status.failure}", hint=_RESUBMIT)
        results: AsyncIterator[BatchLine] = client.results(status)
        async for line in results:
            return rows.key_range(line.custom_id, row.mark) is not None
        return False

    async def _take_in(self, row: BatchRow, status: BatchStatus) -> int:
        """Record the results of a batch that has ended."""
        price, buffer, answered = _price_from(row.header.price), list[rows.BatchAnswer](), 0
        dropped: dict[str, str] = {}  # parameters, and what the service said
        async for line in self._client(row.header).results(status):
            if (answer := await self._answer(row, line, price, dropped)) is not None:
                buffer.append(answer)
            if len(buffer) >= AT_A_TIME:
                answered += await self._record(row, buffer)
                buffer = []
        answered += await self._record(row, buffer)
        for parameter, message in dropped.items():
            self._engine.totals.notices[f"{row.header.model} does not take {parameter}: left out ({message})"] += 1
            await self._ledger.drop(row.header.base_url, row.header.model, parameter, message)
        states = await self._ledger.work(partial(rows.end, batch=row.id, note=status.failure or _NO_ANSWER))
        del self._open[row.id]
        over = ", ".join(f"{count:,} {state}" for state, count in states.items())
        why = f": {status.failure}" if status.failure else ""
        self._tell(f"batch {printable(row.remote)}: ended ({over}){why}")
        return answered + len(dropped)

    async def _record(self, row: BatchRow, answers: Sequence[BatchAnswer]) -> int:
        recorded = await self._ledger.work(partial(rows.record, batch=row.id, answers=answers))
        self._engine.totals.bill += reduce(add, (answer.bill for answer in recorded), Bill())
        self._taken = reduce(add, (answer.bill for answer in recorded), self._taken)
        paid = [answer.bill for answer in recorded if answer.answered or answer.lost]
        self._uncounted += sum(not (bill.input_tokens and bill.output_tokens) for bill in paid)
        return sum(bool(answer.columns) for answer in recorded)

    async def _answer(
        self, row: BatchRow, line: BatchLine, price: prices.Price | None, dropped: dict[str, str]
    ) -> BatchAnswer | None:
        """Read a result; None where it is not of this batch. `dropped` takes parameters that the model does not."""
        keys = rows.key_range(line.custom_id, row.mark)
        if keys is None:
            return None
        response = line.response
        if response is None:
            return rows.BatchAnswer(keys, note=line.why)
        if 200 <= response.status < 300:
            return self._replied(row, response, price, keys)
        problem = await self._problem(row, response, keys)
        if problem.kind == "unsupported":
            dropped[problem.parameter] = problem.message
        if problem.kind != "rejected":
            return rows.BatchAnswer(keys, note=problem.message)
        columns = self._columns(row, response, cost=0.0, rejected=True)
        return rows.BatchAnswer(keys, columns, response.content, bill=Bill(calls=1))

    def _replied(
        self, row: BatchRow, response: protocol.Response, price: prices.Price | None, keys: tuple[bytes, bytes]
    ) -> BatchAnswer:
        raw = response.content
        try:
            reply = protocol.provider(row.header.provider).reply(raw)
        except ValueError as error:
            return rows.BatchAnswer(keys, note=f"no answer in the response: {error}", lost=True, bill=Bill(calls=1))
        cost = None if price is None or reply.usage is None else prices.Prices.cost(price, reply.usage)
        bill = Bill().with_answer(reply.usage, cost, reply.partial_usage)
        faults = [attempts.fault_of(choice) for choice in reply.choices]
        answered = tuple(at for at, fault in enumerate(faults) if not fault)
        if not answered:
            return rows.BatchAnswer(keys, note=f"no answer in the response: {faults[0]}", lost=True, bill=bill)
        answer = {"model": reply.model, "fingerprint": reply.fingerprint, "usage": reply.usage, "cost": cost}
        return rows.BatchAnswer(keys, self._columns(row, response, **answer), raw, answered, bill=bill)

    async def _problem(self, row: BatchRow, response: protocol.Response, keys: tuple[bytes, bytes]) -> Problem:
        """Say what an error means; a complaint of what the request does not hold is final."""
        now, service = time.time(), protocol.provider(row.header.provider)
        problem = service.problem(response, now)
        if problem.kind not in {"rejected", "unsupported"}:
            return problem
        body = json.loads(await self._ledger.work(partial(rows.body_of, batch=row.id, keys=keys)) or "{}")
        if problem.kind == "rejected":
            extra = frozenset(body) - getattr(service, "sets", frozenset(body))
            return wire.refused_extra(response, now, extra) or problem
        name, _, most = problem.parameter.partition(" up to ")
        held = name in body and (not most or body[name] > int(most))
        return problem if held else replace(problem, kind="rejected", parameter="")

    @staticmethod
    def _columns(row: BatchRow, response: protocol.Response, **more: Any) -> tuple[Any, ...]:
        request_id, version = response.headers.get("x-request-id", ""), row.header.price_version
        fields = {"request_id": request_id, "price_version": version, "answered_at": time.time(), **more}
        return response_columns(Recorded(response.status, response.content, **fields))

    def _settle(self) -> None:
        """Charge what results have taken; what is still under way may cost its worst case."""
        reserved, taken = self._reserved, self._taken
        if reserved is None:
            return
        under_way = self._open.values()
        open_tokens, open_cost = sum(row.tokens for row in under_way), sum(row.cost for row in under_way)
        each = self._uncounted / max(1, reserved.need.calls)
        reserved.settle(
            taken.input_tokens + taken.output_tokens,
            taken.cost,
            taken.calls + sum(row.requests for row in under_way),
            may_tokens=open_tokens + round(each * reserved.need.tokens),
            may_cost=(open_cost + each * reserved.need.cost) / PICO,
        )
        self._reserved, self._taken, self._uncounted = None, NOTHING_PAID, 0

    async def _change(self, row: BatchRow, **columns: str | float | None) -> None:
        await self._ledger.work(lambda ledger_file: rows.change(ledger_file, row.id, **columns))


_NO_ANSWER = "its batch brought no answer: the same command puts it into another one"
_RESUBMIT = "--resubmit sends its requests again; they may then be billed twice"
_UNKNOWN = f"in a batch whose submission is unknown ({_RESUBMIT})"


def _base_url(ask: Ask) -> str:
    return protocol.provider(ask.model.provider).request(ask, 1, frozenset()).base_url


def _may_have_arrived(problem: Problem) -> bool:
    return problem.sent or (problem.status is not None and (problem.status >= 500 or problem.status in {408, 409}))


def _refusal(row: BatchRow, problem: Problem) -> CallError:
    name = f"batch {printable(row.remote)}" if row.remote else f"a batch of {row.header.provider}/{row.header.model}"
    hint = "the same command continues"
    if problem.kind == "denied":
        hint = f"mend the key or the address, or leave --batch out where the server has none; {_RESUBMIT}"
    return CallError(f"{name}: {problem.message}", hint=hint)


def _header(endpoint: Endpoint, request: Request, price_version: str) -> BatchHeader:
    stated, price = endpoint.model.price, endpoint.price
    version = price_version if stated is None else "price={:g}/{:g}".format(*stated)
    text = "null" if price is None else json.dumps(asdict(price.in_batch()))
    where = (request.provider, request.base_url, request.api_version, request.endpoint, request.model)
    return rows.BatchHeader(*where, text, f"{version}, batch")


def _price_from(text: str) -> prices.Price | None:
    fields = json.loads(text)
    if fields is None:
        return None
    rates = {name: fields[name] and prices.Rates(**fields[name]) for name in ("rates", "long_prompt")}
    return prices.Price(**{**fields, **rates})
