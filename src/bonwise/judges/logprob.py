"""A judge that is not asked for a number: it is read off the probabilities of its first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from bonwise.calls.answer import Answers
from bonwise.calls.ask import Ask
from bonwise.data.verdicts import Score
from bonwise.judges.asking import concluded_alone
from bonwise.judges.comparing import ComparingSettings
from bonwise.judges.parse.logprobs import expected_digit, first_is_better
from bonwise.judges.protocol import Conclusion

__all__ = ["Logprob"]


@dataclass(frozen=True)
class Logprob(ComparingSettings):
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
    client : object, optional
        A client of the provider's official SDK that you made, for Azure, Bedrock or Vertex or with a proxy of your
        own: it sends the requests, and is neither changed nor closed.
    temperature : float, optional
        None leaves it to the server.
    max_tokens : int
        The most an answer may have, reasoning included. A model that reasons first needs more.
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

    kind: ClassVar[str] = "logprob"
    needs_logprobs: ClassVar[bool] = True
    read = staticmethod(first_is_better)

    @property
    def mode(self) -> str:
        """The mode that the prompt file must have."""
        return "logprob-pairwise" if self.pairs else "logprob"

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each candidate that has words, or for each pair and order."""
        if self.pairs:
            return super().asks(prompt, candidates)
        return self.ask_alone(prompt, candidates, expected_digit)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into scores, in pairs by way of preferences."""
        if self.pairs:
            return super().conclude(prompt, candidates, answers)
        return concluded_alone(candidates, answers, lambda said, raw: Score(said, raw=raw))

    def calls(self, candidates: int) -> int:
        """Return one call per candidate, or one for each pair and order."""
        return super().calls(candidates) if self.pairs else candidates
