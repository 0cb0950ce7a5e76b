"""A judge that is not asked for a number: it is read off the probabilities of its first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from bonwise.calls.answer import Answers
from bonwise.calls.ask import Ask
from bonwise.data.verdicts import Score, Unscored, Verdict
from bonwise.judges.asking import EMPTY, AskingSettings, candidates_with_words, reading
from bonwise.judges.comparing import check_orders, comparisons, conclusion, drawn_by, pairs
from bonwise.judges.parse.logprobs import expected_digit, first_is_better
from bonwise.judges.protocol import Conclusion

__all__ = ["Logprob"]


@dataclass(frozen=True)
class Logprob(AskingSettings):
    """The mean of a digit, or the probability of a preference, under the model's own probabilities.

    Alone, a candidate scores the mean of the digits 0 to 9, divided by 9. In pairs it earns the probability that
    it is called the better one, a tie counted by half. Both need a server that reports the probabilities of
    tokens; where it reports none, every candidate is unscored.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``logprob`` (in pairs: ``logprob-pairwise``); empty for the
        built-in one of that name.
    base_url : str, optional
        Another server that speaks the provider's language.
    temperature : float, optional
        None leaves it to the server.
    max_tokens : int
        The most an answer may have; a model that reasons first needs more.
    longest : int
        Characters of one text beyond which its middle is left out.
    pairs : bool
        Whether candidates are compared in pairs.
    orders : int
        In pairs: 2 asks in both orders, 1 in one of them, drawn for each pair.
    seed : int
        Of that draw.

    Examples
    --------
    >>> Logprob("openai/gpt-4.1-mini").calls(candidates=4)
    4
    >>> judge = Logprob("openai/gpt-4.1-mini", pairs=True)
    >>> judge.name, judge.calls(candidates=4)
    ('logprob,pairs=true:openai/gpt-4.1-mini', 12)
    """

    _: KW_ONLY
    max_tokens: int = 16
    pairs: bool = False
    orders: int = 2
    seed: int = 0

    kind: ClassVar[str] = "logprob"
    needs_logprobs: ClassVar[bool] = True

    @property
    def mode(self) -> str:
        """The mode that the prompt file must have."""
        return "logprob-pairwise" if self.pairs else "logprob"

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each candidate that has words, or for each pair and order."""
        if not self.pairs:
            return [self.ask(prompt, [candidates[one]], expected_digit) for one in candidates_with_words(candidates)]
        return [
            self.ask(prompt, [candidates[first], candidates[second]], first_is_better)
            for pair in pairs(prompt, candidates, self.orders, self.seed)
            for first, second in pair.shown
        ]

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into scores, in pairs by way of preferences."""
        if self.pairs:
            compared = pairs(prompt, candidates, self.orders, self.seed)
            return conclusion(candidates, compared, answers, _credit)
        verdicts: list[Verdict] = [EMPTY] * len(candidates)
        for one, found in zip(candidates_with_words(candidates), answers, strict=True):
            value = reading(found)
            verdicts[one] = value if isinstance(value, Unscored) else Score(value)
        return Conclusion(tuple(verdicts))

    def calls(self, candidates: int) -> int:
        """Return one call a candidate, or one for each pair and order."""
        return comparisons(candidates, self.orders) if self.pairs else candidates

    def _drawn(self) -> str:
        return drawn_by(self.orders, self.seed) if self.pairs else ""

    def _check(self) -> None:
        check_orders(self.orders, self.seed)


def _credit(said: Any) -> tuple[float, None]:
    return float(said), None
