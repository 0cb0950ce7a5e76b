"""Choose from one pool: the first pass, the router, the rest of the strategy, and the decision."""

from __future__ import annotations

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
from bonwise.selection.refereeing import Referee, consulted
from bonwise.selection.selection import Routed, Selection

__all__ = ["choose"]

T = TypeVar("T")

NOT_SENT = Unscored("no contender: the stronger judge did not see it")

Turn = Callable[[], Awaitable[None]]
"""Waits until it is this pool's turn to be looked at by the router."""


async def choose(  # noqa: PLR0913 - what is chosen from, and how its caller names it
    plan: Plan,
    bench: Bench,
    prompt: str,
    pool: Sequence[Candidate],
    *,
    prompt_id: str | None = None,
    originals: Sequence[Any] | None = None,
    turn: Turn | None = None,
    salt: str | None = None,
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
    salt : str, optional
        What chance hangs on beside the seed and the texts; `prompt_id`, or without one `prompt`, unless it is given.
        Who has no id but a position gives the prompt: the same pool has the same pick wherever it stands.

    Raises
    ------
    bonwise.errors.CallError
        An answer did not arrive, and `on_failure` is ``raise``.
    bonwise.errors.JudgeError
        A judge or a strategy that fails or does not keep its contract, and `on_failure` is ``raise``.
    bonwise.errors.LedgerError
        An answer cannot be kept, and `on_failure` is ``raise`` or ``owe``.
    """
    started = bench.now()
    if salt is None:
        salt = prompt if prompt_id is None else prompt_id
    field = field_of(
        pool,
        plan.judge,
        seed=plan.seed,
        salt=salt,
        first_pass_alone=plan.router is not None,
        compares=plan.strategy.compares,
    )
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
            Referee(plan.strategy, field.entrants, plan.judge),
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
        before = None if router is None or play.over else play.standing()
        if router is not None and before is not None and not play.over:
            first = tuple(play.first.get(at, one) for at, one in enumerate(before.verdicts))
            route = consulted(router, FirstPass(first, play.others, before.p_best), salt)
            if route.strong:
                return await self._by_the_strong(router, route, before)
            routed = Routed(None, route.signal, route.reason)
        await play.finish()
        return Found.of(play, play.standing(), routed)

    async def _by_the_strong(self, router: Routing, route: Route, before: Standing) -> Found:
        """Let the stronger judge decide.

        Where it scores nothing or the time is up, the first pass stands. Where it fails or is not answered,
        `on_failure` decides as where any judge fails: the first pass, though complete, is kept as ``partial`` with
        ``first`` and ``random`` only; ``raise`` raises, and ``owe`` picks nothing, so that a later run asks again.
        """
        some = tuple(sorted(route.contenders)) or tuple(range(len(self._field.texts)))
        texts = [self._field.texts[one] for one in some]
        contest = Referee(default_strategy(router.strong), self._field.among(some), router.strong)
        play = Play(contest, router.strong, self._bench, self._prompt, texts, until=self._until)
        await play.finish()
        first = self._first_pick(before)
        after = play.standing()
        decided = not play.over and any(isinstance(one, Score) for one in after.verdicts)
        if decided:
            routed = Routed(router.strong.name, route.signal, route.reason, first)
            return Found.of(self._play, _spread(after, some, len(self._field.texts)), routed, play, some)
        why = "was not heard" if play.over else "scored nothing"
        routed = Routed(None, route.signal, f"{route.reason}, but {router.strong.name} {why}", first)
        return Found.of(self._play, before, routed, play, some)

    def _first_pick(self, standing: Standing) -> str | None:
        values = [one.value if isinstance(one, Score) else None for one in standing.verdicts]
        best = ranked(values, self._field.entrants.order, standing.second).order[:1]
        return self._field.ids(best[0])[0] if best else None


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
