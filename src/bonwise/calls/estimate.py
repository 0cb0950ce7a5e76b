"""What asks will cost before any of them is sent, given what a ledger already holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from bonwise.calls import batches, bill, tokens
from bonwise.calls.ask import Ask, Model
from bonwise.calls.endpoint import Endpoint
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import NullLedger
from bonwise.calls.prices import Price, Prices
from bonwise.calls.providers.parameters import refuse_impossible
from bonwise.table.verdicts import Unscored

if TYPE_CHECKING:
    from bonwise.calls.ledger.records import Stored

_MESSAGES = 2


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """What the asks of one model will use."""

    model: Model
    asks: int = 0
    samples: int = 0
    """Both: what is asked for."""
    stored: int = 0
    """Samples that are there already and cost nothing."""
    calls: int = 0
    """Calls that will be sent if all goes well: no retries, and no asking again for answers still to come."""
    calls_most: int = 0
    """Bounds, with a second ask wherever a reply may be asked for again."""
    input_tokens: int = 0
    """About how many tokens."""
    input_tokens_most: int = 0
    """Bounds."""
    output_tokens_expected: int = 0
    """About how many tokens."""
    output_tokens_most: int = 0
    """Bounds."""
    output_basis: Literal["observed", "assumed"] = "assumed"
    """``observed`` in stored answers of this model, or ``assumed``: then without any reasoning, which no one can know
    beforehand.
    """
    cost: float | None = 0.0
    cost_most: float | None = 0.0
    """Both: US dollars, expected (no input cached) and at most; None where the price is not known."""

    def asked_times(self, times: int) -> ModelEstimate:
        """Return the row with bounds for asking that often for each answer."""
        bounds = ("calls_most", "input_tokens_most", "output_tokens_most")
        cost = None if self.cost_most is None else times * self.cost_most
        return replace(self, cost_most=cost, **{name: times * getattr(self, name) for name in bounds})

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {"model": str(self.model), "base_url": self.model.base_url, **_counts(self)} | {
            "output_basis": self.output_basis
        }


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What all asks will use; the totals of `by_model`."""

    by_model: tuple[ModelEstimate, ...]
    """In the order in which the models first appear."""
    prices: str
    """Version of the prices."""

    @property
    def asks(self) -> int:
        """Questions."""
        return sum(row.asks for row in self.by_model)

    @property
    def samples(self) -> int:
        """Answers asked for."""
        return sum(row.samples for row in self.by_model)

    @property
    def stored(self) -> int:
        """Answers that are there already."""
        return sum(row.stored for row in self.by_model)

    @property
    def calls(self) -> int:
        """Calls that will be sent if all goes well."""
        return sum(row.calls for row in self.by_model)

    @property
    def calls_most(self) -> int:
        """Calls if every reply that may be asked for again is; retries are not counted."""
        return sum(row.calls_most for row in self.by_model)

    @property
    def input_tokens(self) -> int:
        """About how many input tokens."""
        return sum(row.input_tokens for row in self.by_model)

    @property
    def input_tokens_most(self) -> int:
        """At most how many input tokens."""
        return sum(row.input_tokens_most for row in self.by_model)

    @property
    def output_tokens_expected(self) -> int:
        """About how many output tokens."""
        return sum(row.output_tokens_expected for row in self.by_model)

    @property
    def output_tokens_most(self) -> int:
        """At most how many output tokens."""
        return sum(row.output_tokens_most for row in self.by_model)

    @property
    def cost(self) -> float | None:
        """Expected US dollars; None where a price is not known."""
        return _sum(row.cost for row in self.by_model)

    @property
    def cost_most(self) -> float | None:
        """The most US dollars it can be; None where a price is not known."""
        return _sum(row.cost_most for row in self.by_model)

    @property
    def unknown_price_models(self) -> tuple[str, ...]:
        """Models that will be called and whose price is not known."""
        return tuple(dict.fromkeys(str(row.model) for row in self.by_model if row.cost is None))

    @property
    def assumed_output_models(self) -> tuple[str, ...]:
        """Models that will be called and whose answers have an assumed length, without reasoning."""
        rows = (row for row in self.by_model if row.output_tokens_most and row.output_basis == "assumed")
        return tuple(dict.fromkeys(str(row.model) for row in rows))

    def asked_times(self, times: int) -> CostEstimate:
        """Return the estimate with bounds for asking that often for each answer."""
        return replace(self, by_model=tuple(row.asked_times(times) for row in self.by_model))

    def to_dict(self) -> dict[str, Any]:
        """Return totals and rows as plain values."""
        return {
            **_counts(self),
            "unknown_price_models": list(self.unknown_price_models),
            "assumed_output_models": list(self.assumed_output_models),
            "prices": self.prices,
            "by_model": [row.to_dict() for row in self.by_model],
        }


@dataclass(slots=True)
class FormCount:
    """Questions of one form, which differ by the texts in them alone, counted without being written out."""

    ask: Ask
    """One of them."""
    sizes: Counter[int] = field(default_factory=Counter)
    """How many there are of each size of all their words, as of `bonwise.calls.tokens.text_size`."""
    repeated: int = 0
    """Questions that are the same as another one, beside these."""


def estimate(  # noqa: PLR0913 - what is asked, and what is known of services and prices
    asks: Iterable[Ask],
    stored: Callable[[Ask], int],
    prices: Prices,
    *,
    samples_at_once: bool | Callable[[Model], bool] = False,
    observed_output: Mapping[str, float] | None = None,
    input_correction: Mapping[str, float] | None = None,
    address: Callable[[Model], str | None] = lambda model: model.base_url,
    forms: Iterable[FormCount] = (),
    in_batch: Callable[[Model], bool] = lambda _model: False,
) -> CostEstimate:
    """Say what asks will use, and those counted in `forms`. Nothing is sent, and each ask is looked at once.

    `stored` tells how many samples of an ask are there; `samples_at_once`, perhaps by model, whether one call brings
    all missing ones and is charged its input once. By ``provider/model``, `observed_output` is the mean output tokens
    of a stored answer, `input_correction` counted over expected input tokens, not for bounds. `address` is where a
    model is really served (an environment variable may move it), which decides on its price;
    `in_batch` tells whether its calls go into batches.
    """
    tallies: dict[Model, _Tally] = {}

    def tally_of(model: Model) -> _Tally:
        if model not in tallies:
            name, price = str(model), prices.of(model, address(model))
            tallies[model] = _Tally(
                model,
                (price, price.batch if price is not None and in_batch(model) else 1.0),
                samples_at_once(model) if callable(samples_at_once) else samples_at_once,
                (observed_output or {}).get(name),
                (input_correction or {}).get(name, 1.0),
            )
        return tallies[model]

    for ask in asks:
        tally_of(ask.model).add(ask, stored(ask))
    for form in forms:
        tally = tally_of(form.ask.model)
        tally.add(form.ask, form.ask.samples, times=form.repeated)
        for size, times in form.sizes.items():
            tally.add(form.ask, 0, size, times)
    return CostEstimate(tuple(tally.row() for tally in tallies.values()), prices.version)


class _Tally:
    """Sums of one model while asks go by; they are not kept."""

    def __init__(
        self,
        model: Model,
        priced: tuple[Price | None, float],
        at_once: bool,
        observed: float | None,
        correction: float,
    ) -> None:
        self._model = model
        self._price, self._share = priced
        self._at_once = at_once
        self._observed = observed
        self._correction = correction
        self._asks = self._samples = self._stored = 0
        self._sent: Counter[tuple[int, int, int, float, int, tuple[int, int]]] = Counter()
        """Questions by size of their words, calls, answers of a call, and tokens of an answer and of the images, each
        as expected and at most."""

    def add(self, ask: Ask, stored: int, size: int | None = None, times: int = 1) -> None:
        """Take in so many questions of one size, that of the ask unless it is given."""
        stored = min(stored, ask.samples)
        missing = ask.samples - stored
        self._asks += times
        self._samples += times * ask.samples
        self._stored += times * stored
        if not missing:
            return
        calls, answers = (1, missing) if self._at_once and ask.question is None else (missing, 1)
        each = tokens.expected_output_tokens(ask) if self._observed is None else min(self._observed, ask.max_tokens)
        size = tokens.text_size(tokens.ask_text(ask)) if size is None else size
        self._sent[size, calls, answers, each, ask.max_tokens, tokens.image_tokens(ask)] += times

    def row(self) -> ModelEstimate:
        all_calls = all_input = input_most = output_most = 0
        output, costs, costs_most = 0.0, [], []
        for (size, calls, answers, each, longest, images), times in self._sent.items():
            many = times * calls
            expected, text_bytes = tokens.tokens_of_size(size)
            sent = round(expected * self._correction) + images[0]
            most = tokens.most_input_tokens(text_bytes, _MESSAGES) + images[1]
            all_calls, all_input, input_most = all_calls + many, all_input + many * sent, input_most + many * most
            output, output_most = output + many * answers * each, output_most + many * answers * longest
            if self._price is not None:
                costs.append(many * self._share * _cost(self._price, sent, answers * each))
                costs_most.append(many * Prices.most_cost(self._price, most, answers * longest))
        unknown = all_calls > 0 and self._price is None
        return ModelEstimate(
            self._model,
            self._asks,
            self._samples,
            self._stored,
            all_calls,
            all_calls,
            all_input,
            input_most,
            round(output),
            output_most,
            "assumed" if self._observed is None else "observed",
            None if unknown else math.fsum(costs),
            None if unknown else math.fsum(costs_most),
        )


def _cost(price: Price, input_tokens: int, output_tokens: float) -> float:
    # A mean length is not a whole number: the output is priced a million tokens at a time.
    per_million = Prices.cost(price, bill.Usage(uncached=input_tokens, output=1_000_000))
    without = Prices.cost(price, bill.Usage(uncached=input_tokens))
    return without + (per_million - without) * output_tokens / 1_000_000


def _counts(estimate: CostEstimate | ModelEstimate) -> dict[str, Any]:
    names = (
        *("asks", "samples", "stored", "calls", "calls_most", "input_tokens", "input_tokens_most"),
        *("output_tokens_expected", "output_tokens_most", "cost", "cost_most"),
    )
    return {name: getattr(estimate, name) for name in names}


def _sum(costs: Iterable[float | None]) -> float | None:
    known: list[float] = []
    for cost in costs:
        if cost is None:
            return None
        known.append(cost)
    return math.fsum(known)


def estimate_asks(
    engine: Engine, asks: Iterable[Ask], forms: Iterable[FormCount] = (), *, batch: bool = False
) -> CostEstimate:
    """Estimate calls, tokens and cost of questions and of `forms`, by what the ledger tells; nothing is sent.

    With `batch` the expected cost is that in batches; bounds are those of live calls.
    """
    view = _View(engine, batch=batch)
    costs = estimate(
        view.parts(asks),
        lambda _part: view.stored,
        engine.prices,
        samples_at_once=view.at_once,
        observed_output=_observed(engine),
        address=lambda model: view.endpoints[model].base_url,
        forms=view.checked(forms),
        in_batch=lambda model: view.in_batch[model],
    )
    return costs.asked_times(1 + (1 if engine.reask is None else engine.reask))


class _View:
    """What a ledger holds of questions as they go by."""

    def __init__(self, engine: Engine, *, batch: bool) -> None:
        self._engine, self._batch = engine, batch
        self.in_batch: dict[Model, bool] = {}
        self._met: set[bytes] = set()
        self.endpoints: dict[Model, Endpoint] = {}
        self.stored = 0
        """Samples that the latest part need not be asked for."""

    def parts(self, asks: Iterable[Ask]) -> Iterator[Ask]:
        """Yield each question; what is asked anew and what is asked again are different requests, so parts of it."""
        for ask in asks:
            needed = self._needed(ask, self._endpoint(ask))
            first, *again = needed or [0]
            self.stored = ask.samples - sum(needed)
            yield replace(ask, samples=self.stored + first)
            self.stored = 0
            for samples in again:
                yield replace(ask, samples=samples)

    def checked(self, forms: Iterable[FormCount]) -> Iterator[FormCount]:
        """Yield forms of questions that a provider can answer."""
        for form in forms:
            self._endpoint(form.ask)
            yield form

    def _endpoint(self, ask: Ask) -> Endpoint:
        endpoint = self.endpoints[ask.model] = self._engine.endpoint(ask)
        refuse_impossible(ask, endpoint.provider.capabilities)
        self.in_batch[ask.model] = self._batch and batches.ProviderBatches.takes(endpoint, ask)
        return endpoint

    def at_once(self, model: Model) -> bool:
        """Tell whether one call brings several samples."""
        endpoint = self.endpoints[model]
        return endpoint.provider.capabilities.samples and "n" not in endpoint.refused

    def _needed(self, ask: Ask, endpoint: Endpoint) -> list[int]:
        """Return how many samples are to be asked for in each generation that needs any."""
        request = endpoint.provider.request(ask, 1, endpoint.refused)
        samples, missing_requests = list(range(ask.first_sample, ask.first_sample + ask.samples)), []
        reask = self._engine.reask
        again = 1 if reask is None else reask
        for generation in range(again + 1):
            missing, unusable = 0, []
            for sample, key in zip(samples, request.keys(samples, generation), strict=True):
                stored = None if key in self._met else self._engine.ledger.stored(key)
                missing += stored is None and key not in self._met
                if stored is None:
                    self._met.add(key)
                elif generation == again or (reask is None and not stored.batched):  # a batch asked nothing again
                    continue
                elif not _usable(stored, ask, endpoint):
                    unusable.append(sample)
            missing_requests += [missing] if missing else []
            samples = unusable
        return missing_requests


def _usable(stored: Stored, ask: Ask, endpoint: Endpoint) -> bool:
    if stored.choice is None:
        return False
    try:
        return not isinstance(ask.read(endpoint.provider.reply(stored.raw).choices[stored.choice]), Unscored)
    except Exception:  # noqa: BLE001 - what cannot be read, by whosever reader, is unscored
        return False


def _observed(engine: Engine) -> dict[str, float]:
    if isinstance(engine.ledger, NullLedger):
        return {}
    tallies = [tally for tally in engine.ledger.stats().models if tally.samples and tally.usage.output]
    return {f"{tally.provider}/{tally.model}": tally.usage.output / tally.samples for tally in tallies}
