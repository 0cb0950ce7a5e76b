"""A factor model fitted to ratings: refusals first, then the judges, the human, and the interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bonwise.errors import InputError, UsageError
from bonwise.factors.baselines import baseline_losses
from bonwise.factors.difference_bands import STAGE_ONE_ERRORS, StageOneError
from bonwise.factors.fitted import FactorFit, FitSettings, HeldOut
from bonwise.factors.human_view import HumanView
from bonwise.factors.judge_information import gap_variances
from bonwise.factors.model_choice import PRIORS, RANKS, ChosenModel, StageOneSettings, choose_model
from bonwise.factors.posterior_draws import PluggedIn, PosteriorDraws, draw_posterior
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.rating_scales import MOST_CATEGORIES, Binning
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import Backend, backend_for, say_torch_is_faster
from bonwise.factors.stage_two import HumanDesign, HumanModel, HumanRatings, RatedCells, VerdictColumns, fit_human
from bonwise.printable import listed, quoted
from bonwise.release import release
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

    Raises
    ------
    bonwise.errors.InputError
        No judge, a human with one category or few ratings, one model, a model that no judge rates, or comparisons
        that fall apart into groups of models.
    bonwise.errors.UsageError
        A rank beyond what the ratings can tell apart.
    """
    human = table.human_scale.rater
    if table.human_scale.size < 2:
        raise InputError(
            f"{table.source}: {quoted(human)} gives one rating alone, {quoted(table.human_scale.labels[0])}",
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
    used = backend_for(backend, 0)
    settings = FitSettings(rank, prior, normalize, restarts, holdout, interval, confidence, seed, used)
    _check(settings)
    table = read_ratings(source, human, {"categories": categories, "bins": bins, "binning": binning})
    whole = RatingArrays.of(table)
    refuse_unfit(table, whole, rank)
    known = _known(whole, settings)
    data = whole.only(~whole.human | known)
    refuse_unfit(table, data, rank)
    judges = data.without_human()
    settings = replace(settings, backend=backend_for(backend, len(judges)))
    if say is not None:
        say_torch_is_faster(backend, len(judges), say)
    design = HumanDesign(data.models, VerdictColumns.of(judges))
    ratings = HumanRatings.of(data, seed=seed)
    ranks = [one for one in RANKS if one <= largest_rank(judges)] if rank is None else [rank]
    priors = [0.0] if normalize else list(PRIORS) if prior is None else [prior]
    stage_one = StageOneSettings(ranks, priors, normalize, restarts, seed, settings.backend)
    chosen = choose_model(judges, design, ratings, stage_one, say=say)
    held = None
    if holdout is not None:
        held = _held_out(HumanRatings.of(whole.only(whole.human & ~known)), chosen, design, ratings, data.prompts)
    if interval is None:
        return FactorFit(table, settings, chosen, held, None, len(ratings))
    skills = fit_human(chosen.human.design, ratings, ["skills"], _WEAK_RIDGE)
    view = _view(table, data, _draws(data, chosen, skills, settings, say), settings)
    variances = None
    if chosen.best.prior > 0 and judges.raters > 1:
        variances = gap_variances(judges, chosen.capabilities, _weights(skills), chosen.best.prior)
    return FactorFit(table, settings, chosen, held, view, len(ratings), variances)


def _check(settings: FitSettings) -> None:
    check_confidence(settings.confidence)
    check_seed(settings.seed)
    check_whole("restarts", settings.restarts, least=1)
    if settings.rank is not None:
        check_whole("rank", settings.rank, least=1)
    if settings.prior is not None:
        check_number("prior", settings.prior, low=1e-6, high=1e6)
    if settings.holdout is not None:
        check_number("holdout", settings.holdout, low=0.01, high=0.99)
    if settings.interval is not None and settings.interval not in STAGE_ONE_ERRORS:
        raise UsageError(
            f"there is no interval {quoted(settings.interval)}", hint=f"one of {', '.join(STAGE_ONE_ERRORS)}"
        )
    if settings.normalize and settings.prior is not None:
        raise UsageError("normalised columns have no prior", hint="leave out normalize, or prior")


def read_ratings(source: RowSource | RatingTable, human: str | None, scales: Mapping[str, object]) -> RatingTable:
    """Return the table of ratings, with the human one named.

    Raises
    ------
    bonwise.errors.InputError
        Ratings that cannot be read, or no such rater.
    """
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


def _known(data: RatingArrays, settings: FitSettings) -> npt.NDArray[np.bool_]:
    """Tell which human ratings are fitted; all ratings of one cell are held out together."""
    known = data.human.copy()
    if settings.holdout is None:
        return known
    rows = np.flatnonzero(data.human)
    places = RatedCells.of(data.only(rows)).places(data.models, np.random.default_rng(settings.seed))
    known[rows[places < settings.holdout * len(rows)]] = False
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
    settings: FitSettings,
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


def _view(table: RatingTable, data: RatingArrays, draws: PosteriorDraws, settings: FitSettings) -> HumanView:
    human = data.only(data.human)
    counts = np.bincount(human.model, minlength=data.models)
    counts = counts + np.bincount(human.opponent[human.side_by_side], minlength=data.models)
    named = [*table.categories, ""]
    return HumanView(
        table.human_scale.rater,
        table.human_scale.side_by_side,
        table.human_scale.labels,
        table.human_scale.points,
        table.prompts,
        table.models,
        tuple(named[at] for at in table.prompt_category),
        tuple(counts.tolist()),
        draws,
        settings.confidence,
        settings.seed,
        table.source,
        release(),
    )
