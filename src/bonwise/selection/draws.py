"""The books of one pool: every score and comparison heard, what they say together, and what is kept of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bonwise.judges import asking, calling, protocol
from bonwise.selection.protocol import Draw, Heard, Match, Question, Standing
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict, compared, kept

OWED = "an answer is pending"
"""Why nothing more is asked where an answer did not arrive: what to ask next may hang on it."""


_LEAST_FREEDOM = 16
"""Five scores of each of four candidates. With fewer, simulated picks stated above .9 were the best in .73 to .82."""

_NONE = 1e-24
"""A variance below this share of the squared means is rounding."""


class Draws:
    """What was heard of each candidate, by the number of the draw, in whatever order answers come in."""

    def __init__(self, candidates: int) -> None:
        self._heard: tuple[dict[int, Verdict], ...] = tuple([{} for _ in range(candidates)])
        self._temperatures: set[float | None] = set()
        self._means: dict[int, float | None] = {}

    def hear(self, question: Question, answer: Heard) -> None:
        """Take the answer to a draw; anything else raises `TypeError`."""
        if not isinstance(question, Draw) or isinstance(answer, Preference):
            raise TypeError(f"{type(answer).__name__} is no answer to {question}: only scores were asked for")
        self._heard[question.candidate][question.number] = answer
        self._means.pop(question.candidate, None)
        self._temperatures.add(question.temperature)

    def asked(self, candidate: int) -> int:
        """Return how many answers were heard of a candidate; one without a score counts."""
        return len(self._heard[candidate])

    def missing(self, number: int) -> list[int]:
        """Return the candidates whose draw of that number was not heard."""
        return [candidate for candidate, heard in enumerate(self._heard) if number not in heard]

    def first(self, candidate: int) -> float | None:
        """Return the first score of a candidate; None without one."""
        verdict = self._heard[candidate].get(0)
        return verdict.value if isinstance(verdict, Score) else None

    def firsts(self) -> tuple[Verdict, ...]:
        """Return the first verdict on each candidate, as it was heard."""
        return tuple([heard.get(0, asking.MISSING) for heard in self._heard])

    def mean(self, candidate: int) -> float | None:
        """Return the mean of a candidate's scores; None without one."""
        if candidate not in self._means:  # a strategy looks at every mean before each question
            self._means[candidate] = mean_of(self._scored(candidate))
        return self._means[candidate]

    @property
    def owed(self) -> bool:
        """Whether an answer was heard of that did not arrive."""
        for heard in self._heard:
            for verdict in heard.values():
                if isinstance(verdict, Unscored) and verdict.owed:
                    return True
        return False

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return each candidate's mean, or why it has none; owed while one of its draws is."""
        return tuple(verdict_of([heard[number] for number in sorted(heard)]) for heard in self._heard)

    def standard_errors(self) -> tuple[float | None, ...]:
        """Return the standard error of each mean, s² pooled over candidates; empty where none has two scores."""
        return _errors(self._all_scored(), self._variance()[0])

    def _variance(self) -> tuple[float, int]:
        """Return the pooled variance of one score, NaN where none can be had, and its degrees of freedom."""
        scored = self._all_scored()
        freedom = sum(len(values) - 1 for values in scored if values)
        return (math.fsum(_squares(values) for values in scored) / freedom if freedom else math.nan), freedom

    def standing(self, stopped: str) -> Standing:
        """Return how the candidates stand by their means, with chances where all were asked alike and vary enough."""
        standing = Standing(self.verdicts(), self.standard_errors(), stopped=stopped)
        means = [self.mean(candidate) for candidate in range(len(self._heard))]
        variance, freedom = self._variance()
        reason = self._not_comparable(means, variance, freedom)
        if reason:
            return replace(standing, p_best_reason=reason)
        known = _errors(self._all_scored(), variance * freedom / (freedom - 2))
        chances, regret = _posterior(means, known)
        return replace(standing, p_best=chances, expected_regret=regret)

    def _not_comparable(self, means: Sequence[float | None], variance: float, freedom: int) -> str:
        """Return why the scores do not say how probably a candidate is the best; empty where they do."""
        if len(self._temperatures) > 1:
            return "the first scores and the later ones were asked at different temperatures"
        if freedom < _LEAST_FREEDOM:
            return f"{freedom} repeated scores say too little of their scatter: {_LEAST_FREEDOM} are needed"
        if any(len(values) == 1 for values in self._all_scored()):
            return "a candidate has a single score"
        largest = max((abs(mean) for mean in means if mean is not None), default=0.0)
        # Equal redraws of a coarse judge are chance, and no proof that it never errs.
        if not _NONE * largest * largest < variance < math.inf:
            return "no two scores of a candidate differ"
        return ""

    def _all_scored(self) -> list[list[float]]:
        return [self._scored(candidate) for candidate in range(len(self._heard))]

    def _scored(self, candidate: int) -> list[float]:
        return [verdict.value for verdict in self._heard[candidate].values() if isinstance(verdict, Score)]


def verdict_of(drawn: Sequence[Verdict]) -> Verdict:
    """Return the mean of the draws of one candidate, or why there is none; owed while one of them is."""
    owed = asking.owed_among(drawn)
    if owed or not drawn:
        return owed or asking.MISSING
    mean = mean_of([verdict.value for verdict in drawn if isinstance(verdict, Score)])
    if mean is not None:
        return Score(mean, draws=tuple(verdict.value if isinstance(verdict, Score) else None for verdict in drawn))
    unscored = [verdict for verdict in drawn if isinstance(verdict, Unscored)]
    return unscored[0] if len(unscored) == 1 else asking.most_common(unscored, "draws")


def calls_of_a_draw(judge: protocol.Judge, candidates: int) -> int:
    """Return the most answers for one further score; one that depends on other candidates takes the whole pool's."""
    single, every = calling.calls_of(judge, 1, again=True), calling.calls_of(judge, candidates, again=True)
    return single if every == single * candidates and not protocol.is_listwise(judge) else every


def _errors(scored: Sequence[Sequence[float]], variance: float) -> tuple[float | None, ...]:
    """Return the standard error of each mean, from the variance of one score; empty where that is not known."""
    if not math.isfinite(variance):
        return ()
    return tuple(math.sqrt(variance / len(values)) if values else None for values in scored)


def mean_of(values: Sequence[float]) -> float | None:
    """Return the mean to 15 digits, which a double holds of any decimal; None of no values; exact for equal ones."""
    if not values:
        return None
    if all(value == values[0] for value in values):
        return values[0]
    try:
        mean = math.fsum(values) / len(values)
    except OverflowError:  # the sum of two scores may be too large for a double
        mean = math.fsum(value / len(values) for value in values)
    return float(f"{mean:.15g}")


def _squares(values: Sequence[float]) -> float:
    """Return the sum of squares about the mean."""
    mean = mean_of(values) or 0.0
    return math.fsum((value - mean) * (value - mean) for value in values)


def _posterior(
    means: Sequence[float | None], errors: Sequence[float | None]
) -> tuple[tuple[float | None, ...], float]:
    """Return who is best with which probability under a flat prior, and what the pick is expected to lose."""
    # A pool that is never drawn from again has no use for them.
    import numpy as np  # noqa: PLC0415

    from bonwise.stats.beliefs import best_of_normals  # noqa: PLC0415

    mean, error = (np.array([values], dtype=np.float64) for values in (means, errors))
    best = best_of_normals(mean, error)
    chances = zip(means, best.probability[0].tolist(), strict=True)
    return tuple(None if mean is None else chance for mean, chance in chances), float(best.regret[0])


def kept_verdict(final: Verdict, heard: Sequence[Verdict]) -> Verdict:
    """Return the verdict that ranks a candidate, its ends the mean of those per draw: no standard error of a mean."""
    if len(heard) == 1 and _is_alike(final, heard[0]):
        return heard[0]
    if not heard:
        return final
    raw = final.raw or kept("\n\n".join(filter(None, (verdict.raw for verdict in heard))))
    if isinstance(final, Unscored):
        return final if final.owed or raw == final.raw else replace(final, raw=raw)
    scored = [verdict for verdict in heard if isinstance(verdict, Score)]
    low, high = (final.low, final.high) if final.width is not None else _stated_ends(final.value, scored)
    draws = final.draws or tuple(verdict.value if isinstance(verdict, Score) else None for verdict in heard)
    filled = tuple(dict.fromkeys(name for score in scored for name in score.filled))
    return Score(final.value, low=low, high=high, draws=draws, raw=raw, filled=filled)


def _is_alike(final: Verdict, heard: Verdict) -> bool:
    """Tell whether a strategy ranks by the only score that it heard."""
    if not isinstance(final, Score) or not isinstance(heard, Score):
        return final is heard
    return final.value == heard.value and final.low is None and final.high is None


def _stated_ends(value: float, scored: Sequence[Score]) -> tuple[float | None, float | None]:
    ends = [(score.low, score.high) for score in scored if score.low is not None and score.high is not None]
    if not ends or len(ends) < len(scored):
        return None, None
    mean = mean_of([score.value for score in scored]) or 0.0
    shown, chosen = compared((mean, value))
    if shown != chosen:
        return None, None
    low, high = (mean_of(side) or 0.0 for side in zip(*ends, strict=True))
    return min(low, value), max(high, value)


class Matches:
    """What was heard of each pair."""

    def __init__(self) -> None:
        self._heard: dict[tuple[int, int], Preference] = {}

    def hear(self, question: Question, answer: Heard) -> None:
        """Take the answer to a match; anything else raises `TypeError`."""
        if not isinstance(question, Match) or not isinstance(answer, Preference):
            raise TypeError(f"{type(answer).__name__} is no answer to {question}: only comparisons were asked for")
        # A judge that was shown two texts alone calls them 0 and 1.
        same = (answer.a, answer.b) == (question.a, question.b)
        self._heard[question.a, question.b] = answer if same else replace(answer, a=question.a, b=question.b)

    def of(self, a: int, b: int) -> Preference | None:
        """Return what was heard of two candidates, the smaller position first."""
        return self._heard.get((a, b))

    @property
    def heard(self) -> list[Preference]:
        """Every pair that was heard of."""
        return list(self._heard.values())

    @property
    def owed(self) -> bool:
        """Whether an answer was heard of that did not arrive."""
        return any(is_owed(pair) for pair in self._heard.values())


def is_owed(preference: Preference) -> bool:
    """Tell whether one of the orders of a pair did not arrive."""
    return asking.owed_among((preference.shown_first, preference.shown_second)) is not None
