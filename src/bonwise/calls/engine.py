"""Ask models: from the ledger where the answer is known, else over the network, once; all samples of one ask."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from bonwise.calls import attempts, bill, shared_money, tokens
from bonwise.calls.ask import CALLS_FOR, OCCASION, Answer, Answers, AttemptError, Problem, refused_for_good
from bonwise.calls.endpoint import Endpoint
from bonwise.calls.ledger import place
from bonwise.calls.ledger.ledger import Ledger, NullLedger
from bonwise.calls.limiter import Bucket, EndpointLimiter, Limiter
from bonwise.calls.prices import Prices
from bonwise.calls.providers import parameters, protocol, supplied
from bonwise.calls.settings import CallSettings
from bonwise.calls.spending import Spending
from bonwise.errors import CallError, UsageError
from bonwise.flags import completed, shows
from bonwise.table.verdicts import Unscored, kept

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask, CallOutcome, Model, Outcome, Request
    from bonwise.calls.batches import ProviderBatches
    from bonwise.calls.ledger.ledger import LedgerProtocol
    from bonwise.calls.ledger.postgres import PostgresLedger
    from bonwise.calls.ledger.records import Stored

GRACE = 5.0
"""Seconds that the calls on the wire have once an end is asked for."""

MOST_CLIENTS = 16
"""Endpoints of users' clients that are kept: an engine that all share outlives a client made for one request."""

_Key = tuple[str, str, str, tuple[float, float] | None, supplied.SuppliedClient | None]


@shows(CallSettings)
class Engine:
    """Asks models; never the same question twice, never beyond a limit, and keeps what it paid for.

    It belongs to the event loop in which it is first used. Close it, or use it as a context manager.

    Parameters
    ----------
    ledger : Ledger, PostgresLedger, str or pathlib.Path, optional
        Where answers are kept: a run folder, a ``.sqlite`` file or the address of a database,
        ``postgresql://USER@HOST/DATABASE``. Without one every question is paid anew.
    prices : Prices, optional
        Unless given, the built-in table with the file that ``BONWISE_PRICES`` names.
    limiter : callable, optional
        From a model to a limiter, to pace calls by a rule of your own.
    spending : Spending, optional
        An account that several engines share, in place of one of its own with `max_calls`, `max_tokens` and
        `max_cost`.
    **settings
        Those of `CallSettings`. After the deadline no new attempt at a question is made.
    """

    def __init__(
        self,
        ledger: Ledger | PostgresLedger | str | Path | None = None,
        *,
        prices: Prices | None = None,
        limiter: Callable[[Model], Limiter] | None = None,
        spending: Spending | None = None,
        **settings: Unpack[CallSettings],
    ) -> None:
        asked = completed(CallSettings, settings, "Engine")
        at_once = asked["max_concurrency"]
        self.totals = bill.CallTotals()
        self.spending = spending or Spending(asked["max_calls"], asked["max_tokens"], asked["max_cost"])
        self.prices = Prices.load() if prices is None else prices
        self.deadline, self.reask = asked["deadline"], asked["reask"]
        self.ledger: LedgerProtocol = _opened_ledger(ledger)
        self._owns_ledger = self.ledger is not ledger
        limit, money = self.spending.shared, None
        if limit is not None:
            limit.refuse_without(self.ledger.path)
        if limit is not None and not isinstance(self.ledger, NullLedger):
            money = shared_money.SharedMoney(self.ledger, limit)
        self.terms = attempts.Terms(
            self.ledger, self.spending, money, self.totals, asked["attempts"], self.prices.version
        )
        """What all calls under way share."""
        self._limiter, self._at_once = limiter, at_once
        self.connection = asked["connection"] or protocol.Connection(connections=at_once)
        self._endpoints: dict[_Key, Endpoint] = {}
        """Each once; those with a client of the user's in the order in which they were used last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self.tasks_by_key: dict[bytes, asyncio.Task[CallOutcome]] = {}
        """Calls under way, by the keys that they are to answer."""
        self._calls: dict[asyncio.Task[CallOutcome], attempts.CallAttempts] = {}
        self.stopped = "not in the ledger" if asked["offline"] else ""
        """Why nothing new is sent, empty while the engine runs."""
        self.batches: ProviderBatches | None = None
        """What takes the questions that go into batches and not over the network one by one."""

    async def ask(self, ask: Ask) -> Answers:
        """Return an answer per sample, stored ones from the ledger; what did not arrive is an owed `Unscored`."""
        loop = asyncio.get_running_loop()
        if self._loop not in {None, loop}:
            raise UsageError("the engine belongs to another event loop", hint="make an engine for each event loop")
        self._loop = loop
        self.totals.shortened += ask.shortened
        self.totals.replaced += ask.replaced
        whole = protocol.provider(ask.model.provider).request(ask, 1, frozenset())
        endpoint = self.endpoint(ask, whole)
        return await AskRun(self, ask, whole, endpoint).run()

    def for_planning(self) -> Engine:
        """Return an engine on the same ledger and account that sends nothing: its questions go into batches only."""
        ledger = self.ledger if isinstance(self.ledger, Ledger) else None
        planning = Engine(ledger, prices=self.prices, spending=self.spending, reask=self.reask)
        planning.batches, planning.stopped = self.batches, "batches are planned"
        return planning

    def leave(self, asks: Sequence[Ask], reason: str) -> bill.Bill:
        """Count the answers to questions that wait for one that has not arrived, and return them as a bill."""
        unasked = bill.Bill(owed=sum(ask.samples for ask in asks))
        self.totals.bill += unasked
        self.totals.owe(reason, unasked.owed)
        return unasked

    def endpoint(self, ask: Ask, request: Request | None = None) -> Endpoint:
        """Return the endpoint of an ask: the model, at the server to which its whole `request` would go now."""
        model = ask.model
        adapter = protocol.provider(model.provider)
        base_url = (request or adapter.request(ask, 1, frozenset())).base_url
        key = (model.provider, base_url, model.name, model.price, model.client)
        endpoint = self._endpoints.get(key)
        if endpoint is None:
            refused, price = self.ledger.dropped(base_url, model.name), self.prices.of(model, base_url)
            limiter = self._limiter or self._paced(f"{base_url} {model.name}")
            endpoint = Endpoint(adapter, model, base_url, refused, price, limiter, self.connection)
            self._endpoints[key] = endpoint
            supplied_clients = [key for key in self._endpoints if key[-1] is not None]
            # Calls under way keep their endpoint, and what sends by a user's client has nothing to close.
            for unused in supplied_clients[:-MOST_CLIENTS]:
                del self._endpoints[unused]
        elif model.client is not None:
            self._endpoints[key] = self._endpoints.pop(key)
        return endpoint

    def _paced(self, endpoint: str) -> Callable[[Model], Limiter]:
        """Return what makes the limiter of an endpoint; a ledger of many machines also shares the pace."""
        share: Callable[..., Bucket] | None = getattr(self.ledger, "bucket", None)
        buckets = None if share is None else partial(share, endpoint)
        return lambda _model: EndpointLimiter(self._at_once, bucket=buckets)

    def prepare(self, ask: Ask) -> None:
        """Have a client for an ask's model at hand, so that the first call does not wait for one to be made."""
        with suppress(AttemptError, CallError):  # what is wrong is said when something is asked
            self.endpoint(ask).open()

    def start(self, call: attempts.CallAttempts, keys: Sequence[bytes]) -> asyncio.Task[CallOutcome]:
        """Start a call for some keys in its own task, which goes on if the caller is cancelled."""
        task = asyncio.create_task(call.run())
        self._calls[task] = call
        for calls in CALLS_FOR.get():
            calls.append(call)
        self.tasks_by_key.update(dict.fromkeys(keys, task))

        def forget(done: asyncio.Task[CallOutcome]) -> None:
            del self._calls[done]
            for key in keys:
                del self.tasks_by_key[key]
            # A call is paid for even if the caller has gone.
            self.totals.bill += call.bill
            if not done.cancelled():
                done.exception()  # whoever waits sees it too; if nobody waits any more, it is no news

        task.add_done_callback(forget)
        return task

    def stop(self, reason: str) -> None:
        """Send nothing new. Calls on the wire may still be answered; `aclose` waits for them."""
        self.stopped = reason
        for task, call in self._calls.items():
            if call.on_the_wire:
                call.last_attempt = True
            else:
                task.cancel()

    def abandon(self, reason: str) -> None:
        """Send nothing new, and wait for nothing: the ledger notes that calls on the wire may be billed."""
        self.stopped = reason
        for task in self._calls:
            task.cancel()

    def denial(self) -> CallError | None:
        """Return what a person has to mend before any call of some model will be answered: key, model or address."""
        for endpoint in list(self._endpoints.values()):
            if endpoint.without_key is not None:
                return endpoint.without_key
            if endpoint.denied is not None:
                return CallError(
                    f"{endpoint.model} at {endpoint.base_url}: {endpoint.denied.message}",
                    hint="mend the key, the model's name or the address (many end in /v1)",
                )
        return None

    async def aclose(self) -> None:
        """Wait up to `GRACE` s for calls on the wire, give up the rest (perhaps billed), close clients and ledger."""
        self.stop(self.stopped or "the engine is closed")
        if self._calls:
            await asyncio.wait(list(self._calls), timeout=GRACE)
        if self._calls:
            self.abandon(self.stopped)
            # What does not let itself be cancelled, such as code of the user's, is left behind.
            await asyncio.wait(list(self._calls), timeout=GRACE)
        for client in [client for endpoint in self._endpoints.values() for client in endpoint.give_up_clients()]:
            await client.aclose()
        if self._owns_ledger:
            self.ledger.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _opened_ledger(ledger: Ledger | PostgresLedger | str | Path | None) -> LedgerProtocol:
    if ledger is None:
        return NullLedger()
    if isinstance(ledger, str) and place.is_address(ledger):
        from bonwise.calls.ledger.postgres import PostgresLedger  # noqa: PLC0415 - few have one

        return PostgresLedger(ledger)
    return Ledger.open(ledger) if isinstance(ledger, str | Path) else ledger


_JSON = json.JSONEncoder(default=str, allow_nan=False)  # made once: `json.dumps` would make one at each call

Open = dict[bytes, int]
"""Keys that have no outcome yet, with their sample index."""


class AskRun:
    """One ask of an engine: no attempt begins after its deadline; what is unscored is asked again as `reask` says."""

    def __init__(self, engine: Engine, ask: Ask, whole: Request, endpoint: Endpoint) -> None:
        self._engine, self._ask, self._endpoint = engine, ask, endpoint
        self._terms, self._reask = engine.terms, engine.reask
        for notice in parameters.left_out(ask, endpoint.remembered, endpoint.provider.capabilities):
            self._terms.totals.notices.setdefault(notice, 1)
        self._refused = endpoint.refused
        self._request: Request = self._build(1) if self._refused else whole
        self._answers: dict[int, Answer] = {}
        self._bill = bill.NOTHING_PAID
        self._reused_tokens = 0.0
        self._until: float | None = None
        self._unread: set[int] = set()  # samples whose latest answer is worth a second ask
        self._arrived: set[int] = set()  # samples that were answered in this run, not before

    async def run(self) -> Answers:
        """Return one answer per sample; where `reask` is None, what could not be read is asked for once more."""
        self._until = OCCASION.get().until
        if self._until is None and self._engine.deadline is not None:
            self._until = asyncio.get_running_loop().time() + self._engine.deadline
        first = self._ask.first_sample
        samples: Iterable[int] = range(first, first + self._ask.samples)
        begun = asyncio.get_running_loop().time()
        for generation in range((self._reask or 0) + 1):
            await self._obtain(samples, generation)
            samples = self._unusable()
            if not samples:
                break
        if self._unread and self._reask is None:
            await self._ask_second(asyncio.get_running_loop().time() - begun)
        answers = tuple(answer for _, answer in sorted(self._answers.items()))
        self._count(answers)
        return Answers(answers, self._bill, self._request.parameters)

    async def _ask_second(self, took: float) -> None:
        """Take second answers in place of those that could not be read; the first `took` so many seconds."""
        unread, first = sorted(self._unread), dict(self._answers)
        missing = await self._look_up(dict(zip(self._request.keys(unread, 1), unread, strict=True)))
        under_way = self._engine.tasks_by_key
        wanted = [sample for key, sample in missing.items() if sample in self._arrived or key in under_way]
        size = self._size(len(wanted))
        has_room = self._terms.spending.has_room(size.most, size.most_cost)
        if not wanted or self._engine.stopped or not has_room or not self._has_time(took):
            return
        # A question that another asker has under way is counted there.
        if own := sum(sample in self._arrived and key not in under_way for key, sample in missing.items()):
            self._terms.totals.notices[f"{self._ask.model} was asked again where a reply could not be read"] += own
        await self._obtain(wanted, 1, live=True)
        for sample in wanted:
            reading, before = self._answers[sample].reading, first[sample].reading
            # Of an answer that was read in part, the second one may lack more.
            worse = isinstance(reading, Unscored) or len(_unread_parts(reading)) >= len(_unread_parts(before))
            if (worse and not isinstance(before, Unscored)) or (isinstance(reading, Unscored) and reading.owed):
                self._answers[sample] = first[sample]

    def _has_time(self, took: float) -> bool:
        median = self._endpoint.latencies.median
        needed = took if median is None else median
        return self._until is None or asyncio.get_running_loop().time() + needed <= self._until

    def _build(self, samples: int) -> Request:
        return self._endpoint.provider.request(self._ask, samples, self._refused)

    def _leave_out_what_is_refused(self) -> None:
        if self._refused != self._endpoint.refused:
            self._refused = self._endpoint.refused
            self._request = self._build(1)

    def _unusable(self) -> list[int]:
        readings = ((sample, answer.reading) for sample, answer in self._answers.items())
        return [sample for sample, reading in readings if isinstance(reading, Unscored) and not reading.owed]

    async def _obtain(self, samples: Iterable[int], generation: int, *, live: bool = False) -> None:
        """Get answers; second asks are `live` also where questions go into batches."""
        batches = None if live else self._engine.batches
        wanted = list(samples)
        while wanted:
            self._leave_out_what_is_refused()
            missing = await self._look_up(dict(zip(self._request.keys(wanted, generation), wanted, strict=True)))
            if not missing:
                return
            if batches is not None and batches.takes(self._endpoint, self._ask):
                requests = {tuple(keys): self._request_for(len(keys)) for keys in self._groups(list(missing))}
                await batches.plan(self._endpoint, [(*ask, self._size(len(ask[0]))) for ask in requests.items()])
                for key in list(missing):
                    self._owe({key: missing.pop(key)}, batches.reason(key))
                return
            if self._engine.stopped:
                self._owe(missing, self._engine.stopped)
                return
            if await self._send_for(missing):
                await self._wait_for_others(missing)
            wanted = list(missing.values())

    async def _wait_for_others(self, missing: Open) -> None:
        """Look for answers that another process is asking for; now and then its lease is to be looked at again."""
        for pause in shared_money.PAUSES:
            await asyncio.sleep(pause)
            if await self._terms.ledger.look_up(missing):
                return

    def _owe(self, missing: Open, reason: str) -> None:
        owed = Unscored(f"owed: {reason}", owed=True)
        self._take(missing, dict.fromkeys(missing, owed), paid=False)

    async def _look_up(self, keys: Open) -> Open:
        missing, known = {}, await self._terms.ledger.look_up(keys)
        for key, sample in keys.items():
            stored = known.get(key)
            if stored is None:
                missing[key] = sample
            else:
                self._endpoint.answered = True
                # Written down a moment ago, by a call of this very run; or by a batch, which asks nothing again.
                if key in self._engine.tasks_by_key or stored.batched:
                    self._arrived.add(sample)
                self._answers[sample] = self._read(self._outcome(stored), sample, from_ledger=True)
        return missing

    async def _send_for(self, missing: Open) -> bool:
        """Send for what is missing and take what lands; tell whether another process is at it."""
        paid, shared = self._start(missing)
        tasks = {*paid, *shared}
        # Waiting, unlike awaiting, leaves the calls alone when whoever asked goes away.
        await asyncio.wait(tasks)
        busy = False
        for task in tasks:
            if task.cancelled():
                continue
            try:
                outcome = task.result()
            except attempts.UnsupportedError as error:
                self._bill += error.bill if task in paid else bill.Bill()
                await self._leave_out(error.problem.parameter, error.problem.message)
                continue
            if task in paid:
                self._bill = outcome.bill if self._bill is bill.NOTHING_PAID else self._bill + outcome.bill
                got = len(outcome.outcomes)
                if 0 < got < outcome.asked - outcome.faulty:
                    await self._leave_out("n", f"sent {got + outcome.faulty} of {outcome.asked} answers")
            outcomes = outcome.outcomes if task in paid else self._shared(outcome.outcomes)
            self._take(missing, outcomes, paid=task in paid, reused=0.0 if task in paid else outcome.tokens_each)
            busy = busy or outcome.busy
        return busy

    def _shared(self, outcomes: Mapping[bytes, Outcome]) -> Mapping[bytes, Outcome]:
        """Return what another's call brought: where it gave up at a deadline of its own, there may be time left."""
        if self._until is None or asyncio.get_running_loop().time() >= self._until:
            return outcomes
        return {key: end for key, end in outcomes.items() if not (isinstance(end, Unscored) and end.owed)}

    def _start(self, missing: Open) -> tuple[set[asyncio.Task[CallOutcome]], set[asyncio.Task[CallOutcome]]]:
        running = self._engine.tasks_by_key
        under_way = {key: running[key] for key in missing if key in running}
        fresh = [key for key in missing if key not in under_way]
        paid = {self._started(group) for group in self._groups(fresh)}
        return paid, set(under_way.values())

    def _groups(self, keys: list[bytes]) -> list[list[bytes]]:
        """Return the keys of each call."""
        takes_n = self._endpoint.provider.capabilities.samples and self._ask.question is None
        return [keys] if takes_n and keys and "n" not in self._refused else [[key] for key in keys]

    def _request_for(self, samples: int) -> Request:
        return self._request if samples == 1 else self._build(samples)

    def _started(self, keys: list[bytes]) -> asyncio.Task[CallOutcome]:
        single = self._request
        several = partial(self._endpoint.provider.request, self._ask, dropped=self._refused)
        call = attempts.CallAttempts(
            self._terms,
            self._endpoint,
            lambda samples: single if samples == 1 else several(samples),
            keys,
            self._size(len(keys)),
            refused=self._refused,
            until=self._until,
        )
        return self._engine.start(call, keys)

    def _size(self, samples: int) -> attempts.CallSize:
        ask, price = self._ask, self._endpoint.price
        output = ask.max_tokens * samples
        expected, most = tokens.input_tokens(ask, self._request)
        most_cost = None if price is None else Prices.most_cost(price, most, output)
        return attempts.CallSize(expected + output, most + output, most_cost, output)

    async def _leave_out(self, parameter: str, message: str) -> None:
        if parameter in self._endpoint.written_down:
            return
        self._endpoint.written_down.add(parameter)
        self._endpoint.refused |= {parameter}
        done = f"takes {parameter}" if " up to " in parameter else f"does not take {parameter}: left out"
        self._terms.totals.notices[f"{self._ask.model} {done} ({message})"] += 1
        await self._terms.ledger.drop(self._endpoint.base_url, self._ask.model.name, parameter, message)

    def _take(self, missing: Open, outcomes: Mapping[bytes, Outcome], *, paid: bool, reused: float = 0.0) -> None:
        for key, outcome in list(outcomes.items()):
            sample = missing.pop(key, None)
            if sample is None:
                continue
            self._arrived.add(sample)
            answer = self._answers[sample] = self._read(outcome, sample, from_ledger=not paid)
            if not isinstance(outcome, Unscored):
                self._terms.ledger.note_reading(key, _as_json(answer.reading))
                self._reused_tokens += reused

    def _read(self, outcome: Outcome, sample: int, *, from_ledger: bool) -> Answer:
        self._unread.discard(sample)
        if isinstance(outcome, Unscored):
            return Answer(outcome, "", from_ledger and not outcome.owed)
        for notice in parameters.ignored(self._ask, self._request, outcome):
            self._terms.totals.notices[notice] += 1
        try:
            reading = self._ask.read(outcome)
        except Exception as error:  # noqa: BLE001 - a reader may be anybody's; what it was given is paid and kept
            reading = Unscored(f"the reader failed: {type(error).__name__}", kept(outcome.text))
        if any(self._ask.second(outcome, part) for part in _unread_parts(reading)):
            self._unread.add(sample)
        if isinstance(reading, Unscored) and outcome.elsewhere:
            reading = replace(reading, reason=f"{reading.reason}: {outcome.elsewhere}")
        return Answer(reading, outcome.text, from_ledger)

    def _outcome(self, stored: Stored) -> Outcome:
        adapter = self._endpoint.provider
        if stored.choice is None:
            if 200 <= stored.status < 300:  # a success is refused only for its size
                return refused_for_good(Problem("oversized", stored.note, stored.status, sent=True))
            return refused_for_good(adapter.problem(protocol.Response(stored.status, {}, stored.raw), time.time()))
        try:
            reply = adapter.reply(stored.raw)
            outcome = reply.choices[stored.choice]
        except (ValueError, IndexError):
            return Unscored("the stored answer cannot be read")
        if reply.usage is not None:
            self._reused_tokens += (reply.usage.input + reply.usage.output) / len(reply.choices)
        return outcome

    def _count(self, answers: tuple[Answer, ...]) -> None:
        readings = [answer.reading for answer in answers if isinstance(answer.reading, Unscored)]
        owed = sum(reading.owed for reading in readings)
        # What was paid is in the totals since it was answered.
        reused = sum(answer.from_ledger for answer in answers)
        totals = self._terms.totals
        if owed or reused or self._reused_tokens:
            unpaid = bill.Bill(owed=owed, from_ledger=reused, reused_tokens=round(self._reused_tokens))
            self._bill += unpaid
            totals.bill += unpaid
        for reading in readings:
            if reading.owed:
                totals.owe(reading.reason.removeprefix("owed: "))
        totals.answers += len(answers) - owed
        words = [answer.raw for answer in answers]
        if len(words) > 1 and all(words):
            totals.repeated += 1
            totals.alike += len(set(words)) == 1
        totals.unscored += len(readings) - owed


def _unread_parts(reading: Any) -> list[Unscored]:
    """Return what could not be read of an answer: all of it, or some of its parts."""
    parts = reading if isinstance(reading, tuple) else (reading,)
    return [part for part in parts if isinstance(part, Unscored)]


def _as_json(reading: Any) -> str:
    shown = {"unscored": reading.reason} if isinstance(reading, Unscored) else reading
    try:
        return _JSON.encode(shown)
    except (TypeError, ValueError):  # a reader may be anybody's
        return _JSON.encode(kept(repr(reading)))
