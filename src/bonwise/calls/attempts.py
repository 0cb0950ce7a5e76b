"""One call, from the claim in the ledger to the recorded answer, with the span and the log line of each attempt."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from bonwise.calls import limiter, prices, rate_limits, retry, spending, tokens
from bonwise.calls.ask import OCCASION, AttemptError, CallOutcome, Outcome, Problem, Reply, refused_for_good
from bonwise.calls.bill import Bill
from bonwise.calls.ledger.records import Recorded
from bonwise.calls.providers import protocol, wire
from bonwise.printable import printable
from bonwise.table.verdicts import Unscored
from bonwise.tracing import UNTRACED, Untraced, logger, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bonwise.calls import ask, bill, shared_money
    from bonwise.calls.endpoint import Endpoint
    from bonwise.calls.ledger.ledger import LedgerProtocol
    from bonwise.calls.spending import Reservation, Spending


@dataclass(slots=True)
class Exchange:
    """What is known of one attempt once it has ended, however it ended."""

    sent: bool = False
    problem: Problem | None = None
    reply: Reply | None = None
    cost: float | None = None
    limits: rate_limits.RateLimits = field(default_factory=rate_limits.RateLimits)


_LOG = logger("calls")

_IN_BATCH = Unscored("owed: in a batch that has not ended (--batch takes its answers)", owed=True)

_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""What services call the most tokens of an answer."""


def attempt_span(
    endpoint: Endpoint, request: ask.Request, number: int, exchange: Exchange
) -> AbstractContextManager[object]:
    """Return an attempt's span: a failure is logged as information (another follows), an answer for debugging."""
    current = span(f"{endpoint.operation} {request.model}", "LLM")
    if current is UNTRACED and not _LOG.isEnabledFor(logging.INFO):
        return nullcontext()
    return _told(current, endpoint, request, number, exchange)


@contextmanager
def _told(
    current: Untraced, endpoint: Endpoint, request: ask.Request, number: int, exchange: Exchange
) -> Iterator[None]:
    failed: Problem | None = None
    with current:
        try:
            yield
        except AttemptError as error:
            failed = error.problem
            raise
        finally:
            problem = failed or exchange.problem  # the latter where the server will never answer this request
            if problem is not None:
                current.fail(_error_type(problem))
                _LOG.info(
                    "attempt %d at a call of %s failed: %s", number, printable(request.model), _error_type(problem)
                )
            else:
                _LOG.debug("attempt %d at a call of %s was answered", number, printable(request.model))
            if current.recording:
                current.note({**_asked(endpoint, request, number), **_answered(exchange)})


def _asked(endpoint: Endpoint, request: ask.Request, number: int) -> Mapping[str, Any]:
    server, body = urlsplit(request.base_url), request.body  # of the address only what names no user
    return {
        "gen_ai.operation.name": endpoint.operation,
        "gen_ai.provider.name": endpoint.model.provider,
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": next((body[name] for name in _OUTPUT_LIMITS if name in body), None),
        "gen_ai.request.temperature": body.get("temperature"),
        "gen_ai.request.choice.count": body.get("n"),
        "server.address": server.hostname,
        "server.port": server.port,
        "bonwise.attempt": number,
    }


def _answered(exchange: Exchange) -> Mapping[str, Any]:
    reply = exchange.reply
    if reply is None:
        return {}
    usage = reply.usage if reply.partial_usage is None else reply.partial_usage.told
    return {
        "gen_ai.response.model": reply.model or None,
        "gen_ai.response.finish_reasons": [choice.finish for choice in reply.choices],
        "gen_ai.usage.input_tokens": None if usage is None else usage.input,
        "gen_ai.usage.output_tokens": None if usage is None else usage.output,
        "bonwise.cost": exchange.cost,
    }


def _error_type(problem: Problem) -> str:
    return problem.kind if problem.status is None else str(problem.status)


_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid")
"""Headers in which services name a request, for their support."""


def fault_of(choice: ask.Choice) -> str:
    """Return why asking again may bring an answer where a choice is none; empty where the model gave one."""
    ended = choice.finish == "stop" or (choice.finish == "other" and not choice.detail)
    is_empty = ended and not (choice.text.strip() or choice.logprobs or choice.elsewhere)
    return choice.failed or ("the reply is empty" if is_empty else "")


class UnsupportedError(Exception):
    """The server does not take a parameter: the request is to be built anew without it."""

    def __init__(self, problem: Problem, bill: Bill) -> None:
        self.problem, self.bill = problem, bill
        super().__init__(problem.message)


class _LastAttemptFailed(Exception):  # noqa: N818 - it says when, and nothing is defective
    """An attempt brought no answer, and there is to be no other."""


class _StaleError(Exception):
    """While the call waited for its turn, its server was found not to take something of it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What all calls of an engine share."""

    ledger: LedgerProtocol
    spending: Spending
    money: shared_money.SharedMoney | None
    """Where a limit on it has a window."""
    totals: bill.CallTotals
    attempts: int
    """The most attempts at one call."""
    price_version: str


@dataclass(frozen=True, slots=True)
class CallSize:
    """How large one call is."""

    expected: int
    """Tokens of input and output, about: what the limiter plans with."""
    most: int
    """Tokens it can take at worst: what a spending limit reckons with."""
    most_cost: float | None
    """US dollars at worst; None where the price is not known."""
    output: int
    """Tokens of output at worst; the others of `expected` are about those of the input."""


class CallAttempts:
    """Ask once for some samples of one request, none after `until`; complaints of what is `refused` are final."""

    def __init__(
        self,
        terms: Terms,
        endpoint: Endpoint,
        build: Callable[[int], ask.Request],
        keys: Sequence[bytes],
        size: CallSize,
        *,
        refused: frozenset[str] = frozenset(),
        until: float | None = None,
    ) -> None:
        self._terms, self._endpoint, self._build, self._size = terms, endpoint, build, size
        self._refused, self._until = refused, until
        self._keys = tuple(keys)
        self._request = build(len(self._keys))
        self._call: int | None = None
        self._outcomes: dict[bytes, Outcome] = {}
        self.bill = Bill()
        """What it has cost so far."""
        self._attempts = self._lost = self._faulty = 0
        self._busy = self._waiting = False
        self.on_the_wire = False
        """Whether an attempt is being made now, which the server may bill."""
        self.last_attempt = False
        """Whether the attempt that is being made is the last one, however it ends."""

    async def run(self) -> CallOutcome:
        """Return what came of it, an owed `Unscored` for no answer; UnsupportedError: build the request anew."""
        try:
            try:
                await self._attempt(1)
            except AttemptError as error:
                latest = None if self._until is None else self._endpoint.latest_start(self._until)
                await retry.until_answered(
                    self._attempt, attempts=self._terms.attempts, deadline=latest, failed=error
                )
        except AttemptError as error:
            await self._end(error)
        except _StaleError:
            self._keys = ()
        except spending.SpendingLimitReached as error:
            await self._owe(error.reason)
        except _LastAttemptFailed as error:
            await self._owe(str(error))
        except (limiter.DeadlineError, TimeoutError):
            await self._owe("no answer before the deadline")
        except BaseException:
            await self._let_go("given up")
            raise
        finally:
            self._wait(for_another_attempt=False)
        return CallOutcome(self._outcomes, self.bill, len(self._keys), self._faulty, self._busy)

    async def _attempt(self, number: int) -> None:
        self._endpoint.open()
        self._refuse_unpriced()
        self._count(number)
        self._wait(for_another_attempt=False)
        async with asyncio.timeout_at(self._until):
            reservation = await self._terms.spending.reserve(self._size.most, self._size.most_cost)
        try:
            lease = await self._endpoint.limiter.acquire(
                self._size.expected, None if self._until is None else self._endpoint.latest_start(self._until)
            )
        except BaseException:
            reservation.cancel()
            raise
        exchange = Exchange()
        try:
            if self._endpoint.closed is not None:  # while this one waited
                self._endpoint.open()
            self._refuse_stale()
            if self._terms.spending.overruns:  # of those that were let in, some have taken more
                self._terms.spending.refuse_overrun(reservation)
            if self._terms.money is not None:
                async with asyncio.timeout_at(self._until):
                    await self._terms.money.cover(reservation)
            elif self._size.most_cost is not None:
                reservation.ended = lambda cost: self._terms.ledger.spend_money(cost, time.time())
            if self._call is not None or await self._claim():
                self._terms.totals.retries += number > 1
                self.on_the_wire = True
                with attempt_span(self._endpoint, self._request, number, exchange):
                    await self._send(exchange)
        except AttemptError as error:
            exchange.problem = error.problem
            self._wait(for_another_attempt=error.problem.transient, trouble=error.problem.message)
            if self.last_attempt:
                raise _LastAttemptFailed(error.problem.message) from error
            raise
        except BaseException:
            exchange.problem = Problem("broken", "given up", sent=exchange.sent)
            raise
        finally:
            self.on_the_wire = False
            used = self._settle(reservation, exchange)
            # The slot is free only now: an answer is on disk before the next call takes its place.
            problem = exchange.problem if exchange.sent else None  # what was not sent says nothing of the pace
            lease.settle(tokens=used, limits=exchange.limits, problem=problem)

    def _count(self, number: int) -> None:
        budget = self._endpoint.retries
        if number == 1:
            budget.begun += 1
        elif self._until is not None and not budget.allows():
            raise _LastAttemptFailed(f"not asked again, too many calls fail here: {self._terms.totals.trouble}")

    def _refuse_unpriced(self) -> None:
        if self._size.most_cost is None and self._terms.spending.needs_prices:
            raise prices.unpriced(self._endpoint.model, self._endpoint.base_url)

    def _refuse_stale(self) -> None:
        if self._call is None and not self._endpoint.refused <= self._refused:
            raise _StaleError

    def _wait(self, *, for_another_attempt: bool, trouble: str = "") -> None:
        """Keep count of those who wait to try again."""
        totals = self._terms.totals
        totals.waiting += for_another_attempt - self._waiting
        self._waiting = for_another_attempt
        if for_another_attempt:
            totals.trouble = trouble
            OCCASION.get().waits()

    async def _claim(self) -> bool:
        asked = len(self._keys)
        claim = await self._terms.ledger.claim(self._keys, self._request, time.time())
        if claim.unknown:
            self.bill += Bill(unknown=claim.unknown)
        self._busy = bool(claim.busy)
        self._outcomes.update(dict.fromkeys(claim.batched, _IN_BATCH))
        self._call, self._keys = claim.call_id, claim.claimed
        if self._call is not None and len(self._keys) < asked:
            self._request = self._build(len(self._keys))
        return self._call is not None

    async def _send(self, exchange: Exchange) -> None:
        self._attempts += 1
        exchange.sent = True
        response = await self._receive()
        if isinstance(response, Problem):
            exchange.problem = response
            await self._reject(protocol.Response(response.status or 200, {}, b""), response)
            return
        now = time.time()
        exchange.limits = self._endpoint.provider.rate_limits(response.headers, now)
        if not 200 <= response.status < 300:
            problem = self._endpoint.provider.problem(response, now)
            if problem.kind == "rejected" and self._request.extra:
                problem = wire.refused_extra(response, now, self._request.extra) or problem
            if not self._is_final(problem):
                raise AttemptError(problem)
            exchange.problem = problem
            await self._reject(response, problem)
            return
        try:
            exchange.reply = self._endpoint.provider.reply(response.content)
        except ValueError as error:
            # Who streams unasked does so each time: another attempt would be paid in vain.
            kind: ask.Kind = "denied" if isinstance(error, wire.StreamedError) else "broken"
            message = f"no answer in the response: {error}"
            raise AttemptError(Problem(kind, message, response.status, sent=True)) from error
        exchange.cost = self._cost(exchange.reply)
        faults = [fault_of(choice) for choice in exchange.reply.choices]
        answered = [at for at, fault in enumerate(faults[: len(self._keys)]) if not fault]
        if not answered:
            self._refuse_faulty(exchange.reply, exchange.cost, response.status, faults[0])
        await self._record(response, exchange.reply, exchange.cost, answered)
        self._terms.totals.trouble = ""

    def _refuse_faulty(self, reply: Reply, cost: float | None, status: int, fault: str) -> NoReturn:
        """Count what a reply without any answer of the model has cost, and have it asked for again."""
        self._lost += 1
        self.bill = self.bill.with_answer(reply.usage, cost, reply.partial_usage)
        raise AttemptError(Problem("broken", f"no answer in the response: {fault}", status, sent=True))

    async def _receive(self) -> protocol.Response | Problem:
        """Send once and return the response; hurried ones end at 4 times the 95th percentile of latencies."""
        endpoint, now = self._endpoint, asyncio.get_running_loop().time
        in_use, begun, longest = endpoint.take_client(), now(), endpoint.attempt_timeout
        if self._until is not None and endpoint.latencies.patience is not None:
            longest = min(longest, endpoint.latencies.patience)
        limit = asyncio.timeout(longest)
        try:
            async with limit:
                response = await in_use.client.send(self._request)
        except AttemptError as error:
            if error.problem.kind != "oversized":
                raise
            return error.problem
        except TimeoutError:
            if not limit.expired():
                raise
            endpoint.latencies.add(longest)
            words = f"{endpoint.base_url} gave no whole answer within {longest:.3g} s"
            raise AttemptError(Problem("timeout", words, sent=True)) from None
        finally:
            in_use.calls -= 1
        if self._until is not None and response.status < 300:
            endpoint.latencies.add(now() - begun)
        return response

    def _is_final(self, problem: Problem) -> bool:
        # A server that complains of what was left out already would complain for ever.
        return problem.kind == "rejected" or (
            problem.kind == "unsupported" and (not problem.parameter or problem.parameter in self._refused)
        )

    async def _record(
        self, response: protocol.Response, reply: Reply, cost: float | None, answered: Sequence[int]
    ) -> None:
        choices = dict(zip(self._keys, answered, strict=False))
        self._faulty = min(len(reply.choices), len(self._keys)) - len(answered)
        await self._keep(self._recorded(response, reply, cost, choices))
        self._outcomes.update((key, reply.choices[at]) for key, at in choices.items())
        self._endpoint.answered, self._endpoint.denied = True, None
        self.bill = self.bill.with_answer(reply.usage, cost, reply.partial_usage)

    async def _reject(self, response: protocol.Response, problem: Problem) -> None:
        recorded = self._recorded(response, None, 0.0, {})
        if problem.kind == "oversized":
            # The one response that is not kept: what it was stands beside it, and nobody knows what it cost.
            lost = self._lost + 1
            recorded = replace(recorded, cost=None, lost_attempts=lost, note=problem.message)
        await self._keep(recorded)
        self._outcomes.update(dict.fromkeys(self._keys, refused_for_good(problem)))
        self.bill += Bill(calls=0 if problem.sent else 1)

    def _recorded(
        self, response: protocol.Response, reply: Reply | None, cost: float | None, choices: dict[bytes, int]
    ) -> Recorded:
        headers, stated = response.headers, self._endpoint.model.price
        return Recorded(
            status=response.status,
            raw=response.content,
            request_id=next((headers[name] for name in _REQUEST_IDS if headers.get(name)), ""),
            model="" if reply is None else reply.model,
            fingerprint="" if reply is None else reply.fingerprint,
            usage=None if reply is None else reply.usage,
            cost=cost,
            price_version=self._terms.price_version if stated is None else "price={:g}/{:g}".format(*stated),
            attempts=self._attempts,
            lost_attempts=self._lost,
            effective=self._request.parameters,
            choices=choices,
            answered_at=time.time(),
            rejected=reply is None,
        )

    async def _keep(self, recorded: Recorded) -> None:
        if self._call is not None:
            # Whoever is cancelled while the ledger writes has not undone it: the call is no longer open.
            call, self._call = self._call, None
            await self._terms.ledger.answer(call, recorded)

    def _cost(self, reply: Reply) -> float | None:
        if self._endpoint.price is None or reply.usage is None:
            return None
        return prices.Prices.cost(self._endpoint.price, reply.usage)

    def _settle(self, reservation: Reservation, exchange: Exchange) -> int | None:
        """Settle one attempt; return the tokens it really took, None where nobody counted."""
        problem, reply = exchange.problem, exchange.reply
        if reply is not None and reply.partial_usage is not None:
            return self._settle_in_part(reservation, reply, reply.partial_usage)
        if reply is not None:
            used = None if reply.usage is None else reply.usage.total
            reservation.settle(used, exchange.cost)
            return used
        if problem is not None and problem.sent:
            self._lost += 1
            self.bill += Bill(unknown=1)
            reservation.lost()
        elif problem is not None and problem.kind == "rejected":
            reservation.settle(0, 0.0)
        else:
            reservation.cancel()
        return None if exchange.sent else 0

    def _settle_in_part(self, reservation: Reservation, reply: Reply, partial: bill.PartialUsage) -> int:
        """Charge what a server told of a call as known, and the rest as what may be billed besides."""
        size, price, counted = self._size, self._endpoint.price, partial.told.total
        whole = tokens.reckoned(partial, size.expected - size.output, size.output, reply.choices)
        may_cost = None if price is None else prices.Prices.cost(price, whole)
        reservation.settle(counted, None, may_tokens=whole.total - counted, may_cost=may_cost)
        return whole.total

    async def _end(self, error: AttemptError) -> None:
        problem = error.problem
        if problem.kind == "unsupported":
            # Before anything else runs: the next call in line is not to carry it.
            self._endpoint.refused |= {problem.parameter}
            await self._let_go(problem.message)
            raise UnsupportedError(problem, self.bill) from error
        if problem.kind in {"denied", "quota"} or (problem.retry_after or 0.0) > rate_limits.PATIENCE:
            self._endpoint.close(replace(problem, sent=False))  # those who meet it at the door send nothing
        await self._owe(problem.message)

    async def _owe(self, reason: str) -> None:
        await self._let_go(reason)
        owed = Unscored(f"owed: {reason}", owed=True)
        missing = [key for key in self._keys if key not in self._outcomes]
        self._outcomes.update(dict.fromkeys(missing, owed))

    async def _let_go(self, note: str) -> None:
        if self._call is not None:
            call, self._call = self._call, None
            await self._terms.ledger.give_up(call, self._attempts, self._lost, note)
