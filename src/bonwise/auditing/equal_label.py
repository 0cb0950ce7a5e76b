"""What scores prefer at equal label: effects of what is known of a candidate, their cost, and picks by group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats import catalog, jackknife, sums, top_of_scores
from bonwise.stats.clusters import cluster_codes, cluster_sums


class GroupPicks(NamedTuple):
    """Picks of a group, over the prompts that hold candidates of the group and others."""

    prompts: int
    candidates: int
    """Both: those prompts, and the candidates of the group in them."""
    chance: float
    """Share of random picks."""
    shares: jackknife.Jackknife
    """Of the judge's picks, of the best labels, and the first less the second; ties share a pick."""


def group_picks(
    scores: Floats, labels: Floats, group: Mask, sizes: Ints, clusters: Ints | None = None
) -> GroupPicks | None:
    """Count the picks that fall on a group, cells by prompt; None where no prompt holds the group and others."""
    starts = np.cumsum(sizes) - sizes
    members = np.add.reduceat(group.astype(np.float64), starts)
    both = (members > 0) & (members < sizes)
    if not both.any():
        return None
    shares = []
    for values in (scores, labels):
        top = top_of_scores.at_top(values, sizes)
        shares.append(
            np.add.reduceat((top & group).astype(np.float64), starts) / np.add.reduceat(top.astype(float), starts)
        )
    rows = np.array([*shares, shares[0] - shares[1], np.ones(len(sizes))])[:, both]
    units = cluster_sums(rows, None if clusters is None else clusters[both])
    totals = units.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (totals[:3, None] - units[:3]) / (totals[3] - units[3])
    return GroupPicks(
        int(both.sum()),
        int(members[both].sum()),
        float((members / sizes)[both].mean()),
        jackknife.from_left_out(totals[:3] / totals[3], left),
    )


MOST_LEVELS = 10
"""Different labels up to which each has an indicator of its own."""

_KNOTS = (0.2, 0.4, 0.6, 0.8)


class LabelTerms(NamedTuple):
    """Columns that the label is adjusted for with."""

    kind: Literal["levels", "pieces"]
    values: Floats


def label_terms(labels: Floats) -> LabelTerms:
    """Return an indicator of each of up to 10 labels but the lowest; of more, pieces with knots at quintiles."""
    labels = sums.compared(labels)
    levels = np.unique(labels)
    if len(levels) <= MOST_LEVELS:
        return LabelTerms("levels", (labels[:, None] == levels[1:]).astype(np.float64))
    low, span = levels[0], levels[-1] - levels[0]
    knots = np.unique(np.quantile(labels, _KNOTS))
    starts = np.concatenate([[low], knots[(knots > low) & (knots < levels[-1])]])
    return LabelTerms("pieces", np.round(np.maximum(labels[:, None] - starts, 0.0) / span, 12))


_CHUNK = 1 << 13
_NEARLY_0 = 1e-9
_RIDGE = 1e-11  # keeps a level that only the unit left out holds from making the equations singular


@dataclass(frozen=True, eq=False)
class ScoreEffects:
    """Slopes of the scores at equal label."""

    slopes: Floats
    """In the unit of the scores; NaN where nothing varies at equal label."""
    sd: float
    """Standard deviation of the scores within prompts."""
    left_out: Floats = field(repr=False)
    """The slopes without each unit."""
    sd_left_out: Floats = field(repr=False)
    products: Floats = field(repr=False)
    """What each unit adds to the equations."""
    columns: int = field(repr=False)
    """Label terms, attributes and the score."""

    def slopes_without(self, units: Mask) -> Floats:
        """Return the slopes without some units, shape (attributes,)."""
        return _slopes(self.products[:, ~units].sum(axis=1)[:, None], self.columns, len(self.slopes))[:, 0]


def score_effects(
    scores: Floats, labels: Floats, attributes: Floats, sizes: Ints, clusters: Ints | None = None
) -> ScoreEffects:
    """Fit the slopes of scores on `attributes`, (cells, attributes), at equal label, clusters left out in turn."""
    columns = np.column_stack([label_terms(labels).values, attributes, scores])
    products = cluster_sums(_products(deviations(columns, sizes), sizes), clusters)
    freedom = cluster_sums(np.array([sizes - 1.0]), clusters)[0]
    count, width = attributes.shape[1], columns.shape[1]
    totals, squares = products.sum(axis=1), products[-1]
    slopes = _slopes(totals[:, None], width, count)[:, 0]
    units = products.shape[1]
    left = [_slopes(totals[:, None] - products[:, some], width, count) for some in _chunks(units)]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares.sum() - squares, 0.0) / (freedom.sum() - freedom))
    sd = float(np.sqrt(squares.sum() / freedom.sum()))
    return ScoreEffects(slopes, sd, np.concatenate(left, axis=1), spread, products, width)


def deviations(columns: Floats, sizes: Ints) -> Floats:
    """Return each column less its mean in the prompt, exactly 0 where it is the same throughout a prompt."""
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(columns, starts, axis=0) / sizes[:, None]
    constant = np.maximum.reduceat(columns, starts, axis=0) == np.minimum.reduceat(columns, starts, axis=0)
    found: Floats = columns - np.repeat(means, sizes, axis=0)
    found[np.repeat(constant, sizes, axis=0)] = 0.0
    return found


def _products(columns: Floats, sizes: Ints) -> Floats:
    """Return the sums of products of each two columns over each prompt, the upper triangle row by row."""
    starts = np.cumsum(sizes) - sizes
    first, second = np.triu_indices(columns.shape[1])
    return np.array(
        [np.add.reduceat(columns[:, i] * columns[:, j], starts) for i, j in zip(first, second, strict=True)]
    )


def _chunks(units: int) -> Iterator[slice]:
    yield from (slice(start, start + _CHUNK) for start in range(0, units, _CHUNK))


def _slopes(products: Floats, width: int, count: int) -> Floats:
    """Solve the equations of every column of products; returns shape (attributes, columns)."""
    whole = np.empty((products.shape[1], width, width))
    first, second = np.triu_indices(width)
    whole[:, first, second] = whole[:, second, first] = products.T
    terms = width - count - 1
    if terms:
        labels = whole[:, :terms, :terms].copy()
        diagonal = np.arange(terms)
        most = labels[:, diagonal, diagonal].max(axis=1)
        labels[:, diagonal, diagonal] += np.maximum(_RIDGE * most, np.finfo(float).tiny)[:, None]
        across = whole[:, :terms, terms:]
        left = whole[:, terms:, terms:] - np.swapaxes(across, 1, 2) @ np.linalg.solve(labels, across)
    else:
        left = whole
    return _solved(
        left[:, :count, :count], left[:, :count, count], whole[:, terms : terms + count, terms : terms + count]
    )


def _solved(own: Floats, with_score: Floats, before: Floats) -> Floats:
    """Solve for the attributes, after labels were taken out; NaN where one of them no longer varies."""
    diagonal = np.arange(own.shape[1])
    scale = np.sqrt(before[:, diagonal, diagonal])
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = own / (scale[:, :, None] * scale[:, None, :])
    told = np.isfinite(scaled).all(axis=(1, 2))
    told[told] = np.linalg.eigvalsh(scaled[told])[:, 0] > _NEARLY_0
    found = np.full(with_score.shape, np.nan)
    if told.any():
        right = (with_score[told] / scale[told])[:, :, None]
        found[told] = np.linalg.solve(scaled[told], right)[:, :, 0] / scale[told]
    return found.T


FOLDS = 5


class PreferenceCost(NamedTuple):
    """What the picks would gain were a preference taken out of the scores."""

    costs: jackknife.Jackknife
    """Of recovery, and in label points of a pick: above 0 the preference costs something."""
    picks_changed: int
    """Prompts where other candidates have the highest score."""


def preference_cost(
    scores: Floats,
    labels: Floats,
    attribute: Floats,
    sizes: Ints,
    effects: ScoreEffects,
    clusters: Ints | None = None,
    *,
    seed: int = 0,
) -> PreferenceCost:
    """Compare the picks by scores with and without a preference, its slope within one standard error."""
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
        return np.stack([catalog.ratio(np.asarray(gain), np.asarray(over)), np.asarray(gain) / n])

    whole = costs(gained_by_unit.sum(), room.sum(), prompts.sum())
    rest = (gained_by_unit.sum() - gained_by_unit, room.sum() - room, prompts.sum() - prompts)
    error = float(jackknife.from_left_out(effects.slopes[:1], effects.left_out[:1]).se[0])
    answers = np.zeros(2)
    if error > 0:
        above, below = (picks.gained(shift * (effects.slopes[0] + side * error))[0] for side in (1, -1))
        apart = cluster_sums(above - below, clusters) / (2 * error)
        answers = _shrunk(apart) * costs(apart.sum(), room.sum(), prompts.sum())
    moved = answers[:, None] * (effects.left_out[0] - effects.slopes[0])
    return PreferenceCost(jackknife.from_left_out(whole, costs(*rest) + moved), changed)


def _shrunk(contributions: Floats) -> float:
    """Return the factor that takes from the square of a sum what its noise is expected to add to it."""
    total, noise = contributions.sum(), len(contributions) * contributions.var()
    return float(np.sqrt(max(0.0, 1 - noise / total**2))) if total else 0.0


def mean_in_ties(scores: Floats, attribute: Floats, sizes: Ints) -> Floats:
    """Return the attribute averaged over the candidates of a prompt that the judge ties."""
    scores = sums.compared(scores)
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

    def __init__(self, scores: Floats, labels: Floats, sizes: Ints) -> None:
        self.scores, self.labels, self.sizes = sums.compared(scores), labels, sizes
        self.starts = np.cumsum(sizes) - sizes
        self.top = top_of_scores.at_top(self.scores, sizes)
        self.worth = self._worth(self.top)
        means = np.add.reduceat(labels, self.starts) / sizes
        self.room: Floats = np.maximum.reduceat(labels, self.starts) - means
        self.room[np.minimum.reduceat(labels, self.starts) == np.maximum.reduceat(labels, self.starts)] = 0.0

    def _worth(self, top: Mask) -> Floats:
        picked: Floats = np.add.reduceat(np.where(top, self.labels, 0.0), self.starts)
        return picked / np.add.reduceat(top.astype(np.float64), self.starts)

    def gained(self, taken_out: Floats) -> tuple[Floats, int]:
        """Return what each prompt's pick gains by scores less what is taken out, and how many picks change."""
        top = top_of_scores.at_top(self.scores - taken_out, self.sizes)
        changed = np.logical_or.reduceat(top != self.top, self.starts)
        return np.where(changed, self._worth(top) - self.worth, 0.0), int(changed.sum())
