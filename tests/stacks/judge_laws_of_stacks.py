"""Scores of several judges and labels of a known law."""

from __future__ import annotations

import numpy as np

from bonwise.stacks.fitted_stack import FeatureScaling, StackFeature
from bonwise.stacks.procedure import Paths, StackPools, deal, pick_gains, train

CANDIDATES = 4


def _mixed(labels, noise, correlation):
    return correlation * labels + np.sqrt(1 - correlation**2) * noise


def law_a(rng, prompts):
    """Two good judges with correlated errors, one that mostly likes length, one of noise, one that is reversed."""
    shape = (prompts, CANDIDATES)
    labels, length, first = (rng.standard_normal(shape) for _ in range(3))
    second = 0.5 * first + np.sqrt(0.75) * rng.standard_normal(shape)
    biased = np.sqrt(0.6) * length + np.sqrt(0.4) * rng.standard_normal(shape)
    judges = [_mixed(labels, first, 0.5), _mixed(labels, second, 0.45), _mixed(labels, biased, 0.1)]
    judges += [rng.standard_normal(shape), _mixed(labels, rng.standard_normal(shape), -0.3)]
    return judges, labels


def good_and_noise(correlation, noise=4):
    """One judge, and others that say nothing."""

    def law(rng, prompts):
        shape = (prompts, CANDIDATES)
        labels = rng.standard_normal(shape)
        judges = [_mixed(labels, rng.standard_normal(shape), correlation)]
        return judges + [rng.standard_normal(shape) for _ in range(noise)], labels

    return law


def equally_good(shared):
    """Five judges of one quality, whose errors are alike in part."""

    def law(rng, prompts):
        shape = (prompts, CANDIDATES)
        labels, common = rng.standard_normal(shape), rng.standard_normal(shape)
        errors = [np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.standard_normal(shape) for _ in range(5)]
        return [_mixed(labels, error, 0.4) for error in errors], labels

    return law


def saturating(rng, prompts):
    """The scores of the best judge end where most good answers begin."""
    shape = (prompts, CANDIDATES)
    labels = rng.standard_normal(shape)
    scores = [_mixed(labels, rng.standard_normal(shape), one) for one in (0.6, 0.3, 0.0, 0.2)]
    return [np.minimum(scores[0], 0.3), np.minimum(scores[1], 0.3), *scores[2:]], labels


def heavy_tailed(rng, prompts):
    """Scores with outliers, of good judges and of noise."""
    shape = (prompts, CANDIDATES)
    labels = rng.standard_normal(shape)
    first = _mixed(labels, rng.standard_normal(shape), 0.5) ** 3
    second = _mixed(labels, rng.standard_normal(shape), 0.4) + 0.3 * rng.standard_t(1.5, shape)
    return [first, second, rng.standard_t(1.2, shape), rng.standard_normal(shape)], labels


def nearly_all_tied(rng, prompts):
    """Judges that say yes of one answer in eighteen: nine tenths of the pairs tie."""
    shape = (prompts, CANDIDATES)
    labels = rng.standard_normal(shape)
    scores = [_mixed(labels, rng.standard_normal(shape), one) for one in (0.7, 0.6, 0.0, 0.3)]
    return [(one > 1.6).astype(float) for one in scores], labels


def one_reversed(rng, prompts):
    """Two judges of one quality, of which one prefers what is worse."""
    shape = (prompts, CANDIDATES)
    labels = rng.standard_normal(shape)
    return [_mixed(labels, rng.standard_normal(shape), one) for one in (0.4, -0.4, 0.0)], labels


def rarely_good(rng, prompts):
    """Labels of which one in ten is 1."""
    shape = (prompts, CANDIDATES)
    quality = rng.standard_normal(shape)
    judges = [_mixed(quality, rng.standard_normal(shape), one) for one in (0.5, 0.4, 0.0, 0.1)]
    return judges, (quality > 1.3).astype(float)


def other_units(rng, prompts):
    """Judges on scales of their own, with levels that differ between prompts."""
    shape = (prompts, CANDIDATES)
    labels = rng.standard_normal(shape)
    level = 3 * rng.standard_normal((prompts, 1))
    scores = [_mixed(labels, rng.standard_normal(shape), one) for one in (0.5, 0.4, 0.3)]
    return [np.round(2 * scores[0] + level), 100 * scores[1], np.exp(2 * scores[2])], labels


LAWS = {
    "law A": law_a,
    "one good judge and noise": good_and_noise(0.5),
    "one weak judge and noise": good_and_noise(0.2),
    "five equal judges": equally_good(0.0),
    "five equal judges with shared errors": equally_good(0.5),
    "saturating scores": saturating,
    "heavy tails": heavy_tailed,
    "nearly all tied": nearly_all_tied,
    "one reversed": one_reversed,
    "rarely good": rarely_good,
    "other units": other_units,
}


def laid_out(judges, labels, scaling=None):
    """Return the pools of such scores, and the scaling that they were put on."""
    prompts, candidates = labels.shape
    values = np.stack([one.ravel() for one in judges], axis=1)
    sizes = np.full(prompts, candidates)
    if scaling is None:
        features = tuple(StackFeature(f"judge {at}", "score") for at in range(len(judges)))
        scaling = FeatureScaling.of(features, values, sizes)
    features = scaling.standardised(values, sizes)
    return StackPools(features, values, tuple(range(len(judges))), labels.ravel(), sizes), scaling


class Fresh:
    """A large sample of a law, on which fits are scored: nearly its truth.

    Parameters
    ----------
    law : callable
    seed : int
    prompts : int
    """

    def __init__(self, law, seed, prompts=20_000):
        self.judges, self.labels = law(np.random.default_rng(seed), prompts)

    def recoveries(self, trained, scaling):
        """Return the recovery of a fit, and that of the judge that was the best by its labels."""
        pools, _ = laid_out(self.judges, self.labels, scaling)
        best = pools.judges[:, int(trained.best_alone[0])]
        scores = np.stack([pools.features @ trained.coefficients[0], best], axis=1)
        room = (self.labels.max(axis=1) - self.labels.mean(axis=1)).mean()
        return pick_gains(scores, pools.labels, pools.sizes).mean(axis=0) / room


def fitted(judges, labels, seed):
    """Run the procedure on a labelled sample: pools, paths, deal, what was trained, scaling."""
    pools, scaling = laid_out(judges, labels)
    dealt = deal(len(pools.sizes), None, seed=seed)
    paths = Paths.of(pools, dealt)
    return pools, paths, dealt, train(pools, paths, dealt), scaling
