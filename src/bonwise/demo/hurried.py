"""A judge of the demo that scatters: it skims, so that a second look tells more than the first."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bonwise.data.verdicts import Score, Verdict
from bonwise.judges.local import Consensus

__all__ = ["Hurried"]

READ = 0.75
"""Share of the words that it reads."""

LEVELS = 20
"""Steps of its scale from 0 to 1: coarse scales tie."""


@dataclass(frozen=True)
class Hurried:
    """How much an answer has in common with the others, judged by about three quarters of each one's words.

    Parameters
    ----------
    seed : int
        Together with the prompt, the answer and how often it was asked, fixes which words are read.

    Examples
    --------
    >>> judge = Hurried()
    >>> texts = ["The sky is blue today.", "The sky is grey today.", "Bananas."]
    >>> judge.judge("How is the sky?", texts) == judge.judge("How is the sky?", texts)
    False
    """

    seed: int = 0
    asked: Counter[tuple[str, str]] = field(default_factory=Counter, init=False, repr=False, compare=False)

    name = "hurried"
    version = "1"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Skim every answer and score it, with an interval that is wider the less there was to read."""
        skimmed = [self._skimmed(prompt, text) for text in candidates]
        verdicts = Consensus().judge(prompt, [" ".join(words) for words in skimmed])
        return [_coarse(verdict, words) for verdict, words in zip(verdicts, skimmed, strict=True)]

    def _skimmed(self, prompt: str, text: str) -> list[str]:
        times = self.asked[prompt, text]
        self.asked[prompt, text] += 1
        chance = random.Random(f"{self.seed}\0{prompt}\0{text}\0{times}")  # noqa: S311 - repeatable, no secret
        words = text.split()
        return [word for word in words if chance.random() < READ] or words[:1]


def _coarse(verdict: Verdict, words: Sequence[str]) -> Verdict:
    if not isinstance(verdict, Score):
        return verdict
    value, half = round(verdict.value * LEVELS) / LEVELS, 1 / (len(words) + 1) ** 0.5
    return Score(value, low=value - half, high=value + half)
