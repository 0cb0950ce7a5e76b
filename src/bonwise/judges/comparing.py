"""Judges that compare two candidates by a word or probabilities: which pairs, in which order, who earns what."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from bonwise.calls.ask import Answers, Ask, Choice
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, prompt_file, prompt_loading
from bonwise.judges.parse.readers import expected_digit, first_is_better, mean_level, pick, probability, stated_shares
from bonwise.judges.protocol import ALONE, EMPTY, Conclusion, candidates_with_words
from bonwise.table.checks import check_whole
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict, rounded


@takes_numbers
@dataclass(frozen=True)
class ComparingSettings(asking.AskingSettings):
    """The settings of a judge that asks one model about pairs of candidates.

    Attributes
    ----------
    pairs : bool
        Whether candidates are compared; only a kind that can also ask about each alone has it as a setting.
    """

    _: KW_ONLY
    pairs: bool = field(default=True, init=False, repr=False)
    orders: int = 2
    """2 asks about a pair in both orders, 1 in one of them, drawn for each pair."""
    seed: int = 0
    """Of that draw."""

    @abstractmethod
    def read(self, choice: Choice) -> Any:
        """Read what is said of two candidates."""

    def credit(self, choice: Any) -> tuple[float, int | None]:
        """Return what the candidate shown first earned, and the stated confidence."""
        return float(choice), None

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each pair and order."""
        return [
            self.ask(prompt, [candidates[first], candidates[second]], self.read)
            for pair in pairs(prompt, candidates, self.orders, self.seed)
            for first, second in pair.shown
        ]

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into preferences, and these into scores."""
        compared = pairs(prompt, candidates, self.orders, self.seed)
        expected = sum(len(pair.orders) for pair in compared)
        if len(answers) != expected:
            raise ValueError(f"{len(answers)} answers to {expected} questions")
        waiting = iter(answers)
        preferences = tuple(self._preference(pair, [next(waiting) for _ in pair.orders]) for pair in compared)
        return Conclusion(_verdicts(candidates, preferences), preferences)

    def calls(self, candidates: int) -> int:
        """Return one call for each pair and order."""
        return math.comb(candidates, 2) * self.orders

    def _preference(self, pair: Pair, answers: Sequence[Answers]) -> Preference:
        earned: dict[bool, float | Unscored] = {}
        sure: dict[bool, int | None] = {}
        for first, replies in zip(pair.orders, answers, strict=True):
            outcome = asking.reading(replies)
            if isinstance(outcome, Unscored):
                earned[first] = outcome
            else:
                value, sure[first] = self.credit(outcome)
                earned[first] = value if first else 1.0 - value
        return Preference(pair.a, pair.b, earned.get(True), earned.get(False), (sure.get(True), sure.get(False)))

    def _drawn(self) -> str:
        return f" seed{self.seed}" if self.pairs and self.orders == 1 else ""

    def _check(self) -> None:
        if isinstance(self.orders, bool) or self.orders not in (1, 2):
            raise UsageError(f"orders is {self.orders!r}", hint="give 2 for both orders of a pair, 1 for one of them")
        check_whole("seed", self.seed, least=0)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates, and the orders in which they are shown."""

    a: int
    b: int
    """Both: positions, ``a < b``."""
    orders: tuple[bool, ...]
    """One a question: whether `a` is shown first."""

    @property
    def shown(self) -> Iterator[tuple[int, int]]:
        """The positions of each question, in the order in which they are shown."""
        return ((self.a, self.b) if first else (self.b, self.a) for first in self.orders)


def pairs(prompt: str, candidates: Sequence[str], orders: int, seed: int) -> list[Pair]:
    """Return every pair of candidates that have words.

    A single order is drawn by a hash of seed, prompt and the two texts: it does not depend on where they stand.
    """
    return [
        Pair(a, b, (True, False) if orders == 2 else (_first(prompt, candidates[a], candidates[b], seed),))
        for a, b in itertools.combinations(candidates_with_words(candidates), 2)
    ]


def borda(candidates: int, preferences: Sequence[Preference]) -> tuple[Verdict, ...]:
    """Return what each candidate earned on average over its pairs that were asked: Borda's count as a share.

    What a pair gives is `Preference.value`: orders that contradict each other count as a tie; one without a value
    adds a half to both sides. Without any value a candidate is unscored, and owed while one of its pairs is.
    """
    own: list[list[Preference]] = [[] for _ in range(candidates)]
    for pair in preferences:
        own[pair.a].append(pair)
        own[pair.b].append(pair)
    return tuple(_verdict(at, its) for at, its in enumerate(own))


def _verdicts(candidates: Sequence[str], preferences: Sequence[Preference]) -> tuple[Verdict, ...]:
    present = set(candidates_with_words(candidates))
    earned = borda(len(candidates), preferences)
    return tuple(verdict if at in present else EMPTY for at, verdict in enumerate(earned))


def _verdict(candidate: int, own: Sequence[Preference]) -> Verdict:
    """Return the mean credit over a candidate's own pairs; owed while one of them is."""
    if not own:
        return ALONE
    owed = asking.owed_among(side for pair in own for side in (pair.shown_first, pair.shown_second))
    if owed:
        return owed
    if all(pair.value is None for pair in own):
        return unscored_by_loss(own)
    return Score(math.fsum(_credit(candidate, pair, 0.5) for pair in own) / len(own))


def _credit(candidate: int, pair: Preference, otherwise: float) -> float:
    """Return what one of the two earned, or something else where the pair has no value."""
    if pair.value is None:
        return otherwise
    return pair.value if pair.a == candidate else 1.0 - pair.value


def unscored_by_loss(own: Sequence[Preference]) -> Unscored:
    """Return why a candidate is unscored whose comparisons all have no value; owed where none was heard of."""
    unreadable = _unreadable(own)
    return (
        Unscored(words_of_loss(own), asking.most_common(unreadable, "comparisons").raw)
        if unreadable
        else asking.MISSING
    )


def words_of_loss(preferences: Sequence[Preference]) -> str:
    """Return how many comparisons were lost and why their answers could not be read; empty where none was lost."""
    lost, asked = sum(pair.lost for pair in preferences), len(preferences)
    plural = "" if asked == 1 else "s"
    return (
        f"{lost} of {asked} comparison{plural} lost: {asking.counted_reasons(_unreadable(preferences))}"
        if lost
        else ""
    )


def _unreadable(preferences: Sequence[Preference]) -> list[Unscored]:
    sides = (side for pair in preferences if pair.lost for side in (pair.shown_first, pair.shown_second))
    return [side for side in sides if isinstance(side, Unscored)]


def lost_may_decide(candidates: int, preferences: Sequence[Preference]) -> bool:
    """Tell whether the pairs without a value, all given against the best, could put another level or ahead."""
    own = [[pair for pair in preferences if at in (pair.a, pair.b)] for at in range(candidates)]
    open_ = [any(pair.value is None for pair in its) for its in own]
    if not any(open_):
        return False
    least, half, most = (
        [
            rounded(math.fsum(_credit(at, pair, share) for pair in its) / max(len(its), 1))
            for at, its in enumerate(own)
        ]
        for share in (0.0, 0.5, 1.0)
    )
    scored = [at for at, its in enumerate(own) if any(pair.value is not None for pair in its)]
    best = max(scored, key=half.__getitem__, default=None)
    if best is None:
        return True
    return any(most[at] >= least[best] and (open_[at] or open_[best]) for at in range(candidates) if at != best)


def _first(prompt: str, text_a: str, text_b: str, seed: int) -> bool:
    """Tell whether `text_a` is shown first."""
    whole = json.dumps([seed, prompt, *sorted((text_a, text_b))])
    smaller_first = hashlib.sha256(whole.encode()).digest()[0] % 2 == 0
    return (text_a <= text_b) == smaller_first


@takes_numbers
@dataclass(frozen=True)
class AloneOrInPairs(ComparingSettings):
    """A judge of candidates one by one, or in pairs, by probabilities."""

    _: KW_ONLY
    pairs: bool = False

    def alone(self, choice: Choice) -> Any:
        """Read the score of a single candidate and the ends around it."""
        raise NotImplementedError

    @property
    def mode(self) -> str:
        """The mode that the prompt file must have."""
        return f"{self.kind}-pairwise" if self.pairs else self.kind

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each candidate that has words, or for each pair and order."""
        if self.pairs:
            return super().asks(prompt, candidates)
        return self.ask_alone(prompt, candidates, self.alone)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into scores, in pairs by way of preferences."""
        if self.pairs:
            return super().conclude(prompt, candidates, answers)
        return asking.concluded_alone(
            candidates, answers, lambda stated, raw: Score(stated.score, stated.low, stated.high, raw=raw)
        )

    def calls(self, candidates: int) -> int:
        """Return one call per candidate, or one for each pair and order."""
        return super().calls(candidates) if self.pairs else candidates


@takes_numbers
@dataclass(frozen=True)
class Logprob(AloneOrInPairs):
    """The mean of a digit, or the probability of a preference, under the model's own probabilities.

    Alone, a candidate scores the mean of the digits 0 to 9, divided by 9; `Score.low` and `Score.high` are what the
    probability that was not sent leaves open. In pairs it earns the probability that it is called the better one, a
    tie counted by half. A server that reports no probabilities, or more than 1 in all, leaves a candidate unscored.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``logprob`` (in pairs: ``logprob-pairwise``); empty for the
        built-in one of that name.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
    pairs : bool
        Whether candidates are compared in pairs.
    top_logprobs : int
        Tokens whose probability is asked for, 1 to 20; fewer where the service says that it allows no more.
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
    top_logprobs: int = 20

    kind: ClassVar[str] = "logprob"
    needs_logprobs: ClassVar[bool] = True

    def read(self, choice: Choice) -> Any:
        """Read the probability that the first one is better."""
        return first_is_better(choice)

    def alone(self, choice: Choice) -> Any:
        """Read the mean of the digits."""
        return expected_digit(choice)

    def _check(self) -> None:
        super()._check()
        check_whole("top_logprobs", self.top_logprobs, least=1, most=20)

    def ask(self, prompt: str, shown: Sequence[str], read: Callable[[Choice], Any]) -> Ask:
        """Return the question, with how many probabilities are wanted."""
        return replace(super().ask(prompt, shown, read), top_logprobs=self.top_logprobs)


_CREDIT = {"A": 1.0, "TIE": 0.5, "B": 0.0}


@takes_numbers
@dataclass(frozen=True)
class Pairwise(ComparingSettings):
    """Every pair of candidates, by default in both orders: the better one earns 1, a tie 0.5.

    A candidate's score is what it earned on average over its pairs. A pair is lost where one of its orders could not
    be read: it adds a half to both sides. Judges favour the first or the last one they are shown; both orders make
    that visible in `Preference.order_effect`.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``pairwise``.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
    orders : int
        2 asks about a pair in both orders, 1 in one of them, drawn for each pair.
    seed : int
        Of that draw.
    persona : str
        Who judges: a name of `bonwise.judges.prompt_loading.personas`. In place of the default prompt,
        ``pairwise-persona`` is used then, which states no criteria of its own.

    Examples
    --------
    >>> judge = Pairwise("anthropic/claude-opus-5")
    >>> judge.name, judge.calls(candidates=4)
    ('pairwise:anthropic/claude-opus-5', 12)
    """

    _: KW_ONLY
    prompt: str | Path = "pairwise"
    persona: str = ""

    kind: ClassVar[str] = "pairwise"
    takes_images: ClassVar[bool] = True

    def _loaded(self) -> prompt_file.PromptFile:
        prompt = "pairwise-persona" if self.persona and self.prompt == "pairwise" else self.prompt
        return prompt_loading.with_persona(prompt_loading.load(prompt), self.persona)

    def read(self, choice: Choice) -> Any:
        """Read which of the two is better."""
        return pick(choice, self.file.asked)

    def credit(self, choice: Any) -> tuple[float, int | None]:
        """Return 1 for the better one, 0.5 for a tie, and the stated confidence."""
        return _CREDIT[choice.choice], choice.confidence


@takes_numbers
@dataclass(frozen=True)
class Probability(ComparingSettings):
    """Every pair of candidates, by default in both orders: each earns the stated probability that it is better.

    A candidate's score is what it earned on average over its pairs. A pair is lost where one of its orders could not
    be read: it adds a half to both sides.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``probability``.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
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

    kind: ClassVar[str] = "probability"
    takes_images: ClassVar[bool] = True

    def read(self, choice: Choice) -> Any:
        """Read the probability that the first one is better."""
        return probability(choice, self.file.asked)


_CHOICES = {
    "A": "Candidate A is better.",
    "B": "Candidate B is better.",
    "TIE": "There is no reason to prefer one to the other.",
}


@takes_numbers
@dataclass(frozen=True)
class Decision(AloneOrInPairs):
    """The probabilities that OpenAI's endpoint for decisions (``/v1/decisions``) gives to the possible answers.

    Alone, a candidate is placed on the L levels of the prompt file, of which level i is worth (i - 1) / (L - 1). Its
    score is the mean under the distribution; `Score.low` and `Score.high` lie one standard deviation below and above,
    within 0 and 1. In pairs it earns the probability that it is better, a tie counted by half. A question that the
    model declines leaves the candidate unscored, or the pair lost.

    Parameters
    ----------
    model : str
        ``provider/model``. One with the endpoint, such as ``openai/gpt-6-luna``, takes no temperature.
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

    kind: ClassVar[str] = "decision"
    takes_images: ClassVar[bool] = True
    is_distribution: ClassVar[bool] = True

    def read(self, choice: Choice) -> Any:
        """Read the probability that the first one is better, a tie counted by half."""
        shares = stated_shares(choice, "value", tuple(_CHOICES))
        return shares if isinstance(shares, Unscored) else shares[0] + shares[2] / 2

    def alone(self, choice: Choice) -> Any:
        """Read the mean of the levels, and one standard deviation on either side."""
        return mean_level(choice, self.file.levels)

    def ask(self, prompt: str, shown: Sequence[str], read: Callable[[Choice], Any]) -> Ask:
        """Return the question with its possible answers."""
        if self.pairs:
            choices = [{"value": value, "description": words} for value, words in _CHOICES.items()]
            question: dict[str, Any] = {"type": "choice", "name": "better", "choices": choices}
        else:
            levels = [{"label": label} for label in self.file.levels]
            question = {"type": "score", "name": "quality", "levels": levels}
        # The form of a distribution does not change when it is asked for again.
        return replace(super().ask(prompt, shown, read), question=question, second=asking.never)
