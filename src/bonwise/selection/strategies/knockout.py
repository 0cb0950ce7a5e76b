"""A tournament: who loses a match is out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from bonwise.data.ties import rounded
from bonwise.data.verdicts import Preference, Score, Unscored, Verdict
from bonwise.judges.asking import MISSING, most_common, owed_among
from bonwise.judges.protocol import Judge
from bonwise.judges.wrapping import calls_of
from bonwise.selection.draws import OWED
from bonwise.selection.matches import Matches, is_owed
from bonwise.selection.protocol import Entrants, Heard, Match, Question, Standing

__all__ = ["Knockout"]


@dataclass(frozen=True)
class Knockout:
    """Let candidates meet in pairs, in a bracket drawn by the seeded order, until one is left.

    It takes one match less than there are candidates. Where the number in a round is odd, the last one goes on
    without a match, and nobody does so twice. A match that the judge leaves drawn, or that could not be scored, is
    decided by the seeded order, and `Standing.stopped` counts these.

    A candidate's score is the number of rounds that it came through, and one half more where its last match was so
    decided, as a share of all rounds. So whoever wins the final has 1, and after a final that the seed decided both
    finalists have the same score. A candidate none of whose matches could be scored is unscored.

    Examples
    --------
    >>> contest = Knockout().contest(Entrants(4, order=(2, 0, 1, 3)))
    >>> [(match.a, match.b) for match in contest.next()]
    [(0, 2), (1, 3)]
    """

    name: ClassVar[str] = "knockout"
    compares: ClassVar[bool] = True

    def contest(self, entrants: Entrants) -> _KnockoutContest:
        """Open the contest of one pool."""
        return _KnockoutContest(entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the judge's calls for each match: one less than there are candidates."""
        return (candidates - 1) * calls_of(judge, 2)


@dataclass(slots=True)
class _Bracket:
    """How far the tournament has come."""

    came_through: list[float]
    """Rounds of each candidate, one half for a last match that the seed decided."""
    open: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of this round whose match is not decided."""
    drawn: int = 0
    """Matches that the seed decided."""
    unscored: int = 0
    """Matches that the seed decided."""


class _KnockoutContest:
    def __init__(self, entrants: Entrants) -> None:
        self._order = entrants.order
        self._rank = {candidate: place for place, candidate in enumerate(entrants.order)}
        self._rounds = (entrants.count - 1).bit_length()
        self._matches = Matches()

    def next(self) -> tuple[Match, ...]:
        """Ask for all matches of the round."""
        return () if self._matches.owed else tuple(Match(a, b) for a, b in self._bracket().open)

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a match."""
        self._matches.hear(question, answer)

    def standing(self) -> Standing:
        """Return how far each candidate came."""
        bracket = self._bracket()
        verdicts = tuple(self._verdict(one, came) for one, came in enumerate(bracket.came_through))
        return Standing(verdicts, stopped=self._stopped(bracket))

    def _bracket(self) -> _Bracket:
        """Replay the tournament from the verdicts so far."""
        found = _Bracket([0.0] * len(self._order))
        left = list(self._order)
        while len(left) > 1 and not found.open:
            last = len(left) - len(left) % 2
            ahead = [self._played(pair, found) for pair in zip(left[:last:2], left[1:last:2], strict=True)]
            without = [] if found.open else left[last:]
            for one in without:
                found.came_through[one] += 1
            # Whoever had no match meets somebody in the next round.
            left = without + ahead
        return found

    def _played(self, pair: tuple[int, int], found: _Bracket) -> int:
        """Put down what became of a match, and return who goes on."""
        a, b = min(pair), max(pair)
        preference = self._matches.of(a, b)
        if preference is None or is_owed(preference):
            found.open.append((a, b))
            return a
        value = preference.value
        if value is not None and rounded(value) != 0.5:
            winner = a if value > 0.5 else b
            found.came_through[winner] += 1
            return winner
        found.unscored += value is None
        found.drawn += value is not None
        winner, loser = sorted(pair, key=self._rank.__getitem__)
        final = found.came_through[winner] == self._rounds - 1
        found.came_through[winner] += 0.5 if final else 1
        found.came_through[loser] += 0.5
        return winner

    def _verdict(self, candidate: int, came_through: float) -> Verdict:
        own = [one for one in self._matches.heard if candidate in (one.a, one.b)]
        sides = [side for one in own for side in (one.shown_first, one.shown_second)]
        owed = owed_among(sides)
        if owed:
            return owed
        if not own and not came_through:
            return MISSING
        if _never_scored(own):
            return most_common((side for side in sides if isinstance(side, Unscored)), "comparisons")
        return Score(came_through / self._rounds)

    def _stopped(self, bracket: _Bracket) -> str:
        if bracket.open:
            return OWED if self._matches.owed else ""
        by_seed = [
            f"{count} {word}" for count, word in ((bracket.drawn, "drawn"), (bracket.unscored, "unscored")) if count
        ]
        if not by_seed:
            return "one candidate is left"
        return f"one candidate is left; the seed decided matches: {', '.join(by_seed)}"


def _never_scored(own: Sequence[Preference]) -> bool:
    return bool(own) and all(one.value is None for one in own)
