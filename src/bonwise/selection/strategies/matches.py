"""Strategies that compare: every candidate against others, a tournament, or only those that share the top score."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, comparing
from bonwise.judges.protocol import Judge, cached_property
from bonwise.selection import draws, entrants, registry
from bonwise.selection.protocol import Contest, Draw, Entrants, Heard, Match, Question, Standing
from bonwise.table.checks import check_whole
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict, rounded


@takes_numbers
@dataclass(frozen=True)
class Knockout:
    """Let candidates meet in pairs, in a bracket drawn by the seeded order, until one is left.

    It takes one match less than there are candidates. Where the number in a round is odd, the last one goes on
    without a match, and nobody does so twice. A match that the judge leaves drawn, or that is lost, is decided by the
    seeded order, and `Standing.stopped` counts these. What was lost could change the pick.

    A candidate's score is the number of rounds that it came through, and one half more where its last match was so
    decided, as a share of all rounds. So whoever wins the final has 1, and after a final that the seed decided both
    finalists have the same score. A candidate all of whose matches were lost is unscored.

    Examples
    --------
    >>> contest = Knockout().contest(Entrants(4, order=(2, 0, 1, 3)))
    >>> [(match.a, match.b) for match in contest.next()]
    [(0, 2), (1, 3)]
    """

    name = "knockout"
    compares = True
    draws_lot = False

    def contest(self, entrants: Entrants) -> _KnockoutContest:
        """Open the contest of one pool."""
        return _KnockoutContest(entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls for each match: one less than there are candidates."""
        return (candidates - 1) * calling.calls_of(judge, 2)


@dataclass(slots=True)
class _Bracket:
    """How far the tournament has come."""

    came_through: list[float]
    """Rounds of each candidate, one half for a last match that the seed decided."""
    open: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of this round whose match is not decided."""
    drawn: int = 0
    lost: int = 0
    """Both: matches that the seed decided."""


class _KnockoutContest:
    def __init__(self, entrants: Entrants) -> None:
        self._order = entrants.order
        self._rank = {candidate: place for place, candidate in enumerate(entrants.order)}
        self._rounds = (entrants.count - 1).bit_length()
        self._matches = draws.Matches()

    def next(self) -> tuple[Match, ...]:
        """Ask for all matches of the round."""
        return () if self._matches.owed else tuple(Match(a, b) for a, b in self._bracket().open)

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a match."""
        self._matches.hear(question, answer)

    def standing(self) -> Standing:
        """Return how far each candidate came."""
        bracket = self._bracket()
        verdicts = tuple(self._verdict(at, came) for at, came in enumerate(bracket.came_through))
        return Standing(verdicts, stopped=self._stopped(bracket))

    def _bracket(self) -> _Bracket:
        """Replay the tournament from the verdicts so far."""
        bracket = _Bracket([0.0] * len(self._order))
        left = list(self._order)
        while len(left) > 1 and not bracket.open:
            last = len(left) - len(left) % 2
            ahead = [self._played(pair, bracket) for pair in zip(left[:last:2], left[1:last:2], strict=True)]
            without = [] if bracket.open else left[last:]
            for candidate in without:
                bracket.came_through[candidate] += 1
            # Whoever had no match meets somebody in the next round.
            left = without + ahead
        return bracket

    def _played(self, pair: tuple[int, int], bracket: _Bracket) -> int:
        """Put down what became of a match, and return who goes on."""
        a, b = min(pair), max(pair)
        preference = self._matches.of(a, b)
        if preference is None or draws.is_owed(preference):
            bracket.open.append((a, b))
            return a
        value = preference.value
        if value is not None and rounded(value) != 0.5:
            winner = a if value > 0.5 else b
            bracket.came_through[winner] += 1
            return winner
        bracket.lost += value is None
        bracket.drawn += value is not None
        winner, loser = sorted(pair, key=self._rank.__getitem__)
        final = bracket.came_through[winner] == self._rounds - 1
        bracket.came_through[winner] += 0.5 if final else 1
        bracket.came_through[loser] += 0.5
        return winner

    def _verdict(self, candidate: int, came_through: float) -> Verdict:
        own = [pair for pair in self._matches.heard if candidate in (pair.a, pair.b)]
        owed = asking.owed_among(side for pair in own for side in (pair.shown_first, pair.shown_second))
        if owed:
            return owed
        if not own and not came_through:
            return asking.MISSING
        if own and all(pair.value is None for pair in own):
            return comparing.unscored_by_loss(own)
        return Score(came_through / self._rounds)

    def _stopped(self, bracket: _Bracket) -> str:
        if bracket.open:
            return draws.OWED if self._matches.owed else ""
        by_seed = [f"{count} {word}" for count, word in ((bracket.drawn, "drawn"), (bracket.lost, "lost")) if count]
        if not by_seed:
            return "one candidate is left"
        return f"one candidate is left; the seed decided matches: {', '.join(by_seed)}"


@takes_numbers
@dataclass(frozen=True)
class RoundRobin:
    """Compare candidates in pairs and keep the one that earned most on average (Borda's count as a share).

    A pair gives 1 to the better candidate and 1/2 to each where the judge sees no difference or contradicts itself
    when the order is turned, and where the pair is lost: an order that was asked could not be read.

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
    compares = True
    draws_lot = False

    def __post_init__(self) -> None:
        if isinstance(self.pairs, str) and self.pairs != "matched":
            raise UsageError(f"pairs is {self.pairs!r}", hint="give a whole number, matched, or none for every pair")
        if not (self.pairs is None or isinstance(self.pairs, str)):
            check_whole("pairs", self.pairs, least=1)

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(registry.StrategySpec(self.kind, asking.options_text(self)))

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
        return self.many(candidates) * calling.calls_of(judge, 2)


class _RoundRobinContest:
    def __init__(self, candidates: int, pairs: Sequence[tuple[int, int]]) -> None:
        self._candidates, self._pairs = candidates, pairs
        self._matches = draws.Matches()

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
            stopped = draws.OWED
        else:
            count = len(self._pairs)
            stopped = "the two were compared" if self._candidates == 2 else f"{count} pairs were compared"
        # What was asked and is not there yet counts as what is lost does: a half for both.
        asked = [self._matches.of(a, b) or Preference(a, b, None, None) for a, b in self._pairs]
        may_decide = comparing.lost_may_decide(self._candidates, asked)
        return Standing(comparing.borda(self._candidates, asked), stopped=stopped, lost_may_decide=may_decide)


def drawn_pairs(order: Sequence[int], many: int) -> list[tuple[int, int]]:
    """Return so many pairs from a random `order`; no candidate stands in two more of them than another."""
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


@takes_numbers
@dataclass(frozen=True)
class TieBreak:
    """Score every candidate once; where several share the top score, compare these with one another.

    Scores are compared as `pool_decimals` says. What the comparisons give is `Standing.second`: it orders the
    candidates that share the top score and changes no score. Who has lost comparisons alone has a half.

    Parameters
    ----------
    pairwise : Judge or callable
        Compares; a judge that only scores prefers the higher score.
    knockout : bool
        Whether they meet in a tournament rather than each with every other.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.
    bonwise.errors.JudgeError
        What is given as the judge is none.

    Examples
    --------
    >>> from bonwise.judges.comparing import Pairwise
    >>> rule = TieBreak(Pairwise("openai/gpt-5-mini"))
    >>> rule.name, rule.most_calls(Pairwise("openai/gpt-5-mini"), candidates=3)
    ('tie_break:of=pairwise:openai/gpt-5-mini', 12)
    >>> contest = rule.contest(Entrants(3, order=(2, 1, 0)))
    >>> for question, value in zip(contest.next(), [0.7, 0.6, 0.7], strict=True):
    ...     contest.hear(question, Score(value))
    >>> [(match.a, match.b) for match in contest.next()]
    [(0, 2)]
    """

    pairwise: Judge
    knockout: bool = False

    kind: ClassVar[str] = "tie_break"
    compares = False
    draws_lot = False

    def __init__(self, pairwise: Judge | Callable[[str, str], Any], *, knockout: bool = False) -> None:
        if not isinstance(knockout, bool):
            raise UsageError(f"knockout is {knockout!r}", hint="give true or false")
        object.__setattr__(self, "pairwise", calling.as_judge(pairwise))
        object.__setattr__(self, "knockout", knockout)

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return str(
            registry.StrategySpec(self.kind, asking.options_text(self, never=("pairwise",)), of=self.pairwise.name)
        )

    @property
    def among(self) -> RoundRobin | Knockout:
        """The strategy among those that share the top score."""
        return Knockout() if self.knockout else RoundRobin()

    def contest(self, entrants: Entrants) -> _TieBreakContest:
        """Open the contest of one pool."""
        return _TieBreakContest(self, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the calls of a pool whose candidates all have the same score."""
        return calling.calls_of(judge, candidates) + self.among.most_calls(self.pairwise, candidates)


class _TieBreakContest:
    def __init__(self, rule: TieBreak, entrants: Entrants) -> None:
        self._rule, self._entrants = rule, entrants
        self._draws = draws.Draws(entrants.count)
        self._tied: tuple[int, ...] = ()
        self._among: Contest | None = None
        self._owed: dict[int, Unscored] = {}

    def next(self) -> tuple[Question, ...]:
        """Ask for the scores, then for comparisons of those that share the top."""
        unheard = self._draws.missing(0)
        if unheard or self._draws.owed:
            return tuple(Draw(candidate) for candidate in unheard)
        among = self._opened()
        if among is None:
            return ()
        asked = (question for question in among.next() if isinstance(question, Match))
        return tuple(Match(self._tied[match.a], self._tied[match.b], self._rule.pairwise) for match in asked)

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a score or a comparison."""
        if isinstance(question, Draw) or self._among is None:
            self._draws.hear(question, answer)
            return
        a, b = self._tied.index(question.a), self._tied.index(question.b)
        self._among.hear(Match(a, b), answer)
        if isinstance(answer, Preference):
            owed = asking.owed_among((answer.shown_first, answer.shown_second))
            if owed is not None:
                self._owed |= {question.a: owed, question.b: owed}

    def standing(self) -> Standing:
        """Return the scores, and what those that share the top earned among one another."""
        scores = self._draws.firsts()
        among = None if self._among is None else self._among.standing()
        second: list[float | None] = [None] * len(scores)
        for entrant, verdict in zip(self._tied, () if among is None else among.verdicts, strict=True):
            # A comparison that was lost is nobody's loss.
            second[entrant] = verdict.value if isinstance(verdict, Score) else 0.5
        verdicts = tuple(self._owed.get(at, score) for at, score in enumerate(scores))
        if among is None:
            return Standing(verdicts, stopped=self._stopped(among))
        may_decide = among.lost_may_decide
        return Standing(verdicts, second=tuple(second), stopped=self._stopped(among), lost_may_decide=may_decide)

    def _opened(self) -> Contest | None:
        """Return the contest among those that share the top score; None where one stands alone, or nobody."""
        if self._among is None:
            values = [first.value if isinstance(first, Score) else None for first in self._draws.firsts()]
            self._tied = entrants.ranked(values, self._entrants.order).tied
            if self._tied:
                place = {candidate: at for at, candidate in enumerate(self._tied)}
                order = tuple(place[entrant] for entrant in self._entrants.order if entrant in place)
                self._among = self._rule.among.contest(Entrants(len(order), order))
        return self._among

    def _stopped(self, among: Standing | None) -> str:
        if self._draws.owed:
            return "" if self._draws.missing(0) else draws.OWED
        if among is None:
            return "" if self.next() else "no two candidates share the top score"
        return among.stopped and f"{len(self._tied)} candidates share the top score; {among.stopped}"
