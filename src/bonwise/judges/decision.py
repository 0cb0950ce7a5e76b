"""A judge by a service's endpoint for decisions: the probabilities of levels, or of A, B and a tie, and no words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

from bonwise.calls.ask import Answers, Ask, Choice
from bonwise.flags import takes_numbers
from bonwise.judges.asking import concluded_alone, never
from bonwise.judges.comparing import ComparingSettings
from bonwise.judges.parse.answer import stopped_early, unread
from bonwise.judges.parse.readers import LEAST_MASS, MOST_MASS, ReadInterval
from bonwise.judges.protocol import Conclusion
from bonwise.table.verdicts import Score, Unscored

__all__ = ["Decision"]

_CHOICES = {
    "A": "Candidate A is better.",
    "B": "Candidate B is better.",
    "TIE": "There is no reason to prefer one to the other.",
}


@takes_numbers
@dataclass(frozen=True)
class Decision(ComparingSettings):
    """The probabilities that OpenAI's endpoint for decisions (``/v1/decisions``) gives to the possible answers.

    The reply is a distribution, so there is no text to misread, and one call says how sure the model is. Alone, a
    candidate is placed on the levels of the prompt file: with L levels, the worst is worth 0, the best 1, and level i
    counts (i - 1) / (L - 1). Its score is the mean under the distribution; `Score.low` and `Score.high` lie one
    standard deviation below and above, within 0 and 1. In pairs it earns the probability that it is better, a tie
    counted by half. A question that the model declines leaves the candidate unscored, or the pair lost.

    Parameters
    ----------
    model : str
        ``provider/model`` with the endpoint, such as ``openai/gpt-6-luna``. It takes no temperature.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``decision`` (in pairs: ``decision-pairwise``); empty for the
        built-in one of that name.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
    pairs : bool
        Whether candidates are compared in pairs.
    orders : int
        In pairs: 2 asks in both orders, 1 in one of them, drawn for each pair.
    seed : int
        Of that draw.

    Examples
    --------
    >>> judge = Decision("openai/gpt-6-luna")
    >>> judge.calls(candidates=4), judge.file.levels[0], judge.file.levels[-1]
    (4, 'of no use', 'flawless')
    >>> Decision("openai/gpt-6-luna", pairs=True).calls(candidates=4)
    12
    """

    _: KW_ONLY
    temperature: float | None = None
    max_tokens: int = 64
    pairs: bool = False

    kind: ClassVar[str] = "decision"
    takes_images: ClassVar[bool] = True
    is_distribution: ClassVar[bool] = True

    @property
    def mode(self) -> str:
        """The mode that the prompt file must have."""
        return "decision-pairwise" if self.pairs else "decision"

    def read(self, choice: Choice) -> Any:
        """Read the probability that the first one is better, a tie counted by half."""
        shares = _shares(choice, "value", tuple(_CHOICES))
        return shares if isinstance(shares, Unscored) else shares[0] + shares[2] / 2

    def ask(self, prompt: str, shown: Sequence[str], read: Callable[[Choice], Any]) -> Ask:
        """Return the question with its possible answers."""
        if self.pairs:
            choices = [{"value": value, "description": words} for value, words in _CHOICES.items()]
            question: dict[str, Any] = {"type": "choice", "name": "better", "choices": choices}
        else:
            levels = [{"label": label} for label in self.file.levels]
            question = {"type": "score", "name": "quality", "levels": levels}
        # The form of a distribution does not change when it is asked for again.
        return replace(super().ask(prompt, shown, read), question=question, second=never)

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each candidate that has words, or for each pair and order."""
        if self.pairs:
            return super().asks(prompt, candidates)
        return self.ask_alone(prompt, candidates, partial(_level, levels=self.file.levels))

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into scores, in pairs by way of preferences."""
        if self.pairs:
            return super().conclude(prompt, candidates, answers)
        return concluded_alone(
            candidates, answers, lambda stated, raw: Score(stated.score, stated.low, stated.high, raw=raw)
        )

    def calls(self, candidates: int) -> int:
        """Return one call per candidate, or one for each pair and order."""
        return super().calls(candidates) if self.pairs else candidates


def _level(choice: Choice, levels: Sequence[str]) -> ReadInterval | Unscored:
    """Read the mean of the levels, from 0 to 1, and one standard deviation on either side of it."""
    shares = _shares(choice, "label", levels)
    if isinstance(shares, Unscored):
        return shares
    worth = [at / (len(levels) - 1) for at in range(len(levels))]
    mean = math.fsum(share * value for share, value in zip(shares, worth, strict=True))
    spread = math.sqrt(math.fsum(share * (value - mean) ** 2 for share, value in zip(shares, worth, strict=True)))
    mean = min(mean, 1.0)
    return ReadInterval(mean, max(mean - spread, 0.0), min(mean + spread, 1.0))


def _shares(choice: Choice, key: str, wanted: Sequence[str]) -> list[float] | Unscored:
    """Read the probability of each possible answer; together they are 1."""
    early = stopped_early(choice)
    if early is not None:
        return early
    try:
        answer = json.loads(choice.text)
    except (ValueError, RecursionError):
        answer = None
    listed = answer.get("probabilities") if isinstance(answer, dict) else None
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    names = [entry.get(key) for entry in entries]
    if not entries or len(entries) != len(listed or ()) or any(names.count(name) > 1 for name in wanted):
        return unread("the reply lists no probabilities, or one answer twice", choice)
    stated = {name: entry.get("probability") for name, entry in zip(names, entries, strict=True) if name in wanted}
    shares: list[Any] = [stated.get(name, 0.0) for name in wanted]
    if not all(type(share) in (int, float) and 0 <= share <= MOST_MASS for share in shares):
        return unread("a probability of the reply is not a number from 0 to 1", choice)
    total = math.fsum(shares)
    if not LEAST_MASS <= total <= MOST_MASS:
        return unread(f"the probabilities of the possible answers add up to {total:.3f}", choice)
    return [share / total for share in shares]
