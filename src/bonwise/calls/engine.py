"""Ask models: from the ledger where the answer is known, else over the network, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from bonwise.calls import ask_run, attempts, bill, shared_money
from bonwise.calls.ask import AttemptError
from bonwise.calls.endpoint import Endpoint
from bonwise.calls.ledger.ledger import Ledger, LedgerProtocol, NullLedger
from bonwise.calls.limiter import EndpointLimiter, Limiter
from bonwise.calls.prices import Prices
from bonwise.calls.providers import protocol, supplied
from bonwise.calls.settings import CallSettings
from bonwise.calls.spending import Spending
from bonwise.errors import CallError, UsageError
from bonwise.flags import completed, shows

if TYPE_CHECKING:
    from bonwise.calls.ask import Answers, Ask, Model, Request

__all__ = ["GRACE", "MOST_CLIENTS", "Engine"]

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
    ledger : Ledger, str or pathlib.Path, optional
        Where answers are kept: a run folder or a ``.sqlite`` file. Without one every question is paid anew.
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
        ledger: Ledger | str | Path | None = None,
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
        self._owns_ledger = not isinstance(ledger, Ledger)
        money = shared_money.SharedMoney(self.ledger, self.spending.shared)
        self.terms = attempts.Terms(
            self.ledger, self.spending, money, self.totals, asked["attempts"], self.prices.version
        )
        """What all calls under way share."""
        self._limiter = limiter or (lambda _model: EndpointLimiter(at_once))
        self._connection = asked["connection"] or protocol.Connection(connections=at_once)
        self._endpoints = Endpoints()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls = ask_run.CallsUnderWay(self.terms)
        if asked["offline"]:
            self.stop("not in the ledger")

    async def ask(self, ask: Ask) -> Answers:
        """Return one answer per sample, from the ledger where known; what did not arrive is an owed `Unscored`.

        Raises CallError without a key, LedgerError where the ledger cannot be written (nothing more is sent),
        UsageError in another event loop or for a question that the provider cannot answer.
        """
        loop = asyncio.get_running_loop()
        if self._loop not in {None, loop}:
            raise UsageError("the engine belongs to another event loop", hint="make an engine for each event loop")
        self._loop = loop
        self.totals.shortened += ask.shortened
        self.totals.replaced += ask.replaced
        whole = protocol.provider(ask.model.provider).request(ask, 1, frozenset())
        endpoint = self.endpoint(ask, whole)
        return await ask_run.AskRun(ask, whole, endpoint, self._calls, deadline=self.deadline, reask=self.reask).run()

    def endpoint(self, ask: Ask, request: Request | None = None) -> Endpoint:
        """Return the endpoint of an ask: the model, at the server to which its whole `request` would go now."""
        model = ask.model
        adapter = protocol.provider(model.provider)
        base_url = (request or adapter.request(ask, 1, frozenset())).base_url

        def make() -> Endpoint:
            refused = self.ledger.dropped(base_url, model.name)
            price = self.prices.of(model, base_url)
            return Endpoint(adapter, model, base_url, refused, price, self._limiter, self._connection)

        return self._endpoints.of(model, base_url, make)

    def prepare(self, ask: Ask) -> None:
        """Have a client for an ask's model at hand, so that the first call does not wait for one to be made."""
        with suppress(AttemptError, CallError):  # what is wrong is said when something is asked
            self.endpoint(ask).open()

    @property
    def stopped(self) -> str:
        """Why nothing new is sent, empty while the engine runs."""
        return self._calls.stopped

    def stop(self, reason: str) -> None:
        """Send nothing new. Calls on the wire may still be answered; `aclose` waits for them."""
        self._calls.stop(reason)

    def abandon(self, reason: str) -> None:
        """Send nothing new, and wait for nothing: the ledger notes that calls on the wire may be billed."""
        self._calls.abandon(reason)

    def denial(self) -> CallError | None:
        """Return what a person has to mend before any call of some model will be answered: key, model or address."""
        for endpoint in self._endpoints:
            if endpoint.without_key is not None:
                return endpoint.without_key
            if endpoint.denied is not None:
                return CallError(
                    f"{endpoint.model} at {endpoint.base_url}: {endpoint.denied.message}",
                    hint="mend the key, the model's name or the address (many end in /v1), and run it again",
                )
        return None

    async def aclose(self) -> None:
        """Wait up to `GRACE` s for calls on the wire, give up the rest (perhaps billed), close clients and ledger."""
        await self._calls.end(GRACE)
        for client in [client for endpoint in self._endpoints for client in endpoint.give_up_clients()]:
            await client.aclose()
        if self._owns_ledger:
            self.ledger.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _opened_ledger(ledger: Ledger | str | Path | None) -> LedgerProtocol:
    if ledger is None:
        return NullLedger()
    return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)


class Endpoints:
    """Each endpoint once; of those with a client of the user's, the ones that were used last."""

    def __init__(self) -> None:
        self._endpoints: dict[_Key, Endpoint] = {}

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(list(self._endpoints.values()))

    def of(self, model: Model, base_url: str, make: Callable[[], Endpoint]) -> Endpoint:
        """Return the endpoint of a model at a server, made when it is first asked for."""
        key = (model.provider, base_url, model.name, model.price, model.client)
        endpoint = self._endpoints.get(key)
        if endpoint is None:
            endpoint = self._endpoints[key] = make()
            self._drop_unused()
        elif model.client is not None:
            self._endpoints[key] = self._endpoints.pop(key)
        return endpoint

    def _drop_unused(self) -> None:
        supplied = [key for key in self._endpoints if key[-1] is not None]
        # Calls under way keep their endpoint, and what sends by a user's client has nothing to close.
        for key in supplied[:-MOST_CLIENTS]:
            del self._endpoints[key]
