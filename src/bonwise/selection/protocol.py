"""The contract of a strategy, on one screen.

A strategy opens a contest for each pool. A contest says what to ask next, hears every answer, and says at any
time how the candidates stand. It sends nothing itself: the same contest runs against a server, a ledger or stored
draws, ends at a deadline with what is known by then, and gives the same answer to the same evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bonwise.judges.protocol import Judge
from bonwise.table.verdicts import Preference, Verdict


@dataclass(frozen=True, slots=True)
class Draw:
    """A question: one score of one candidate."""

    candidate: int
    """Position among the entrants."""
    number: int = 0
    """0 for the first score, 1 for the first redraw, and so on: each number is an independent draw."""
    temperature: float | None = None
    """At which the model is asked, in place of the judge's own; None keeps the judge's own."""


@dataclass(frozen=True, slots=True)
class Match:
    """A question: which of two candidates is better, in the orders that the judge asks for."""

    a: int
    b: int
    """Both: positions among the entrants, ``a < b``."""
    judge: Judge | None = None
    """Who compares them; the judge that selects unless one is given."""


Question = Draw | Match
Heard = Verdict | Preference
"""The answer to a `Draw` is a `Score` or an `Unscored`, that to a `Match` a `Preference`."""


@dataclass(frozen=True, slots=True)
class Entrants:
    """The candidates of one pool as a contest sees them: positions, of which no two have the same text."""

    count: int
    """At least 2."""
    order: tuple[int, ...]
    """Every position once, in the seeded random order in which ties are broken: of two candidates that are level the
    one that comes first in it goes ahead.
    """
    first_pass_alone: bool = False
    """Whether the first round must ask for one score per candidate and no more, because a router looks at it."""
    lot: float = 0.5
    """A number from 0 to 1, drawn by the seed for this pool: it decides what is left to chance beside ties. None is
    drawn for a strategy with an attribute `draws_lot` that is false.
    """


@dataclass(frozen=True, slots=True)
class Standing:
    """How the candidates stand, one entry an entrant, in their order."""

    verdicts: tuple[Verdict, ...]
    """What each is ranked by, higher is better, or why it has no score; owed where its answer did not arrive."""
    standard_errors: tuple[float | None, ...] = ()
    """Of these scores; None where unknown. Empty where none is known."""
    p_best: tuple[float | None, ...] = ()
    """Posterior probability of being the best. Empty where unknown."""
    expected_regret: float | None = None
    """Posterior expectation of the best candidate's score less that of the pick."""
    p_best_reason: str = ""
    """Why a strategy that draws again states neither of them; empty where it does."""
    second: tuple[float | None, ...] = ()
    """Decides between equal scores, higher is better. Empty where nothing but the seed does."""
    lost_may_decide: bool | None = None
    """Whether comparisons of which an order could not be read could change who is first; None says that any could."""
    stopped: str = ""
    """Why nothing more is asked, in plain words; empty while there is more to ask."""


class Contest(Protocol):
    """One pool under a strategy."""

    def next(self) -> Sequence[Question]:
        """Return the questions to ask now, at once; none when enough is known."""
        ...

    def hear(self, question: Question, answer: Heard) -> None:
        """Take the answer to one of them; `Unscored` answers count as asked."""
        ...

    def standing(self) -> Standing:
        """Return how the candidates stand, given what was heard so far."""
        ...


@runtime_checkable
class Strategy(Protocol):
    """Which questions are asked about a pool, and when to stop."""

    @property
    def name(self) -> str:
        """What makes this strategy on a command line, such as ``adaptive:margin=0.1,max_draws=3``."""
        ...

    @property
    def compares(self) -> bool:
        """Whether it asks the judge that selects for comparisons, not for scores."""
        ...

    def contest(self, entrants: Entrants) -> Contest:
        """Open the contest of one pool."""
        ...

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the most answers of models that a pool of so many candidates takes."""
        ...
