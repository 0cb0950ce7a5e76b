"""Judges that need no model: deterministic, in linear time, baselines which an expensive judge has to beat."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from bonwise.errors import UsageError
from bonwise.judges import asking, checks, registry
from bonwise.judges.protocol import ALONE, EMPTY, has_words
from bonwise.table.verdicts import Score, Unscored, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bonwise.judges.protocol import Judge

HALF_LENGTH = 600
"""Characters at which the length judge is half convinced: about a hundred English words."""

SATURATION = 1.2
LENGTH_PENALTY = 0.75
"""The k1 and b of BM25 (Robertson and Zaragoza 2009), at their customary values."""

# Chinese, Japanese and Korean write without spaces, so there each character is a word of its own.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_STOP_WORDS = frozenset(
    _WORD.findall(
        """
    a about after all also am an and any are as at be been before but by can could did do does each for from
    had has have he her his how i if in into is it its just me more most must my no nor not of on one only or
    other our out over shall she should so some such than that the their them then there these they this those
    to too under up us use very was we were what when where which while who why will with would write you your
    """
    )
)

_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_STRUCTURE = re.compile(r"^[ \t]*(?:(?:[-*+\u2022>]|#{1,6}|\d{1,3}[.)])[ \t]|\|)", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]}*_]*\Z")
_SENTENCE_START = re.compile(r"(?:\A|[.!?]\s)\s*(\w)")
_STRAY = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")
_BRACKET = re.compile(r"[()\[\]{}]")
_OPENING = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Length:
    """Longer answers score higher, with less and less to gain.

    The score is ``c / (c + 600)`` for ``c`` characters, runs of white space counted once.
    """

    name: str = "local:length"
    """What fills the ``judge`` column."""
    version: str = "1"
    """Changes whenever the same texts may get other scores."""

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:  # noqa: ARG002
        """Score every candidate by its length; the prompt plays no part."""
        return [Score(_saturating(text)) if has_words(text) else EMPTY for text in candidates]


@dataclass(frozen=True, slots=True)
class Lexical:
    """How much of the prompt's vocabulary the answer takes up: BM25, scaled to [0, 1].

    The candidates are the collection, so a word of the prompt which every candidate repeats tells little.
    The score is the part of the largest attainable BM25 that the answer reaches.
    """

    name: str = "local:lexical"
    """What fills the ``judge`` column."""
    version: str = "1"
    """Changes whenever the same texts may get other scores."""

    listwise: ClassVar[bool] = True

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Score every candidate against the prompt's content words."""
        query = tuple(dict.fromkeys(_content_words(prompt)))
        if not query:
            return [Unscored("the prompt has no content words") if has_words(text) else EMPTY for text in candidates]
        bags = [Counter(_content_words(text)) if has_words(text) else None for text in candidates]
        scores = iter(_bm25(query, [bag for bag in bags if bag is not None]))
        return [EMPTY if bag is None else Score(next(scores)) for bag in bags]


@dataclass(frozen=True, slots=True)
class Format:
    r"""Well-formedness, whatever the answer says: the mean of eight signs of careful layout.

    Closed code fences, balanced brackets, a clean ending, visible structure, lines of moderate length, no
    repetition, sentences that begin with a capital, and no stray control characters.
    """

    name: str = "local:format"
    """What fills the ``judge`` column."""
    version: str = "1"
    """Changes whenever the same texts may get other scores."""

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:  # noqa: ARG002
        """Score every candidate by its form; the prompt plays no part."""
        return [Score(_well_formed(text)) if has_words(text) else EMPTY for text in candidates]


@dataclass(frozen=True, slots=True)
class Consensus:
    """How much an answer has in common with the others: its mean cosine with them, over content words.

    Where answers err in different ways, the one that most resembles its rivals is the safest choice.
    """

    name: str = "local:consensus"
    """What fills the ``judge`` column."""
    version: str = "1"
    """Changes whenever the same texts may get other scores."""

    listwise: ClassVar[bool] = True

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:  # noqa: ARG002
        """Score every candidate by its likeness to the other candidates."""
        vectors = [_unit(Counter(_content_words(text))) if has_words(text) else None for text in candidates]
        present = [vector for vector in vectors if vector is not None]
        if len(present) < 2:
            return [EMPTY if vector is None else ALONE for vector in vectors]
        scores = iter(_mean_cosines(present))
        return [EMPTY if vector is None else Score(next(scores)) for vector in vectors]


@dataclass(frozen=True, slots=True)
class Majority:
    r"""The share of the candidates whose final answer is the same: self-consistency. Equal votes are a tie.

    A candidate in which no final answer is found has no vote and no score. `extract` says how one is read: ``number``
    (the last one), ``boxed`` (the last ``\boxed{...}``), ``whole``, or a regular expression.
    """

    extract: str = "number"

    version: ClassVar[str] = "1"
    listwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.final_answer(self.extract)

    @property
    def name(self) -> str:
        """What makes this judge on a command line."""
        return str(
            registry.Spec("local", {} if self.extract == "number" else {"extract": self.extract}, rest="majority")
        )

    def judge(self, prompt: str, candidates: Sequence[str]) -> tuple[Verdict, ...]:  # noqa: ARG002
        """Score every candidate by the votes for its answer; the prompt plays no part."""
        return vote(candidates, self.extract, (Score(1.0),) * len(candidates))


def vote(candidates: Sequence[str], extract: str, weights: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Score each candidate by the share of the votes for its final answer; a vote weighs a score of 0 or more."""
    final = checks.final_answer(extract)
    answers = [final(text) if has_words(text) else None for text in candidates]
    cast = [(answer, weight) for answer, weight in zip(answers, weights, strict=True) if answer is not None]
    votes: dict[str, list[float]] = {}
    for answer, weight in cast:
        if isinstance(weight, Score):
            votes.setdefault(answer, []).append(weight.value)
    values = [value for its in votes.values() for value in its]
    largest = max(values, default=0.0) or 1.0
    lost = asking.owed_among(weight for _, weight in cast)
    if lost is None and min(values, default=0) < 0:
        lost = Unscored(f"the score {min(values):g} cannot weigh a vote: take a judge whose scores are 0 or more")

    def verdict(text: str, answer: str | None, weight: Verdict) -> Verdict:
        if answer is None:
            return Unscored("no final answer") if has_words(text) else EMPTY
        if lost is not None:
            return lost
        if isinstance(weight, Unscored):
            return replace(weight, reason=f"no vote: {weight.reason}")
        # The sum of large weights may be too large for a double.
        own, every = (math.fsum(value / largest for value in its) for its in (votes[answer], values))
        return Score(own / every if every else 0.0, raw=answer)

    return tuple(map(verdict, candidates, answers, weights))


_JUDGES: dict[str, Callable[[], Judge]] = {
    "length": Length,
    "lexical": Lexical,
    "format": Format,
    "consensus": Consensus,
}

NAMES: tuple[str, ...] = tuple(_JUDGES)
"""Baselines for any text; `from_name` knows ``majority`` too."""


def from_name(name: str, extract: str | None = None) -> Judge:
    """Return the local judge called ``name``, one of `NAMES`; `extract` is an option of ``majority`` alone."""
    if name == "majority":
        return Majority("number" if extract is None else str(extract))
    if name not in _JUDGES:
        raise UsageError(f"no local judge named {name!r}", hint=f"choose one of {', '.join(NAMES)}, majority")
    if extract is not None:
        raise UsageError(f"local:{name} extracts nothing", hint="write local,extract=boxed:majority, or leave it out")
    return _JUDGES[name]()


def _saturating(text: str) -> float:
    characters = len(" ".join(text.split()))
    return characters / (characters + HALF_LENGTH)


def _content_words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.casefold()):
        if word in _STOP_WORDS or (len(word) == 1 and "a" <= word <= "z"):
            continue
        plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
        yield word[:-1] if plural else word


def _bm25(query: Sequence[str], bags: Sequence[Counter[str]]) -> list[float]:
    sizes = [bag.total() for bag in bags]
    average = sum(sizes) / max(len(sizes), 1)
    rarity = {word: _rarity(sum(word in bag for bag in bags), len(bags)) for word in query}
    attainable = math.fsum(rarity.values())
    scores = []
    for bag, size in zip(bags, sizes, strict=True):
        excess = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * size / max(average, 1))
        reached = (weight * bag[word] / (bag[word] + excess) for word, weight in rarity.items())
        scores.append(math.fsum(reached) / attainable)
    return scores


def _rarity(holding: int, total: int) -> float:
    """Inverse document frequency, in the form that stays positive when every answer holds the word."""
    return math.log1p((total - holding + 0.5) / (holding + 0.5))


def _unit(bag: Counter[str]) -> dict[str, float]:
    norm = math.sqrt(sum(count * count for count in bag.values()))
    return {word: count / norm for word, count in bag.items()}


def _mean_cosines(vectors: Sequence[dict[str, float]]) -> list[float]:
    """Compare each vector with the sum of all, exactly rounded: the order of candidates moves no score."""
    shares: dict[str, list[float]] = {}
    for vector in vectors:
        for word, weight in vector.items():
            shares.setdefault(word, []).append(weight)
    total = {word: math.fsum(weights) for word, weights in shares.items()}
    others = len(vectors) - 1
    sums = [math.fsum(weight * (total[word] - weight) for word, weight in vector.items()) for vector in vectors]
    return [min(max(value / others, 0.0), 1.0) for value in sums]


def _well_formed(text: str) -> float:
    signs = (
        1.0 - len(_FENCE.findall(text)) % 2,
        _matched_brackets(text),
        float(_ends_cleanly(text)),
        float(len(_STRUCTURE.findall(text)) > 1 or "\n\n" in text.strip()),
        _moderate_lines(text),
        _fresh_words(text),
        _capitals(text),
        1 / (1 + len(_STRAY.findall(text))),
    )
    return math.fsum(signs) / len(signs)


def _matched_brackets(text: str) -> float:
    """Return the share of brackets that have a partner; emoticons and "a)" cost little in a long text."""
    open_brackets: list[str] = []
    brackets = _BRACKET.findall(text)
    matched = 0
    for bracket in brackets:
        if bracket not in _OPENING:
            open_brackets.append(bracket)
        elif open_brackets and open_brackets[-1] == _OPENING[bracket]:
            open_brackets.pop()
            matched += 2
    return matched / len(brackets) if brackets else 1.0


def _ends_cleanly(text: str) -> bool:
    """Tell whether the answer was finished: a full stop, a closing bracket or fence, or a list item."""
    last = text.rstrip().rsplit("\n", 1)[-1].strip()
    if last.endswith((",", ":", ";", "-", "(")):
        return False
    return bool(_SENTENCE_END.search(last[-12:]) or last.endswith(("```", "}", "]", "|")) or _STRUCTURE.match(last))


def _moderate_lines(text: str) -> float:
    """Return the share of words in lines of at most 100 words."""
    lengths = [len(line.split()) for line in text.splitlines()]
    return sum(length for length in lengths if length <= 100) / max(sum(lengths), 1)


def _fresh_words(text: str) -> float:
    """Return the share of runs of three words that are not said twice."""
    words = text.casefold().split()
    runs = list(zip(words, words[1:], words[2:], strict=False))
    return len(set(runs)) / len(runs) if runs else 1.0


def _capitals(text: str) -> float:
    """Return the share of sentences that do not begin with a small letter; scripts without case pass."""
    starts = _SENTENCE_START.findall(text)
    return 1 - sum(start.islower() for start in starts) / len(starts) if starts else 1.0
