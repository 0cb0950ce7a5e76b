"""Choose from one pool: the first pass, the router, the rest of the strategy, and the decision."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from bonwise.data.pool import Candidate
from bonwise.data.verdicts import Score, Unscored
from bonwise.routing.first_pass import FirstPass, Route
from bonwise.selection.bench import Bench
from bonwise.selection.deciding import Found, decide
from bonwise.selection.field import Field, field_of
from bonwise.selection.plan import Plan, Routing, default_strategy
from bonwise.selection.play import Play
from bonwise.selection.protocol import Standing
from bonwise.selection.ranking import ranked
from bonwise.selection.selection import Routed, Selection

__all__ = ["choose"]

T = TypeVar("T")

NOT_SENT = Unscored("no contender: the stronger judge did not see it")

Turn = Callable[[], Awaitable[None]]
"""Waits until it is this pool's turn to be looked at by the router."""


async def choose(
    plan: Plan,
    bench: Bench,
    prompt: str,
    pool: Sequence[Candidate],
    *,
    prompt_id: str | None = None,
    originals: Sequence[Any] | None = None,
    turn: Turn | None = None,
) -> Selection:
    """Judge the candidates of one prompt as a plan says, and pick the best.

    Parameters
    ----------
    plan : Plan
    bench : Bench
        Where judges run.
    prompt : str
    pool : sequence of Candidate
        At least one.
    prompt_id : str, optional
    originals : sequence, optional
        The candidates as the caller holds them.
    turn : callable, optional
        Awaited before the router looks at the pool, so that pools can pass it in an order of their own.

    Raises
    ------
    bonwise.errors.CallError
        An answer did not arrive, and `on_failure` is ``raise``.
    bonwise.errors.JudgeError
        A judge that fails or does not keep its contract, where `on_failure` is ``raise`` or ``owe``.
    """
    started = bench.now()
    salt = prompt if prompt_id is None else prompt_id
    field = field_of(pool, plan.judge, seed=plan.seed, salt=salt, first_pass_alone=plan.router is not None)
    found = Found()
    # One text, or one that has words, needs no judge.
    if len(field.texts) > 1:
        until = None if plan.deadline is None else started + plan.deadline
        found = await _Course(plan, bench, prompt, field, until).run(turn, salt)
    latency = bench.now() - started
    return decide(plan, field, found, prompt_id=prompt_id, originals=originals, latency=latency)


class _Course:
    """One pool on its way through a plan."""

    def __init__(self, plan: Plan, bench: Bench, prompt: str, field: Field, until: float | None) -> None:
        self._plan, self._bench, self._prompt, self._field, self._until = plan, bench, prompt, field, until
        self._play = Play(
            plan.strategy.contest(field.entrants),
            plan.judge,
            bench,
            prompt,
            field.texts,
            until=until,
            second=None if plan.router is None else plan.router.second,
            pool=[one.text for one in field.pool],
        )

    async def run(self, turn: Turn | None, salt: str) -> Found:
        play, router = self._play, self._plan.router
        await play.round()
        routed = None
        if turn is not None:
            await turn()
        if router is not None and not play.over:
            before = play.contest.standing()
            first = tuple(play.first.get(at, one) for at, one in enumerate(before.verdicts))
            route = router.consider(FirstPass(first, play.others, before.p_best), key=salt)
            if route.strong:
                return await self._by_the_strong(router, route, before)
            routed = Routed(None, _signal(route), route.reason)
        await play.finish()
        return Found.of(play, play.contest.standing(), routed)

    async def _by_the_strong(self, router: Routing, route: Route, before: Standing) -> Found:
        """Let the stronger judge decide; where it cannot, the first pass stands."""
        some = tuple(sorted(route.contenders)) or tuple(range(len(self._field.texts)))
        texts = [self._field.texts[one] for one in some]
        contest = default_strategy(router.strong).contest(self._field.among(some))
        play = Play(contest, router.strong, self._bench, self._prompt, texts, until=self._until)
        await play.finish()
        first = self._first_pick(before)
        after = contest.standing()
        decided = not play.over and any(isinstance(one, Score) for one in after.verdicts)
        if decided:
            routed = Routed(router.strong.name, _signal(route), route.reason, first)
            return Found.of(self._play, _spread(after, some, len(self._field.texts)), routed, play, some)
        why = "was not heard" if play.over else "scored nothing"
        routed = Routed(None, _signal(route), f"{route.reason}, but {router.strong.name} {why}", first)
        return Found.of(self._play, before, routed, play, some)

    def _first_pick(self, standing: Standing) -> str | None:
        values = [one.value if isinstance(one, Score) else None for one in standing.verdicts]
        best = ranked(values, self._field.entrants.order, standing.second).order[:1]
        return self._field.ids(best[0])[0] if best else None


def _signal(route: Route) -> float | None:
    # A router may be anybody's, and JSON knows no infinity.
    return route.signal if route.signal is not None and math.isfinite(route.signal) else None


def _spread(standing: Standing, some: Sequence[int], count: int) -> Standing:
    """Put the standing of some entrants among all of them."""

    def over_all(values: Sequence[T], otherwise: T) -> tuple[T, ...]:
        placed = dict(zip(some, values, strict=True)) if values else {}
        return tuple(placed.get(at, otherwise) for at in range(count)) if values else ()

    return replace(
        standing,
        verdicts=over_all(standing.verdicts, NOT_SENT),
        standard_errors=over_all(standing.standard_errors, None),
        p_best=over_all(standing.p_best, None),
        second=over_all(standing.second, None),
    )
