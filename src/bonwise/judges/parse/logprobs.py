"""The readers of judges that look at the probabilities of an answer's first token."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from bonwise.calls.reply import Choice, TokenLogprobs
from bonwise.data.verdicts import Unscored
from bonwise.judges.parse.reply import after_thinking, stopped_early, unread
from bonwise.printable import printable

__all__ = ["LEAST_MASS", "expected_digit", "first_is_better"]

LEAST_MASS = 0.5
"""The least probability that must lie on the tokens of the scale: with less the model was saying something else."""

_DIGITS = {str(digit): digit / 9 for digit in range(10)}
# A tokenizer may split the third word.
_LABELS = {"A": 1.0, "B": 0.0, "T": 0.5, "TI": 0.5, "TIE": 0.5}
_FIRST_WORD = re.compile(r"\s*(\w+)(?![./,-]\w)", re.ASCII)


def expected_digit(choice: Choice) -> float | Unscored:
    """Return the mean of the digits 0 to 9 under their probabilities as the first token, divided by 9.

    Digits that the server did not report among its alternatives count as impossible.

    Examples
    --------
    >>> token = TokenLogprobs("9", {"9": math.log(0.75), " 3": math.log(0.25)})
    >>> round(expected_digit(Choice("9", logprobs=(token,))) * 9, 6)
    7.5
    """
    return _expectation(choice, _DIGITS, _DIGITS, "scores")


def first_is_better(choice: Choice) -> float | Unscored:
    """Return the probability that the answer is A, a tie counted by half, among A, B and TIE.

    Examples
    --------
    >>> token = TokenLogprobs("A", {"A": math.log(0.6), "B": math.log(0.2), "T": math.log(0.2)})
    >>> round(first_is_better(Choice("A", logprobs=(token,))), 6)
    0.7
    """
    return _expectation(choice, _LABELS, ("A", "B", "TIE"), "A, B and TIE")


def _expectation(choice: Choice, values: Mapping[str, float], words: Collection[str], scale: str) -> float | Unscored:
    # Only the first token is read, so it does not matter where the reply was cut.
    early = stopped_early(choice, cut_is_fine=True)
    if early:
        return early
    if not choice.logprobs:
        return unread("the server sent no logprobs", choice)
    first = _first_token(choice.logprobs)
    if first is None:
        return unread("only thinking, no answer", choice)
    text, token = first
    word = _FIRST_WORD.match(text)
    if word is None or not _is_one_of(word, words, choice):
        return unread(f"the reply begins with none of the {scale}: {printable(text.strip(), longest=40)}", choice)
    weights = _weights(token, values)
    mass = math.fsum(weights.values())
    if not mass >= LEAST_MASS:
        return unread(f"only {mass:.2f} of the probability lies on {scale}", choice)
    mean = math.fsum(values[name] * weight for name, weight in weights.items()) / mass
    return min(max(mean, 0.0), 1.0)


def _is_one_of(word: re.Match[str], words: Collection[str], choice: Choice) -> bool:
    """Tell whether the first word is on the scale: a 7 that begins 75 says nothing of the digit 7."""
    if word[1] in words:
        return True
    # A limit of one token may cut a word that is split.
    return choice.finish == "length" and word.end() == len(word.string) and word[1] in _LABELS and "TIE" in words


def _first_token(tokens: Sequence[TokenLogprobs]) -> tuple[str, TokenLogprobs] | None:
    """Return the first token of the answer itself, with the words from there on."""
    whole = "".join(one.token for one in tokens)
    rest = after_thinking(whole)
    if rest is None:
        return None
    position, begin = 0, len(whole) - len(rest.lstrip())
    for one in tokens:
        if position + len(one.token) > begin:
            return whole[position:], one
        position += len(one.token)
    return None


def _weights(token: TokenLogprobs, values: Mapping[str, float]) -> dict[str, float]:
    """Add up what each value may look like: the same word with and without white space before it."""
    weights: dict[str, float] = {}
    for text, logprob in token.alternatives.items():
        name = text.strip()
        if name in values and not math.isnan(logprob):
            weights[name] = weights.get(name, 0.0) + math.exp(min(logprob, 0.0))
    return weights
