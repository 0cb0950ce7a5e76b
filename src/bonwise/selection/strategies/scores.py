"""Strategies that ask for scores: one per candidate, several, or more for the two best while they are close."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling
from bonwise.judges.protocol import Judge, cached_property
from bonwise.selection import draws, entrants, registry
from bonwise.selection.protocol import Draw, Entrants, Standing
from bonwise.table import checks, verdicts


@takes_numbers
@dataclass(frozen=True)
class Adaptive:
    """Score every candidate once; while the two best means differ by less than a margin, score these two again.

    The rule of Landesberg (2026), arXiv:2603.12520, appendix C.5, is ``Adaptive(repick=False)``: the pair is chosen
    once, after the first pass. By default the two best are picked anew in each round; either way there are at most
    ``max_draws - 1`` further rounds, of two scores each. Of equal means the one that comes first in the seeded
    order is among the two. In the end the highest mean of all candidates is kept. A score that could not be had
    counts as asked; a candidate whose first score could not be had is out of the running.

    Parameters
    ----------
    margin : float
        In score units, at least 0; differences are rounded before they are compared with it, as scores are.
    max_draws : int
        The most scores of one candidate, the first one included.
    repick : bool
        Whether the two best are picked anew in each round.
    temperature : float, optional
        At which a model is asked again, in place of the judge's own; None keeps the judge's own. The first scores
        are always at the judge's own.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> from bonwise.table.verdicts import Score
    >>> contest = Adaptive(margin=0.1).contest(Entrants(3, order=(2, 0, 1)))
    >>> for question, value in zip(contest.next(), [0.5, 0.9, 0.85], strict=True):
    ...     contest.hear(question, Score(value))
    >>> [(again.candidate, again.number) for again in contest.next()]
    [(1, 1), (2, 1)]
    """

    margin: float = 0.10
    max_draws: int = 3
    repick: bool = True
    temperature: float | None = 1.0

    kind: ClassVar[str] = "adaptive"
    compares = False
    draws_lot = False

    def __post_init__(self) -> None:
        checks.check_number("margin", self.margin, low=0, high=math.inf)
        checks.check_whole("max_draws", self.max_draws, least=1)
        if not isinstance(self.repick, bool):
            raise UsageError(f"repick is {self.repick!r}", hint="give true or false")
        object.__setattr__(self, "temperature", asking.checked_temperature(self.temperature))

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(registry.StrategySpec(self.kind, asking.options_text(self)))

    def contest(self, entrants: Entrants) -> _AdaptiveContest:
        """Open the contest of one pool."""
        return _AdaptiveContest(self, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the calls of a pool whose two best stay close."""
        again = 2 * (self.max_draws - 1) if candidates > 1 else 0
        return calling.calls_of(judge, candidates) + again * draws.calls_of_a_draw(judge, candidates)


class _AdaptiveContest:
    def __init__(self, rule: Adaptive, entrants: Entrants) -> None:
        self._rule, self._entrants = rule, entrants
        self._draws = draws.Draws(entrants.count)
        self.hear = self._draws.hear

    def next(self) -> tuple[Draw, ...]:
        """Ask for the first scores, then for one more of each of the two best."""
        return self._step()[0]

    def standing(self) -> Standing:
        """Return the means."""
        return self._draws.standing(self._step()[1])

    def _step(self) -> tuple[tuple[Draw, ...], str]:
        """Return what to ask, and why nothing."""
        unheard = self._draws.missing(0)
        if unheard:
            return tuple(Draw(candidate) for candidate in unheard), ""
        if self._draws.owed:
            return (), draws.OWED
        pair = self._pair()
        if len(pair) < 2:
            return (), "fewer than two candidates have a score"
        if self._apart(*pair):
            return (), f"the two best differ by the margin of {self._rule.margin:g} or more"
        further = sum(map(self._draws.asked, range(self._entrants.count))) - self._entrants.count
        if further >= 2 * (self._rule.max_draws - 1):
            rounds = self._rule.max_draws - 1
            return (), f"reached the limit of {rounds} further round" + "s" * (rounds != 1)
        return tuple(Draw(candidate, self._draws.asked(candidate), self._rule.temperature) for candidate in pair), ""

    def _pair(self) -> tuple[int, ...]:
        """Return the two best that are in the running, by their means or, for a pair chosen once, by first scores."""
        draws = self._draws
        firsts = [draws.first(candidate) for candidate in range(self._entrants.count)]
        means = [None if first is None else draws.mean(candidate) for candidate, first in enumerate(firsts)]
        return entrants.ranked(means if self._rule.repick else firsts, self._entrants.order).order[:2]

    def _apart(self, a: int, b: int) -> bool:
        first, second, margin = self._draws.mean(a), self._draws.mean(b), self._rule.margin
        # Whoever is in the running has a mean.
        gap = 0.0 if first is None or second is None else abs(first - second)
        decimals = verdicts.pool_decimals((first, second))
        return verdicts.rounded(gap, decimals) >= verdicts.rounded(margin, decimals)


@takes_numbers
@dataclass(frozen=True)
class Greedy:
    """Score every candidate once and keep the highest.

    Examples
    --------
    >>> contest = Greedy().contest(Entrants(2, order=(1, 0)))
    >>> contest.next()
    (Draw(candidate=0, number=0, temperature=None), Draw(candidate=1, number=0, temperature=None))
    """

    name = "greedy"
    compares = False
    draws_lot = False

    def contest(self, entrants: Entrants) -> _GreedyContest:
        """Open the contest of one pool."""
        return _GreedyContest(entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls."""
        return calling.calls_of(judge, candidates)


class _GreedyContest:
    def __init__(self, entrants: Entrants) -> None:
        self._draws = draws.Draws(entrants.count)
        self.hear = self._draws.hear

    def next(self) -> tuple[Draw, ...]:
        """Ask for the score of every candidate."""
        return tuple([Draw(candidate) for candidate in self._draws.missing(0)])

    def standing(self) -> Standing:
        """Return the scores as they came."""
        stopped = draws.OWED if self._draws.owed else "every candidate was scored once"
        return Standing(self._draws.firsts(), stopped="" if self._draws.missing(0) else stopped)


@takes_numbers
@dataclass(frozen=True)
class Resample:
    """Score every candidate the same number of times and keep the highest mean.

    A draw that is unscored is left out of the mean; a candidate is owed while one of its draws is. The standard
    errors pool the variance between the draws of one candidate over the pool.

    Parameters
    ----------
    draws : int
        At least 1.
    temperature : float, optional
        At which a model is asked, every time, in place of the judge's own; None keeps the judge's own.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> Resample(draws=3).name
    'resample:draws=3'
    """

    draws: int = 5
    temperature: float | None = 1.0

    kind: ClassVar[str] = "resample"
    compares = False
    draws_lot = False

    def __post_init__(self) -> None:
        checks.check_whole("draws", self.draws, least=1)
        object.__setattr__(self, "temperature", asking.checked_temperature(self.temperature))

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(registry.StrategySpec(self.kind, asking.options_text(self)))

    def contest(self, entrants: Entrants) -> _ResampleContest:
        """Open the contest of one pool."""
        return _ResampleContest(self, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls, once a draw."""
        return calling.calls_of(judge, candidates) + calling.calls_of(judge, candidates, again=True) * (
            self.draws - 1
        )


class _ResampleContest:
    def __init__(self, rule: Resample, entrants: Entrants) -> None:
        self._rule, self._first_pass_alone = rule, entrants.first_pass_alone
        self._draws = draws.Draws(entrants.count)
        self.hear = self._draws.hear

    def next(self) -> tuple[Draw, ...]:
        """Ask for every draw at once, or for the first ones alone where a router looks at them."""
        numbers = 1 if self._first_pass_alone and self._draws.missing(0) else self._rule.draws
        return tuple(
            Draw(candidate, number, self._rule.temperature)
            for number in range(numbers)
            for candidate in self._draws.missing(number)
        )

    def standing(self) -> Standing:
        """Return the means."""
        many = self._rule.draws
        stopped = (
            draws.OWED
            if self._draws.owed
            else f"every candidate was scored {'once' if many == 1 else f'{many} times'}"
        )
        return self._draws.standing("" if self.next() else stopped)
