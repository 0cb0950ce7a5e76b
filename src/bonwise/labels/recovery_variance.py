"""How much a draw of prompts to label makes recovery vary, and what scores leave of the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.partial import label_allocation, label_features, label_sample, outcome_model

_BLOCK = 8192

Drawn = tuple[Mask, Floats]
"""Which prompts were drawn, and 1 / propensity of every prompt."""


class VarianceRatio(NamedTuple):
    """Variance relative to labelling as many prompts at random, with its Monte-Carlo standard error."""

    ratio: float
    se: float


def design_variance(phi: Floats, strata: Ints, counts: Ints) -> float:
    """Return the variance of the weighted mean of phi: ``sum_h N_h^2 (1/n_h - 1/N_h) S_h^2 / N^2``."""
    held = np.bincount(strata, minlength=len(counts))
    totals = np.bincount(strata, weights=phi, minlength=len(counts))
    around = phi - (totals / np.maximum(held, 1))[strata]
    spread = np.bincount(strata, weights=around**2, minlength=len(counts)) / np.maximum(held - 1, 1)
    return float(np.sum(held**2 * (1 / counts - 1 / held) * spread)) / len(phi) ** 2


def width_ratio(prompts: Ints, counts: Ints, sd: Floats, explained: float = 0.0) -> float:
    """Return the width of an interval over that of as many labels drawn at random, to first order.

    ``sqrt(b + (1 - R2) (g - b))``, b = m / N, ``g = m sum_h N_h^2 sd_h^2 / n_h / (N sum_h N_h sd_h^2)``, or ``(E
    sd)^2 / E sd^2`` where n_h is in proportion to N_h sd_h. N_h are the `prompts`, n_h the `counts`, strata without a
    draw left out, sd_h phi's standard deviation in any unit, and R2 the share of its variance `explained`.
    """
    drawn = counts > 0
    N, n, spread = prompts[drawn], counts[drawn], sd[drawn] ** 2
    b = float(n.sum() / N.sum())
    g = float(n.sum() * np.sum(N**2 * spread / n) / (N.sum() * np.sum(N * spread)))
    return float(np.sqrt(b + (1 - explained) * (g - b)))


def effective_sample_size(prompts: Ints, counts: Ints) -> float:
    """Return ``(sum w)^2 / sum w^2`` with w = N_h / n_h: how many equally weighted labels weigh as unevenly."""
    drawn = counts > 0
    return float(prompts[drawn].sum() ** 2 / np.sum(prompts[drawn] ** 2 / counts[drawn]))


def falling_with_rank(values: Floats) -> Floats:
    """Return sizes that fall with the rank of a value, from about 1.05 for the lowest to .05; ties share a rank."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - counts / 2)[codes]
    return 1.05 - rank / len(values)


def pilot_size(labels: int) -> int:
    """Return how many of the labels a pilot takes: a fifth, and at least 20."""
    return min(labels, max(20, -(-labels // 5)))


def by_strata(strata: Ints, counts: Ints) -> Callable[[np.random.Generator], Drawn]:
    """Return what draws so many prompts of each stratum."""
    weights = (np.bincount(strata, minlength=len(counts)) / counts)[strata]
    return lambda rng: (label_allocation.draw_within(strata, counts, rng), weights)


def two_phase(outcomes: tuple[Floats, Floats], strata: Ints, labels: int) -> Callable[[np.random.Generator], Drawn]:
    """Return what draws a pilot at random, then the rest by the spread of phi that the pilot showed."""
    if labels <= pilot_size(labels):
        return by_strata(np.zeros(len(strata), dtype=np.int64), np.array([labels]))
    held = np.bincount(strata)
    Y1, Y2 = outcomes

    def draw(rng: np.random.Generator) -> Drawn:
        pilot = label_allocation.draw_within(
            np.zeros(len(strata), dtype=np.int64), np.array([pilot_size(labels)]), rng
        )
        best = float(Y2[pilot].sum())
        phi = Y1[pilot] - (float(Y1[pilot].sum()) / best if best > 0 else 0.0) * Y2[pilot]
        prior = np.full(len(held), max(float(np.mean(phi**2)), 1e-12))
        taken = np.bincount(strata[pilot], minlength=len(held))
        counts = label_allocation.allocate(
            held, held * label_allocation.shrunken_sd(phi, strata[pilot], prior), labels, taken=taken
        )
        return pilot | label_allocation.draw_within(strata, counts - taken, rng, pilot), (held / counts)[strata]

    return draw


def drawn_recoveries(
    outcomes: tuple[Floats, Floats], draw: Callable[[np.random.Generator], Drawn], draws: int, seed: tuple[int, ...]
) -> Floats:
    """Return ``sum w Y1 / sum w Y2`` from the labels of many draws, each by its own stream of `seed`."""
    Y1, Y2 = outcomes
    recoveries = np.full(draws, np.nan)
    for at in range(draws):
        mask, weights = draw(np.random.default_rng([*seed, at]))
        taken = np.flatnonzero(mask)
        w = weights[taken]
        below = _dot(w, Y2[taken])
        if below > 0:
            recoveries[at] = _dot(w, Y1[taken]) / below
    return recoveries


def _dot(a: Floats, b: Floats) -> float:
    # OpenBLAS splits a longer product among threads, and waiting for them costs a hundred times the product.
    blocks = (slice(at, at + _BLOCK) for at in range(0, len(a), _BLOCK))
    return sum((float(a[some] @ b[some]) for some in blocks), start=0.0)


def variance_ratio(drawn: Floats, uniform: Floats, truth: float) -> VarianceRatio | None:
    """Compare mean squared errors about `truth` of the design and of random draws, NaN left out; None without any."""
    squares = [(recoveries[~np.isnan(recoveries)] - truth) ** 2 for recoveries in (drawn, uniform)]
    if min(map(len, squares)) < 2 or squares[1].mean() == 0:
        return None
    means = [float(errors_squared.mean()) for errors_squared in squares]
    ratio = means[0] / means[1]
    errors = [float(errors_squared.std(ddof=1)) / np.sqrt(len(errors_squared)) for errors_squared in squares]
    se = float(np.hypot(errors[0], ratio * errors[1])) / means[1]
    return VarianceRatio(ratio, se)


class ScoreResiduals(NamedTuple):
    """What is left of phi of every prompt, shape (prompts,), and the name of the model that took its part off."""

    left: Floats
    model: str


def recovery_deviations(Y: Floats) -> tuple[float, Floats]:
    """Return recovery, and phi = Y1 - rho Y2 of every prompt; `Y` are outcomes, (prompts, 5), Y2 not of sum 0."""
    rho = float(Y[:, 1].sum() / Y[:, 2].sum())
    return rho, Y[:, 1] - rho * Y[:, 2]


def score_residuals(
    Y: Floats, features: label_features.LabelFeatures, labelled: Mask, *, seed: int
) -> ScoreResiduals:
    """Return phi less what a model of so many labels predicts, cross-fitted; phi where these are used alone."""
    rho, phi = recovery_deviations(Y)
    draw = label_sample.ScaledSample.of(label_sample.LabelSample.uniform(labelled))
    seen = Y[draw.rows]
    choice = outcome_model.choose_model(features, len(draw.rows))
    m = outcome_model.predictions(
        choice, features, draw, seen, outcome_model.prompt_folds(features, draw, seen, seed)
    )
    if m is None:
        return ScoreResiduals(phi, choice.name)
    of_phi = m[:, 1] - rho * m[:, 2]
    around = of_phi - of_phi.mean()
    if draw.complete:
        # Where nothing is unlabelled the weight has nothing to learn from; this is what it tends to.
        spread = float(around @ around)
        lam = min(max(float(around @ phi) / spread, 0.0), 1.0) if spread > 0 else 0.0
    else:
        lam = float(outcome_model.power_tuning(m, seen, draw, _first_guess(draw, seen))[1])
    return ScoreResiduals(phi - lam * around, choice.name)


def _first_guess(draw: label_sample.ScaledSample, seen: Floats) -> float:
    centre = draw.mean(seen)
    return float(centre[1] / centre[2]) if centre[2] > 0 else 0.0
