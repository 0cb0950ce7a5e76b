"""A factor model fitted to ratings: refusals first, then the judges, the human, and the interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.factors import (
    answer_effects,
    baselines,
    difference_bands,
    human_view,
    leaderboards,
    posterior_draws,
    result,
    stage_one,
)
from bonwise.factors.model_choice import PRIORS, RANKS, ChosenModel, choose_among, fit_stage_one
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.result_models import LeftOutPart
from bonwise.factors.settings import FactorKeywords
from bonwise.factors.stage_two import HumanDesign, HumanModel, HumanRatings, RatedCells, VerdictColumns, fit_human
from bonwise.printable import listed, quoted
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.ordinal_ratings import slope_and_curvature
from bonwise.table import checks, reading, score_table

Recorded = TypeVar("Recorded", result.FactorSettings, result.FactorStudySettings)

_RECORDED = ("rank", "prior", "restarts", "confidence")

FEWEST_HUMAN = 20
"""Human ratings without which nothing can be cross-validated."""


def largest_rank(judges: RatingArrays) -> int:
    """Return the most skills that ratings by judges tell apart: no more than prompts, or pairs of judge and model."""
    return max(min(judges.prompts, judges.models * judges.raters), 1)


def refuse_unfit(table: RatingTable, data: RatingArrays, rank: int | None) -> None:
    """Refuse ratings that no factor model can be fitted to.

    `InputError` says what is missing, or that comparisons fall apart; `UsageError` that the rank is too high.
    """
    human = table.human_scale.rater
    if table.human_scale.size < 2:
        raise InputError(
            f"{table.source}: {quoted(human)} gives one rating alone, {quoted(table.human_scale.categories[0])}",
            hint="a human rater needs ratings in at least two categories",
        )
    if data.raters < 2:
        raise InputError(
            f"{table.source}: no rater but {quoted(human)} gives ratings in two categories",
            hint="add the ratings of at least one judge",
        )
    rated_by_human = int(data.human.sum())
    if rated_by_human < FEWEST_HUMAN:
        raise InputError(
            f"{table.source}: {rated_by_human} ratings by {quoted(human)} are too few to cross-validate",
            hint=f"add human ratings: at least {FEWEST_HUMAN}",
        )
    if len(table.models) < 2:
        raise InputError(f"{table.source}: all ratings are of one model", hint="add ratings of a second model")
    judges = data.without_human()
    rated = np.bincount(judges.model, minlength=data.models)
    rated += np.bincount(judges.opponent[judges.side_by_side], minlength=data.models)
    if (rated == 0).any():
        names = [table.models[at] for at in np.flatnonzero(rated == 0)]
        raise InputError(
            f"{table.source}: no judge rates {listed(names)}", hint="have every model judged, or leave it out"
        )
    _refuse_apart(table, judges)
    if rank is not None and rank > largest_rank(judges):
        raise UsageError(
            f"{table.source}: a rank of {rank} is more than {data.models} models, {judges.raters} judges and "
            f"{data.prompts} prompts can tell apart",
            hint=f"choose a rank of at most {largest_rank(judges)}",
        )


def _refuse_apart(table: RatingTable, judges: RatingArrays) -> None:
    """Refuse groups of models that no judge compares with each other."""
    pairs = judges.side_by_side
    if not pairs.all():
        return
    ones = np.ones(int(pairs.sum()))
    graph = sparse.csr_array((ones, (judges.model[pairs], judges.opponent[pairs])), shape=(judges.models,) * 2)
    count, group = _components(graph)
    if count > 1:
        names = [listed(table.models[model] for model in np.flatnonzero(group == at)) for at in range(2)]
        raise InputError(
            f"{table.source}: no judge compares one of {names[0]} with one of {names[1]}",
            hint="add comparisons between them, or fit them apart",
        )


def _components(graph: sparse.csr_array) -> tuple[int, np.typing.NDArray[np.int32]]:
    count, group = connected_components(graph, directed=False)
    return int(count), group


_WEAK_RIDGE = 1e-3


def fitted_factors(
    source: reading.RowSource | score_table.ScoreTable | RatingTable,
    human: str | None,
    asked: FactorKeywords,
    *,
    normalize: bool,
    holdout: float | None,
    interval: difference_bands.StageOneError | None,
    leave_one_out: bool,
) -> result.FactorFit:
    """Fit a factor model, see `bonwise.factors.front.fit_factors`."""
    stage_one.backend_for(asked["backend"], 0)
    _check(asked["prior"], normalize, holdout, interval)
    if leave_one_out and interval is None:
        raise UsageError("a model that is left out is predicted with an interval", hint="leave out interval=None")
    table = read_ratings(source, human, asked)
    whole, rank, say = RatingArrays.of(table), asked["rank"], asked["say"]
    refuse_unfit(table, whole, rank)
    known = _known(whole, holdout, asked["seed"])
    data = whole.only(~whole.human | known)
    refuse_unfit(table, data, rank)
    counts = _human_ratings(data)
    if leave_one_out and data.human.sum() - counts[counts > 0].min() < FEWEST_HUMAN:
        raise UsageError(
            f"{table.source}: leaving a model out leaves fewer than {FEWEST_HUMAN} human ratings",
            hint="where people compare two models, this takes at least 3 models; or fit without --leave-one-out",
        )
    judges = data.without_human()
    own = {"normalize": normalize, "holdout": holdout, "interval": interval, "leave_one_out": leave_one_out}
    settings = recorded(result.FactorSettings, table, asked, len(judges), **own)
    if say is not None:
        stage_one.say_torch_is_faster(asked["backend"], len(judges), say)
    design = HumanDesign(data.models, VerdictColumns.of(judges))
    ratings = HumanRatings.of(data, seed=settings.seed)
    ranks = [few for few in RANKS if few <= largest_rank(judges)] if rank is None else [rank]
    priors = [0.0] if normalize else list(PRIORS) if settings.prior is None else [settings.prior]
    how: dict[str, Any] = {name: getattr(settings, name) for name in ("normalize", "restarts", "seed", "backend")}
    chosen = choose_among(fit_stage_one(judges, ranks, priors, **how), design, ratings)
    held = None
    if holdout is not None:
        held = _held_out(HumanRatings.of(whole.only(whole.human & ~known)), chosen, design, ratings, data.prompts)
    if interval is None:
        return _fit(table, settings, chosen, held, None, len(ratings))
    view, skills = _view(table, data, chosen, settings)
    variances = None
    if chosen.best.prior > 0 and judges.raters > 1:
        variances = gap_variances(judges, chosen.capabilities, _weights(skills), chosen.best.prior)
    return _fit(table, settings, chosen, held, view, len(ratings), variances)


def _check(
    prior: float | None, normalize: bool, holdout: float | None, interval: difference_bands.StageOneError | None
) -> None:
    if holdout is not None:
        checks.check_number("holdout", holdout, low=0.01, high=0.99)
    if interval is not None and interval not in difference_bands.STAGE_ONE_ERRORS:
        raise UsageError(
            f"there is no interval {quoted(interval)}", hint=f"one of {', '.join(difference_bands.STAGE_ONE_ERRORS)}"
        )
    if normalize and prior is not None:
        raise UsageError("normalised columns have no prior", hint="leave out normalize, or prior")


def recorded(kind: type[Recorded], table: RatingTable, asked: FactorKeywords, judged: int, **own: Any) -> Recorded:
    """Return what was asked for as results record it, of so many ratings of judges."""
    shared: dict[str, Any] = {name: value for name, value in asked.items() if name in _RECORDED}
    return kind(
        **shared,
        **own,
        human=table.human_scale.rater,
        seed=int(asked["seed"]),
        backend=stage_one.backend_for(asked["backend"], judged),
        source=table.source,
        version=release(),
    )


def read_ratings(
    source: reading.RowSource | score_table.ScoreTable | RatingTable, human: str | None, asked: FactorKeywords
) -> RatingTable:
    """Return the table of ratings, with the human one named."""
    if isinstance(source, RatingTable):
        if human is not None and human != source.human_scale.rater:
            names = [scale.rater for scale in source.raters]
            if human not in names:
                raise UsageError(
                    f"{source.source}: no rater named {quoted(human)}", hint=f"the raters are {listed(names)}"
                )
            return replace(source, human=names.index(human))
        return source
    if human is None:
        raise UsageError("no rater is named as the human one", hint="name it with human=, or --human")
    rules: dict[str, Any] = {name: asked.get(name) for name in ("pairs", "categories", "bins", "binning")}
    return RatingTable.read(source, human=human, **rules)


def _known(data: RatingArrays, holdout: float | None, seed: int) -> Mask:
    """Tell which human ratings are fitted; all ratings of one cell are held out together."""
    known = data.human.copy()
    if holdout is None:
        return known
    rows = np.flatnonzero(data.human)
    places = RatedCells.of(data.only(rows)).places(data.models, np.random.default_rng(seed))
    known[rows[places < holdout * len(rows)]] = False
    return known


def _held_out(
    held: HumanRatings, chosen: ChosenModel, design: HumanDesign, fitted: HumanRatings, prompts: int
) -> baselines.HeldOut:
    own = -chosen.human.log_probabilities(held)
    return baselines.HeldOut(own, baselines.baseline_losses(design, fitted, held, prompts), held.cells.prompt)


def _draws(
    data: RatingArrays, chosen: ChosenModel, settings: result.FactorSettings
) -> tuple[posterior_draws.PosteriorDraws, HumanModel]:
    """Draw capabilities of the model on skills alone, because the interval is about these."""
    ratings = HumanRatings.of(data, seed=settings.seed)
    skills = fit_human(chosen.human.design, ratings, ["skills"], _WEAK_RIDGE)
    if settings.interval == "laplace_gibbs":
        start = (_weights(skills), skills.regression.cutoffs)
        try:
            return posterior_draws.draw_posterior(data, chosen.capabilities, start, seed=settings.seed), skills
        except np.linalg.LinAlgError as error:
            raise UsageError(
                f"the ratings are too few for intervals of rank {chosen.best.rank}: the draws ran away",
                hint="state a lower --rank, or --interval none",
            ) from error
    propagated = settings.interval == "propagated"
    prior = max(chosen.best.prior, 1e-6)
    plugged = posterior_draws.PluggedIn.of(
        data.without_human(), chosen.capabilities, skills, prior=prior, propagated=propagated
    )
    return plugged.draws(np.random.default_rng(settings.seed)), skills


def _left_out(
    table: RatingTable, data: RatingArrays, chosen: ChosenModel, settings: result.FactorSettings
) -> dict[str, LeftOutPart]:
    """Predict every rated model without its human ratings, and where that is asked for every category of prompts."""
    counts, category = _human_ratings(data), np.array(table.prompt_category)[data.prompt]
    parts: dict[str, list[leaderboards.LeftOutModel]] = {"model": [], "category": []}

    def leave_out(rows: Mask, models: Iterable[int], name: str = "") -> None:
        rest, held = data.only(~(rows & data.human)), data.only(rows & data.human)
        if rest.human.sum() >= FEWEST_HUMAN:
            what = (_draws(rest, chosen, settings)[0], held, table.points[table.human], table.models)
            compared = [leaderboards.compare_left_out(*what, model, name) for model in models]
            parts["category" if name else "model"] += compared

    if settings.leave_one_out or not counts.all():
        for model in np.flatnonzero(counts).tolist():
            leave_out((data.model == model) | (data.opponent == model), [model])
    for at, name in enumerate(table.categories if settings.leave_one_out else ()):
        rows = category == at
        leave_out(rows, np.flatnonzero(_human_ratings(data.only(rows))).tolist(), name)
    how = (settings.confidence, settings.seed)
    return {what: leaderboards.left_out_part(part, *how) for what, part in parts.items() if part}


def _human_ratings(data: RatingArrays) -> Ints:
    """Return how many human ratings each model has."""
    human = data.only(data.human)
    counts = np.bincount(human.model, minlength=data.models)
    return np.asarray(counts + np.bincount(human.opponent[human.side_by_side], minlength=data.models))


def _weights(skills: HumanModel) -> Floats:
    """Return the human's weight of each skill, before features were scaled."""
    scales = skills.design.scales
    return np.asarray(skills.regression.coefficients / (1.0 if scales is None else scales))


def _view(
    table: RatingTable, data: RatingArrays, chosen: ChosenModel, settings: result.FactorSettings
) -> tuple[human_view.HumanView, HumanModel]:
    """Draw capabilities; models that no human has rated get what judges miss of the others on top."""
    draws, skills = _draws(data, chosen, settings)
    left_out, counts = _left_out(table, data, chosen, settings), _human_ratings(data)
    part = left_out.get("model")
    if part and part.trait and not counts.all():
        rng = np.random.default_rng(settings.seed)
        draws = draws.widened(np.flatnonzero(counts == 0), part.trait.added_sd, rng)
    named = [*table.categories, ""]
    view = human_view.HumanView.of(
        draws,
        human=settings.human,
        side_by_side=table.human_scale.side_by_side,
        categories=table.human_scale.categories,
        points=list(table.points[table.human]),
        prompts=list(table.prompts),
        models=list(table.models),
        prompt_categories=[named[at] for at in table.prompt_category],
        human_ratings=counts.tolist(),
        **given(left_out=left_out or None, interval=settings.interval),
        confidence=settings.confidence,
        seed=settings.seed,
        source=table.source,
        version=settings.version,
    )
    return view, skills


def _fit(
    table: RatingTable,
    settings: result.FactorSettings,
    chosen: ChosenModel,
    held: baselines.HeldOut | None,
    view: human_view.HumanView | None,
    fitted: int,
    variances: tuple[Floats, Floats] | None = None,
) -> result.FactorFit:
    best = chosen.best
    fit = result.FactorFit(
        data=result.FactorData(
            prompts=len(table.prompts),
            models=len(table.models),
            ratings=len(table.rating),
            human_ratings=int(table.by_human.sum()),
            repeats=table.repeats,
            dropped=dict(table.left_out),
        ),
        settings=settings,
        raters=[table.human_scale, *(scale for at, scale in enumerate(table.raters) if at != table.human)],
        rank=best.rank,
        prior=best.prior,
        columns=best.columns,
        ridge=best.ridge,
        candidates=chosen.candidates,
        holdout=None if held is None else _holdout(held, settings.confidence, fitted),
        baselines={} if held is None else _baselines(held, settings.confidence),
        leaderboard=[] if view is None else list(_leaderboard(view, settings)),
        **({} if view is None else _answer_effect(table, view, settings) | _pictures(table, view, variances)),
        notes=list(_notes(table, settings, chosen, view)),
    )
    return fit.computed_from(result.FitParts(view, held))


def _holdout(held: baselines.HeldOut, confidence: float, fitted: int) -> result.HoldoutRecord:
    mean = held.mean(held.own, confidence)
    cross_entropy = float(held.own.mean())
    return result.HoldoutRecord(
        cross_entropy=cross_entropy, se=mean.se, n=len(held.own), prompts=mean.n, fitted=fitted
    )


def _baselines(held: baselines.HeldOut, confidence: float) -> dict[str, result.BaselineRecord]:
    return {
        name: result.BaselineRecord(
            cross_entropy=float(losses.mean()), difference=held.mean(losses - held.own, confidence)
        )
        for name, losses in held.baselines.items()
    }


def _leaderboard(view: human_view.HumanView, settings: result.FactorSettings) -> Iterator[result.ModelCapability]:
    leaderboard = leaderboards.rank_models(view)
    for row in leaderboard.models:
        yield result.ModelCapability(
            model=row.model,
            capability=EstimateRecord(
                estimate=row.estimate,
                low=row.low,
                high=row.high,
                se=row.se,
                n=leaderboard.prompts,
                interval=settings.interval,
                method="complete",
            ),
            human_ratings=row.human_ratings,
        )


def _answer_effect(
    table: RatingTable, view: human_view.HumanView, settings: result.FactorSettings
) -> dict[str, result.AnswerEffectRecord]:
    """Return the figures of what judges share of an answer; without the key where the draws have none."""
    effects = view.draws.effects
    if effects is None:
        return {}
    return {"answer_effect": effects.record(RatingArrays.of(table).without_human(), settings.confidence)}


def _pictures(
    table: RatingTable, view: human_view.HumanView, variances: tuple[Floats, Floats] | None
) -> dict[str, Any]:
    """Return what a page draws; a key is absent where there is nothing."""
    judges = [scale.rater for at, scale in enumerate(table.raters) if at != table.human and scale.size > 1]
    information = None
    if variances is not None:
        information = list(information_of_judges(judges, variances, view.confidence))
    return given(
        cohesion=leaderboards.cohesion_of_categories(view) or None,
        information=information,
        prompt_map=map_of_prompts(view),
    )


def _notes(
    table: RatingTable, settings: result.FactorSettings, chosen: ChosenModel, view: human_view.HumanView | None
) -> Iterator[str]:
    silent = [scale.rater for scale in table.raters if scale.size < 2]
    if silent:
        yield f"Left out: {', '.join(silent)}, because all their ratings are equal."
    judges = RatingArrays.of(table).without_human()
    missing = len(table.prompts) - len(np.unique(judges.prompt))
    if missing:
        yield f"No judge rates {missing} of the prompts: what is predicted there rests on the others."
    if chosen.human.regression.smoothed:
        yield "A category has no human rating to fit: half a rating was added to each."
    if settings.interval is not None:
        share = difference_bands.COVERS[settings.interval]
        yield (
            f"In simulations of BiGGen-Bench's size the 95% interval {settings.interval} held "
            f"{share:.0%} of the true differences within prompts."
        )
        yield difference_bands.UNSEEN_TRAITS
        if view is not None and view.draws.effects is None:
            yield answer_effects.not_counted(judges, settings.interval)
    if view is not None:
        yield from leaderboards.unrated(view)


# What the page of a fit draws: how much each judge adds, and the map of the prompts.


def gap_variances(
    judges: RatingArrays, fitted: stage_one.CapabilityFactors, weights: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return the mean variance of the human's gaps on each prompt, with all judges and without each.

    Ratings add ``sum h z z'`` to the precision of a prompt's factors, with ``z = U_r * (M_m - M_m')`` (or ``U_r *
    M_m``) and ``h`` the curvature of the log-probability. The human's gap has the variance ``c' Sigma_p c``, ``c =
    U_0 * (M_m - M_m')``; here its mean over all pairs of models, (prompts,) and (judges, prompts). `weights`,
    (rank,), are the human's of each skill; `prior` is the precision of the prior of the prompts' factors, above 0.
    """
    counted, rank = judges.counted(), fitted.rank
    z = fitted.raters[counted.rater] * counted.differences(fitted.models)
    upper, lower = counted.layout.ends(fitted.cutoffs)
    eta = (z * fitted.prompts[counted.prompt]).sum(axis=1)
    bend = counted.weight * slope_and_curvature(eta, upper[counted.category], lower[counted.category])[1]
    rows = bend[:, None] * (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    each = np.zeros((counted.raters, counted.prompts, rank, rank))
    for judge in range(counted.raters):
        by_judge = counted.rater == judge
        each[judge] = (counted.by_prompt[:, by_judge] @ rows[by_judge]).reshape(-1, rank, rank)
    precision = each.sum(axis=0) + prior * np.eye(rank)
    heeded = weights * fitted.models
    off = heeded - heeded.mean(axis=0)
    # The mean of c c' over all pairs of models.
    of_pairs = 2 * off.T @ off / max(len(off) - 1, 1)
    whole = np.einsum("kl,pkl->p", of_pairs, np.linalg.inv(precision))
    without = np.stack([np.einsum("kl,pkl->p", of_pairs, np.linalg.inv(precision - added)) for added in each])
    return whole, without


def information_of_judges(
    names: list[str], variances: tuple[Floats, Floats], confidence: float
) -> Iterator[result.JudgeInformation]:
    """Yield by which share the variance of `gap_variances` would grow without each judge, most first."""
    whole, without = variances
    growth = without.sum(axis=1) / whole.sum() - 1
    count = len(whole)
    for at in np.argsort(-growth, kind="stable"):
        off = (without[at] - (1 + growth[at]) * whole) / whole.sum()
        se = float(np.sqrt(count / max(count - 1, 1) * (off**2).sum()))
        half = float(stats.t.ppf((1 + confidence) / 2, max(count - 1, 1))) * se
        yield result.JudgeInformation(
            rater=names[at],
            growth=EstimateRecord(
                estimate=float(growth[at]),
                low=float(growth[at]) - half,
                high=float(growth[at]) + half,
                se=se,
                n=count,
                interval="cluster_t",
                method="complete",
            ),
        )


_FLAT = 1e-6
"""Share of the variance below which a second axis says nothing: the model has one skill."""


def principal_places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows along the principal axes of their columns.

    Returned are places, (rows, axes), unit axes, (axes, columns), of which the largest entry is positive, as the sign
    is otherwise open, and the share of the variance of each axis.
    """
    off = values - values.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0) + 0.0
    squares = sizes**2
    return off @ axes.T + 0.0, axes, squares / max(float(squares.sum()), 1e-300)


def map_of_prompts(view: human_view.HumanView) -> result.PromptMap | None:
    """Return the map of prompts, None where all of them stand on a line."""
    capabilities = _capabilities(view)
    if min(capabilities.shape) < 2:
        return None
    places, axes, shares = principal_places(capabilities)
    if shares[1] < _FLAT:
        return None
    x, y = (
        result.MapAxis(
            share=float(min(shares[at], 1.0)),
            high=view.models[int(axes[at].argmax())],
            low=view.models[int(axes[at].argmin())],
        )
        for at in range(2)
    )
    return result.PromptMap(
        x=x,
        y=y,
        prompts=[
            result.PromptPlace(prompt_id=name, category=category, x=float(place[0]), y=float(place[1]))
            for name, category, place in zip(view.prompts, view.prompt_categories, places, strict=True)
        ],
    )


def _capabilities(view: human_view.HumanView) -> Floats:
    """Return mean capabilities by the skills, less their mean on the prompt, shape (prompts, models)."""
    mean = np.zeros((len(view.prompts), len(view.models)))
    for models, prompts in zip(view.draws.by_model, view.skills, strict=True):
        mean += prompts @ models[:, : prompts.shape[1]].T
    mean /= len(view.draws)
    return np.asarray(mean - mean.mean(axis=1, keepdims=True))
