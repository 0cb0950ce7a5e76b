"""Every candidate against every other, or against some."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from bonwise.data.checks import check_whole
from bonwise.data.verdicts import Verdict
from bonwise.errors import UsageError
from bonwise.judges.asking import MISSING, options_text
from bonwise.judges.comparing import borda
from bonwise.judges.protocol import Judge
from bonwise.judges.wrapping import calls_of
from bonwise.selection.draws import OWED
from bonwise.selection.matches import Matches
from bonwise.selection.protocol import Entrants, Heard, Match, Question, Standing
from bonwise.selection.spec import StrategySpec

__all__ = ["RoundRobin", "drawn_pairs"]


@dataclass(frozen=True)
class RoundRobin:
    """Compare candidates in pairs and keep the one that earned most on average (Borda's count as a share).

    A pair gives 1 to the better candidate and 1/2 to each where the judge sees no difference or contradicts itself
    when the order is turned. A pair that could not be scored is left out of the mean.

    Parameters
    ----------
    pairs : int, {"matched"} or None
        None compares every pair. A number compares so many, drawn by the seeded order: every candidate in as many
        of them as any other, or one more or less. ``matched`` compares as many pairs as there are candidates, in a
        ring: what scoring each alone would take (Landesberg 2026, arXiv:2603.12520, appendix B.5).

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing; when a pool has more candidates than so many pairs can hold.

    Examples
    --------
    >>> contest = RoundRobin(pairs="matched").contest(Entrants(4, order=(3, 0, 2, 1)))
    >>> [(match.a, match.b) for match in contest.next()]
    [(0, 1), (0, 2), (1, 3), (2, 3)]
    """

    pairs: int | Literal["matched"] | None = None

    kind: ClassVar[str] = "round_robin"
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.pairs, str) and self.pairs != "matched":
            raise UsageError(f"pairs is {self.pairs!r}", hint="give a whole number, matched, or none for every pair")
        if not (self.pairs is None or isinstance(self.pairs, str)):
            check_whole("pairs", self.pairs, least=1)

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(StrategySpec(self.kind, options_text(self)))

    def contest(self, entrants: Entrants) -> _RoundRobinContest:
        """Open the contest of one pool."""
        many = self.many(entrants.count)
        if many < entrants.count / 2:
            hint = f"give at least {math.ceil(entrants.count / 2)}, or matched"
            raise UsageError(f"{many} pairs leave some of {entrants.count} candidates uncompared", hint=hint)
        return _RoundRobinContest(entrants.count, drawn_pairs(entrants.order, many))

    def many(self, candidates: int) -> int:
        """Return how many pairs of a pool are compared."""
        every = math.comb(candidates, 2)
        wanted = candidates if isinstance(self.pairs, str) else self.pairs
        return every if wanted is None else min(wanted, every)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls for each pair."""
        return self.many(candidates) * calls_of(judge, 2)


class _RoundRobinContest:
    def __init__(self, candidates: int, pairs: Sequence[tuple[int, int]]) -> None:
        self._candidates, self._pairs = candidates, pairs
        self._matches = Matches()

    def next(self) -> tuple[Match, ...]:
        """Ask for every pair at once."""
        return tuple(Match(a, b) for a, b in self._pairs if self._matches.of(a, b) is None)

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a comparison."""
        self._matches.hear(question, answer)

    def standing(self) -> Standing:
        """Return what each candidate earned on average."""
        if self.next():
            stopped = ""
        elif self._matches.owed:
            stopped = OWED
        else:
            count = len(self._pairs)
            stopped = "the two were compared" if self._candidates == 2 else f"{count} pairs were compared"
        return Standing(self._verdicts(), stopped=stopped)

    def _verdicts(self) -> tuple[Verdict, ...]:
        heard = self._matches.heard
        met = {one for pair in heard for one in (pair.a, pair.b)}
        earned = borda(self._candidates, heard)
        return tuple(verdict if one in met else MISSING for one, verdict in enumerate(earned))


def drawn_pairs(order: Sequence[int], many: int) -> list[tuple[int, int]]:
    """Return so many pairs of candidates, in which no candidate stands more than once oftener than another.

    Parameters
    ----------
    order : sequence of int
        Every candidate once, in a random order.
    many : int
        At most all of them.

    Examples
    --------
    >>> drawn_pairs((2, 0, 1, 3), 2)
    [(0, 1), (2, 3)]
    """
    drawn = itertools.islice(_paired(len(order)), many)
    return sorted((min(order[a], order[b]), max(order[a], order[b])) for a, b in drawn)


def _paired(count: int) -> Iterator[tuple[int, int]]:
    """Yield every pair of places once; after any number of them no place has come up twice oftener than another."""
    return _matchings(count) if count % 2 == 0 else _cycles(count)


def _matchings(count: int) -> Iterator[tuple[int, int]]:
    """Split the pairs of an even number into rounds in which everybody plays: one stays, the others turn."""
    ring = count - 1
    for turn in range(ring):
        yield ring, turn
        for apart in range(1, count // 2):
            yield (turn + apart) % ring, (turn - apart) % ring


def _cycles(count: int) -> Iterator[tuple[int, int]]:
    """Split the pairs of an odd number into rings through everybody; of a ring every second pair comes first."""
    ring = count - 1
    zigzag = [0, *(place for apart in range(1, count // 2) for place in (apart, ring - apart)), ring // 2]
    for turn in range(ring // 2):
        places = [ring, *((place + turn) % ring for place in zigzag)]
        pairs = list(zip(places, [*places[1:], places[0]], strict=True))
        yield from (*pairs[::2], *pairs[1::2])
