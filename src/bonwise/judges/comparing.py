"""What judges share that compare two candidates: which pairs, in which order, and what a candidate earns."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bonwise.calls.answer import Answers
from bonwise.data.verdicts import Preference, Score, Unscored, Verdict
from bonwise.errors import UsageError
from bonwise.judges.asking import EMPTY, candidates_with_words, check_whole, most_common, reading
from bonwise.judges.protocol import Conclusion

__all__ = ["Pair", "check_orders", "comparisons", "conclusion", "drawn_by", "pairs"]

ALONE = Unscored("no other answer to compare with")

Credit = Callable[[object], tuple[float, int | None]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates, and the orders in which they are shown.

    Parameters
    ----------
    a, b : int
        Positions, ``a < b``.
    orders : tuple of bool
        One a question: whether `a` is shown first.
    """

    a: int
    b: int
    orders: tuple[bool, ...]

    @property
    def shown(self) -> Iterator[tuple[int, int]]:
        """The positions of each question, in the order in which they are shown."""
        return ((self.a, self.b) if first else (self.b, self.a) for first in self.orders)


def pairs(prompt: str, candidates: Sequence[str], orders: int, seed: int) -> list[Pair]:
    """Return every pair of candidates that have words.

    With a single order it is drawn by a hash of seed, prompt and the two texts: it does not depend on where in
    the pool they stand.

    Examples
    --------
    >>> [(pair.a, pair.b, pair.orders) for pair in pairs("p", ["x", "", "y"], orders=2, seed=0)]
    [(0, 2, (True, False))]
    """
    return [
        Pair(a, b, (True, False) if orders == 2 else (_first(prompt, candidates[a], candidates[b], seed),))
        for a, b in itertools.combinations(candidates_with_words(candidates), 2)
    ]


def comparisons(candidates: int, orders: int) -> int:
    """Return how many questions it takes to compare so many candidates.

    Examples
    --------
    >>> comparisons(4, orders=2)
    12
    """
    return math.comb(candidates, 2) * orders


def check_orders(orders: object, seed: object) -> None:
    """Refuse what is not one order or both, and a seed that is no whole number.

    Raises
    ------
    bonwise.errors.UsageError
        One of them is not.
    """
    if isinstance(orders, bool) or orders not in (1, 2):
        raise UsageError(f"orders is {orders!r}", hint="give 2 for both orders of a pair, 1 for one of them")
    check_whole("seed", seed, least=0)


def drawn_by(orders: int, seed: int) -> str:
    """Return the part of a judge's version that says how single orders were drawn; empty with both orders.

    Examples
    --------
    >>> drawn_by(orders=1, seed=7), drawn_by(orders=2, seed=7)
    (' seed7', '')
    """
    return f" seed{seed}" if orders == 1 else ""


def conclusion(
    candidates: Sequence[str], compared: Sequence[Pair], answers: Sequence[Answers], credit: Credit
) -> Conclusion:
    """Return what each candidate earned on average against the others, and every comparison.

    Parameters
    ----------
    candidates : sequence of str
    compared : sequence of Pair
    answers : sequence of Answers
        In the order of the pairs and of their orders.
    credit : callable
        From a reading to what the candidate shown first earned, and a confidence.
    """
    expected = sum(len(pair.orders) for pair in compared)
    if len(answers) != expected:
        raise ValueError(f"{len(answers)} answers to {expected} questions")
    waiting = iter(answers)
    preferences = tuple(_preference(pair, [next(waiting) for _ in pair.orders], credit) for pair in compared)
    return Conclusion(_verdicts(candidates, preferences), preferences)


def _preference(pair: Pair, answers: Sequence[Answers], credit: Credit) -> Preference:
    earned: dict[bool, float | Unscored] = {}
    sure: dict[bool, int | None] = {}
    for first, found in zip(pair.orders, answers, strict=True):
        said = reading(found)
        if isinstance(said, Unscored):
            earned[first] = said
        else:
            value, sure[first] = credit(said)
            earned[first] = value if first else 1.0 - value
    return Preference(pair.a, pair.b, earned.get(True), earned.get(False), (sure.get(True), sure.get(False)))


def _verdicts(candidates: Sequence[str], preferences: Sequence[Preference]) -> tuple[Verdict, ...]:
    present = set(candidates_with_words(candidates))
    return tuple(
        _verdict(one, [pair for pair in preferences if one in (pair.a, pair.b)]) if one in present else EMPTY
        for one in range(len(candidates))
    )


def _verdict(one: int, own: Sequence[Preference]) -> Verdict:
    """Return the mean credit over the pairs that were scored: Borda's count as a share."""
    if not own:
        return ALONE
    scored = [(pair.a == one, pair.value) for pair in own]
    credits_ = [value if is_a else 1.0 - value for is_a, value in scored if value is not None]
    if credits_:
        return Score(math.fsum(credits_) / len(credits_))
    missing = (side for pair in own for side in (pair.shown_first, pair.shown_second) if isinstance(side, Unscored))
    return most_common(missing, "comparisons")


def _first(prompt: str, text_a: str, text_b: str, seed: int) -> bool:
    """Tell whether `text_a` is shown first."""
    whole = json.dumps([seed, prompt, *sorted((text_a, text_b))])
    smaller_first = hashlib.sha256(whole.encode()).digest()[0] % 2 == 0
    return (text_a <= text_b) == smaller_first
