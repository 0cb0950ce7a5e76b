"""A judge that is asked several times: the mean of its draws, and how far the mean can be trusted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bonwise.calls.answer import Answer, Answers
from bonwise.calls.ask import Ask
from bonwise.data.verdicts import Preference, Score, Unscored, Verdict
from bonwise.errors import UsageError
from bonwise.judges.asking import (
    EMPTY,
    ask_now,
    check_number,
    check_temperature,
    check_whole,
    has_words,
    most_common,
    options_text,
)
from bonwise.judges.calling import as_judge
from bonwise.judges.protocol import Conclusion, Judge
from bonwise.judges.spec import Spec
from bonwise.judges.wrapping import asked_by, asking, called, calls_of

__all__ = ["Resampled"]

VERSION = 1


@dataclass(frozen=True)
class Resampled:
    """Several independent draws of another judge.

    A candidate scores the mean of its draws that were scored; its interval is that of Student's t around the
    mean, which may reach beyond the scale. `Score.draws` holds every draw, None where one is unscored. One
    scored draw has no interval; an interval that the inner judge states plays no part.

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

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> from bonwise.judges.interval import Interval
    >>> judge = Resampled(Interval("openai/gpt-5-mini"), draws=3)
    >>> judge.name, judge.calls(candidates=4)
    ('resampled,draws=3,of=interval:openai/gpt-5-mini', 12)
    """

    of: Judge
    draws: int = 5
    temperature: float | None = 1.0
    confidence: float = 0.95

    kind: ClassVar[str] = "resampled"

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_judge(self.of))
        check_whole("draws", self.draws, least=2)
        check_temperature(self.temperature)
        check_number("confidence", self.confidence, low=0, high=1)
        if self.confidence in (0, 1):
            raise UsageError(f"confidence is {self.confidence}", hint="give a number between 0 and 1, such as 0.95")
        if _resamples(self.of):
            raise UsageError(f"{self.of.name} is resampled already", hint="state all its draws in one place")

    @property
    def name(self) -> str:
        """What makes this judge on a command line."""
        return str(Spec(self.kind, options_text(self, always=("draws",)), of=self.of.name))

    @property
    def version(self) -> str:
        """The inner judge's, and this one's rule."""
        return f"{self.of.version} resampled{VERSION}"

    @property
    def varies_by(self) -> str:
        """What makes the draws differ, in plain words."""
        model = _model(self.of)
        if model is None:
            return "the judge itself"
        # A provider is a plug-in: none is looked up before something is to be said of it.
        from bonwise.calls.providers.registry import provider  # noqa: PLC0415

        capabilities = provider(model.partition("/")[0]).capabilities
        if capabilities.temperature and self.temperature is not None:
            return f"temperature {self.temperature:g}"
        return capabilities.draws_differ_by

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask] | None:
        """Return the inner judge's questions, each asked for several samples."""
        asks = asked_by(self.of, prompt, candidates)
        if asks is None:
            return None
        return [replace(ask, samples=self.draws, temperature=self.temperature) for ask in asks]

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Let the inner judge conclude from each draw, and put these conclusions together."""
        inner = asking(self.of)
        found = [
            inner.conclude(prompt, candidates, [_draw(one, number) for one in answers])
            for number in range(self.draws)
        ]
        verdicts = self._together(candidates, [one.verdicts for one in found])
        return Conclusion(verdicts, tuple(_preferences([one.preferences for one in found])))

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask the model and wait; a judge that asks no model is called once a draw."""
        if asked_by(self.of, prompt, candidates) is not None:
            return ask_now(self, prompt, candidates)
        return called(self.of, prompt, candidates, self.draws, lambda found: self._together(candidates, found))

    def calls(self, candidates: int) -> int:
        """Return the inner judge's calls, once a draw."""
        return calls_of(self.of, candidates) * self.draws

    def _together(self, candidates: Sequence[str], found: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
        by_candidate = zip(*found, strict=True)
        return tuple(
            self._mean(drawn) if has_words(text) else EMPTY
            for text, drawn in zip(candidates, by_candidate, strict=True)
        )

    def _mean(self, drawn: Sequence[Verdict]) -> Verdict:
        values = tuple(one.value if isinstance(one, Score) else None for one in drawn)
        scored = [value for value in values if value is not None]
        if not scored:
            return most_common((one for one in drawn if isinstance(one, Unscored)), "draws")
        mean = statistics.fmean(scored)
        if len(scored) < 2:
            return Score(mean, draws=values)
        half = (
            _quantile((1 + self.confidence) / 2, len(scored) - 1) * statistics.stdev(scored) / math.sqrt(len(scored))
        )
        return Score(mean, low=mean - half, high=mean + half, draws=values)


def _draw(answers: Answers, number: int) -> Answers:
    missing = Answer(Unscored("no answer arrived", owed=True))
    return replace(answers, answers=(answers.answers[number] if number < len(answers.answers) else missing,))


def _preferences(draws: Sequence[Sequence[Preference]]) -> Iterator[Preference]:
    """Yield the mean of each comparison over the draws in which it was scored, and the median confidence."""
    for same in zip(*draws, strict=True):
        yield replace(
            same[0],
            shown_first=_side([one.shown_first for one in same]),
            shown_second=_side([one.shown_second for one in same]),
            confidence=(_sure([one.confidence[0] for one in same]), _sure([one.confidence[1] for one in same])),
        )


def _side(drawn: Sequence[float | Unscored | None]) -> float | Unscored | None:
    scored = [one for one in drawn if isinstance(one, float)]
    if scored:
        return statistics.fmean(scored)
    unscored = [one for one in drawn if isinstance(one, Unscored)]
    return most_common(unscored, "draws") if unscored else None


def _sure(stated: Sequence[int | None]) -> int | None:
    # The low median is a confidence that was stated; a mean is none.
    known = [one for one in stated if one is not None]
    return statistics.median_low(known) if known else None


def _quantile(probability: float, freedom: int) -> float:
    # Loads a library that a command which only asks would load in vain.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, probability))


def _model(judge: Any) -> str | None:
    while (inner := getattr(judge, "of", None)) is not None:
        judge = inner
    model = getattr(judge, "model", None)
    return model if isinstance(model, str) else None


def _resamples(judge: Any) -> bool:
    return isinstance(judge, Resampled) or ((inner := getattr(judge, "of", None)) is not None and _resamples(inner))
