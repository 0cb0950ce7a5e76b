"""Models by what the human would say: on all prompts, one or a category, and the average each would get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from bonwise.arrays import Floats, Ints
from bonwise.errors import UsageError
from bonwise.factors import difference_bands, human_view, posterior_draws, rating_arrays, result, result_models
from bonwise.printable import quoted
from bonwise.results import given
from bonwise.stats import ordinal_ratings

PERMUTATIONS = 999
"""Random sets of prompts with which the cohesion of a category is compared."""

_EQUAL = 1e-9
"""Share by which cohesions that are equal may differ by rounding."""

_COMPOSITE = (
    "A category is ranked by its reference composite. Composites of different categories are on different scales."
)
_ONE = "One prompt: intervals assume that no trait matters to people that every judge overlooks."


def rank_models(
    view: human_view.HumanView, *, prompt: str | None = None, category: str | None = None
) -> result_models.FactorLeaderboard:
    """Rank the models on all prompts, one, or a category along the eigenvector of ``sum P_p P_p'``."""
    if prompt is not None and category is not None:
        raise UsageError("a prompt and a category are two leaderboards", hint="give one of them")
    cohesion = None
    notes: list[str] = []
    if category is not None:
        rows = view.prompts_of(category)
        draws, _ = composites(view, rows)
        every = {row.category: row.cohesion for row in cohesion_of_categories(view)}
        cohesion = every.get(category)
        notes.append(_COMPOSITE)
    elif prompt is not None:
        if prompt not in view.prompts:
            raise UsageError(f"no prompt named {quoted(prompt)}", hint="use a prompt_id of the ratings")
        rows = np.array([view.prompts.index(prompt)])
        draws = view.draws.capabilities(rows)[:, :, 0]
        notes.append(_ONE)
    else:
        rows = np.arange(len(view.prompts))
        draws = view.draws.means()
    return result_models.FactorLeaderboard(
        scope="category" if category is not None else "prompt" if prompt is not None else "all",
        name=category if category is not None else prompt,
        prompts=len(rows),
        models=_ranked(view, draws),
        **given(cohesion=cohesion),
        notes=[*notes, *unrated(view)],
        **view.origin,
    )


def unrated(view: human_view.HumanView) -> list[str]:
    """Return who places models that no human has rated, and what that assumes; empty where there is none."""
    names = [name for name, count in zip(view.models, view.human_ratings, strict=True) if not count]
    if not names:
        return []
    assumed = (
        "judges miss as much of them as of the rated models, which were predicted without their human ratings too: a "
        f"standard deviation of {view.trait.added_sd:.2f} logits"
        if view.trait
        else "people see nothing in them that judges miss: too few other models are rated to check that"
    )
    return [f"No human has rated {', '.join(names)}: judges alone place them. Intervals assume that {assumed}."]


def composites(view: human_view.HumanView, rows: Ints) -> tuple[Floats, Floats]:
    """Return models, (draws, models), along the prompts' reference composite, and its share of eigenvalues."""
    chosen, by_model = view.skills[:, rows], view.draws.by_model
    values, vectors = np.linalg.eigh(np.einsum("dpk,dpl->dkl", chosen, chosen))
    leading = vectors[:, :, -1]
    along = np.einsum("dpk,dk->d", chosen, leading)
    leading = leading * np.where(along < 0, -1.0, 1.0)[:, None]
    # An error that is the same on all prompts counts as much as it does on these.
    errors = by_model[:, :, chosen.shape[2] :].sum(axis=2) * (len(rows) / np.abs(along))[:, None]
    if view.draws.heeded is not None:
        errors = errors + view.draws.heeded[:, rows].sum(axis=1) / np.abs(along)[:, None]
    models = np.einsum("dmk,dk->dm", by_model[:, :, : chosen.shape[2]], leading)
    return models + errors, values[:, -1] / values.sum(axis=1)


def cohesion_of_categories(view: human_view.HumanView) -> list[result.CategoryCohesion]:
    """Return the cohesion of every category with at least two prompts, the most cohesive first.

    Random sets are those of permuted labels, all categories at once. The adjusted p compares a category with the
    largest of all that a permutation makes (Westfall and Young), each less the mean of its size over its deviation.
    """
    names = sorted({category for category in view.prompt_categories if category})
    rows = [(name, at) for name in names if 1 < len(at := view.prompts_of(name)) < len(view.prompts)]
    if not rows:
        return []
    sizes = [len(at) for _, at in rows]
    shares = np.stack([composites(view, at)[1] for _, at in rows], axis=1)
    random = _random_cohesion(view, sizes)
    own = shares[np.arange(PERMUTATIONS) % len(shares)]
    mean, deviation = random.mean(axis=0), random.std(axis=0)
    scale = np.where(deviation > _EQUAL, deviation, np.inf)
    largest = ((random - mean) / scale).max(axis=1, keepdims=True)
    p, adjusted = (
        (1 + as_cohesive.sum(axis=0)) / (PERMUTATIONS + 1)
        for as_cohesive in (random >= own * (1 - _EQUAL), largest >= (own - mean) / scale - _EQUAL)
    )
    low, high = np.quantile(shares, [(1 - view.confidence) / 2, (1 + view.confidence) / 2], axis=0)
    cohesive = [
        result.CategoryCohesion(
            category=name,
            prompts=sizes[at],
            cohesion=result_models.CohesionRecord(
                share=float(min(shares[:, at].mean(), 1.0)),
                low=float(low[at]),
                high=float(min(high[at], 1.0)),
                p=float(p[at]),
                p_adjusted=float(max(p[at], adjusted[at])),
                categories=len(rows),
                permutations=PERMUTATIONS,
            ),
            random=float(min(mean[at], 1.0)),
        )
        for at, (name, _) in enumerate(rows)
    ]
    return sorted(cohesive, key=lambda category: -category.cohesion.share)


def _random_cohesion(view: human_view.HumanView, sizes: Sequence[int]) -> Floats:
    """Return the cohesion of random sets of these sizes that share no prompt, (permutations, sets)."""
    rng, skills = np.random.default_rng(view.seed), view.skills
    starts, count = np.cumsum([0, *sizes[:-1]]), sum(sizes)
    cohesion = np.empty((PERMUTATIONS, len(sizes)))
    for at in range(PERMUTATIONS):
        # Each permutation is compared in the coordinates of one draw.
        chosen = skills[at % len(skills)][rng.permutation(len(view.prompts))[:count]]
        values = np.linalg.eigvalsh(np.add.reduceat(chosen[:, :, None] * chosen[:, None, :], starts))
        cohesion[at] = values[:, -1] / values.sum(axis=1)
    return cohesion


def _ranked(view: human_view.HumanView, draws: Floats) -> list[result_models.LeaderboardRow]:
    band = difference_bands.band_of_draws(draws - draws.mean(axis=1, keepdims=True), view.confidence)
    order = np.argsort(-band.estimate, kind="stable")
    return [
        result_models.LeaderboardRow(model=view.models[at], **band.figures(at), human_ratings=view.human_ratings[at])
        for at in order
    ]


def predict_averages(view: human_view.HumanView, *, leave_one_out: bool = False) -> result_models.FactorPrediction:
    """Predict each model's mean rating or net win rate, with `leave_one_out` also those without own ratings."""
    left_out = view.left_out or {}
    if leave_one_out and not left_out:
        raise UsageError("the fit left no model out", hint="fit with leave_one_out=True, or --leave-one-out")
    draws = np.stack([_averages(view, at) for at in range(len(view.draws))])
    band = difference_bands.band_of_draws(draws, view.confidence)
    models = [
        result_models.PredictedModel(model=view.models[at], **band.alone(at), human_ratings=view.human_ratings[at])
        for at in np.argsort(-band.estimate, kind="stable")
    ]
    return result_models.FactorPrediction(
        quantity="net_win_rate" if view.side_by_side else "mean_rating",
        prompts=len(view.prompts),
        models=models,
        **(given(left_out=left_out["model"], left_out_categories=left_out.get("category")) if leave_one_out else {}),
        notes=unrated(view) or [difference_bands.UNSEEN_TRAITS],
        **view.origin,
    )


def _averages(view: human_view.HumanView, draw: int) -> Floats:
    """Return the average of each model in one draw, shape (models,)."""
    capabilities = view.draws.by_model[draw] @ view.draws.by_prompt[draw].T
    if view.draws.heeded is not None:
        capabilities = capabilities + view.draws.heeded[draw].T
    cutoffs, points = view.draws.cutoffs[draw], np.array(view.points)
    models, prompts = capabilities.shape
    if not view.side_by_side:
        expected = ordinal_ratings.category_probabilities(capabilities.ravel(), cutoffs) @ points
        return np.asarray(expected.reshape(models, prompts).mean(axis=1))
    net = np.zeros((models, models))
    for first in range(models):
        for other in range(first):
            chances = ordinal_ratings.category_probabilities(capabilities[first] - capabilities[other], cutoffs)
            net[first, other] = (chances @ np.sign(points)).mean()
    return np.asarray((net - net.T).sum(axis=1) / (models - 1))


# Models, and categories of prompts, predicted without their human ratings.

_FAR = 0.1
"""Precision of an offset before there are ratings: a model that wins throughout has none without it."""

_STEPS, _LEVELS, _CHANCES, _TRIED = 8, 200, 20_000, np.geomspace(0.02, 5.0, 80)


class LeftOutModel(NamedTuple):
    """A model beside what was predicted without human ratings of it."""

    row: result_models.LeftOutRow
    at: int
    slope: float
    """Change of the mean rating for one more logit of capability."""
    information: Floats
    """Of the offset, by opponent."""


def compare_left_out(
    draws: posterior_draws.PosteriorDraws,
    left_out: rating_arrays.RatingArrays,
    points: Sequence[float],
    names: Sequence[str],
    model: int,
    category: str = "",
) -> LeftOutModel:
    """Compare draws made without some human ratings with those ratings: offsets by maximum likelihood."""
    own = left_out.only((left_out.model == model) | (left_out.opponent == model))
    turned, worth = (
        own.opponent == model,
        np.sign(points) if own.side_by_side.any() else np.array(points, dtype=float),
    )
    rival = np.where(turned, own.model, own.opponent)
    rating = np.where(turned, len(points) - 1 - own.rating, own.rating)
    apart = draws.by_model[:, [model]] - np.where(rival[:, None] < 0, 0.0, draws.by_model[:, rival])
    eta = np.einsum("drk,drk->dr", apart, draws.by_prompt[:, own.prompt])
    if draws.heeded is not None:
        of_rival = np.where(rival < 0, 0.0, draws.heeded[:, own.prompt, rival])
        eta = eta + draws.heeded[:, own.prompt, model] - of_rival
    bounds = np.pad(draws.cutoffs, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    offset, bend = np.zeros((len(draws), 1)), np.zeros_like(eta)
    for _ in range(_STEPS):
        slope, bend = ordinal_ratings.slope_and_curvature(eta + offset, bounds[:, rating + 1], bounds[:, rating])
        step = (slope.sum(axis=1) - _FAR * offset[:, 0]) / (bend.sum(axis=1) + _FAR)
        offset = offset + np.clip(step, -1, 1)[:, None]
    chances = np.stack([ordinal_ratings.category_probabilities(*one) for one in zip(eta, draws.cutoffs, strict=True)])
    expected, below = chances @ worth, np.cumsum(chances, axis=2)[:, :, :-1]
    residual = worth[rating] - expected.mean(axis=0)
    row = result_models.LeftOutRow(
        model=names[model],
        category=category,
        ratings=len(own),
        predicted=(mean := float(expected.mean())),
        se=float(expected.mean(axis=1).std(ddof=1)),
        low=mean,
        high=mean,
        truth=float(worth[rating].mean()),
        truth_se=float(np.linalg.norm(np.bincount(own.prompt, residual - residual.mean())) / len(own)),
        offset=float(offset.mean()),
        offset_se=float(np.sqrt(offset.var(ddof=1) + 1 / (bend.mean(axis=0).sum() + _FAR))),
    )
    by_rival = np.bincount(rival + 1, bend.mean(axis=0), len(names) + 1)[1:].astype(np.float64)
    return LeftOutModel(row, model, float((below * (1 - below) @ np.diff(worth)).mean()), by_rival)


def variance_at(level: float, offsets: Floats, variances: Floats) -> float:
    """Return the variance ``t`` with ``sum offset^2 / (variance + t) = level``; 0 where it would be negative."""
    squares, most = offsets**2, float((offsets**2).sum()) / level
    if (squares / variances).sum() <= level:
        return 0.0
    return float(optimize.brentq(lambda at: (squares / (variances + at)).sum() - level, 0.0, most))


def unseen_trait(left_out: Sequence[LeftOutModel], seed: int) -> result_models.UnseenTrait:
    """Test whether offsets are larger than their errors explain.

    The statistic is ``sum offset^2 / variance``. Its law without a trait is drawn: votes between two models count for
    both, with opposite signs. A trait is the model's own less the mean of the others, which a fit takes for all.
    """
    offsets, errors = np.array([(one.row.offset, one.row.offset_se) for one in left_out]).T
    variances, count, contrast = errors**2, len(left_out), np.eye(len(left_out))
    covariance = np.diag(variances)
    for at, to in np.argwhere(~np.eye(count, dtype=bool)):
        one, other = left_out[at], left_out[to]
        group = [row.category for row, *_ in left_out].count(one.row.category)
        whole = one.information.sum() * other.information.sum()
        if one.row.category == other.row.category and (whole or not one.row.category):
            contrast[at, to] = -1 / (group - 1)
            covariance[at, to] = -one.information[other.at] / (whole or 1.0)
    values, vectors = np.linalg.eigh(covariance)
    noise, trait = np.random.default_rng(seed).standard_normal((2, _CHANCES, count))
    noise, trait = noise @ (vectors * np.sqrt(np.maximum(values, 0))).T, trait @ contrast.T
    null, statistic = (noise**2 / variances).sum(axis=1), float((offsets**2 / variances).sum())

    def found(sd: float) -> bool:
        return bool(np.quantile(((noise + sd * trait) ** 2 / variances).sum(axis=1), 0.2) > np.quantile(null, 0.95))

    def spread(level: float) -> float:
        return variance_at(float(stats.chi2.ppf(level, count)), offsets, variances)

    return result_models.UnseenTrait(
        statistic=statistic,
        p=(1 + int((null >= statistic).sum())) / (_CHANCES + 1),
        sd=float(np.sqrt(variance_at(count, offsets, variances))),
        sd_low=float(np.sqrt(spread(0.975))),
        sd_high=float(np.sqrt(spread(0.025))),
        detectable=next((float(sd) for sd in _TRIED if found(sd)), None),
        added_sd=float(np.sqrt(np.mean([spread((at + 0.5) / _LEVELS) for at in range(_LEVELS)]))),
    )


def left_out_part(left_out: Sequence[LeftOutModel], confidence: float, seed: int) -> result_models.LeftOutPart:
    """Return predictions beside the truth, their intervals with what judges miss counted."""
    trait = unseen_trait(left_out, seed) if len(left_out) > 2 else None
    times, added = float(stats.norm.ppf((1 + confidence) / 2)), trait.added_sd if trait else 0.0
    rows = []
    for row, _, slope, _ in left_out:
        half = times * float(np.hypot(row.se, added * slope))
        rows.append(row.model_copy(update={"low": row.predicted - half, "high": row.predicted + half}))
    x, y, *errors = np.array([(row.predicted, row.truth, row.se, row.truth_se) for row in rows]).T
    middle, off = 0.0 if left_out[0].information.any() else y.mean(), x - x.mean()
    return result_models.LeftOutPart(
        rows=sorted(rows, key=lambda row: -row.truth),
        slope=float(off @ y / (off @ off)) if off.any() else None,
        rmse=float(np.sqrt(((x - y) ** 2).mean())),
        same_side=int(((x > middle) == (y > middle)).sum()),
        inside=int((np.abs(x - y) <= times * np.hypot(*errors)).sum()),
        trait=trait,
    )
