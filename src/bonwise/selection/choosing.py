"""Choose from one pool: first pass, router, the rest of the strategy, decision; with a span and a log line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import wraps
from logging import DEBUG
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from bonwise.calls.cost_limit import LIMIT_REACHED
from bonwise.errors import JudgeError
from bonwise.judges.judging import spent
from bonwise.printable import printable
from bonwise.routing.control import FirstPass, Route
from bonwise.selection import contest_run, deciding, entrants, judge_runner, protocol, selection
from bonwise.selection.settings import Routing, SelectionSettings, default_strategy
from bonwise.table import pools, verdicts
from bonwise.tracing import UNTRACED, Untraced, logger, span

if TYPE_CHECKING:
    from bonwise.selection.result import RoutedRecord

_LOG = logger("selection")

P = ParamSpec("P")
Choosing = Callable[Concatenate["SelectionSettings", P], Coroutine[Any, Any, "selection.Selection"]]


def _traced(choosing: Choosing[P]) -> Choosing[P]:
    """Trace a function that picks from one pool."""

    @wraps(choosing)
    def traced(
        settings: SelectionSettings, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, selection.Selection]:
        current = span("select", "CHAIN")
        course = choosing(settings, *args, **kwargs)
        return course if current is UNTRACED else _noted(current, settings, course)

    return traced


async def _noted(
    current: Untraced, settings: SelectionSettings, course: Coroutine[Any, Any, selection.Selection]
) -> selection.Selection:
    with current:
        pick = await course
        if pick.failure:
            current.fail("judge")
        if current.recording:
            current.note(_attributes(settings, pick))
    return pick


def _log(settings: SelectionSettings, pick: selection.Selection) -> None:
    if pick.failure:
        name = printable(settings.judge.name)
        why = f" ({pick.stopped})" if LIMIT_REACHED.search(pick.stopped) else ""
        _LOG.warning("judge %s failed%s, and the pick was decided by %s", name, why, pick.decided_by)
    elif _LOG.isEnabledFor(DEBUG):
        _LOG.debug("judge %s: the pick was decided by %s", printable(settings.judge.name), pick.decided_by)


def _attributes(settings: SelectionSettings, pick: selection.Selection) -> dict[str, Any]:
    return {
        "bonwise.judge": settings.judge.name,
        "bonwise.strategy": settings.strategy.name,
        "bonwise.prompt_id": None if pick.prompt_id is None else str(pick.prompt_id),
        "bonwise.candidates": len(pick.ids),
        "bonwise.index": pick.index,
        "bonwise.best": pick.best_id,
        "bonwise.decided_by": pick.decided_by,
        "bonwise.p_best": None if pick.index is None or not pick.p_best else pick.p_best[pick.index],
        "bonwise.expected_regret": pick.expected_regret,
        "bonwise.tied": len(pick.tied),
        "bonwise.unscored": len(pick.unscored),
        "bonwise.evaluations": pick.evaluations,
        "bonwise.routed": None if pick.routed is None else pick.routed.strong is not None,
        **spent(pick.bill),
    }


T = TypeVar("T")

Turn = Callable[[], Awaitable[None]]
"""Waits until it is this pool's turn to be looked at by the router."""


@_traced
async def choose(  # noqa: PLR0913 - what is chosen from, and how its caller names it
    settings: SelectionSettings,
    runner: judge_runner.JudgeRunner,
    prompt: str,
    pool: Sequence[pools.Candidate],
    *,
    prompt_id: str | None = None,
    originals: Sequence[Any] | None = None,
    turn: Turn | None = None,
    salt: str | None = None,
    judge_all: bool = False,
    spent: float = 0.0,
) -> selection.Selection:
    """Judge the candidates of one prompt as the settings say, and pick the best.

    `pool` holds at least one candidate, and `originals` are the candidates as the caller holds them. `turn` is
    awaited before the router looks at the pool, so that pools can pass it in an order of their own. `salt` is what
    chance hangs on beside the seed and the texts; `prompt_id`, or without one `prompt`, unless it is given. Who has
    no id but a position gives the prompt: the same pool has the same pick wherever it stands. With `judge_all` a
    single text is judged too, and a stronger judge sees all candidates, so that all can be ranked. `spent` seconds of
    the deadline are over already.

    With ``raise`` as `on_failure`, an answer that did not arrive raises `CallError`, and a judge or a strategy that
    fails or does not keep its contract `JudgeError`; so does, without `judge_all`, a pool with no score.
    An answer that cannot be kept raises `LedgerError` with ``raise`` and with ``owe``.
    """
    started = runner.now() - spent
    await runner.begin()
    if salt is None:
        salt = prompt if prompt_id is None else prompt_id
    distinct = entrants.distinct_texts(
        pool,
        settings.judge,
        seed=settings.seed,
        salt=salt,
        first_pass_alone=settings.router is not None,
        compares=settings.strategy.compares,
        lot=getattr(settings.strategy, "draws_lot", True),
    )
    evidence = deciding.Evidence()
    until = None if settings.deadline is None else started + settings.deadline
    # To pick from one text, or from one that has words, needs no judge.
    if len(distinct.texts) > 1:
        evidence = await PoolRun(settings, runner, prompt, distinct, until, to_all=judge_all).run(turn, salt)
    elif judge_all:
        evidence = await _judged_alone(settings, runner, prompt, distinct, until)
    latency = runner.now() - started
    pick = deciding.decide(settings, distinct, evidence, prompt_id=prompt_id, originals=originals, latency=latency)
    if pick.decided_by == "nothing scored" and settings.on_failure == "raise" and not judge_all:
        raise _nothing_scored(pick)
    _log(settings, pick)
    return pick


def _nothing_scored(pick: selection.Selection) -> JudgeError:
    reasons = Counter(pick.unscored.values()).most_common()
    counts = "; ".join(f"{reason} ({count:,} of {len(pick.ids):,})" for reason, count in reasons)
    return JudgeError(
        f"judge {pick.settings['judge']!r} scored no candidate: {counts}",
        hint="on_failure='owe' goes on without a pick, 'first' and 'random' with one",
    )


async def _judged_alone(
    settings: SelectionSettings,
    runner: judge_runner.JudgeRunner,
    prompt: str,
    distinct: entrants.DistinctTexts,
    until: float | None,
) -> deciding.Evidence:
    """Judge the one text that there is, if there is one; where candidates are compared, it has no score."""
    from bonwise.judges.protocol import ALONE  # noqa: PLC0415 - to pick needs neither
    from bonwise.selection.strategies.scores import Greedy  # noqa: PLC0415

    if settings.strategy.compares:
        return deciding.Evidence(protocol.Standing((ALONE,) * len(distinct.texts), stopped=ALONE.reason))
    alone = replace(settings, strategy=Greedy(), router=None)
    return await PoolRun(alone, runner, prompt, distinct, until).run(None, "")


class PoolRun:
    """One pool on its way to a pick."""

    def __init__(
        self,
        settings: SelectionSettings,
        runner: judge_runner.JudgeRunner,
        prompt: str,
        distinct: entrants.DistinctTexts,
        until: float | None,
        *,
        to_all: bool = False,
    ) -> None:
        self._settings, self._runner, self._prompt = settings, runner, prompt
        self._distinct, self._until, self._to_all = distinct, until, to_all
        self._contest = contest_run.ContestRun(
            settings.strategy,
            distinct.entrants,
            settings.judge,
            runner,
            prompt,
            distinct.texts,
            until=until,
            second=None if settings.router is None else settings.router.second,
            pool=[candidate.text for candidate in distinct.pool if not candidate.missing],
        )

    async def run(self, turn: Turn | None, salt: str) -> deciding.Evidence:
        """Play the contest, ask the stronger judge where the router says so, and return what is known then."""
        contest, router = self._contest, self._settings.router
        await contest.round()
        routed = None
        if turn is not None:
            await turn()
        before = None if router is None or contest.over else contest.standing()
        if router is not None and before is not None and not contest.over:
            first = tuple(contest.first.get(at, verdict) for at, verdict in enumerate(before.verdicts))
            route = contest_run.consulted(router, FirstPass(first, contest.others, before.p_best), salt)
            if route.strong:
                return await self._by_the_strong(router, route, before)
            routed = _routed(None, route, route.reason, None)
        await contest.finish()
        return self._evidence(contest.standing(), routed)

    async def _by_the_strong(self, router: Routing, route: Route, before: protocol.Standing) -> deciding.Evidence:
        """Let the stronger judge decide; without its answer the first pass stands, or what `on_failure` says."""
        contenders = () if self._to_all else route.contenders
        some = tuple(sorted(contenders)) or tuple(range(len(self._distinct.texts)))
        texts = [self._distinct.texts[entrant] for entrant in some]
        among, strategy = self._distinct.among(some), default_strategy(router.strong)
        contest = contest_run.ContestRun(
            strategy, among, router.strong, self._runner, self._prompt, texts, until=self._until
        )
        await contest.finish()
        first = self._first_pick(before)
        after = contest.standing()
        decided = not contest.over and any(isinstance(verdict, verdicts.Score) for verdict in after.verdicts)
        if decided:
            routed = _routed(router.strong.name, route, route.reason, first)
            return self._evidence(_spread(after, some, len(self._distinct.texts)), routed, contest, some)
        why = "was not heard" if contest.over else "scored nothing"
        routed = _routed(None, route, f"{route.reason}, but {router.strong.name} {why}", first)
        return self._evidence(before, routed, contest, some)

    def _evidence(
        self,
        standing: protocol.Standing,
        routed: RoutedRecord | None,
        strong: contest_run.ContestRun | None = None,
        some: Sequence[int] = (),
    ) -> deciding.Evidence:
        """Join what the contest found with what a stronger judge found among some of the entrants."""
        contest = self._contest
        theirs = [] if strong is None else strong.preferences
        among = [replace(preference, a=some[preference.a], b=some[preference.b]) for preference in theirs]
        members = contest.members
        if strong is None or routed is None or routed.strong is None:
            standing = contest.with_what_was_said(standing, range(len(standing.verdicts)))
        else:
            place = {entrant: at for at, entrant in enumerate(some)}
            standing = strong.with_what_was_said(standing, [place.get(at) for at in range(len(standing.verdicts))])
            members = {name: {some[at]: its for at, its in by.items()} for name, by in strong.members.items()}
        return deciding.Evidence(
            standing,
            contest.bill if strong is None else contest.bill + strong.bill,
            contest.effective if strong is None else contest.effective + strong.effective,
            contest.draws,
            (*contest.preferences, *among),
            late=contest.late or (strong is not None and strong.late),
            error=contest.error if strong is None or contest.error is not None else strong.error,
            routed=routed,
            owed=contest.owed,
            evaluations=contest.evaluations + (0 if strong is None else strong.evaluations),
            members=members,
        )

    def _first_pick(self, standing: protocol.Standing) -> str | None:
        values = [verdict.value if isinstance(verdict, verdicts.Score) else None for verdict in standing.verdicts]
        best = entrants.ranked(values, self._distinct.entrants.order, standing.second).order[:1]
        return self._distinct.ids(best[0])[0] if best else None


def _routed(strong: str | None, route: Route, reason: str, first_pick: str | None) -> RoutedRecord:
    from bonwise.selection.result import RoutedRecord  # noqa: PLC0415 - few pools pass a router

    return RoutedRecord(strong=strong, signal=route.signal, reason=reason, first_pick=first_pick)


def _spread(standing: protocol.Standing, some: Sequence[int], count: int) -> protocol.Standing:
    """Put the standing of some entrants among all of them."""

    def over_all(values: Sequence[T], otherwise: T) -> tuple[T, ...]:
        placed = dict(zip(some, values, strict=True)) if values else {}
        return tuple(placed.get(at, otherwise) for at in range(count)) if values else ()

    return replace(
        standing,
        verdicts=over_all(standing.verdicts, entrants.NOT_SENT),
        standard_errors=over_all(standing.standard_errors, None),
        p_best=over_all(standing.p_best, None),
        second=over_all(standing.second, None),
    )
