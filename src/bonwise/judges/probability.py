"""A judge that says how probable it is that one candidate is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

from bonwise.calls.answer import Answers
from bonwise.calls.ask import Ask
from bonwise.judges.asking import AskingSettings
from bonwise.judges.comparing import check_orders, comparisons, conclusion, drawn_by, pairs
from bonwise.judges.parse.readers import probability
from bonwise.judges.protocol import Conclusion

__all__ = ["Probability"]


@dataclass(frozen=True)
class Probability(AskingSettings):
    """Every pair of candidates, by default in both orders: each earns the stated probability that it is better.

    A candidate's score is what it earned on average over its pairs that were scored.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``probability``.
    base_url : str, optional
        Another server that speaks the provider's language.
    temperature : float, optional
        None leaves it to the server.
    max_tokens : int
        The most an answer may have, reasoning included.
    longest : int
        Characters of one text beyond which its middle is left out.
    orders : int
        2 asks about a pair in both orders, 1 in one of them, drawn for each pair.
    seed : int
        Of that draw.

    Examples
    --------
    >>> judge = Probability("openai/gpt-5-mini", orders=1)
    >>> judge.name, judge.calls(candidates=4)
    ('probability,orders=1:openai/gpt-5-mini', 6)
    """

    _: KW_ONLY
    prompt: str | Path = "probability"
    orders: int = 2
    seed: int = 0

    kind: ClassVar[str] = "probability"

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each pair and order."""
        return [
            self.ask(prompt, [candidates[first], candidates[second]], probability)
            for pair in pairs(prompt, candidates, self.orders, self.seed)
            for first, second in pair.shown
        ]

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into preferences, and these into scores."""
        compared = pairs(prompt, candidates, self.orders, self.seed)
        return conclusion(candidates, compared, answers, _credit)

    def calls(self, candidates: int) -> int:
        """Return one call for each pair and order."""
        return comparisons(candidates, self.orders)

    def _drawn(self) -> str:
        return drawn_by(self.orders, self.seed)

    def _check(self) -> None:
        check_orders(self.orders, self.seed)


def _credit(said: Any) -> tuple[float, None]:
    return float(said), None
