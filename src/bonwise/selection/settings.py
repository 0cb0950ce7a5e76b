"""How pools are chosen from.

Who judges, by which strategy, what happens when a judge fails, and what may be used and spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.calling import FunctionJudge, as_judge, asked
from bonwise.judges.protocol import Judge, is_asking
from bonwise.routing.control import FirstPass, Route
from bonwise.selection.checked_contest import most_calls_of
from bonwise.selection.protocol import Strategy

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection
    from bonwise.calls.spending import Spending

__all__ = [
    "EngineSettings",
    "OnFailure",
    "Routing",
    "SelectionSettings",
    "compares",
    "default_strategy",
    "hurried",
    "settings_of",
]

OnFailure = Literal["raise", "first", "random", "owe"]


class Routing(Protocol):
    """What a selection asks of a router; `bonwise.Router` is one."""

    @property
    def strong(self) -> Judge:
        """The stronger judge."""
        ...

    @property
    def second(self) -> Judge | None:
        """A further judge whose verdicts the router wants to see on the first pass."""
        ...

    def consider(self, first_pass: FirstPass, key: str = "") -> Route:
        """Say whether the stronger judge decides."""
        ...


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """The settings of a selection, checked."""

    judge: Judge
    strategy: Strategy
    router: Routing | None = None
    deadline: float | None = None
    """Seconds."""
    on_failure: OnFailure = "raise"
    seed: int = 0
    """Breaks ties."""

    @property
    def asks_models(self) -> bool:
        """Whether some model may be asked."""
        return any(map(is_asking, self.judges)) or most_calls_of(self.strategy, self.judge, 2) > 0

    @property
    def needs_a_loop(self) -> bool:
        """Whether there is something to wait for: a model, an asynchronous function, or a deadline."""
        return self.deadline is not None or any(map(_is_asynchronous, self.judges)) or self.asks_models

    @property
    def judges(self) -> list[Judge]:
        """The judge, and those of the router."""
        router = self.router
        others = [] if router is None else [router.strong, router.second]
        return [self.judge, *(one for one in others if one is not None)]


def settings_of(
    judge: Judge | Callable[[str, str], Any],
    *,
    strategy: Strategy | None = None,
    router: Routing | None = None,
    deadline: float | None = None,
    on_failure: OnFailure = "raise",
    seed: int = 0,
) -> SelectionSettings:
    """Check the settings of a selection and fill in the strategy.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing, or a strategy that asks of the judge what it does not do.
    bonwise.errors.JudgeError
        What is given as the judge is none, or a strategy that cannot say what it takes.
    """
    chosen = as_judge(judge)
    taken = default_strategy(chosen) if strategy is None else strategy
    if isinstance(taken, type) or not isinstance(taken, Strategy):
        raise UsageError(f"{taken!r} is not a strategy", hint="such as bw.Adaptive(margin=0.1)")
    if taken.compares and is_asking(chosen) and not compares(chosen):
        raise UsageError(
            f"{taken.name} compares candidates, and {chosen.name} scores each alone",
            hint="take a judge that compares, such as pairwise, or the strategy tie_break:of=JUDGE",
        )
    if deadline is not None and not _is_duration(deadline):
        raise UsageError(f"deadline is {deadline!r}", hint="give seconds, more than 0")
    if on_failure not in get_args(OnFailure):
        raise UsageError(f"on_failure is {on_failure!r}", hint=f"one of {', '.join(get_args(OnFailure))}")
    most_calls_of(taken, chosen, 2)
    return SelectionSettings(chosen, taken, router, deadline, on_failure, seed)


def default_strategy(judge: Judge) -> Strategy:
    """Return what a judge does where no strategy is named: compare all pairs, or score each candidate once."""
    if compares(judge):
        from bonwise.selection.strategies.matches import RoundRobin  # noqa: PLC0415 - whichever is needed

        return RoundRobin()
    from bonwise.selection.strategies.scores import Greedy  # noqa: PLC0415

    return Greedy()


def _is_duration(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 < float(value) < math.inf


def _is_asynchronous(judge: Judge) -> bool:
    """Tell whether a judge is a function whose answers are awaited: then all candidates are judged at once."""
    return isinstance(judge, FunctionJudge) and judge.asynchronous


def compares(judge: Judge) -> bool:
    """Tell whether a judge compares candidates in pairs, and scores none alone."""
    return getattr(judge, "pairs", False) is True


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine; see `bonwise.Selector`.

    Raises
    ------
    bonwise.errors.UsageError
        `max_concurrency` is not a whole number of 1 or more, or a limit on what is spent is no amount.
    """

    ledger: str | Path | None = None
    max_concurrency: int = 64
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    deadline: float | None = None
    reask: int = 0
    offline: bool = False
    connection: Connection | None = None
    spending: Spending | None = field(default=None, compare=False, repr=False)
    """The account that all engines share where there is a limit."""

    @property
    def run(self) -> Path | None:
        """The run folder, None where no answer is kept."""
        return None if self.ledger is None else Path(self.ledger)

    def __post_init__(self) -> None:
        at_once = self.max_concurrency
        if isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1:
            raise UsageError(f"max_concurrency is {at_once!r}", hint="give 1 or more")
        if self.limited and self.spending is None:
            from bonwise.calls.spending import Spending  # noqa: PLC0415 - most have no limit

            object.__setattr__(self, "spending", Spending(self.max_calls, self.max_tokens, self.max_cost))

    def __reduce__(self) -> tuple[Any, ...]:
        # An account is pickled as its limits: in another process nobody can tell what was spent here.
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "spending"}
        return partial(EngineSettings, **given), ()

    @property
    def limited(self) -> bool:
        """Whether there is a limit on what is spent."""
        return any(limit is not None for limit in (self.max_calls, self.max_tokens, self.max_cost))

    @property
    def bind(self) -> bool:
        """Whether something is set that holds also for a model that a function asks in its turn."""
        return self.limited or self.offline or self.ledger is not None or self.connection is not None

    def engine(self, judges: Iterable[Judge]) -> Engine:
        """Return an engine, with clients for the models of judges at hand: to load and make them takes a second.

        No attempt takes longer than the deadline.
        """
        from bonwise.calls.engine import Engine  # noqa: PLC0415 - loads what talks to services, when first needed

        made = Engine(
            self.ledger,
            max_concurrency=self.max_concurrency,
            deadline=self.deadline,
            reask=self.reask,
            connection=self._connection(self.deadline),
            spending=self.spending,
        )
        if self.offline:
            made.stop("not in the ledger")
            return made
        for judge in judges:
            if is_asking(judge):
                with suppress(BonwiseError):  # what is wrong with a judge is said when it is asked
                    for ask in asked(judge, "?", ("a", "b"))[:1]:
                        made.prepare(ask)
        return made

    def _connection(self, deadline: float | None) -> Connection:
        from bonwise.calls.providers.protocol import Connection  # noqa: PLC0415 - as the engine

        return hurried(self.connection or Connection(connections=self.max_concurrency), deadline)


def hurried(connection: Connection, deadline: float | None) -> Connection:
    """Return a connection that gives up an attempt at the deadline: one that takes longer is of no use."""
    if deadline is None:
        return connection
    soonest = {name: min(getattr(connection, name), deadline) for name in ("timeout", "attempt_timeout")}
    return replace(connection, **soonest)
