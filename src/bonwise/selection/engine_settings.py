"""What a selector may use: a ledger, limits, connections; and the engine made of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.calling import asked
from bonwise.judges.protocol import Judge, is_asking

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection
    from bonwise.calls.spending import Spending

__all__ = ["EngineSettings", "hurried"]


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
