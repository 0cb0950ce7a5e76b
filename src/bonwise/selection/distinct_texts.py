"""The pool as contests see it: each text once, and only texts that can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bonwise.data.pool import Candidate
from bonwise.judges.protocol import Judge, is_asking
from bonwise.judges.words import candidates_with_words
from bonwise.selection.protocol import Entrants
from bonwise.selection.ranking import seeded_lot, seeded_order

__all__ = ["DistinctTexts", "distinct_texts"]


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """The candidates of a pool and the entrants that stand for them."""

    pool: tuple[Candidate, ...]
    order: tuple[int, ...]
    """Every candidate once, in the seeded random order."""
    texts: tuple[str, ...]
    """One an entrant."""
    entrant: tuple[int | None, ...]
    """Of each candidate; candidates of one and the same text share one, and who has no words has none."""
    entrants: Entrants

    def ids(self, entrant: int) -> list[str]:
        """Return the ids of the candidates that an entrant stands for."""
        return [one.id for one, its in zip(self.pool, self.entrant, strict=True) if its == entrant]

    def among(self, some: Sequence[int]) -> Entrants:
        """Return a contest's view of some entrants only, counted from 0 in the order given."""
        positions = {entrant: at for at, entrant in enumerate(some)}
        order = tuple(positions[one] for one in self.entrants.order if one in positions)
        return Entrants(len(some), order, lot=self.entrants.lot)


def distinct_texts(
    pool: Sequence[Candidate],
    judge: Judge,
    *,
    seed: int,
    salt: str,
    first_pass_alone: bool = False,
    compares: bool = False,
) -> DistinctTexts:
    """Say which texts of a pool are to be judged.

    A model is not asked about a text without words; a judge that asks none may have a use for it, except where the
    strategy compares: a match in which one side is unscored is nobody's, and blanks would take every match from
    those who have words.

    Examples
    --------
    >>> from bonwise.judges.calling import as_judge
    >>> pool = [Candidate("a", "yes"), Candidate("b", "no"), Candidate("c", "yes")]
    >>> field = distinct_texts(pool, as_judge(lambda prompt, text: 1), seed=0, salt="p")
    >>> field.texts, field.entrant
    (('yes', 'no'), (0, 1, 0))
    """
    # By text before id: an id that is only a position moves with the order of the list.
    order = seeded_order([(one.text, one.id) for one in pool], seed=seed, salt=salt)
    blanks_too = not (compares or is_asking(judge))
    judged = [one.text for one in pool if not one.missing]
    if not blanks_too:
        judged = [judged[at] for at in candidates_with_words(judged)]
    texts = tuple(dict.fromkeys(judged))
    place = {text: at for at, text in enumerate(texts)}
    entrant = tuple(None if one.missing else place.get(one.text) for one in pool)
    first_met = dict.fromkeys(its for at in order if (its := entrant[at]) is not None)
    entrants = Entrants(len(texts), tuple(first_met), first_pass_alone, seeded_lot(seed=seed, salt=salt))
    return DistinctTexts(tuple(pool), order, texts, entrant, entrants)
