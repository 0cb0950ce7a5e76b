"""How much the order of presentation moves a judge that compares pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bonwise.data.ties import rounded
from bonwise.judges.protocol import Judge
from bonwise.judges.scoring import JudgedPool

__all__ = ["OrderEffect", "order_effects"]


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """What being shown first was worth to a candidate, over pairs judged in both orders.

    Examples
    --------
    >>> print(OrderEffect("pairwise", pairs=10, advantage=0.15, differing=3, unscored=0))
    pairwise: position effect +0.150; the verdict on 3 of 10 pairs judged in both orders changes with the order
    """

    judge: str
    pairs: int
    """Pairs scored in both orders."""
    advantage: float
    """Mean of what a candidate earned when shown first minus what it earned when shown second, in [-1, 1]."""
    differing: int
    """Pairs whose verdict (one candidate, the other or a tie) was not the same in both orders."""
    unscored: int
    """Single comparisons without a verdict."""

    def __str__(self) -> str:
        advantage = rounded(self.advantage) + 0.0  # "+0.000" where rounding alone left something below 0
        text = (
            f"{self.judge}: position effect {advantage:+.3f}; the verdict on {self.differing:,} of {self.pairs:,} "
            "pairs judged in both orders changes with the order"
        )
        return text + (f"; {self.unscored:,} comparisons unscored" if self.unscored else "")


def order_effects(judged: Sequence[JudgedPool], judges: Sequence[Judge]) -> list[OrderEffect]:
    """Return the effect of each judge that compared pairs in both orders."""
    found = []
    for at, judge in enumerate(judges):
        pairs = [pair for one in judged for pair in one.judgments[at].preferences]
        effects = [pair.order_effect for pair in pairs if pair.order_effect is not None]
        if effects:
            orders = [order for pair in pairs for order in (pair.shown_first, pair.shown_second)]
            unscored = sum(order is not None and not isinstance(order, float) for order in orders)
            differing = sum(pair.verdict_changes is True for pair in pairs)
            mean = math.fsum(effects) / len(effects)
            found.append(OrderEffect(judge.name, len(effects), mean, differing, unscored))
    return found
