"""What questions will use before they are asked, given what a ledger already holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import Estimate, estimate
from bonwise.calls.lane import Lane
from bonwise.calls.ledger.ledger import Ledger

__all__ = ["foresee"]


def foresee(engine: Engine, asks: Iterable[Ask]) -> Estimate:
    """Estimate calls, tokens and cost of questions. Nothing is sent, and no key is needed.

    Parameters
    ----------
    engine : Engine
        Its ledger says what is stored already, and how long the answers of a model have been.
    asks : iterable of Ask
        A question that stands among them twice is asked once.
    """
    known: set[bytes] = set()
    lanes: dict[Model, Lane] = {}

    def noted() -> Iterator[Ask]:
        for ask in asks:
            lanes[ask.model] = engine.lane(ask)
            yield ask

    def stored(ask: Ask) -> int:
        lane = engine.lane(ask)
        keys = lane.provider.request(ask, 1, lane.refused).keys(range(ask.samples))
        found = sum(key in known or engine.books.stored(key) is not None for key in keys)
        known.update(keys)
        return found

    def at_once(model: Model) -> bool:
        lane = lanes[model]
        return lane.provider.capabilities.samples and "n" not in lane.refused

    return estimate(
        noted(),
        stored,
        engine.prices,
        samples_at_once=at_once,
        observed_output=_observed(engine),
        address=lambda model: lanes[model].base_url,
    )


def _observed(engine: Engine) -> dict[str, float]:
    if not isinstance(engine.books, Ledger):
        return {}
    tallies = [tally for tally in engine.books.stats().models if tally.samples and tally.usage.output]
    return {f"{tally.provider}/{tally.model}": tally.usage.output / tally.samples for tally in tallies}
