"""The greedy pick: the highest score, ties broken by a seeded generator."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Pick", "greedy"]

TIE_DECIMALS = 9
"""Scores are rounded to this many decimals before they are compared, as in the audit."""


_NO_DECIMALS = 1e15  # from here on doubles have none to round


class Pick(NamedTuple):
    """Positions: the pick, the order from best to worst, and who shares the top."""

    best: int | None
    order: tuple[int, ...]
    tied: tuple[int, ...]


def greedy(
    scores: Sequence[float | None], keys: Sequence[str] | Sequence[tuple[str, str]], *, seed: int, salt: str
) -> Pick:
    """Order candidates by score; candidates with equal scores stand in a seeded random order.

    The order depends on the seed, the salt and the candidates' keys, not on where a candidate stood
    in the list, so that a shuffled pool gives the same pick.

    Examples
    --------
    >>> greedy([0.2, 0.9, None], ["a", "b", "c"], seed=0, salt="p1")
    Pick(best=1, order=(1, 0), tied=())
    """
    scored = [position for position, score in enumerate(scores) if score is not None]
    if not scored:
        return Pick(None, (), ())
    scored.sort(key=lambda position: keys[position])
    _generator(seed, salt).shuffle(scored)
    rounded = {position: _rounded(score) for position, score in enumerate(scores) if score is not None}
    order = tuple(sorted(scored, key=lambda position: -rounded[position]))
    tied = tuple(sorted(position for position in order if rounded[position] == rounded[order[0]]))
    return Pick(order[0], order, tied if len(tied) > 1 else ())


def _rounded(score: float) -> float:
    # The audit's rounding (numpy's), to the last bit: Python's own differs half way between decimals.
    scale = 10.0**TIE_DECIMALS
    return score if abs(score) > _NO_DECIMALS else round(score * scale) / scale


def _generator(seed: int, salt: str) -> random.Random:
    digest = hashlib.sha256(f"{seed}\0{salt}".encode("utf-8", "surrogatepass")).digest()
    return random.Random(digest)  # noqa: S311 - a fair and repeatable draw, no secret
