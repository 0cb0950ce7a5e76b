"""Pools with more questions than ``--dry-run`` looks at one by one: their calls are counted by formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge
    from bonwise.selection.settings import SelectionSettings

__all__ = ["MOST_LOOKED_AT", "LargePools", "calls_of_judge", "calls_of_plan", "name_of_plan", "small"]

MOST_LOOKED_AT = 200_000
"""Calls of one pool up to which each question is looked at: that takes some ten seconds."""


@dataclass(frozen=True, slots=True)
class LargePools:
    """The large ones among pools, for a judge or a way of selecting."""

    name: str
    """Of the judge or the strategy."""
    calls: tuple[int, ...]
    """Of each large pool, by formula."""
    candidates: int
    """Of the largest pool."""

    @classmethod
    def of(cls, name: str, pools: Iterable[Pool], calls: Callable[[int], int]) -> LargePools:
        """Find them, given what the formula says of a number of candidates."""
        sizes = [_size(pool) for pool in pools]
        large = [size for size in sizes if calls(size) > MOST_LOOKED_AT]
        return cls(name, tuple(calls(size) for size in large), max(large, default=0))

    def lines(self, *, besides: bool) -> Iterator[str]:
        """Yield what there is to say of them; nothing where there is none."""
        if self.calls:
            calls, pools = counted(sum(self.calls), "call"), counted(len(self.calls), "pool")
            yield (
                f"{'besides, ' if besides else ''}{self.name}: at most {calls} by formula in {pools} of up to "
                f"{counted(self.candidates, 'candidate')}; tokens, cost and cached answers of these are not estimated"
            )

    def warning(self) -> str:
        """Return what to do about them."""
        return (
            f"{self.name} asks up to {counted(max(self.calls), 'question')} about a pool of "
            f"{counted(self.candidates, 'candidate')}; score each candidate alone (pointwise), or compare some pairs "
            "(bonwise select --strategy round_robin:pairs=matched)"
        )


def calls_of_judge(judge: Judge) -> Callable[[int], int]:
    """Return the calls that judging so many candidates takes."""
    from bonwise.judges.wrapping import calls_of

    return lambda candidates: calls_of(judge, candidates)


def calls_of_plan(plan: SelectionSettings) -> Callable[[int], int]:
    """Return the calls that selecting from so many candidates takes at most, a stronger judge's among them."""
    from bonwise.judges.wrapping import calls_of
    from bonwise.selection.checked_contest import most_calls_of
    from bonwise.selection.settings import default_strategy

    def calls(candidates: int) -> int:
        if candidates < 2:
            return 0
        most = most_calls_of(plan.strategy, plan.judge, candidates)
        if plan.router is not None:
            strong = plan.router.strong
            most += most_calls_of(default_strategy(strong), strong, candidates)
            most += 0 if plan.router.second is None else calls_of(plan.router.second, candidates)
        return most

    return calls


def name_of_plan(plan: SelectionSettings) -> str:
    """Return how messages name a way of selecting."""
    strong = "" if plan.router is None else f" and {plan.router.strong.name}"
    return f"{plan.strategy.name} of {plan.judge.name}{strong}"


def small(pools: Iterable[Pool], calls: Callable[[int], int]) -> Iterator[Pool]:
    """Yield the pools that the formula does not call large."""
    return (pool for pool in pools if calls(_size(pool)) <= MOST_LOOKED_AT)


def _size(pool: Pool) -> int:
    from bonwise.judges.words import candidates_with_words

    return len(candidates_with_words([candidate.text for candidate in pool.candidates]))
