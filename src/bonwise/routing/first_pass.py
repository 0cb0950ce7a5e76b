"""What is known of one pool after its candidates were judged once: all that a router may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bonwise.data.verdicts import Score, Verdict

__all__ = ["FirstPass", "Route"]


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The first verdicts on the candidates of one prompt."""

    verdicts: Sequence[Verdict]
    """One a candidate, by the judge that selects; a score holds the interval and the draws that it came with."""
    others: Sequence[Sequence[Verdict]] = ()
    """The verdicts of further judges on the same candidates, where a router asks for them."""
    p_best: Sequence[float | None] = ()
    """Posterior probability that each candidate is the best, where a strategy knows it."""

    @property
    def scores(self) -> list[float | None]:
        """The values, None where unscored."""
        return [one.value if isinstance(one, Score) else None for one in self.verdicts]


@dataclass(frozen=True, slots=True)
class Route:
    """What a router made of one pool."""

    strong: bool
    """Whether the stronger judge decides."""
    signal: float | None
    """The value of the signal; None where it could not be computed."""
    reason: str
    """In plain words: ``above the threshold``, ``share is used up``, ``no signal: nothing was scored`` ..."""
    contenders: tuple[int, ...] = ()
    """Positions among which the stronger judge decides; empty for all."""
