"""Further scores where they promise most, one at a time, until none is worth its price."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling
from bonwise.judges.protocol import Judge, cached_property
from bonwise.selection import draw_model, draws, registry
from bonwise.selection.learnt_draws import DrawModel
from bonwise.selection.protocol import Draw, Entrants, Heard, Question, Standing
from bonwise.stats.beliefs import Beliefs, best_of_normals
from bonwise.stats.redraws import CallPrice
from bonwise.table import checks, verdicts

_USUAL = 1.5
"""Mean calls without another wish, in first passes: 6 calls for a pool of four."""

_NO_PILOT = "nothing was learnt of this judge: learn from a pilot (bonwise study draws), then give model"


@takes_numbers
@dataclass(frozen=True)
class ValueOfInformation:
    """Score every candidate once; then score again whoever promises most, while that is worth its price.

    After each answer every candidate's score is known with an error. The next call goes to the candidate that is owed
    most of the calls by optimal computing-budget allocation: the best one, and rivals close to it. Nobody is asked
    any more when what the present best is expected to lose to its strongest rival falls below the price of a call.
    The candidate of highest posterior mean is kept. A score that could not be had counts as asked; a candidate whose
    first score could not be had is out of the running. See ``docs/value_of_information.md``.

    Parameters
    ----------
    mean_calls : float, optional
        Calls of a pool on average, the first scores among them, over pools like those that `model` was learnt from;
        that sets the price, or two prices between which each pool's lot decides, for one alone can be far off.
        Without it and without a price: 1.5 times the first scores.
    price : float, optional
        Of a call, in score units, at least 0.
    model : DrawModel, str or pathlib.Path, optional
        What ``bonwise study draws`` has learnt of the judge. Without it a judge is assumed that scores in [0, 1] and
        scatters as the simulated ones of `bonwise.testing` do; scores outside are refused, and neither `p_best` nor
        `expected_regret` is stated.
    max_draws : int
        The most scores of one candidate, the first one included, at least 2.
    temperature : float, optional
        At which a model is asked again, in place of the judge's own; None keeps the judge's own. The first scores
        are always at the judge's own.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.
    bonwise.errors.FileError
        A model's file that is absent or holds something else.

    Examples
    --------
    >>> from bonwise.table.verdicts import Score
    >>> contest = ValueOfInformation(mean_calls=6).contest(Entrants(3, order=(2, 0, 1)))
    >>> for question, value in zip(contest.next(), [0.5, 0.85, 0.85], strict=True):
    ...     contest.hear(question, Score(value))
    >>> [(again.candidate, again.number) for again in contest.next()]
    [(2, 1)]
    """

    mean_calls: float | None = None
    price: float | None = None
    model: DrawModel | str | Path | None = None
    max_draws: int = 8
    temperature: float | None = 1.0
    learnt: DrawModel = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "value_of_information"
    compares = False

    def __post_init__(self) -> None:
        checks.check_whole("max_draws", self.max_draws, least=2)
        object.__setattr__(self, "temperature", asking.checked_temperature(self.temperature))
        for name in ("mean_calls", "price"):
            if getattr(self, name) is not None:
                checks.check_number(name, getattr(self, name), low=0, high=math.inf)
        if self.mean_calls is not None and self.price is not None:
            raise UsageError("both mean_calls and price are given", hint="give one: each sets the other")
        object.__setattr__(self, "learnt", _model_of(self.model))
        _ = self.prices

    @cached_property
    def prices(self) -> CallPrice:
        """Of a call, in score units: as given, or those at which pools take `mean_calls`, one of two by lot."""
        if self.price is not None:
            return CallPrice(self.price, self.price, 1.0)
        if self.max_draws != self.learnt.max_draws:
            raise UsageError(
                f"the prices were learnt for max_draws={self.learnt.max_draws}, not {self.max_draws}",
                hint="give a price in place of mean_calls, or learn with --max-draws",
            )
        calls = _USUAL * self.learnt.mean_calls[0] if self.mean_calls is None else self.mean_calls
        try:
            return self.learnt.prices_for(calls)
        except ValueError as error:
            raise UsageError(f"mean_calls is {calls:g}", hint=str(error)) from error

    @cached_property
    def name(self) -> str:
        """What makes this strategy on a command line; a model that is in no file is named by its prompts."""
        options: dict[str, str] = {}
        if self.mean_calls is not None:
            options["mean_calls"] = _stated(self.mean_calls)
        if self.price is not None:
            options["price"] = _stated(self.price)
        if self.model is not None:
            learnt = isinstance(self.model, DrawModel)
            options["model"] = f"learnt from {self.learnt.prompts} prompts" if learnt else str(self.model)
        if self.max_draws != 8:
            options["max_draws"] = str(self.max_draws)
        if self.temperature != 1.0:
            options["temperature"] = "none" if self.temperature is None else _stated(self.temperature)
        return str(registry.StrategySpec(self.kind, options))

    def contest(self, entrants: Entrants) -> _ValueContest:
        """Open the contest of one pool."""
        return _ValueContest(self, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the calls of a pool in which every candidate comes to its limit."""
        again = candidates * (self.max_draws - 1)
        return calling.calls_of(judge, candidates) + again * draws.calls_of_a_draw(judge, candidates)


class _ValueContest:
    def __init__(self, rule: ValueOfInformation, entrants: Entrants) -> None:
        self._rule, self._draws = rule, draws.Draws(entrants.count)
        self._price = rule.prices.of(entrants.lot)
        self._count = entrants.count
        self._rank = np.empty((1, entrants.count), dtype=np.int64)
        self._rank[0, list(entrants.order)] = np.arange(entrants.count)
        self._beliefs: Beliefs | None = None

    def next(self) -> tuple[Draw, ...]:
        """Ask for the first scores, then for one more at a time."""
        return self._step()[0]

    def hear(self, question: Question, answer: Heard) -> None:
        """Take a score."""
        if isinstance(answer, verdicts.Score):
            self._check(answer.value)
        self._draws.hear(question, answer)
        if self._beliefs is not None and isinstance(question, Draw):
            heard = answer.value if isinstance(answer, verdicts.Score) else math.nan
            self._beliefs.hear(np.array([question.candidate]), np.array([heard]))
        elif not self._draws.missing(0):
            firsts = [self._draws.first(candidate) for candidate in range(self._count)]
            first = np.array([firsts], dtype=np.float64)
            self._beliefs = Beliefs(self._rule.learnt.prior, first, self._rank, self._rule.max_draws)

    def standing(self) -> Standing:
        """Return the posterior means; the first scores as they are while some are outstanding."""
        if self._beliefs is None:
            return Standing(self._draws.verdicts())
        now = self._beliefs.posterior()
        errors = np.sqrt(now.variance)
        running = self._beliefs.running[0].tolist()
        heard = zip(self._draws.verdicts(), now.mean[0].tolist(), strict=True)
        standing = Standing(
            tuple(_verdict(verdict, mean) for verdict, mean in heard),
            _known(errors[0].tolist(), running),
            stopped=self._step()[1],
        )
        if self._rule.model is None:
            return replace(standing, p_best_reason=_NO_PILOT)
        best = best_of_normals(now.mean, errors)
        return replace(
            standing,
            p_best=_known(best.probability[0].tolist(), running),
            expected_regret=float(best.regret[0]) if any(running) else None,
        )

    def _step(self) -> tuple[tuple[Draw, ...], str]:
        """Return what to ask, and why nothing."""
        if self._beliefs is None:
            return tuple(Draw(candidate) for candidate in self._draws.missing(0)), ""
        if self._draws.owed:
            return (), draws.OWED
        if self._beliefs.running.sum() < 2:
            return (), "fewer than two candidates have a score"
        again = int(self._beliefs.best_draw()[0])
        if again < 0:
            return (), f"every candidate has {self._rule.max_draws} draws"
        if self._beliefs.opportunity_cost()[0] < self._price:
            return (), "expected gain of another call is below its price"
        return (Draw(again, self._draws.asked(again), self._rule.temperature),), ""

    def _check(self, score: float) -> None:
        learnt = self._rule.learnt
        if not learnt.low <= score <= learnt.high:
            assumed = "scores from 0 to 1 are assumed" if self._rule.model is None else "far off those learnt from"
            raise UsageError(
                f"value_of_information cannot use the score {score:g}: {assumed}",
                hint="learn from its draws: bonwise study draws SCORES.csv --save voi.json, then model=voi.json",
            )


def _stated(value: float) -> str:
    """Return a number in the fewest digits that a text makes it of again."""
    short = f"{value:.12g}"
    return short if float(short) == value else repr(float(value))


def _verdict(verdict: verdicts.Verdict, mean: float) -> verdicts.Verdict:
    """Rank by the posterior mean; without a score a candidate keeps its reason."""
    return verdicts.Score(mean, draws=verdict.draws) if isinstance(verdict, verdicts.Score) else verdict


def _known(values: list[float], running: list[bool]) -> tuple[float | None, ...]:
    return tuple(value if known else None for value, known in zip(values, running, strict=True))


def _model_of(model: DrawModel | str | Path | None) -> DrawModel:
    if model is None:
        return draw_model.assumed_model()
    if isinstance(model, DrawModel):
        return model
    if isinstance(model, str | Path):
        return draw_model.load_model(model)
    raise UsageError(f"model is {model!r}", hint="give a DrawModel, or a file that bonwise study draws has written")
