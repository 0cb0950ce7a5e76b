"""Judges made of another judge: asked several times, with scores rounded to few levels, or as weights of votes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from bonwise.calls.ask import Answer, Answers, Ask
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, checks, local, prompt_loading, protocol, registry
from bonwise.judges.protocol import EMPTY, Conclusion, Judge, cached_property, has_words, is_asking, is_listwise
from bonwise.table.checks import check_number, check_whole
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict, kept

if TYPE_CHECKING:
    from bonwise.judges.prompt_file import PromptFile

Vary = Literal["", "prompt", "seed"]
"""What differs from draw to draw: nothing that is sent, the wording of the prompt, or the seed."""


@takes_numbers
class Around:
    """A judge made of another one, which may ask a first question on whose answer its others depend."""

    of: Any
    kind: ClassVar[str]
    rule: ClassVar[str] = ""
    """This judge's part of the version."""
    stated: ClassVar[tuple[str, ...]] = ()
    """Options that the name always states."""

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line."""
        return str(registry.Spec(self.kind, asking.options_text(self, always=self.stated), of=self.of.name))

    @property
    def version(self) -> str:
        """The inner judge's, and this one's rule."""
        return f"{self.of.version} {self.rule}"

    @property
    def asking(self) -> bool:
        """Whether the inner judge asks a model."""
        return is_asking(self.of)

    @property
    def listwise(self) -> bool:
        """Whether the inner judge's score of a candidate depends on the others."""
        return is_listwise(self.of)

    @property
    def first_calls(self) -> int:
        """How many calls are made once, however often the others are drawn."""
        return getattr(self.of, "first_calls", 0)

    def first_ask(self, prompt: str, candidates: Sequence[str]) -> Ask | None:
        """Return the inner judge's first question."""
        first: Callable[..., Ask | None] | None = getattr(self.of, "first_ask", None)
        return None if first is None else first(prompt, candidates)

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return the inner judge's questions."""
        return calling.as_asking(self.of).asks(prompt, candidates)

    def calls(self, candidates: int) -> int:
        """Return the inner judge's calls."""
        return calling.calls_of(self.of, candidates)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Let the inner judge conclude, and make verdicts of its own."""
        conclusion = calling.as_asking(self.of).conclude(prompt, candidates, answers)
        return Conclusion(self._together(candidates, [conclusion.verdicts]), conclusion.preferences)

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask the model and wait; a judge that asks no model is called once per draw."""
        if self.asking:
            return asking.ask_now(self, prompt, candidates)
        together = partial(self._together, candidates)
        return calling.called(self.of, prompt, candidates, getattr(self, "draws", 1), together)

    def _together(self, candidates: Sequence[str], drawn: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
        """Return the verdicts on the candidates from those of each draw of the inner judge."""
        raise NotImplementedError

    def after(self, answers: Answers) -> Self:
        """Return the judge of an inner one that knows the answer to it."""
        return replace(self, of=self.of.after(answers))  # type: ignore[type-var]


def _check_drawable(judge: Judge) -> None:
    """Refuse judges of several of which one asks a first question: only it knows what is drawn again."""
    if _asks_first_within(judge):
        raise UsageError(
            f"{judge.name} holds a judge whose questions depend on an answer",
            hint="draw or round that judge, and put it into the jury: jury:resampled,of=checklist:MODEL+...",
        )


def _asks_first_within(judge: Any) -> bool:
    parts = getattr(judge, "parts", ())
    inner = getattr(judge, "of", None)
    return any(getattr(part, "first_calls", 0) or _asks_first_within(part) for part in parts) or (
        inner is not None and _asks_first_within(inner)
    )


@takes_numbers
@dataclass(frozen=True)
class Quantized(Around):
    """Another judge's scores, each rounded to the nearest of some equally spaced levels from 0 to 1.

    Half-way scores are rounded up. The ends of an interval and the draws of a mean are rounded in the same way,
    one by one, so the draws need not have the score as their mean; an end beyond the scale is rounded to the
    levels continued. A score beyond the scale is unscored. Preferences stay as they are.

    Parameters
    ----------
    of : Judge or callable
        Any judge, or a function ``(prompt, text) -> number``.
    bins : int
        Number of levels, 0 and 1 among them; at least 2.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> judge = Quantized(lambda prompt, text: len(text) / 10, bins=5)
    >>> judge.judge("Say it", ["a", "abc", "abcdefghijk"])
    (Score(value=0.0), Score(value=0.25), Unscored(reason='1.1 lies off [0, 1]', raw=''))
    """

    of: Judge
    bins: int = 20

    kind: ClassVar[str] = "quantized"
    rule = "quantized1"
    stated = ("bins",)

    def __init__(self, of: Judge | Callable[[str, str], Any], bins: int = 20) -> None:
        object.__setattr__(self, "of", calling.as_judge(of))
        object.__setattr__(self, "bins", bins)
        check_whole("bins", self.bins, least=2)
        _check_drawable(self.of)

    def _together(self, _: Sequence[str], drawn: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
        return tuple(self._of(verdict) if isinstance(verdict, Score) else verdict for verdict in drawn[0])

    def _of(self, score: Score) -> Verdict:
        if not 0 <= score.value <= 1:
            return Unscored(f"{score.value:g} lies off [0, 1]")
        low, high = (None if end is None else self._level(end) for end in (score.low, score.high))
        draws = tuple(None if draw is None else self._level(draw) for draw in score.draws)
        return Score(self._level(score.value), low=low, high=high, draws=draws, raw=score.raw)

    def _level(self, value: float) -> float:
        return math.floor(value * (self.bins - 1) + 0.5) / (self.bins - 1)


@takes_numbers
@dataclass(frozen=True)
class Resampled(Around):
    """Several draws of another judge: of the same question, of other wordings of its prompt, or by other seeds.

    A candidate scores the mean of its draws that were scored; its interval is that of Student's t around the
    mean, which may reach beyond the scale. `Score.draws` holds every draw, None where one is unscored. One
    scored draw has no interval; an interval that the inner judge states plays no part. While a draw is owed, so
    is the candidate's verdict.

    With ``vary="prompt"``, for models without a temperature, each draw asks by another wording of the rubric: the
    first by the judge's own prompt, the others by files. The spread is that of wording and model together, and
    `Score.raw` names each wording.

    Parameters
    ----------
    of : Judge or callable
        Any judge but a resampled one, or a function ``(prompt, text) -> number``.
    draws : int
        At least 2.
    temperature : float, optional
        At which a model is asked, in place of the inner judge's; None leaves it to the server.
    confidence : float
        Of the interval.
    vary : {"", "prompt", "seed"}
        What differs from draw to draw: nothing that is sent, the wording, or the field ``seed`` (0, 1 ...).
    wordings : str or pathlib.Path
        With ``vary="prompt"`` a folder of prompt files, in the order of their names, in place of the built-in
        wordings. Each has the mode, the variables and the criteria of the judge's own prompt.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing; fewer wordings than draws, or a judge that has none; a service without seeds.

    Examples
    --------
    >>> from bonwise.judges.pointwise import Interval
    >>> judge = Resampled(Interval("openai/gpt-5-mini"), draws=3)
    >>> judge.name, judge.calls(candidates=4)
    ('resampled,draws=3,of=interval:openai/gpt-5-mini', 12)
    >>> judge = Resampled(Interval("anthropic/claude-opus-5"), draws=3, vary="prompt")
    >>> [judge.file.name for judge in judge.by_draw]
    ['interval', 'interval-2', 'interval-3']
    """

    of: Judge
    draws: int = 5
    temperature: float | None = 1.0
    confidence: float = 0.95
    vary: Vary = ""
    wordings: str | Path = ""

    _files: ClassVar[tuple[PromptFile, ...]] = ()
    """The wording of each draw, empty where the prompt stays; set on each judge."""

    kind: ClassVar[str] = "resampled"
    rule = "resampled1"
    stated = ("draws",)

    def __init__(
        self,
        of: Judge | Callable[[str, str], Any],
        draws: int = 5,
        temperature: float | None = 1.0,
        confidence: float = 0.95,
        vary: Vary = "",
        wordings: str | Path = "",
    ) -> None:
        object.__setattr__(self, "of", calling.as_judge(of))
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "temperature", asking.checked_temperature(temperature))
        object.__setattr__(self, "confidence", confidence)
        object.__setattr__(self, "vary", vary)
        object.__setattr__(self, "wordings", wordings)
        check_whole("draws", self.draws, least=2)
        check_number("confidence", self.confidence, low=0, high=1)
        if self.confidence in (0, 1):
            raise UsageError(f"confidence is {self.confidence}", hint="give a number between 0 and 1, such as 0.95")
        _check_drawable(self.of)
        if _resamples(self.of):
            raise UsageError(f"{self.of.name} is resampled already", hint="state all its draws in one place")
        if getattr(_writer(self.of), "is_distribution", False):
            hint = "ask it once: its scores have intervals already"
            raise UsageError(f"{self.of.name} answers by a distribution, and draws of it are alike", hint=hint)
        object.__setattr__(self, "_files", self._checked_files())

    def _checked_files(self) -> tuple[PromptFile, ...]:
        """Return the wording of each draw, empty where the prompt stays; refuse what a judge cannot vary."""
        if self.vary not in get_args(Vary) or (self.wordings and self.vary != "prompt"):
            what = "wordings without vary=prompt" if self.wordings else f"vary is {self.vary!r}"
            raise UsageError(what, hint="give vary=prompt or vary=seed, and wordings only with vary=prompt")
        if not self.vary:
            return ()
        writer = _writer(self.of)
        if not isinstance(writer, asking.AskingSettings) or hasattr(writer, "first_ask"):
            hint = "vary a judge that asks one model by one prompt file, such as pointwise, pairwise or rubric"
            raise UsageError(f"{self.of.name} has no {self.vary} to vary", hint=hint)
        if self.vary == "prompt":
            return prompt_loading.wordings(writer.file, self.wordings, self.draws)
        from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - as below

        without = not provider(writer.asked.provider).capabilities.seed
        if without or self.temperature == 0 or "seed" in (writer.params or {}):
            why = "the temperature is 0" if self.temperature == 0 else "params states a seed"
            why = f"{writer.asked.provider} takes no seed" if without else why
            raise UsageError(f"seeds cannot vary: {why}", hint="leave that out, or state vary=prompt")
        return ()

    @property
    def version(self) -> str:
        """The inner judge's, and this one's rule with the wordings that it draws by."""
        return " ".join(filter(None, (super().version, self.vary, *(file.identity for file in self._files))))

    @property
    def by_draw(self) -> tuple[Judge, ...]:
        """The judge of each draw."""
        return tuple(_reworded(self.of, file) for file in self._files) or (self.of,) * self.draws

    @property
    def varies_by(self) -> str:
        """What makes the draws differ, in plain words."""
        if self._files:
            names = ", ".join(file.identity for file in self._files)
            return f"the wording of the prompt ({names}), and by {self._varies_at()}"
        return f"the seed (0 to {self.draws - 1}), at {self._varies_at()}" if self.vary else self._varies_at()

    def _varies_at(self) -> str:
        """Return what makes the answers to the same words differ."""
        model = _model(self.of)
        if model is None:
            return "the judge itself"
        # A provider is a plug-in: none is looked up before something is to be said of it.
        from bonwise.calls.providers.protocol import provider  # noqa: PLC0415

        capabilities = provider(model.partition("/")[0]).capabilities
        if capabilities.temperature and self.temperature is not None:
            return f"temperature {self.temperature:g}"
        return capabilities.draws_differ_by

    def varies_by_what_was_sent(self, effective: Iterable[Mapping[str, Any]]) -> str:
        """Return what makes the draws differ, given the parameters that were really sent.

        Parameters
        ----------
        effective : iterable of mapping
            As in `bonwise.judges.protocol.Judgment`.
        """
        sent, words, own = list(effective), self.varies_by, self._varies_at()
        if self.vary == "seed" and any("seed" not in parameters for parameters in sent):
            return "the service's own sampling: it takes no seed"
        if sent and own.startswith("temperature") and not any("temperature" in parameters for parameters in sent):
            return words.replace(own, "the service's own sampling: it takes no temperature")
        return words

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return the inner judge's questions, each asked for several samples, or once by each wording or seed."""
        if self.vary:
            return [
                replace(self._seeded(ask, number), temperature=self.temperature)
                for number, judge in enumerate(self.by_draw)
                for ask in calling.as_asking(judge).asks(prompt, candidates)
            ]
        asks = calling.as_asking(self.of).asks(prompt, candidates)
        return [replace(ask, samples=self.draws, temperature=self.temperature) for ask in asks]

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Let the inner judge conclude from each draw, and put these conclusions together."""
        each = len(answers) // self.draws
        conclusions = []
        for number, judge in enumerate(self.by_draw):
            own = answers[number * each : (number + 1) * each]
            drawn = own if self.vary else [_draw(answer, number) for answer in answers]
            conclusions.append(calling.as_asking(judge).conclude(prompt, candidates, drawn))
        verdicts = self._together(candidates, [conclusion.verdicts for conclusion in conclusions])
        return Conclusion(verdicts, tuple(_preferences([conclusion.preferences for conclusion in conclusions])))

    def _seeded(self, ask: Ask, number: int) -> Ask:
        if self.vary != "seed":
            return ask
        # Apart in their numbers: a server that ignores the seed still answers each draw anew.
        return replace(ask, params={**ask.params, "seed": number}, first_sample=1_000 * number)

    def calls(self, candidates: int) -> int:
        """Return the inner judge's calls, once a draw but for a first one."""
        return calling.calls_of(self.of, candidates) + calling.calls_of(self.of, candidates, again=True) * (
            self.draws - 1
        )

    def _together(self, candidates: Sequence[str], drawn: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
        by_candidate = zip(*drawn, strict=True)
        return tuple(
            self._mean(own) if has_words(text) else EMPTY for text, own in zip(candidates, by_candidate, strict=True)
        )

    def _mean(self, drawn: Sequence[Verdict]) -> Verdict:
        owed = asking.owed_among(drawn)
        if owed:
            return owed
        values = tuple(verdict.value if isinstance(verdict, Score) else None for verdict in drawn)
        scored = [value for value in values if value is not None]
        if not scored:
            return asking.most_common((verdict for verdict in drawn if isinstance(verdict, Unscored)), "draws")
        mean, words = statistics.fmean(scored), _said(drawn, self._files)
        if len(scored) < 2:
            return Score(mean, draws=values, raw=words)
        half = (
            _quantile((1 + self.confidence) / 2, len(scored) - 1) * statistics.stdev(scored) / math.sqrt(len(scored))
        )
        return Score(mean, low=mean - half, high=mean + half, draws=values, raw=words)


@takes_numbers
@dataclass(frozen=True)
class WeightedMajority(Around):
    r"""A vote for the final answer, in which each candidate's vote weighs its score by another judge.

    A candidate scores the share of all weight that was cast for its answer (weighted self-consistency);
    ``local:majority`` counts every vote alike. A candidate without a final answer has no vote and no score, nor has
    one that the inner judge leaves unscored. A score below 0 cannot be a weight: it leaves the whole pool unscored.

    Parameters
    ----------
    of : Judge or callable
        Any judge, or a function ``(prompt, text) -> number``.
    extract : str
        How a final answer is read: ``number`` (the last one), ``boxed``, ``whole``, or a regular expression.

    Examples
    --------
    >>> judge = WeightedMajority(lambda prompt, text: len(text))
    >>> [verdict.value for verdict in judge.judge("2 + 2?", ["4", "5", "It is 4."])]
    [0.9, 0.1, 0.9]
    """

    of: Judge
    extract: str = "number"

    kind: ClassVar[str] = "weighted_majority"
    rule = "weighted1"
    listwise = True

    def __init__(self, of: Judge | Callable[[str, str], Any], extract: str = "number") -> None:
        object.__setattr__(self, "of", calling.as_judge(of))
        object.__setattr__(self, "extract", extract)
        checks.final_answer(extract)
        _check_drawable(self.of)

    def _together(self, candidates: Sequence[str], drawn: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
        return local.vote(candidates, self.extract, drawn[0])


def _said(drawn: Sequence[Verdict], files: Sequence[PromptFile]) -> str:
    """Return what was said in all draws, one below the other, each under the wording that it answers."""
    if files:
        return kept("\n\n".join(f"[{file.identity}] {its.raw}" for file, its in zip(files, drawn, strict=True)))
    return kept("\n\n".join(filter(None, (verdict.raw for verdict in drawn))))


def _reworded(judge: Any, file: PromptFile) -> Judge:
    is_writer = isinstance(judge, asking.AskingSettings)
    made: Judge = judge.reworded(file) if is_writer else protocol.changed(judge, of=_reworded(judge.of, file))
    return made


def _draw(answers: Answers, number: int) -> Answers:
    drawn = answers.answers[number] if number < len(answers.answers) else Answer(asking.MISSING)
    return replace(answers, answers=(drawn,))


def _preferences(draws: Sequence[Sequence[Preference]]) -> Iterator[Preference]:
    """Yield the mean of each comparison over the draws in which it has a value, and the median confidence."""
    for drawn in zip(*draws, strict=True):
        scored = [pair for pair in drawn if pair.value is not None]
        same = scored if scored and all(pair.lost for pair in drawn if pair.value is None) else drawn
        yield replace(
            same[0],
            shown_first=_side([pair.shown_first for pair in same]),
            shown_second=_side([pair.shown_second for pair in same]),
            confidence=(_sure([pair.confidence[0] for pair in same]), _sure([pair.confidence[1] for pair in same])),
        )


def _side(drawn: Sequence[float | Unscored | None]) -> float | Unscored | None:
    owed = asking.owed_among(drawn)
    if owed:
        return owed
    scored = [side for side in drawn if isinstance(side, float)]
    if scored:
        return statistics.fmean(scored)
    unscored = [side for side in drawn if isinstance(side, Unscored)]
    return asking.most_common(unscored, "draws") if unscored else None


def _sure(stated: Sequence[int | None]) -> int | None:
    # The low median is a confidence that was stated; a mean is none.
    known = [level for level in stated if level is not None]
    return statistics.median_low(known) if known else None


def _quantile(probability: float, freedom: int) -> float:
    # Loads a library that a command which only asks would load in vain.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, probability))


def _writer(judge: Any) -> Any:
    while (inner := getattr(judge, "of", None)) is not None:
        judge = inner
    return judge


def _model(judge: Any) -> str | None:
    model = getattr(_writer(judge), "model", None)
    return model if isinstance(model, str) else None


def _resamples(judge: Any) -> bool:
    return isinstance(judge, Resampled) or ((inner := getattr(judge, "of", None)) is not None and _resamples(inner))
