"""The order of candidates: by score, ties broken by what a strategy says or by a seeded generator."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import NamedTuple

from bonwise.data.ties import rounded

__all__ = ["Ranked", "Tie", "ranked", "seeded_lot", "seeded_order"]

Tie = Sequence[str] | Sequence[tuple[str, str]]


class Ranked(NamedTuple):
    """Positions from best to worst, who shares the top, and who of these is still level after `second`."""

    order: tuple[int, ...]
    tied: tuple[int, ...]
    level: tuple[int, ...]


def seeded_order(keys: Tie, *, seed: int, salt: str) -> tuple[int, ...]:
    """Return every position once, in a random order that depends on the seed, the salt and the candidates' keys.

    It does not depend on where a candidate was in the list, so that a shuffled pool gives the same pick.

    Examples
    --------
    >>> order = seeded_order(["a", "b", "c"], seed=0, salt="p1")
    >>> shuffled = seeded_order(["c", "b", "a"], seed=0, salt="p1")
    >>> ["abc"[at] for at in order] == ["cba"[at] for at in shuffled]
    True
    """
    positions = sorted(range(len(keys)), key=lambda position: keys[position])
    _chance(seed, salt).shuffle(positions)
    return tuple(positions)


def seeded_lot(*, seed: int, salt: str) -> float:
    """Return a number from 0 to 1, 1 left out, that depends on the seed and the salt.

    Examples
    --------
    >>> 0 <= seeded_lot(seed=0, salt="p1") < 1
    True
    """
    return _chance(seed, f"{salt}\0lot").random()


def _chance(seed: int, salt: str) -> random.Random:
    digest = hashlib.sha256(f"{seed}\0{salt}".encode("utf-8", "surrogatepass")).digest()
    return random.Random(digest)  # noqa: S311 - a fair and repeatable draw, no secret


def ranked(
    scores: Sequence[float | None], order: Sequence[int], second: Sequence[float | None] | None = None
) -> Ranked:
    """Rank candidates by score, then by `second`, then by where they are in a seeded order.

    Parameters
    ----------
    scores : sequence of float or None
        None where unscored: such a candidate is not ranked.
    order : sequence of int
        As `seeded_order` returns it.
    second : sequence of float or None, optional
        Decides between equal scores; who has none stands behind who has one.

    Examples
    --------
    >>> ranked([0.2, 0.9, None, 0.9], order=(3, 2, 1, 0))
    Ranked(order=(3, 1, 0), tied=(1, 3), level=(1, 3))
    >>> ranked([0.2, 0.9, None, 0.9], order=(3, 2, 1, 0), second=[None, 1.0, None, 0.0])
    Ranked(order=(1, 3, 0), tied=(1, 3), level=())
    """
    first = {at: rounded(score) for at, score in enumerate(scores) if score is not None}
    then = {at: _second(second, at) for at in first}
    found = sorted((at for at in order if at in first), key=lambda at: (-first[at], *then[at]))
    tied = tuple(sorted(at for at in found if first[at] == first[found[0]]))
    level = tuple(at for at in tied if then[at] == then[found[0]])
    return Ranked(tuple(found), *(one if len(one) > 1 else () for one in (tied, level)))


def _second(second: Sequence[float | None] | None, at: int) -> tuple[bool, float]:
    value = second[at] if second else None
    return (value is None, 0.0 if value is None else -rounded(value))
