"""Estimation from few labels once more, in plain loops from its definitions."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np

from stats.twins import _pick

NAMES = ("random", "judge_gain", "oracle_gain", "top1", "hit")


def five(scores, labels):
    """Return R, J - R, M - R, top-1 and hit of one prompt."""
    _, accuracy, hit, random, judge, best = _pick(([round(v, 9) for v in scores], [round(v, 9) for v in labels]))
    return [random, judge - random, best - random, accuracy, hit]


def stand_ins(scores, labels):
    """Predict the five as if T were the label, with what a judge that ties everything gives away."""
    found = five(scores, labels)
    if len({round(s, 9) for s in scores}) == 1:
        found[1], found[3] = 0.0, 1 / len(scores)
    return found


def scaled(labelled, propensity, strata):
    """Return R / pi, scaled to add up to N_h."""
    q = [1 / pi if seen else 0.0 for seen, pi in zip(labelled, propensity, strict=True)]
    for h in set(strata):
        mine = [x for x, stratum in enumerate(strata) if stratum == h]
        total = sum(q[x] for x in mine)
        for x in mine:
            q[x] *= len(mine) / total if total else 0.0
    return q


def weighted_mean(values, weights):
    """Return the mean of values by weight."""
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def tuning(m, Y, q):
    """Return the weight of a model; Y is None where unlabelled."""
    mbar = fmean(m)
    seen = [x for x, y in enumerate(Y) if y is not None]
    ebar = weighted_mean([Y[x] - m[x] for x in seen], [q[x] for x in seen])
    bottom = sum(((q[x] - 1) * (m[x] - mbar)) ** 2 for x in range(len(m)))
    if bottom < 1e-20:
        return 0.0
    top = sum((q[x] - 1) * (m[x] - mbar) * q[x] * (Y[x] - m[x] - ebar) for x in seen)
    return min(max(1 + top / bottom, 0.0), 1.0)


def shrunk(m, Y, q, lam):
    """Return lam m + (1 - lam) times the weighted mean of the labels."""
    seen = [x for x, y in enumerate(Y) if y is not None]
    middle = weighted_mean([Y[x] for x in seen], [q[x] for x in seen])
    return [lam * v + (1 - lam) * middle for v in m]


def parts(m, Y, q, strata):
    """Return the mean of A, the values A', and what every label adds to the mean, for one outcome."""
    n = len(m)
    seen = [x for x, y in enumerate(Y) if y is not None]
    A = [m[x] + (q[x] * (Y[x] - m[x]) if Y[x] is not None else 0.0) for x in range(n)]
    overall = weighted_mean([Y[x] - m[x] for x in seen], [q[x] for x in seen])
    adjusted, pulls = list(m), []
    for h in sorted(set(strata)):
        everyone = [x for x in range(n) if strata[x] == h]
        mine = [x for x in seen if strata[x] == h]
        if not mine:
            continue
        centre, factor = overall, 1.0
        if len(mine) >= 3 or len(set(strata)) == 1:
            centre = weighted_mean([Y[x] - m[x] for x in mine], [q[x] for x in mine])
            if len(mine) > 1:
                factor = math.sqrt(1 + (1 - len(mine) / len(everyone)) / (len(mine) - 1))
        for x in everyone:
            adjusted[x] += centre
        for x in mine:
            pull = q[x] * (Y[x] - m[x] - centre)
            adjusted[x] += factor * pull
            pulls.append((x, pull / n))
    return fmean(A), adjusted, [pull for _, pull in sorted(pulls)]


def covariance_of_means(left, right):
    """Return the covariance of two means over the same prompts."""
    n, a, b = len(left), fmean(left), fmean(right)
    return sum((x - a) * (y - b) for x, y in zip(left, right, strict=True)) / (n - 1) / n


def freedom(pulls, variance):
    """Return the degrees of freedom."""
    m = len(pulls)
    squares, fourths = sum(d**2 for d in pulls), sum(d**4 for d in pulls)
    df = m - 1
    if fourths > 0:
        df = min(max(3, 3 * squares**2 / fourths - 1), m - 1) * max(1, (variance / squares) ** 2)
    if m <= 50:
        df = max(df, m / 4)
    return max(min(df, m - 1), 1)


def unseen(labelled, propensity):
    """Return how many times as large the weights' variance was to be expected as it came out, at least 1."""
    weights = [1 / p for p, seen in zip(propensity, labelled, strict=True) if seen]
    worth = sum(weights) ** 2 / sum(w**2 for w in weights)
    return max(1.0, worth / (len(propensity) ** 2 / sum(1 / p for p in propensity)))


def estimates(prompts, further, labelled, propensity, strata, *, independent):
    """Estimate everything; without further judges labels stand alone, with them their scores stand in for labels.

    Returns means, covariances and pulls of the five outcomes, and the tuning of recovery.
    """
    n = len(prompts)
    q = scaled(labelled, propensity, strata)
    Y = [five(*prompt) if seen else None for prompt, seen in zip(prompts, labelled, strict=True)]
    columns = [[None if y is None else y[k] for y in Y] for k in range(5)]
    seen = [x for x in range(n) if labelled[x]]
    middles = [weighted_mean([column[x] for x in seen], [q[x] for x in seen]) for column in columns]
    rho = middles[1] / middles[2] if middles[2] > 0 else 0.0
    if further is None:
        predicted, lams = [[middle] * n for middle in middles], [0.0] * 5
    else:
        guesses = [stand_ins(prompt[0], T) for prompt, T in zip(prompts, further, strict=True)]
        predicted = [[guess[k] for guess in guesses] for k in range(5)]
        contrast = [None if y is None else y[1] - rho * y[2] for y in Y]
        shared = tuning([guess[1] - rho * guess[2] for guess in guesses], contrast, q)
        lams = [shared if k in (1, 2) else tuning(predicted[k], columns[k], q) for k in range(5)]
    m = [shrunk(predicted[k], columns[k], q, lams[k]) for k in range(5)]
    found = [parts(m[k], columns[k], q, strata) for k in range(5)]
    grown = unseen(labelled, propensity) if independent else 1.0
    C = grown * np.array([[covariance_of_means(left[1], right[1]) for right in found] for left in found])
    return [one[0] for one in found], C, [[math.sqrt(grown) * pull for pull in one[2]] for one in found], lams[1]
