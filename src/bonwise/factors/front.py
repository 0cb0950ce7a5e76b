"""A factor model fitted to ratings: refusals first, then the judges, the human, and the interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.factors.baselines import HeldOut, baseline_losses
from bonwise.factors.difference_bands import COVERS, STAGE_ONE_ERRORS, UNSEEN_TRAITS, StageOneError
from bonwise.factors.human_view import HumanView
from bonwise.factors.leaderboards import cohesion_of_categories, rank_models, unrated
from bonwise.factors.model_choice import PRIORS, RANKS, ChosenModel, choose_among, fit_stage_one
from bonwise.factors.pictures import gap_variances, information_of_judges, map_of_prompts
from bonwise.factors.posterior_draws import PluggedIn, PosteriorDraws, draw_posterior
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import MOST_CATEGORIES, Binning, RatingTable
from bonwise.factors.result import (
    BaselineRecord,
    FactorData,
    FactorFit,
    FactorSettings,
    FitParts,
    HoldoutRecord,
    ModelCapability,
)
from bonwise.factors.stage_one import Backend, backend_for, say_torch_is_faster
from bonwise.factors.stage_two import HumanDesign, HumanModel, HumanRatings, RatedCells, VerdictColumns, fit_human
from bonwise.printable import listed, quoted
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.sums import Floats
from bonwise.table.checks import CONFIDENCE, SEED, check_confidence, check_number, check_seed, check_whole
from bonwise.table.reading import RowSource

__all__ = ["FEWEST_HUMAN", "fit_factors", "largest_rank", "read_ratings", "refuse_unfit"]

FEWEST_HUMAN = 20
"""Human ratings without which nothing can be cross-validated."""


def largest_rank(judges: RatingArrays) -> int:
    """Return the most skills that ratings by judges tell apart: no more than prompts, or pairs of judge and model."""
    return max(min(judges.prompts, judges.models * judges.raters), 1)


def refuse_unfit(table: RatingTable, data: RatingArrays, rank: int | None) -> None:
    """Refuse ratings that no factor model can be fitted to.

    No judge, a human with one category or few ratings, one model, a model that no judge rates, or comparisons that
    fall apart into groups of models raise `InputError`; a rank beyond what the ratings can tell apart raises
    `UsageError`.
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
    found = int(data.human.sum())
    if found < FEWEST_HUMAN:
        raise InputError(
            f"{table.source}: {found} ratings by {quoted(human)} are too few to cross-validate",
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
        names = [listed(table.models[at] for at in np.flatnonzero(group == one)) for one in range(2)]
        raise InputError(
            f"{table.source}: no judge compares one of {names[0]} with one of {names[1]}",
            hint="add comparisons between them, or fit them apart",
        )


def _components(graph: sparse.csr_array) -> tuple[int, npt.NDArray[np.int32]]:
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(graph, directed=False)
    return int(count), group


_WEAK_RIDGE = 1e-3


def fit_factors(  # noqa: PLR0913 - every setting is named
    source: RowSource | RatingTable,
    *,
    human: str | None = None,
    rank: int | None = None,
    prior: float | None = None,
    normalize: bool = False,
    restarts: int = 2,
    holdout: float | None = None,
    interval: StageOneError | None = "laplace_gibbs",
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    backend: Backend = "auto",
    categories: Mapping[str, Sequence[str]] | None = None,
    bins: int = MOST_CATEGORIES,
    binning: Binning = "equal_count",
    say: Callable[[str], None] | None = None,
) -> FactorFit:
    """Fit capabilities to judges' ratings, and align them with few human ratings.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, RatingTable or rows as mappings
        Columns ``prompt_id``, ``model``, ``rater``, ``rating``, and optionally ``opponent``, ``category`` and
        ``replicate``.
    human : str, optional
        The rater whose ratings are to be predicted; a `RatingTable` names it.
    rank : int, optional
        Skills K; cross-validation on human ratings chooses where it is None.
    prior : float, optional
        Precision of the Gaussian prior of the factors, above 0; cross-validation chooses where it is None.
    normalize : bool
        The paper's column normalisation in place of the prior.
    restarts : int
        Starts of stage 1, of which the best is kept.
    holdout : float, optional
        Share of the human ratings that is held out, in (0, 1): the fit and all baselines predict it.
    interval : {"laplace_gibbs", "propagated", "fixed"}, optional
        How intervals treat the error of stage 1: the joint posterior; that of the prompts alone; not at all, as in
        the paper. None makes none, and no leaderboard.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
    backend : {"auto", "numpy", "torch"}
        What computes stage 1. ``auto`` is torch for more than 300,000 ratings of judges where it is installed
        (``pip install 'bonwise[torch]'``), otherwise numpy.
    categories : mapping of str to sequence of str, optional
        The words that a rater uses, lowest first.
    bins : int
        A rater's numbers are binned where there are more distinct ones.
    binning : {"equal_count", "equal_width"}
    say : callable, optional
        Called with a line now and then.

    Returns
    -------
    FactorFit

    Raises
    ------
    bonwise.errors.InputError
        Ratings that cannot be read, or to which no factor model can be fitted.
    bonwise.errors.MissingExtraError
        The backend torch is asked for and not installed.

    Examples
    --------
    >>> from bonwise.testing import simulate_ratings
    >>> ratings = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    >>> fit_factors(ratings, human="human", rank=1, prior=1.0, holdout=0.5, interval=None)
    <FactorFit of 4 models by 5 raters: rank 1>
    """
    backend_for(backend, 0)
    check_confidence(confidence)
    check_seed(seed)
    _check(rank, prior, normalize, restarts, holdout, interval)
    table = read_ratings(source, human, {"categories": categories, "bins": bins, "binning": binning})
    whole = RatingArrays.of(table)
    refuse_unfit(table, whole, rank)
    known = _known(whole, holdout, seed)
    data = whole.only(~whole.human | known)
    refuse_unfit(table, data, rank)
    judges = data.without_human()
    settings = FactorSettings(
        human=table.human_scale.rater,
        rank=rank,
        prior=prior,
        normalize=normalize,
        restarts=restarts,
        holdout=holdout,
        interval=interval,
        confidence=confidence,
        seed=int(seed),
        backend=backend_for(backend, len(judges)),
        source=table.source,
        version=release(),
    )
    if say is not None:
        say_torch_is_faster(backend, len(judges), say)
    design = HumanDesign(data.models, VerdictColumns.of(judges))
    ratings = HumanRatings.of(data, seed=seed)
    ranks = [one for one in RANKS if one <= largest_rank(judges)] if rank is None else [rank]
    priors = [0.0] if normalize else list(PRIORS) if prior is None else [prior]
    how: dict[str, Any] = {"normalize": normalize, "restarts": restarts, "seed": seed, "backend": settings.backend}
    chosen = choose_among(fit_stage_one(judges, ranks, priors, **how, say=say), design, ratings)
    held = None
    if holdout is not None:
        held = _held_out(HumanRatings.of(whole.only(whole.human & ~known)), chosen, design, ratings, data.prompts)
    if interval is None:
        return _fit(table, settings, chosen, held, None, len(ratings))
    skills = fit_human(chosen.human.design, ratings, ["skills"], _WEAK_RIDGE)
    view = _view(table, data, _draws(data, chosen, skills, settings, say), settings)
    variances = None
    if chosen.best.prior > 0 and judges.raters > 1:
        variances = gap_variances(judges, chosen.capabilities, _weights(skills), chosen.best.prior)
    return _fit(table, settings, chosen, held, view, len(ratings), variances)


def _check(
    rank: int | None,
    prior: float | None,
    normalize: bool,
    restarts: int,
    holdout: float | None,
    interval: StageOneError | None,
) -> None:
    check_whole("restarts", restarts, least=1)
    if rank is not None:
        check_whole("rank", rank, least=1)
    if prior is not None:
        check_number("prior", prior, low=1e-6, high=1e6)
    if holdout is not None:
        check_number("holdout", holdout, low=0.01, high=0.99)
    if interval is not None and interval not in STAGE_ONE_ERRORS:
        raise UsageError(f"there is no interval {quoted(interval)}", hint=f"one of {', '.join(STAGE_ONE_ERRORS)}")
    if normalize and prior is not None:
        raise UsageError("normalised columns have no prior", hint="leave out normalize, or prior")


def read_ratings(source: RowSource | RatingTable, human: str | None, scales: Mapping[str, object]) -> RatingTable:
    """Return the table of ratings, with the human one named."""
    if isinstance(source, RatingTable):
        if human is not None and human != source.human_scale.rater:
            names = [one.rater for one in source.raters]
            if human not in names:
                raise UsageError(
                    f"{source.source}: no rater named {quoted(human)}", hint=f"the raters are {listed(names)}"
                )
            return replace(source, human=names.index(human))
        return source
    if human is None:
        raise UsageError("no rater is named as the human one", hint="name it with human=, or --human")
    return RatingTable.read(source, human=human, **scales)  # type: ignore[arg-type]


def _known(data: RatingArrays, holdout: float | None, seed: int) -> npt.NDArray[np.bool_]:
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
) -> HeldOut:
    own = -chosen.human.log_probabilities(held)
    return HeldOut(own, baseline_losses(design, fitted, held, prompts), held.cells.prompt)


def _draws(
    data: RatingArrays,
    chosen: ChosenModel,
    skills: HumanModel,
    settings: FactorSettings,
    say: Callable[[str], None] | None,
) -> PosteriorDraws:
    """Draw capabilities of the model on skills alone, because the interval is about these."""
    if settings.interval == "laplace_gibbs":
        start = (_weights(skills), skills.regression.cutoffs)
        return draw_posterior(data, chosen.capabilities, start, seed=settings.seed, say=say)
    propagated = settings.interval == "propagated"
    prior = max(chosen.best.prior, 1e-6)
    plugged = PluggedIn.of(data.without_human(), chosen.capabilities, skills, prior=prior, propagated=propagated)
    return plugged.draws(np.random.default_rng(settings.seed))


def _weights(skills: HumanModel) -> Floats:
    """Return the human's weight of each skill, before features were scaled."""
    scales = skills.design.scales
    return np.asarray(skills.regression.coefficients / (1.0 if scales is None else scales))


def _view(table: RatingTable, data: RatingArrays, draws: PosteriorDraws, settings: FactorSettings) -> HumanView:
    human = data.only(data.human)
    counts = np.bincount(human.model, minlength=data.models)
    counts = counts + np.bincount(human.opponent[human.side_by_side], minlength=data.models)
    named = [*table.categories, ""]
    return HumanView.of(
        draws,
        human=settings.human,
        side_by_side=table.human_scale.side_by_side,
        categories=table.human_scale.categories,
        points=list(table.points[table.human]),
        prompts=list(table.prompts),
        models=list(table.models),
        prompt_categories=[named[at] for at in table.prompt_category],
        human_ratings=counts.tolist(),
        confidence=settings.confidence,
        seed=settings.seed,
        source=table.source,
        version=settings.version,
    )


def _fit(
    table: RatingTable,
    settings: FactorSettings,
    chosen: ChosenModel,
    held: HeldOut | None,
    view: HumanView | None,
    fitted: int,
    variances: tuple[Floats, Floats] | None = None,
) -> FactorFit:
    best = chosen.best
    fit = FactorFit(
        data=FactorData(
            prompts=len(table.prompts),
            models=len(table.models),
            ratings=len(table.rating),
            human_ratings=int(table.by_human.sum()),
            repeats=table.repeats,
            dropped=dict(table.left_out),
        ),
        settings=settings,
        raters=[table.human_scale, *(one for at, one in enumerate(table.raters) if at != table.human)],
        rank=best.rank,
        prior=best.prior,
        columns=best.columns,
        ridge=best.ridge,
        candidates=chosen.candidates,
        holdout=None if held is None else _holdout(held, settings.confidence, fitted),
        baselines={} if held is None else _baselines(held, settings.confidence),
        leaderboard=[] if view is None else list(_leaderboard(view, settings)),
        **({} if view is None else _pictures(table, view, variances)),
        notes=list(_notes(table, settings, chosen, view)),
    )
    return fit.computed_from(FitParts(view, held))


def _holdout(held: HeldOut, confidence: float, fitted: int) -> HoldoutRecord:
    mean = held.mean(held.own, confidence)
    cross_entropy = float(held.own.mean())
    return HoldoutRecord(cross_entropy=cross_entropy, se=mean.se, n=len(held.own), prompts=mean.n, fitted=fitted)


def _baselines(held: HeldOut, confidence: float) -> dict[str, BaselineRecord]:
    return {
        name: BaselineRecord(cross_entropy=float(losses.mean()), difference=held.mean(losses - held.own, confidence))
        for name, losses in held.baselines.items()
    }


def _leaderboard(view: HumanView, settings: FactorSettings) -> Iterator[ModelCapability]:
    leaderboard = rank_models(view)
    for row in leaderboard.models:
        yield ModelCapability(
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


def _pictures(table: RatingTable, view: HumanView, variances: tuple[Floats, Floats] | None) -> dict[str, Any]:
    """Return what a page draws; a key is absent where there is nothing."""
    judges = [one.rater for at, one in enumerate(table.raters) if at != table.human and one.size > 1]
    information = None
    if variances is not None:
        information = list(information_of_judges(judges, variances, view.confidence))
    return given(
        cohesion=cohesion_of_categories(view) or None,
        information=information,
        prompt_map=map_of_prompts(view),
    )


def _notes(
    table: RatingTable, settings: FactorSettings, chosen: ChosenModel, view: HumanView | None
) -> Iterator[str]:
    silent = [one.rater for one in table.raters if one.size < 2]
    if silent:
        yield f"Left out: {', '.join(silent)}, because all their ratings are equal."
    judges = RatingArrays.of(table).without_human()
    missing = len(table.prompts) - len(np.unique(judges.prompt))
    if missing:
        yield f"No judge rates {missing} of the prompts: what is predicted there rests on the others."
    if chosen.human.regression.smoothed:
        yield "A category has no human rating to fit: half a rating was added to each."
    if settings.interval is not None:
        share = COVERS[settings.interval]
        yield (
            f"In simulations of BiGGen-Bench's size the 95% interval {settings.interval} held "
            f"{share:.0%} of the true differences within prompts."
        )
        yield UNSEEN_TRAITS
    if view is not None:
        yield from unrated(view)
