"""What questions will use before they are asked, given what a ledger already holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bonwise.calls.ask import Ask, Model
from bonwise.calls.endpoint import Endpoint
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import CostEstimate, estimate
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.notices import refuse_impossible
from bonwise.data.verdicts import Unscored

if TYPE_CHECKING:
    from bonwise.calls.ledger.records import Stored

__all__ = ["estimate_asks"]


def estimate_asks(engine: Engine, asks: Iterable[Ask]) -> CostEstimate:
    """Estimate calls, tokens and cost of questions. Nothing is sent, and no key is needed.

    Parameters
    ----------
    engine : Engine
        Its ledger says what is stored already, and how long the answers of a model have been; with ``reask``
        an answer that is stored and unscored is asked for again. That new answers will be unscored, and asked
        for again, is not estimated.
    asks : iterable of Ask
        A question that stands among them twice is asked once.

    Raises
    ------
    bonwise.errors.UsageError
        A question that a provider cannot answer.
    bonwise.errors.LedgerError
        The ledger cannot be read.
    """
    view = _View(engine)
    return estimate(
        view.parts(asks),
        lambda _part: view.stored,
        engine.prices,
        samples_at_once=view.at_once,
        observed_output=_observed(engine),
        address=lambda model: view.endpoints[model].base_url,
    )


class _View:
    """What a ledger holds of questions as they go by."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._met: set[bytes] = set()
        self.endpoints: dict[Model, Endpoint] = {}
        self.stored = 0
        """Samples that the latest part need not be asked for."""

    def parts(self, asks: Iterable[Ask]) -> Iterator[Ask]:
        """Yield each question; what is asked anew and what is asked again are different requests, so parts of it."""
        for ask in asks:
            endpoint = self.endpoints[ask.model] = self._engine.endpoint(ask)
            refuse_impossible(ask, endpoint.provider.capabilities)
            needed = self._needed(ask, endpoint)
            first, *again = needed or [0]
            self.stored = ask.samples - sum(needed)
            yield replace(ask, samples=self.stored + first)
            self.stored = 0
            for samples in again:
                yield replace(ask, samples=samples)

    def at_once(self, model: Model) -> bool:
        """Tell whether one call brings several samples."""
        endpoint = self.endpoints[model]
        return endpoint.provider.capabilities.samples and "n" not in endpoint.refused

    def _needed(self, ask: Ask, endpoint: Endpoint) -> list[int]:
        """Return how many samples are to be asked for in each generation that needs any."""
        request = endpoint.provider.request(ask, 1, endpoint.refused)
        samples, found = list(range(ask.first_sample, ask.first_sample + ask.samples)), []
        for generation in range(self._engine.reask + 1):
            missing, unusable = 0, []
            for sample, key in zip(samples, request.keys(samples, generation), strict=True):
                stored = None if key in self._met else self._engine.ledger.stored(key)
                missing += stored is None and key not in self._met
                if stored is None:
                    self._met.add(key)
                elif generation < self._engine.reask and not _usable(stored, ask, endpoint):
                    unusable.append(sample)
            found += [missing] if missing else []
            samples = unusable
        return found


def _usable(stored: Stored, ask: Ask, endpoint: Endpoint) -> bool:
    if stored.choice is None:
        return False
    try:
        return not isinstance(ask.read(endpoint.provider.reply(stored.raw).choices[stored.choice]), Unscored)
    except Exception:  # noqa: BLE001 - what cannot be read, by whosever reader, is unscored
        return False


def _observed(engine: Engine) -> dict[str, float]:
    if not isinstance(engine.ledger, Ledger):
        return {}
    tallies = [tally for tally in engine.ledger.stats().models if tally.samples and tally.usage.output]
    return {f"{tally.provider}/{tally.model}": tally.usage.output / tally.samples for tally in tallies}
