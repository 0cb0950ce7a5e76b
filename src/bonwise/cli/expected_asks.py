"""What a plan will ask: exactly in the first pass, and what can follow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from bonwise.calls.ask import Ask
from bonwise.data.pool import Pool
from bonwise.data.verdicts import Preference, Score
from bonwise.selection.checked_contest import CheckedContest, most_calls_of
from bonwise.selection.distinct_texts import DistinctTexts, distinct_texts
from bonwise.selection.judge_runner import Call
from bonwise.selection.protocol import Match, Question
from bonwise.selection.questions import asks_of, calls_for
from bonwise.selection.settings import SelectionSettings, default_strategy

__all__ = ["FirstAsks", "LaterAsks", "StrongerAsks"]

_EQUAL = 0.5
"""What every answer says of a pool: a strategy asks longest about candidates that are equally good."""


@dataclass(frozen=True, slots=True)
class FirstAsks:
    """The first questions about each pool."""

    plan: SelectionSettings

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield what models will be asked, blank and single candidates left out."""
        second = None if self.plan.router is None else self.plan.router.second
        for pool, its in _contested(self.plan, pools):
            yield from _asked(_contest(self.plan, its).next(), self.plan, pool, its)
            if second is not None:
                yield from asks_of(Call(second, pool.prompt, its.texts))


@dataclass(slots=True)
class LaterAsks:
    """What a strategy asks after its first questions, if candidates stay equal.

    Attributes
    ----------
    more : int
        Answers that the strategy may want at most after the first pass; counted while the asks go by.
    simulated : int
        Those among them that are yielded.
    """

    plan: SelectionSettings
    more: int = field(default=0, init=False)
    simulated: int = field(default=0, init=False)

    @property
    def scale(self) -> float:
        """What stands for all answers that it may want, in units of those that are yielded."""
        return self.more / self.simulated if self.simulated else 1.0

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield what models would be asked if all candidates of a pool were equal."""
        for pool, its in _contested(self.plan, pools):
            rounds = list(_rounds(self.plan, pool, its))
            first = rounds[0] if rounds else []
            asked = sum(ask.samples for ask in first)
            left = max(0, most_calls_of(self.plan.strategy, self.plan.judge, len(its.texts)) - asked)
            self.more += left
            # A strategy that asks nothing more about equal candidates: its first questions stand for further ones.
            further = list(chain.from_iterable(rounds[1:])) or (_again(first, left) if left else [])
            self.simulated += sum(ask.samples for ask in further)
            yield from further


@dataclass(slots=True)
class StrongerAsks:
    """What the stronger judge of a router would be asked about all pools.

    Attributes
    ----------
    pools : int
        In which there is something to judge; counted while the asks go by.
    """

    plan: SelectionSettings
    pools: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """Name of the judge, empty without a router."""
        return "" if self.plan.router is None else self.plan.router.strong.name

    def asks(self, pools: Iterable[Pool]) -> Iterator[Ask]:
        """Yield them; none without a router."""
        if self.plan.router is None:
            return
        plan = SelectionSettings(
            self.plan.router.strong, default_strategy(self.plan.router.strong), seed=self.plan.seed
        )
        for pool, its in _contested(self.plan, pools):
            self.pools += 1
            for asks in _rounds(plan, pool, its):
                yield from asks


def _contested(plan: SelectionSettings, pools: Iterable[Pool]) -> Iterator[tuple[Pool, DistinctTexts]]:
    for pool in pools:
        its = distinct_texts(
            pool.candidates,
            plan.judge,
            seed=plan.seed,
            salt=pool.prompt_id,
            first_pass_alone=plan.router is not None,
            compares=plan.strategy.compares,
        )
        if len(its.texts) > 1:
            yield pool, its


def _contest(plan: SelectionSettings, its: DistinctTexts) -> CheckedContest:
    return CheckedContest(plan.strategy, its.entrants, plan.judge)


def _rounds(plan: SelectionSettings, pool: Pool, its: DistinctTexts) -> Iterator[list[Ask]]:
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
            verdict = (
                Preference(question.a, question.b, _EQUAL, _EQUAL) if isinstance(question, Match) else Score(_EQUAL)
            )
            contest.hear(question, verdict)


def _asked(questions: Sequence[Question], plan: SelectionSettings, pool: Pool, its: DistinctTexts) -> Iterator[Ask]:
    for call, _ in calls_for(questions, plan.judge, pool.prompt, its.texts):
        yield from asks_of(call)


def _again(asks: Sequence[Ask], answers: int) -> list[Ask]:
    return [replace(ask, first_sample=ask.first_sample + ask.samples) for ask in asks][:answers]
