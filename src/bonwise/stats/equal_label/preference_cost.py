"""What a preference costs: picks by scores with the preference taken out, and by the scores as they are.

Each prompt's scores lose the slope that the other folds of prompts gave. Candidates that the judge ties stay tied:
what breaks a tie is no preference taken out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes, cluster_sums
from bonwise.stats.equal_label.score_effects import ScoreEffects
from bonwise.stats.estimand import ratio
from bonwise.stats.jackknife import Jackknife, from_left_out
from bonwise.stats.sums import TIE_DECIMALS, Floats
from bonwise.stats.top_of_scores import at_top

__all__ = ["FOLDS", "PreferenceCost", "mean_in_ties", "preference_cost"]

FOLDS = 5

_Ints = npt.NDArray[np.int64]


class PreferenceCost(NamedTuple):
    """What the picks would gain were a preference taken out of the scores."""

    costs: Jackknife
    """Of recovery, and in label points of a pick: above 0 the preference costs something."""
    picks_changed: int
    """Prompts where other candidates have the highest score."""


def preference_cost(
    scores: Floats,
    labels: Floats,
    attribute: Floats,
    sizes: _Ints,
    effects: ScoreEffects,
    clusters: _Ints | None = None,
    *,
    seed: int = 0,
) -> PreferenceCost:
    """Compare the picks by scores with and without a preference.

    How the cost answers to the slope is taken between one standard error of the slope below it and one above; the
    interval counts what leaving a prompt out does to the slope by that.

    Parameters
    ----------
    scores, labels, attribute : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    effects : ScoreEffects
        Of this attribute alone, on these scores.
    clusters : ndarray of int64, shape (prompts,), optional
        As they were given to `score_effects`.
    seed : int
        Deals the units to folds.

    Examples
    --------
    >>> from bonwise.stats.equal_label.score_effects import score_effects
    >>> rng = np.random.default_rng(0)
    >>> labels, longer, sizes = rng.random(400), rng.standard_normal(400), np.full(100, 4)
    >>> scores = labels + 0.5 * longer
    >>> effects = score_effects(scores, labels, longer[:, None], sizes)
    >>> found = preference_cost(scores, labels, longer, sizes, effects)
    >>> [round(float(cost), 2) for cost in found.costs.estimate], found.picks_changed
    ([0.39, 0.12], 48)
    """
    picks = _ValuedPicks(scores, labels, sizes)
    shift = mean_in_ties(scores, attribute, sizes)
    units = np.arange(len(sizes)) if clusters is None else cluster_codes(clusters)[0]
    count = effects.left_out.shape[1]
    folds = np.random.default_rng([seed, count]).permutation(count) % min(FOLDS, count)
    by_fold = np.array([effects.slopes_without(folds == fold)[0] for fold in range(int(folds.max()) + 1)])
    slopes = np.nan_to_num(by_fold, nan=effects.slopes[0])[folds[units]]
    gained, changed = picks.gained(shift * np.repeat(slopes, sizes))
    gained_by_unit, room, prompts = cluster_sums(np.array([gained, picks.room, np.ones(len(sizes))]), clusters)

    def costs(gain: Floats | float, over: Floats | float, n: Floats | float) -> Floats:
        return np.stack([ratio(np.asarray(gain), np.asarray(over)), np.asarray(gain) / n])

    whole = costs(gained_by_unit.sum(), room.sum(), prompts.sum())
    rest = (gained_by_unit.sum() - gained_by_unit, room.sum() - room, prompts.sum() - prompts)
    error = float(from_left_out(effects.slopes[:1], effects.left_out[:1]).se[0])
    answers = np.zeros(2)
    if error > 0:
        above, below = (picks.gained(shift * (effects.slopes[0] + side * error))[0] for side in (1, -1))
        apart = cluster_sums(above - below, clusters) / (2 * error)
        answers = _shrunk(apart) * costs(apart.sum(), room.sum(), prompts.sum())
    moved = answers[:, None] * (effects.left_out[0] - effects.slopes[0])
    return PreferenceCost(from_left_out(whole, costs(*rest) + moved), changed)


def _shrunk(contributions: Floats) -> float:
    """Return the factor that takes from the square of a sum what its noise is expected to add to it."""
    total, noise = contributions.sum(), len(contributions) * contributions.var()
    return float(np.sqrt(max(0.0, 1 - noise / total**2))) if total else 0.0


def mean_in_ties(scores: Floats, attribute: Floats, sizes: _Ints) -> Floats:
    """Return the attribute averaged over the candidates of a prompt that the judge ties.

    Examples
    --------
    >>> mean_in_ties(np.array([0.5, 0.5, 0.9, 0.5]), np.array([1.0, 3.0, 7.0, 9.0]), np.array([3, 1])).tolist()
    [2.0, 2.0, 7.0, 9.0]
    """
    scores = np.round(scores, TIE_DECIMALS)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((scores, owner))
    new = np.diff(scores[order], prepend=np.nan) != 0
    new |= np.diff(owner[order], prepend=-1) != 0
    group = np.empty(len(scores), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    means: Floats = np.bincount(group, weights=attribute) / np.bincount(group)
    return means[group]


class _ValuedPicks:
    """The picks of one judge, and what they are worth."""

    def __init__(self, scores: Floats, labels: Floats, sizes: _Ints) -> None:
        self.scores, self.labels, self.sizes = np.round(scores, TIE_DECIMALS), labels, sizes
        self.starts = np.cumsum(sizes) - sizes
        self.top = at_top(self.scores, sizes)
        self.worth = self._worth(self.top)
        means = np.add.reduceat(labels, self.starts) / sizes
        self.room: Floats = np.maximum.reduceat(labels, self.starts) - means
        self.room[np.minimum.reduceat(labels, self.starts) == np.maximum.reduceat(labels, self.starts)] = 0.0

    def _worth(self, top: npt.NDArray[np.bool_]) -> Floats:
        picked: Floats = np.add.reduceat(np.where(top, self.labels, 0.0), self.starts)
        return picked / np.add.reduceat(top.astype(np.float64), self.starts)

    def gained(self, taken_out: Floats) -> tuple[Floats, int]:
        """Return what each prompt's pick gains by scores less what is taken out, and how many picks change."""
        top = at_top(self.scores - taken_out, self.sizes)
        changed = np.logical_or.reduceat(top != self.top, self.starts)
        return np.where(changed, self._worth(top) - self.worth, 0.0), int(changed.sum())
