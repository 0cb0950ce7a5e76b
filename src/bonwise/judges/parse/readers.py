"""The readers of judges, from a `Choice` to a value or `Unscored`: of words, and of first-token probabilities."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from operator import mul
from typing import Any, NamedTuple

from bonwise.calls.ask import Choice, TokenLogprobs
from bonwise.judges.parse.answer import Form, after_thinking, answer, stopped_early, unread
from bonwise.judges.parse.slots import Fault, ListSlot, NumberSlot, Slot, TextsSlot, WordSlot, whole_json
from bonwise.judges.prompt_sections import JSON, AnswerForm
from bonwise.printable import printable
from bonwise.table.verdicts import Unscored

_SCORE = "(?:final |overall )?(?:score|rating)|final answer"
_LOW = "low|low end|lower|lower end|lower bound|ci_lower"
_HIGH = "high|high end|upper|upper end|upper bound|ci_upper"
_CHOICE = "(?:final )?(?:choice|verdict|winner|preference|answer)"
_PROBABILITY = r"(?:final )?(?:probability|p|p\(a\))|final answer"
_LABELS_OF: Mapping[str, Mapping[str, str]] = {
    "checklist-draft": {"items": "(?:final )?items"},
    "checklist": {"marks": "(?:final )?marks"},
    "listwise": {"scores": "(?:final )?scores"},
    "listwise-ranking": {"ranking": "(?:final )?(?:ranking|order)"},
    "pointwise": {"score": _SCORE},
    "interval": {"score": _SCORE, "low": _LOW, "high": _HIGH},
    "pairwise": {"choice": _CHOICE, "confidence": "(?:final )?confidence"},
    "probability": {"probability": _PROBABILITY},
}


@lru_cache(maxsize=256)
def _form(mode: str, asked: AnswerForm) -> Form:
    """Return the form of the answers of a mode, as a prompt file asks for them."""
    labels, bare = _LABELS_OF[mode], mode not in ("interval", "listwise", "checklist", "checklist-draft")
    slot: Slot = NumberSlot(*asked.scale)
    slots: dict[str, Slot] = dict.fromkeys(labels, slot)
    if mode == "pairwise":
        slots = {"choice": WordSlot(("A", "B", "TIE"), asked.tie), "confidence": NumberSlot(1, 5, whole=True)}
    elif mode == "probability":
        slots = {"probability": NumberSlot(0, 1)}
    elif mode == "listwise":
        slots = {"scores": ListSlot(NumberSlot(*asked.scale))}
    elif mode == "checklist":
        slots = {"marks": ListSlot(NumberSlot(0, 1))}
    elif mode == "checklist-draft":
        slots = {"items": TextsSlot()}
    elif mode == "listwise-ranking":
        slots = {"ranking": ListSlot()}
    first, *others = slots
    name = asked.field.lower()
    ends = {"ci_lower": "low", "ci_upper": "high"} if mode == "interval" else {}
    return Form(
        slots,
        {**labels, first: f"{labels[first]}|{re.escape(asked.field)}"} if name else labels,
        (first, *others) if mode == "interval" else (first,),
        bare=first if bare else None,
        keys={**ends, name: first} if name else ends,
        last=asked.form == "last line",
        why=not asked.reasons,
    )


class ReadChoice(NamedTuple):
    """The better one of two candidates, as they were shown."""

    choice: str
    """``A``, ``B`` or ``TIE``."""
    confidence: int | None = None
    """From 1 to 5; None where the reply states none."""


class ReadInterval(NamedTuple):
    """A score and the ends of an interval around it, from 0 to 100 where a model states them."""

    score: float
    low: float
    high: float


def in_answer_to(read: Callable[[Choice], Any], asked: str, choice: Choice) -> Any:
    """Read a reply by a reader that is told which words it answers."""
    return read(replace(choice, asked=asked))


def score(choice: Choice, asked: AnswerForm = JSON) -> float | Unscored:
    r"""Read a score, from 0 to 100 unless `asked` has another scale."""
    fields = answer(choice, _form("pointwise", asked))
    value: float | Unscored = fields if isinstance(fields, Unscored) else fields["score"]
    return value


def pick(choice: Choice, asked: AnswerForm = JSON) -> ReadChoice | Unscored:
    """Read which of two candidates is better."""
    first = _first_of_ranks(whole_json(choice.text)) if stopped_early(choice) is None else None
    if first is not None:
        return ReadChoice(first)
    fields = answer(choice, _form("pairwise", asked))
    return fields if isinstance(fields, Unscored) else ReadChoice(fields["choice"], fields.get("confidence"))


def _first_of_ranks(entries: Any) -> str | None:
    """Return which of A and B a list of objects with model and rank, as AlpacaEval asks for it, puts first."""
    if not isinstance(entries, list) or len(entries) != 2:
        return None
    ranks = {
        str(entry.get("rank")): str(entry.get("model"))
        for entry in (dict(pairs) if isinstance(pairs, tuple) else {} for pairs in entries)
    }
    return ranks["1"] if set(ranks) == {"1", "2"} and set(ranks.values()) == {"A", "B"} else None


def probability(choice: Choice, asked: AnswerForm = JSON) -> float | Unscored:
    """Read the probability that the candidate shown first is better."""
    fields = answer(choice, _form("probability", asked))
    value: float | Unscored = fields if isinstance(fields, Unscored) else fields["probability"]
    return value


def interval(choice: Choice, asked: AnswerForm = JSON) -> ReadInterval | Unscored:
    """Read a score and the interval around it, on the scale of `score`."""
    fields = answer(choice, _form("interval", asked))
    if isinstance(fields, Unscored):
        return fields
    stated = ReadInterval(fields["score"], fields["low"], fields["high"])
    if not stated.low <= stated.score <= stated.high:
        reason = f"the score {stated.score:g} lies outside its interval, {stated.low:g} to {stated.high:g}"
        return unread(reason, choice)
    return stated


def listed(
    choice: Choice, shown: int, mode: str, asked: AnswerForm = JSON
) -> tuple[float | Unscored, ...] | Unscored:
    """Read what is said of each of so many candidates: its score, or its share of the others that it is ranked above.

    A candidate that the reply leaves out, or names twice, is unscored; a reply that names one that was not shown may
    mean any of them, and is unscored whole.
    """
    fields = answer(choice, _form(mode, asked))
    if isinstance(fields, Unscored):
        return fields
    (entries,) = fields.values()
    times = Counter(number for number, _ in entries)
    invented = [number for number in times if not 0 < number <= shown]
    if invented:
        return unread(f"it names candidate {invented[0]}, and {shown} were shown", choice)
    outcomes = (
        dict(entries) if mode == "listwise" else _shares([number for number, _ in entries if times[number] == 1])
    )
    return tuple(_of_listed(times[number], outcomes.get(number)) for number in range(1, shown + 1))


def items(choice: Choice) -> tuple[str, ...] | Unscored:
    """Read the items of a checklist."""
    fields = answer(choice, _form("checklist-draft", JSON))
    texts: tuple[str, ...] | Unscored = fields if isinstance(fields, Unscored) else fields["items"]
    return texts


def marks(choice: Choice, shown: int) -> tuple[int, ...] | Unscored:
    """Read whether each of so many items is present: a reply that leaves an item out marks none."""
    fields = answer(choice, _form("checklist", JSON))
    if isinstance(fields, Unscored):
        return fields
    entries = fields["marks"]
    times = Counter(number for number, _ in entries)
    amiss = [number for number in sorted({*times, *range(1, shown + 1)}) if times[number] != (0 < number <= shown)]
    if amiss:
        return unread(f"it marks item {amiss[0]} {times[amiss[0]]} times, and {shown} items were given", choice)
    by_item = dict(entries)
    other = next((number for number in by_item if by_item[number] not in (0, 1)), None)
    if other is not None:
        return unread(f"the mark of item {other} is neither 1 nor 0", choice)
    return tuple(int(by_item[number]) for number in range(1, shown + 1))


def _shares(ranked: Sequence[int]) -> dict[int, Any]:
    """Return the share of the others that each ranked candidate stands above."""
    others = len(ranked) - 1
    return {number: (others - place) / others if others else Fault(ONE_RANKED) for place, number in enumerate(ranked)}


def _of_listed(times: int, outcome: Any) -> float | Unscored:
    if times != 1:
        return Unscored("the reply names this candidate twice" if times else "the reply leaves this candidate out")
    return Unscored(outcome.reason) if isinstance(outcome, Fault) else float(outcome)


ONE_RANKED = "the reply ranks no other candidate"

LEAST_MASS = 0.5
"""The least probability that must lie on the tokens of the scale: with less the model was saying something else."""

MOST_MASS = 1.001
"""Beyond it the probabilities of different tokens, rounded as servers do, are none."""

_DIGITS = {str(digit): digit / 9 for digit in range(10)}
# A tokenizer may split the third word.
_LABELS = {"A": 1.0, "B": 0.0, "T": 0.5, "TI": 0.5, "TIE": 0.5}
_FIRST_WORD = re.compile(r"\s*(\w+)(?![./,-]\w)", re.ASCII)


def expected_digit(choice: Choice) -> ReadInterval | Unscored:
    """Return the mean of the digits 0 to 9 under first-token probabilities, over 9; other tokens play no part.

    Its ends are what it would be if all of the probability that was not sent lay on 0, or on 9.
    """
    return _expectation(choice, _DIGITS, _DIGITS, "scores")


def first_is_better(choice: Choice) -> float | Unscored:
    """Return the probability that the answer is A, a tie counted by half, among A, B and TIE."""
    credit = _expectation(choice, _LABELS, ("A", "B", "TIE"), "A, B and TIE")
    return credit if isinstance(credit, Unscored) else credit.score


def _expectation(
    choice: Choice, values: Mapping[str, float], words: Collection[str], scale: str
) -> ReadInterval | Unscored:
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
    return _mean(token, values, scale, choice)


def _mean(token: TokenLogprobs, values: Mapping[str, float], scale: str, choice: Choice) -> ReadInterval | Unscored:
    weights = _weights(token, values)
    mass = math.fsum(weights.values())
    # A positive logarithm is no less a fault than a sum beyond 1.
    sent = math.fsum(
        math.exp(min(alternative, 1.0)) for alternative in token.alternatives.values() if not math.isnan(alternative)
    )
    if sent > MOST_MASS:
        return unread(f"the probabilities that the server sent add up to {sent:.3f}, a fault of the server", choice)
    if not mass >= LEAST_MASS:
        return unread(f"only {mass:.2f} of the probability lies on {scale}", choice)
    earned, unseen = math.fsum(values[name] * weight for name, weight in weights.items()), max(1 - sent, 0.0)
    mean, whole = min(max(earned / mass, 0.0), 1.0), mass + unseen
    return ReadInterval(mean, min(earned / whole, mean), min(max((earned + unseen) / whole, mean), 1.0))


def _is_one_of(word: re.Match[str], words: Collection[str], choice: Choice) -> bool:
    """Tell whether the first word is on the scale: a 7 that begins 75 says nothing of the digit 7."""
    if word[1] in words:
        return True
    # A limit of one token may cut a word that is split.
    return choice.finish == "length" and word.end() == len(word.string) and word[1] in _LABELS and "TIE" in words


def _first_token(tokens: Sequence[TokenLogprobs]) -> tuple[str, TokenLogprobs] | None:
    """Return the first token of the answer itself, with the words from there on."""
    whole = "".join(token.token for token in tokens)
    rest = after_thinking(whole)
    if rest is None:
        return None
    position, begin = 0, len(whole) - len(rest.lstrip())
    for token in tokens:
        if position + len(token.token) > begin:
            return whole[position:], token
        position += len(token.token)
    return None


def _weights(token: TokenLogprobs, values: Mapping[str, float]) -> dict[str, float]:
    """Add up what each value may look like: the same word with and without white space before it."""
    weights: dict[str, float] = {}
    for text, logprob in token.alternatives.items():
        name = text.strip()
        if name in values and not math.isnan(logprob):
            weights[name] = weights.get(name, 0.0) + math.exp(min(logprob, 0.0))
    return weights


def mean_level(choice: Choice, levels: Sequence[str]) -> ReadInterval | Unscored:
    """Read the mean of the levels, from 0 to 1, and one standard deviation on either side of it."""
    shares = stated_shares(choice, "label", levels)
    if isinstance(shares, Unscored):
        return shares
    worth = [at / (len(levels) - 1) for at in range(len(levels))]
    mean = min(math.fsum(map(mul, shares, worth)), 1.0)
    spread = math.sqrt(math.fsum(share * (value - mean) ** 2 for share, value in zip(shares, worth, strict=True)))
    return ReadInterval(mean, max(mean - spread, 0.0), min(mean + spread, 1.0))


def stated_shares(choice: Choice, key: str, wanted: Sequence[str]) -> list[float] | Unscored:
    """Read the probability of each possible answer; together they are 1."""
    early, listed = stopped_early(choice), None
    if early is not None:
        return early
    with suppress(ValueError, RecursionError, AttributeError):
        listed = json.loads(choice.text).get("probabilities")
    entries = listed if isinstance(listed, list) and all(isinstance(entry, dict) for entry in listed) else []
    names = [entry.get(key) for entry in entries]
    if not entries or any(names.count(name) > 1 for name in wanted):
        return unread("the reply lists no probabilities, or one answer twice", choice)
    stated = {name: entry.get("probability") for name, entry in zip(names, entries, strict=True) if name in wanted}
    shares: list[Any] = [stated.get(name, 0.0) for name in wanted]
    if not all(type(share) in (int, float) and 0 <= share <= MOST_MASS for share in shares):
        return unread("a probability of the reply is not a number from 0 to 1", choice)
    total = math.fsum(shares)
    if not LEAST_MASS <= total <= MOST_MASS:
        return unread(f"the probabilities of the possible answers add up to {total:.3f}", choice)
    return [share / total for share in shares]
