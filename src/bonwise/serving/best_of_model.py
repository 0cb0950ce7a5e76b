"""One model of the endpoint: draws candidates, has them judged, and says what both cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from bonwise.calls.ask import Model
from bonwise.calls.prices import Prices
from bonwise.calls.providers.registry import provider
from bonwise.errors import BonwiseError, InputError
from bonwise.hosts.generation import BestOfN, Chosen
from bonwise.hosts.trail import added_usage
from bonwise.judges.calling import asked
from bonwise.judges.protocol import is_asking
from bonwise.selection.selector import Selector
from bonwise.serving.api_errors import NO_RETRY, ApiError, upstream_error
from bonwise.serving.chat_request import ChatRequest
from bonwise.serving.config import ModelConfig
from bonwise.serving.upstream import DrawnChoices, Upstream, UpstreamError

__all__ = ["BestOfModel", "RequestOutcome"]


class RequestOutcome:
    """What became of a request, as far as it came: filled while it is worked on, read when it ends, however it ends.

    Attributes
    ----------
    drawn : DrawnChoices or None
    chosen : Chosen or None
    """

    __slots__ = ("chosen", "drawn")

    def __init__(self) -> None:
        self.drawn: DrawnChoices | None = None
        self.chosen: Chosen[Any] | None = None

    @property
    def cost(self) -> float | None:
        """US dollars for candidates and judging; None where it is not known."""
        if self.drawn is None or self.drawn.unknown or self.drawn.cost is None:
            return None
        if self.chosen is None:
            # What judging took until it failed nobody says.
            return None if self.drawn.choices else self.drawn.cost
        judging = self.chosen.selection.cost
        return None if judging is None else self.drawn.cost + judging


class BestOfModel:
    """A model ``bon/NAME``.

    Parameters
    ----------
    config : ModelConfig
    prices : Prices
    run : str, optional
        Run folder for the judge's answers.

    Raises
    ------
    bonwise.errors.InputError
        The judge, the strategy or the router cannot be made; the message names the model.
    """

    def __init__(self, config: ModelConfig, prices: Prices, run: str | None = None) -> None:
        self.config = config
        self._place = f"models.{config.name}"
        try:
            self.best_of = BestOfN(Selector.from_dict(config.selector_mapping(run)), config.n)
        except BonwiseError as error:
            raise InputError(f"{self._place}: {error.message}", hint=error.hint) from error
        self._prices = prices
        model = config.model
        self._price = prices.price(model.provider, model.name, model.base_url)
        self._upstream = Upstream(config, self._price)

    def check_access(self) -> None:
        """Check that there is a key for the upstream and for the judges.

        Raises
        ------
        bonwise.errors.CallError
            There is none.
        """
        drawing = () if self.config.forward_client_key else (self.config.model,)
        for model in (*drawing, *self._judge_models()):
            provider(model.provider).account(model)

    def check_prices(self) -> None:
        """Check that the cost of a request can be bounded.

        Raises
        ------
        bonwise.errors.InputError
            A price is not known, or candidates may have any length.
        """
        unpriced = [
            one
            for one in (self.config.model, *self._judge_models())
            if self._prices.price(one.provider, one.name, one.base_url) is None
        ]
        if unpriced:
            raise InputError(
                f"{self._place} uses {unpriced[0]}, whose price is not known, and a key has a max_cost",
                hint="state its price in a TOML file and name the file in BONWISE_PRICES",
            )
        if self.config.max_tokens is None:
            raise InputError(
                f"{self._place}.max_tokens is missing, and a key has a max_cost",
                hint="write max_tokens = 4096: what a candidate costs is then bounded",
            )

    async def __aenter__(self) -> Self:
        self._upstream.open()
        await self.best_of.selector.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.best_of.selector.aclose()
        await self._upstream.aclose()

    def worst_cost(self, asked_for: ChatRequest) -> float:
        """Return the most that the candidates of a request can cost, in US dollars; 0 where no price is known."""
        if self._price is None:
            return 0.0
        output = asked_for.output_bound or self.config.max_tokens or 0
        return asked_for.candidates * self._prices.most_cost(self._price, asked_for.input_bound, output)

    async def answer(self, asked_for: ChatRequest, outcome: RequestOutcome) -> None:
        """Draw candidates and choose among them.

        Raises
        ------
        ApiError
            No candidate could be drawn; or the judge failed, and `on_failure` is ``raise``.
        """
        try:
            outcome.drawn = await self._upstream.draw(asked_for.passed_on, asked_for.candidates, asked_for.client_key)
        except UpstreamError as error:
            outcome.drawn = error.drawn
            raise upstream_error(error.problem, {}, by_client_key=bool(asked_for.client_key)) from None
        drawn = outcome.drawn
        try:
            outcome.chosen = await self.best_of.apick(asked_for.prompt, drawn.choices, drawn.failed)
        except BonwiseError as error:
            # Candidates are paid: 424 is a status that no client asks again for.
            raise ApiError(
                424,
                f"the judge failed: {error.message}",
                "judge_failed",
                kind="judge_error",
                headers=NO_RETRY,
                beside={"usage": added_usage(drawn.usages) or None},
            ) from None

    def _judge_models(self) -> Iterator[Model]:
        for judge in self.best_of.selector.settings.judges:
            if is_asking(judge):
                yield from (one.model for one in asked(judge, "?", ("a", "b")))
