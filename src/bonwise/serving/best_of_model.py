"""One model of the endpoint: draws candidates, has them judged, answers with the upstream's own object."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

from bonwise.calls.ask import Model, encoded
from bonwise.calls.prices import Prices
from bonwise.calls.providers.protocol import provider
from bonwise.errors import BonwiseError, InputError
from bonwise.hosts import adapters, generation
from bonwise.judges import judging, protocol
from bonwise.selection.selector import Selector
from bonwise.serving import api_errors, chat_request
from bonwise.serving.config import ModelConfig
from bonwise.serving.upstream import DrawnChoices, Upstream, UpstreamError


class RequestOutcome:
    """What became of a request, as far as it came: filled during the work, read when it ends, however it ends."""

    __slots__ = ("chosen", "drawn")

    def __init__(self) -> None:
        self.drawn: DrawnChoices | None = None
        self.chosen: generation.Chosen[Any] | None = None

    def charge(self, worst: float) -> float:
        """Return US dollars for candidates and judging; where they are not known, at least `worst`."""
        drawn, chosen = self.drawn, self.chosen
        if drawn is None:
            return 0.0
        # What judging took until it failed nobody says.
        judging = chosen.selection.cost if chosen is not None else None if drawn.choices else 0.0
        if drawn.unknown or drawn.cost is None or judging is None:
            return max(worst, drawn.most_cost + (judging or 0.0))
        return drawn.cost + judging


class BestOfModel:
    """A model ``bon/NAME``; `run` is the folder for the judge's answers."""

    def __init__(self, config: ModelConfig, prices: Prices, run: str | None = None) -> None:
        self.config = config
        self._place = f"models.{config.name}"
        try:
            self.best_of = generation.BestOfN(Selector.from_dict(config.selector_mapping(run)), config.n)
            self.best_of.selector.settings.check_bound()
        except BonwiseError as error:
            raise InputError(f"{self._place}: {error.message}", hint=error.hint) from error
        self._prices = prices
        model = config.model
        self._price = prices.price(model.provider, model.name, model.base_url)
        self._upstream = Upstream(config, self._price)

    def check_access(self) -> None:
        """Check that there is a key for the upstream and for the judges."""
        drawing = () if self.config.forward_client_key else (self.config.model,)
        for model in (*drawing, *self._judge_models()):
            provider(model.provider).account(model)

    def check_prices(self) -> None:
        """Check that the cost of a request can be bounded: prices are known, and candidates are of limited length."""
        unpriced = [
            one for one in (self.config.model, *self._judge_models()) if self._prices.of(one, one.base_url) is None
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

    def worst_cost(self, asked_for: chat_request.ChatRequest) -> float:
        """Return the most that the candidates of a request can cost, in US dollars; 0 where no price is known."""
        return self._upstream.worst_cost(asked_for.passed_on, asked_for.candidates)

    async def answer(self, asked_for: chat_request.ChatRequest, outcome: RequestOutcome) -> None:
        """Draw and choose; an ApiError where nothing was drawn, or the judge failed and `on_failure` is ``raise``."""
        drawn = outcome.drawn = DrawnChoices()
        try:
            await self._upstream.draw(drawn, asked_for.passed_on, asked_for.candidates, asked_for.client_key)
        except UpstreamError as error:
            raise api_errors.upstream_error(error.problem, {}, by_client_key=bool(asked_for.client_key)) from None
        messages = [choice["message"] for choice in drawn.choices]
        try:
            outcome.chosen = await self.best_of.apick(asked_for.prompt, messages, drawn.failed)
        except BonwiseError as error:
            # Candidates are paid: 424 is a status that no client asks again for.
            raise api_errors.ApiError(
                424,
                f"the judge failed: {error.message}",
                "judge_failed",
                kind="judge_error",
                headers=api_errors.NO_RETRY,
                beside={"usage": adapters.added_usage(drawn.usages) or None},
            ) from None

    def _judge_models(self) -> Iterator[Model]:
        for judge in self.best_of.selector.settings.judges:
            if protocol.is_asking(judge):
                yield from (one.model for one in judging.asked(judge, "?", ("a", "b")))


LONGEST_HEADER = 4096
"""Bytes of the header with the trail; proxies refuse larger ones."""

_TEXTS = ("unscored", "failure", "failed_draws")
"""Parts of a trail that may be long."""


def ranked_draws(chosen: generation.Chosen[Any], count: int) -> list[int]:
    """Return the draws that a client gets, best first; those that could not be scored come last."""
    selection = chosen.selection
    place = {name: at for at, name in enumerate(selection.ids)}
    order = [selection.index, *(place[one] for one in selection.ranking), *range(len(chosen.drawn))]
    return list(dict.fromkeys(at for at in order if at is not None))[:count]


def trail_of_request(chosen: generation.Chosen[Any], drawn: DrawnChoices, ranking: Sequence[int]) -> dict[str, Any]:
    """Return how the answer came about: the trail of the choice, and what the upstream was asked."""
    upstream: dict[str, Any] = {"calls": drawn.calls, "cost": drawn.cost}
    if drawn.unknown:
        upstream["unknown"] = drawn.unknown
    lacking = sum(usage is None for usage in drawn.usages)
    if lacking:
        upstream["answers_without_usage"] = lacking
    return {**chosen.trail(), "candidates": len(drawn.choices), "choices": list(ranking), "upstream": upstream}


def completion(drawn: DrawnChoices, ranking: Sequence[int], trail: dict[str, Any]) -> dict[str, Any]:
    """Return the object of the upstream that holds the best choice, with the usage of all candidates."""
    choices = [{**drawn.choices[at], "index": place} for place, at in enumerate(ranking)]
    usage = adapters.added_usage(drawn.usages)
    found = {**drawn.answers[ranking[0]], "choices": choices, "bonwise": trail}
    if usage:
        found["usage"] = usage
    return found


def headers_of(trail: dict[str, Any]) -> dict[str, str]:
    """Return the trail as a header, without its texts where it would be too long; and whether no judge had a say."""
    # In ASCII: headers know nothing else.
    said = json.dumps(trail, allow_nan=False, separators=(",", ":"))
    if len(said) > LONGEST_HEADER:
        said = json.dumps({name: value for name, value in trail.items() if name not in _TEXTS}, separators=(",", ":"))
    found = {"x-bonwise-trail": said if len(said) <= LONGEST_HEADER else '{"too_long":true}'}
    return found | ({"x-bonwise-unjudged": "true"} if trail["unjudged"] else {})


def stream_of(answer: dict[str, Any], *, usage_chunk: bool) -> Iterator[bytes]:
    """Return an answer as server-sent events; the trail stands in the chunk that ends the best choice."""
    head = {name: value for name, value in answer.items() if name not in {"choices", "usage", "bonwise", "object"}}
    head["object"] = "chat.completion.chunk"
    plain = {"usage": None} if usage_chunk else {}
    for choice in answer["choices"]:
        rest = {name: value for name, value in choice.items() if name not in {"message", "finish_reason", "index"}}
        opened = {"index": choice["index"], "delta": _delta(choice["message"]), "finish_reason": None, **rest}
        yield _event({**head, "choices": [opened], **plain})
        closed = {"index": choice["index"], "delta": {}, "finish_reason": choice.get("finish_reason")}
        trail = {"bonwise": answer["bonwise"]} if choice["index"] == 0 else {}
        yield _event({**head, "choices": [closed], **plain, **trail})
    if usage_chunk:
        yield _event({**head, "choices": [], "usage": answer.get("usage")})
    yield b"data: [DONE]\n\n"


def _delta(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    numbered = [{"index": at, **call} if isinstance(call, dict) else call for at, call in enumerate(calls)]
    return {**message, "tool_calls": numbered}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + written(chunk) + b"\n\n"


def written(body: dict[str, Any]) -> bytes:
    """Return JSON; a number of the upstream's that JSON does not know, such as NaN, becomes null."""
    try:
        return encoded(body)
    except ValueError:
        return encoded(_finite(body))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
