"""What judges see alike in an answer and no skill explains, and how far the human heeds it.

Judge r sees ``t[r, m, p] + e[m, p]`` and the human ``t[0, m, p] + w e[m, p]``. The effects e have one variance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from bonwise.arrays import Floats, Ints
from bonwise.estimates import EstimateRecord
from bonwise.factors import result
from bonwise.factors.rating_arrays import RatingArrays

FEWEST_SHARED = 20
"""Answers, or comparisons, that two judges rate: with fewer nobody can tell what judges share from their noise."""

MOST_EFFECTS = 1_000_000
"""Prompts times the square of the models: beyond it the effects take too much memory."""


def shared_cells(judges: RatingArrays) -> Ints:
    """Return the prompt of every answer, or comparison, that at least two judges rate."""
    counted = judges.counted()
    columns = (counted.prompt, counted.model, counted.opponent, counted.rater)
    rated = np.unique(np.column_stack(columns), axis=0)
    cells, count = np.unique(rated[:, :3], axis=0, return_counts=True)
    return np.asarray(cells[count > 1, 0], dtype=np.int64)


def shares_effects(judges: RatingArrays) -> bool:
    """Return whether effects that judges share can be estimated from their ratings."""
    return judges.prompts * judges.models**2 <= MOST_EFFECTS and len(shared_cells(judges)) >= FEWEST_SHARED


def not_counted(judges: RatingArrays, interval: str) -> str:
    """Return in one sentence that the interval takes errors of judges as independent, and why."""
    shared = len(shared_cells(judges))
    if interval != "laplace_gibbs":
        why = "the interval laplace_gibbs counts what judges share of an answer"
    elif shared < FEWEST_SHARED:
        why = f"{shared} answers are rated by two judges, and it takes {FEWEST_SHARED} to see what judges share"
    else:
        why = f"the effects of {judges.prompts} prompts and {judges.models} models would take too much memory"
    return f"The interval takes the errors of different judges as independent: {why}."


@dataclass(frozen=True, eq=False)
class EffectSums:
    """Adds up derivatives by the effects of answers, all models of a prompt together."""

    data: RatingArrays = field(repr=False)

    @cached_property
    def _squares(self) -> sparse.csr_array:
        """Sums rows by prompt and two models: a comparison counts for both, and with a minus between them."""
        data, models = self.data, self.data.models
        rows, pairs = np.arange(len(data)), np.flatnonzero(data.side_by_side)
        first = data.prompt * models
        own, other = first + data.model, (first + data.opponent)[pairs]
        place = [own * models + data.model, other * models + data.opponent[pairs]]
        place += [own[pairs] * models + data.opponent[pairs], other * models + data.model[pairs]]
        sign = np.repeat([1.0, 1.0, -1.0, -1.0], [len(part) for part in place])
        at = np.concatenate([rows, pairs, pairs, pairs])
        return sparse.csr_array((sign, (np.concatenate(place), at)), shape=(data.prompts * models**2, len(data)))

    def gaps(self, effects: Floats) -> Floats:
        """Return the effect of each row's answer, less that of the opponent's where there is one, shape (rows,)."""
        padded = np.pad(effects, ((0, 0), (0, 1)))
        return np.asarray(padded[self.data.prompt, self.data.model] - padded[self.data.prompt, self.data.opponent])

    def gradient(self, slope: Floats) -> Floats:
        """Return the sums of slopes by effects, shape (prompts, models)."""
        return np.asarray(self.data.by_answer @ slope).reshape(self.data.prompts, -1)

    def crossed(self, rows: Floats) -> Floats:
        """Return the sums of rows with columns by effects, shape (prompts, models, columns)."""
        return np.asarray(self.data.by_answer @ rows).reshape(self.data.prompts, self.data.models, -1)

    def information(self, bend: Floats) -> Floats:
        """Return the sums of curvatures by two effects of a prompt, shape (prompts, models, models)."""
        return np.asarray(self._squares @ bend).reshape(self.data.prompts, self.data.models, self.data.models)


@dataclass(frozen=True, eq=False)
class AnswerEffects:
    """Draws of the effects."""

    sd: Floats = field(repr=False)
    """Standard deviation of the effects, (draws,)."""
    weight: Floats = field(repr=False)
    """The human's weight of the effects, of which a judge's is 1, (draws,)."""

    def record(self, judges: RatingArrays, confidence: float) -> result.AnswerEffectRecord:
        """Return standard deviation and weight with their intervals, and the count behind them."""
        prompts = shared_cells(judges)
        count = len(np.unique(prompts))

        def figure(draws: Floats) -> EstimateRecord:
            low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
            return EstimateRecord(
                estimate=float(draws.mean()),
                low=float(low),
                high=float(high),
                se=float(draws.std(ddof=1)),
                n=count,
                interval="laplace_gibbs",
                method="complete",
            )

        return result.AnswerEffectRecord(answers=len(prompts), sd=figure(self.sd), human_weight=figure(self.weight))
