"""Covariance, degrees of freedom and intervals of means that models and labels estimate together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.stats import correlation, estimand, jackknife, laws, support
from bonwise.stats.clusters import cluster_sums, most_df
from bonwise.stats.partial.label_sample import ScaledSample

_FEWEST_TO_CENTRE = 3
_FLOOR_UP_TO = 50  # labels up to which the degrees of freedom have a floor


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """Means of outcomes under partial labels, and how much every label moves them."""

    means: Floats
    """Of ``A = m + q (Y - m)``, q = R / pi."""
    covariance: Floats = field(repr=False)
    """C, of the means."""
    pulls: Floats = field(repr=False)
    """``q (e - ebar_h) / n``, e = Y - m: what a label adds to the means beyond its stratum."""
    spread: Floats = field(repr=False)
    """A' less its mean."""
    most_df: float = np.inf
    """Degrees of freedom that the sizes of clusters leave."""

    def variance(self, contrast: Floats) -> float:
        """Return the variance of a contrast of the means."""
        # From the values, not from C: what does not vary has then a variance of 0 to the last bits.
        along = self.spread @ contrast
        return float(along @ along) / max(len(along) - 1, 1) / len(along)


def influence(
    m: Floats, Y: Floats, draw: ScaledSample, clusters: Ints | None = None, unseen: float = 1.0
) -> Influence:
    """Combine predictions for all prompts, `m`, (prompts, outcomes), with labels `Y`, (labelled prompts, outcomes).

    ``A_k = m_k + q (Y_k - m_k)``, and for the variance ``A' = m + ebar_h + f_h q (e - ebar_h)``, which has the same
    mean; C = cov(A') / n holds the part of the population and that of the draw within strata. The factor
    ``f_h^2 = 1 + (1 - n_h / N_h) / (n_h - 1)`` stands for the mean that was subtracted: C is the complete-data
    covariance where all are labelled. A stratum with fewer than 3 labels is centred at the overall mean of e and
    keeps f = 1. What a cluster adds is G / n times the sum of what its prompts add.
    """
    prompts = len(draw.q)
    e, weight = Y - m[draw.rows], draw.weight
    centres, factor = _centres(e, draw)
    of = draw.stratum[draw.rows]
    pulls = weight[:, None] * (e - centres[of])
    adjusted = m + (centres[draw.stratum] if len(centres) > 1 else centres)
    adjusted[draw.rows] += factor[of, None] * pulls
    adjusted -= adjusted.mean(axis=0)
    pulls /= prompts
    if clusters is not None:
        adjusted = cluster_sums(adjusted.T, clusters).T
        adjusted *= len(adjusted) / prompts
        pulls = cluster_sums(pulls.T, clusters[draw.rows]).T
    units = len(adjusted)
    covariance = adjusted.T @ adjusted / max(units - 1, 1) / units
    # The labels' mean, moved by how the labelled prompts are predicted to differ: to the last bit that mean where
    # every prompt is predicted alike.
    apart = m - m[draw.rows[0]]
    means = draw.mean(Y) + apart.mean(axis=0) - draw.mean(apart[draw.rows])
    if unseen > 1:
        covariance *= unseen
        pulls *= unseen**0.5
        adjusted *= unseen**0.5
    most = np.inf if clusters is None else most_df(clusters[draw.rows])
    return Influence(means, covariance, pulls, adjusted, most)


def _centres(e: Floats, draw: ScaledSample) -> tuple[Floats, Floats]:
    """Return of every stratum the mean of e, shape (strata, outcomes), and the factor f."""
    drawn, weight, of = draw.drawn, draw.weight, draw.stratum[draw.rows]
    own = (drawn >= _FEWEST_TO_CENTRE) | (len(drawn) == 1)
    sums = [np.bincount(of, weights=weight * column) for column in e.T]
    means = np.column_stack(sums) / np.bincount(of, weights=weight)[:, None]
    centres = np.where(own[:, None], means, draw.mean(e))
    lost = np.divide(1 - draw.share, drawn - 1, out=np.zeros(len(drawn)), where=own & (drawn > 1))
    return centres, np.sqrt(1 + lost)


def degrees_of_freedom(pulls: Floats, variance: float) -> float:
    """Return df by kurtosis of the labels' pulls times what models carry, at most m - 1, at least m / 4 for few."""
    labels = len(pulls)
    square = pulls * pulls
    squares, fourths = float(square.sum()), float(square @ square)
    found = labels - 1.0
    if fourths > 0:
        found = min(max(3.0, 3 * squares**2 / fourths - 1), found) * max(1.0, (variance / squares) ** 2)
    if labels <= _FLOOR_UP_TO:
        found = max(found, labels / 4)
    return max(min(found, labels - 1.0), 1.0)


def student(found: Influence, contrast: Floats, limits: tuple[float, float]) -> laws.Student:
    """Return the law of a contrast of the means."""
    variance = found.variance(contrast)
    df = max(min(degrees_of_freedom(found.pulls @ contrast, variance), found.most_df), 1.0)
    skew = jackknife.skewness(found.spread @ contrast)
    return laws.Student(float(contrast @ found.means), float(np.sqrt(variance)), df, limits, skew=skew)


def fieller(
    found: Influence, numerator: Floats, denominator: Floats, limits: tuple[float, float]
) -> tuple[laws.Fieller, float]:
    """Return the law of a ratio and its se: ``se^2 = (C11 - 2 rho C12 + rho^2 C22) / A2bar^2``."""
    a, b = float(numerator @ found.means), float(denominator @ found.means)
    direction = (numerator - a / b * denominator) / b
    variance = found.variance(direction)
    df = max(min(degrees_of_freedom(found.pulls @ direction, variance), found.most_df), 1.0)
    C = found.covariance
    caa, cab, cbb = (
        float(left @ C @ right)
        for left, right in ((numerator, numerator), (numerator, denominator), (denominator, denominator))
    )
    return laws.Fieller(a, b, caa, cab, cbb, df, limits), float(np.sqrt(variance))


def where_labels_carry(found: estimand.Estimate, ess: float) -> estimand.Estimate:
    """Return an estimate, without its interval where its weights are worth fewer than two labels, `ess`."""
    return correlation.without_interval(found, support.too_light(ess, "labels drawn alike"))
