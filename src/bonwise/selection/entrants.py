"""The pool as contests see it, each text once, and the order of candidates."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bonwise.judges.protocol import Judge, candidates_with_words, is_asking
from bonwise.selection.protocol import Entrants
from bonwise.table import pools, verdicts

NOT_SENT = verdicts.Unscored("no contender: the stronger judge did not see it")

Tie = Sequence[str] | Sequence[tuple[str, str]]


class Ranked(NamedTuple):
    """Positions from best to worst, who shares the top, and who of these is still level after `second`."""

    order: tuple[int, ...]
    tied: tuple[int, ...]
    level: tuple[int, ...]


def seeded_order(keys: Tie, *, seed: int, salt: str) -> tuple[int, ...]:
    """Return every position once, at random by seed, salt and keys: a shuffled pool gives the same pick."""
    positions = sorted(range(len(keys)), key=keys.__getitem__)
    _chance(seed, salt).shuffle(positions)
    return tuple(positions)


def seeded_lot(*, seed: int, salt: str) -> float:
    """Return a number from 0 to 1, 1 left out, that depends on the seed and the salt."""
    return _chance(seed, f"{salt}\0lot").random()


def _chance(seed: int, salt: str) -> random.Random:
    digest = hashlib.sha256(f"{seed}\0{salt}".encode("utf-8", "surrogatepass")).digest()
    return random.Random(digest)  # noqa: S311 - a fair and repeatable draw, no secret


def ranked(
    scores: Sequence[float | None], order: Sequence[int], second: Sequence[float | None] | None = None
) -> Ranked:
    """Rank candidates by score, not None, then by `second`, without one last, then by a seeded order."""
    first = {at: score for at, score in enumerate(verdicts.compared(scores)) if score is not None}
    by: Mapping[int, Any] = first
    if second:
        seconds = verdicts.compared(second)
        by = {at: (score, seconds[at] is not None, seconds[at] or 0.0) for at, score in first.items()}
    # Reversed, a sort keeps the order of what is equal all the same.
    ordered = sorted([at for at in order if at in first], key=by.__getitem__, reverse=True)
    tied = tuple(sorted([at for at in first if first[at] == first[ordered[0]]]))
    level = tuple([at for at in tied if by[at] == by[ordered[0]]]) if second else tied
    return Ranked(tuple(ordered), tied if len(tied) > 1 else (), level if len(level) > 1 else ())


@dataclass(slots=True)
class DistinctTexts:
    """The candidates of a pool and the entrants that stand for them."""

    pool: tuple[pools.Candidate, ...]
    order: tuple[int, ...]
    """Every candidate once, in the seeded random order."""
    texts: tuple[str, ...]
    """One an entrant."""
    entrant: tuple[int | None, ...]
    """Of each candidate; candidates of one and the same text share one, and who has no words has none."""
    entrants: Entrants

    def ids(self, entrant: int) -> list[str]:
        """Return the ids of the candidates that an entrant stands for."""
        return [candidate.id for candidate, its in zip(self.pool, self.entrant, strict=True) if its == entrant]

    def among(self, some: Sequence[int]) -> Entrants:
        """Return a contest's view of some entrants only, counted from 0 in the order given."""
        positions = {entrant: at for at, entrant in enumerate(some)}
        order = tuple(positions[entrant] for entrant in self.entrants.order if entrant in positions)
        return Entrants(len(some), order, lot=self.entrants.lot)


def distinct_texts(
    pool: Sequence[pools.Candidate],
    judge: Judge,
    *,
    seed: int,
    salt: str,
    first_pass_alone: bool = False,
    compares: bool = False,
    lot: bool = True,
) -> DistinctTexts:
    """Say which texts of a pool are to be judged: blanks by no model and in no match; `lot` is for ties."""
    # By text before id: an id that is only a position moves with the order of the list.
    order = seeded_order([(candidate.text, candidate.id) for candidate in pool], seed=seed, salt=salt)
    blanks_too = not (compares or is_asking(judge))
    judged = [candidate.text for candidate in pool if not candidate.missing]
    if not blanks_too:
        judged = [judged[at] for at in candidates_with_words(judged)]
    texts = tuple(dict.fromkeys(judged))
    place = {text: at for at, text in enumerate(texts)}
    entrant = tuple([None if candidate.missing else place.get(candidate.text) for candidate in pool])
    first_met = dict.fromkeys([its for at in order if (its := entrant[at]) is not None])
    entrants = Entrants(
        len(texts), tuple(first_met), first_pass_alone, *([seeded_lot(seed=seed, salt=salt)] if lot else [])
    )
    return DistinctTexts(tuple(pool), order, texts, entrant, entrants)
