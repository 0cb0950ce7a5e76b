"""The statistics once more, in plain loops from their definitions; a prompt is a pair (scores, labels)."""

from __future__ import annotations

import math
from itertools import combinations, product
from statistics import fmean

import numpy as np


def metrics(prompts):
    """Compute every metric of the catalogue; None where it is undefined."""
    prompts = [tuple([round(v, 9) for v in side] for side in prompt) for prompt in prompts]
    return {**_correlations(prompts), **_pairs(prompts), **_taus(prompts), **_picks(prompts)}


def ratio(top, bottom):
    """Divide, None where there is nothing to divide by."""
    return top / bottom if bottom > 1e-12 else None


def _products(groups):
    """Sum squares and products of deviations from each group's means."""
    ss = oo = so = 0.0
    for scores, labels in groups:
        mean_s, mean_o = fmean(scores), fmean(labels)
        for s, o in zip(scores, labels, strict=True):
            ss += (s - mean_s) ** 2
            oo += (o - mean_o) ** 2
            so += (s - mean_s) * (o - mean_o)
    return ss, oo, so


def _correlations(prompts):
    everything = [s for scores, _ in prompts for s in scores], [o for _, labels in prompts for o in labels]
    SS, OO, SO = _products([everything])
    ess, eoo, eso = _products(prompts)
    overall, within = ratio(SO, math.sqrt(SS * OO)), ratio(eso, math.sqrt(ess * eoo))
    lost = None if overall is None or within is None or overall < 1e-12 else 1 - within / overall
    return {
        "global_r": overall,
        "within_r": within,
        "inflation": lost,
        "attenuation": ratio(eso, eoo),
        "judge_between_share": ratio(_between(prompts, 0), SS),
        "oracle_between_share": ratio(_between(prompts, 1), OO),
    }


def _between(prompts, side):
    """Sum the squares of prompt means about the grand mean, one for each candidate."""
    grand = fmean([v for prompt in prompts for v in prompt[side]])
    return sum(len(prompt[side]) * (fmean(prompt[side]) - grand) ** 2 for prompt in prompts)


def _sign(left, right):
    return (left > right) - (left < right)


def _signs(prompt):
    """List the signs of both sides for each pair of candidates."""
    scores, labels = prompt
    return [
        (_sign(scores[i], scores[j]), _sign(labels[i], labels[j])) for i, j in combinations(range(len(scores)), 2)
    ]


def _pairs(prompts):
    signs = [pair for prompt in prompts for pair in _signs(prompt)]
    credit = [0.5 + s * o / 2 for s, o in signs]
    decided = [0.5 + s * o / 2 for s, o in signs if o]
    both = [s * o > 0 for s, o in signs if s and o]
    return {
        "tie_rate": fmean(s == 0 for s, _ in signs),
        "oracle_tie_rate": fmean(o == 0 for _, o in signs),
        "sign_agreement": fmean(both) if both else None,
        "effective_agreement": fmean(credit),
        "effective_agreement_decided": fmean(decided) if decided else None,
    }


def _taus(prompts):
    taus = []
    for prompt in prompts:
        signs = _signs(prompt)
        reach = math.sqrt(sum(s != 0 for s, _ in signs) * sum(o != 0 for _, o in signs))
        if reach:
            taus.append(sum(s * o for s, o in signs) / reach)
    return {"kendall_tau": fmean(taus) if taus else None}


def _picks(prompts):
    rows = [_pick(prompt) for prompt in prompts]
    tied, accuracy, hit, random, judge, best = (fmean(column) for column in zip(*rows, strict=True))
    return {
        "top1_tie_rate": tied,
        "top1_accuracy": accuracy,
        "hit_rate": hit,
        "value_random": random,
        "value_judge": judge,
        "value_oracle": best,
        "gain": judge - random,
        "recovery": ratio(judge - random, best - random),
    }


def _pick(prompt):
    """Draw every pair of a top-scored and a best-labelled candidate, each with equal chance."""
    scores, labels = prompt
    top = [i for i, s in enumerate(scores) if s == max(scores)]
    best = [i for i, o in enumerate(labels) if o == max(labels)]
    accuracy = fmean(i == j for i, j in product(top, best))
    hit, judge = fmean(i in best for i in top), fmean(labels[i] for i in top)
    return len(top) > 1, accuracy, hit, fmean(labels), judge, max(labels)


def jackknife_se(values):
    """Return the standard error from leave-one-out values, None where one is undefined."""
    n = len(values)
    if n < 2 or None in values:
        return None
    mean = fmean(values)
    return math.sqrt((n - 1) / n * sum((v - mean) ** 2 for v in values))


def left_out(prompts):
    """Compute all metrics without prompt x, for every x."""
    return [metrics(prompts[:x] + prompts[x + 1 :]) for x in range(len(prompts))] if len(prompts) > 1 else []


def resampled(prompts, resamples, seed):
    """Compute all metrics of prompts drawn with replacement."""
    rng, n = np.random.default_rng(seed), len(prompts)
    return [metrics([prompts[x] for x in rng.integers(0, n, size=n)]) for _ in range(resamples)]
