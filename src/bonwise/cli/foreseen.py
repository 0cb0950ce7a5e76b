"""What a plan will ask: exactly in the first pass, and what can follow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from bonwise.calls.ask import Ask
from bonwise.data.pool import Pool
from bonwise.data.verdicts import Preference, Score
from bonwise.selection.bench import Call
from bonwise.selection.field import Field, field_of
from bonwise.selection.plan import Plan, default_strategy
from bonwise.selection.protocol import Match, Question
from bonwise.selection.questions import asks_of, put_together
from bonwise.selection.refereeing import Referee, most_calls_of

__all__ = ["FirstPass", "Further", "Stronger"]

LEVEL = 0.5
"""What every answer says in a pool that is played to its end: candidates that are level are asked about longest."""


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The first questions about each pool.

    Parameters
    ----------
    plan : Plan
    """

    plan: Plan

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield what models will be asked, blank and single candidates left out."""
        second = None if self.plan.router is None else self.plan.router.second
        for pool, its in _contested(self.plan, pools):
            yield from _asked(_contest(self.plan, its).next(), self.plan, pool, its)
            if second is not None:
                yield from asks_of(Call(second, pool.prompt, its.texts))


@dataclass(slots=True)
class Further:
    """What a strategy asks after its first questions, if candidates stay level.

    Parameters
    ----------
    plan : Plan

    Attributes
    ----------
    more : int
        Answers that the strategy may want at most after the first pass; counted while the asks go by.
    played : int
        Those among them that are yielded.
    """

    plan: Plan
    more: int = field(default=0, init=False)
    played: int = field(default=0, init=False)

    @property
    def scale(self) -> float:
        """What stands for all answers that it may want, in units of those that are yielded."""
        return self.more / self.played if self.played else 1.0

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield what models would be asked if all candidates of a pool were level."""
        for pool, its in _contested(self.plan, pools):
            rounds = list(_rounds(self.plan, pool, its))
            first = rounds[0] if rounds else []
            asked = sum(ask.samples for ask in first)
            left = max(0, most_calls_of(self.plan.strategy, self.plan.judge, len(its.texts)) - asked)
            self.more += left
            # A strategy that asks nothing more about level candidates: its first questions stand for further ones.
            further = list(chain.from_iterable(rounds[1:])) or (_again(first, left) if left else [])
            self.played += sum(ask.samples for ask in further)
            yield from further


@dataclass(slots=True)
class Stronger:
    """What the stronger judge of a router would be asked about all pools.

    Parameters
    ----------
    plan : Plan

    Attributes
    ----------
    pools : int
        In which there is something to judge; counted while the asks go by.
    """

    plan: Plan
    pools: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """Name of the judge, empty without a router."""
        return "" if self.plan.router is None else self.plan.router.strong.name

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield them; none without a router."""
        if self.plan.router is None:
            return
        plan = Plan(self.plan.router.strong, default_strategy(self.plan.router.strong), seed=self.plan.seed)
        for pool, its in _contested(self.plan, pools):
            self.pools += 1
            for asks in _rounds(plan, pool, its):
                yield from asks


def _contested(plan: Plan, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Field]]:
    for pool in pools:
        its = field_of(
            pool.candidates,
            plan.judge,
            seed=plan.seed,
            salt=pool.prompt_id,
            first_pass_alone=plan.router is not None,
            compares=plan.strategy.compares,
        )
        if len(its.texts) > 1:
            yield pool, its


def _contest(plan: Plan, its: Field) -> Referee:
    return Referee(plan.strategy, its.entrants, plan.judge)


def _rounds(plan: Plan, pool: Pool, its: Field) -> Iterator[list[Ask]]:
    """Yield what each round asks, every answer being the same."""
    contest = _contest(plan, its)
    most, asked = most_calls_of(plan.strategy, plan.judge, len(its.texts)), 0
    while questions := contest.next():
        asks = list(_asked(questions, plan, pool, its))
        asked += sum(ask.samples for ask in asks)
        yield asks
        if asked >= most:
            return
        for question in questions:
            level = Preference(question.a, question.b, LEVEL, LEVEL) if isinstance(question, Match) else Score(LEVEL)
            contest.hear(question, level)


def _asked(questions: Sequence[Question], plan: Plan, pool: Pool, its: Field) -> Iterator[Ask]:
    for call, _ in put_together(questions, plan.judge, pool.prompt, its.texts):
        yield from asks_of(call)


def _again(asks: Sequence[Ask], answers: int) -> list[Ask]:
    return [replace(ask, first_sample=ask.first_sample + ask.samples) for ask in asks][:answers]
