"""Factor models of ratings: fitted, studied, and asked about models and prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from bonwise.asked import remembers
from bonwise.extras import linear_algebra
from bonwise.factors.settings import FactorKeywords
from bonwise.flags import Command, Flag, as_share, completed, numbers, shows, takes_numbers

if TYPE_CHECKING:
    from bonwise.factors.difference_bands import StageOneError
    from bonwise.factors.human_view import HumanView
    from bonwise.factors.ratings import RatingTable
    from bonwise.factors.result import FactorFit, FactorStudy
    from bonwise.factors.result_models import (
        FactorComparison,
        FactorExplanation,
        FactorLeaderboard,
        FactorPrediction,
        FactorStrengths,
    )
    from bonwise.table.reading import RowSource
    from bonwise.table.score_table import ScoreTable

RATER_SHARES = (0.25, 0.5, 0.75, 1.0)

_RATINGS = Flag("Ratings with columns prompt_id, model, rater, rating, or a table of scores.", "FILE", Path)
_HUMAN = Flag("The human rater, as the file names it.", required=True)


def _interval(text: str, _: str) -> str | None:
    return None if text == "none" else text


@linear_algebra
@shows(FactorKeywords)
def fit_factors(
    source: Annotated[RowSource | ScoreTable | RatingTable, _RATINGS],
    *,
    human: Annotated[str | None, _HUMAN] = None,
    normalize: Annotated[bool, Flag("The paper's column normalisation in place of the prior.", rare=True)] = False,
    holdout: Annotated[
        float | None, Flag("Share of the human ratings to hold out and predict.", parse=as_share)
    ] = None,
    interval: Annotated[
        StageOneError | None,
        Flag("laplace_gibbs, propagated, fixed (the paper's), or none.", kind=str, read=_interval),
    ] = "laplace_gibbs",
    leave_one_out: Annotated[
        bool, Flag("Predict each model and each category of prompts without its human ratings.")
    ] = False,
    **settings: Unpack[FactorKeywords],
) -> FactorFit:
    """Fit capabilities to judges' ratings, and align them with few human ratings.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, RatingTable or rows as mappings
        Columns ``prompt_id``, ``model``, ``rater``, ``rating``, and optionally ``opponent``, ``category`` and
        ``replicate``; or what `audit` reads, whose candidates are the models and whose labels are those of `human`.
    human : str, optional
        The rater whose ratings are to be predicted; a `RatingTable` names it.
    normalize : bool
        The paper's column normalisation in place of the prior.
    holdout : float, optional
        Share of the human ratings that is held out, in (0, 1): the fit and all baselines predict it.
    interval : {"laplace_gibbs", "propagated", "fixed"}, optional
        How intervals treat the error of stage 1: the joint posterior; that of the prompts alone; not at all, as in
        the paper. None makes none, and no leaderboard.
    leave_one_out : bool
        Whether each model, and each category of prompts, is also predicted without its human ratings, by a further
        fit. Models are so in any case where one has no human ratings: its intervals count what judges miss of others.
    **settings
        See `bonwise.factors.settings.FactorKeywords`.

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
    asked = completed(FactorKeywords, settings, "fit_factors")
    from bonwise.factors.engine import fitted_factors

    own: dict[str, Any] = {"normalize": normalize, "holdout": holdout, "interval": interval}
    return fitted_factors(source, human, asked, **own, leave_one_out=leave_one_out)


@linear_algebra
@shows(FactorKeywords)
def study_factors(
    source: Annotated[RowSource | ScoreTable | RatingTable, _RATINGS],
    *,
    human: Annotated[str | None, _HUMAN] = None,
    budgets: Annotated[
        Sequence[float] | None,
        Flag(
            "Share of the human ratings to fit (repeatable); 0.05, 0.1, 0.2 and 0.4 if not given.",
            "--budget",
            parse=as_share,
        ),
    ] = None,
    rater_shares: Annotated[
        Sequence[float],
        Flag(
            "Share of the judges to fit (repeatable); 0.25, 0.5, 0.75 and 1 if not given.",
            "--rater-share",
            parse=as_share,
        ),
    ] = RATER_SHARES,
    rater_budget: Annotated[
        float | None, Flag("The budget at which shares of judges are compared; nearest to 0.1.", rare=True)
    ] = None,
    splits: Annotated[int, Flag("Random orders of the human ratings and judges.", rare=True)] = 5,
    **settings: Unpack[FactorKeywords],
) -> FactorStudy:
    """Study what human ratings and judges are worth: held-out cross-entropy by the share of each.

    Each split puts the human ratings in a random order. A budget fits the first of them, so a larger one holds all
    that a smaller one has; what no budget fits is predicted by all. Shares of judges are nested in the same way.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, RatingTable or rows as mappings
        As in `fit_factors`.
    human : str, optional
        The rater whose ratings are to be predicted; a `RatingTable` names it.
    budgets : sequence of float, optional
        Shares of the human ratings to fit, in (0, 0.9]; 0.05, 0.1, 0.2 and 0.4, as far as they hold 20 ratings, where
        it is None.
    rater_shares : sequence of float
        Shares of the judges to fit, in (0, 1]; each takes at least one. Empty for no such comparison.
    rater_budget : float, optional
        The budget, one of `budgets`, at which shares of judges are compared; the one nearest to 0.1 where it is None.
    splits : int
        Random orders, at least 1.
    **settings
        See `bonwise.factors.settings.FactorKeywords`.

    Returns
    -------
    FactorStudy

    Raises
    ------
    bonwise.errors.InputError
        Ratings that cannot be read, or to which no factor model can be fitted.
    bonwise.errors.UsageError
        A budget with fewer than 20 human ratings, or one that leaves fewer than 20 to predict.
    bonwise.errors.MissingExtraError
        The backend torch is asked for and not installed.

    Examples
    --------
    >>> from bonwise.testing import simulate_ratings
    >>> ratings = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    >>> study_factors(ratings, human="human", budgets=[0.2, 0.4], splits=1, rank=1, prior=1.0, rater_shares=[])
    <FactorStudy of 5 raters: 2 budgets, 0 shares of judges, 1 split>
    """
    asked = completed(FactorKeywords, settings, "study_factors")
    from bonwise.factors.study import studied_factors

    shares: dict[str, Any] = {"budgets": budgets, "rater_shares": rater_shares, "rater_budget": rater_budget}
    return studied_factors(source, human, asked, **shares, splits=splits)


def _loaded(path: Path, _: str) -> HumanView:
    from bonwise.factors.human_view import load_factors

    return load_factors(path)


def _columns(text: str, _: str) -> list[str] | None:
    """Read ``maths,length``."""
    return [name.strip() for name in text.split(",") if name.strip()] or None


_FITTED = Flag("What bonwise factor fit --save wrote.", "FILE", Path, _loaded)
_MODEL, _OTHER = Flag("A model."), Flag("The model to compare it with.")
_PROMPTS = Flag("Table of prompts: prompt_id, and columns of tags, categories, numbers or the text.", kind=Path)
_TAGS = Flag("Columns of that table to use, separated by commas; all if not given.", kind=str, read=_columns)


@remembers
def rank_models(
    view: Annotated[HumanView, _FITTED],
    *,
    prompt: Annotated[str | None, Flag("Rank on this prompt.")] = None,
    category: Annotated[str | None, Flag("Rank on the prompts of this category.")] = None,
) -> FactorLeaderboard:
    """Rank the models, see `bonwise.factors.leaderboards.rank_models`."""
    from bonwise.factors import leaderboards

    return leaderboards.rank_models(view, prompt=prompt, category=category)


@remembers
def predict_averages(
    view: Annotated[HumanView, _FITTED],
    *,
    leave_one_out: Annotated[bool, Flag("Show how far predictions without human ratings were off.")] = False,
) -> FactorPrediction:
    """Predict averages, see `bonwise.factors.leaderboards.predict_averages`."""
    from bonwise.factors import leaderboards

    return leaderboards.predict_averages(view, leave_one_out=leave_one_out)


@remembers
@takes_numbers
def compare_models(
    view: Annotated[HumanView, _FITTED],
    model: Annotated[str, _MODEL],
    other: Annotated[str, _OTHER],
    *,
    equivalence: Annotated[
        float | None, Flag("Find prompts on which the model is less than so many logits worse than the other.")
    ] = None,
    prompts: Annotated[RowSource | None, _PROMPTS] = None,
    tags: Annotated[Sequence[str] | None, _TAGS] = None,
    prices: Annotated[
        Mapping[str, float] | None,
        Flag("MODEL=PRICE of an answer, for both models.", "--price", kind=list[str], read=numbers),
    ] = None,
) -> FactorComparison:
    """Compare two models, see `bonwise.factors.comparisons.compare_models`."""
    from bonwise.factors import comparisons

    known: dict[str, Any] = {"prompts": prompts, "tags": tags, "prices": prices}
    return comparisons.compare_models(view, model, other, equivalence=equivalence, **known)


@remembers
def explain_gaps(
    view: Annotated[HumanView, _FITTED],
    model: Annotated[str, _MODEL],
    other: Annotated[str, _OTHER],
    *,
    prompts: Annotated[RowSource | None, _PROMPTS] = None,
    tags: Annotated[Sequence[str] | None, _TAGS] = None,
) -> FactorExplanation:
    """Explain the gap between two models, see `bonwise.factors.comparisons.explain_gaps`."""
    from bonwise.factors import comparisons

    return comparisons.explain_gaps(view, model, other, prompts=prompts, tags=tags)


@remembers
def find_strengths(
    view: Annotated[HumanView, _FITTED],
    model: Annotated[str, _MODEL],
    *,
    prompts: Annotated[RowSource | None, _PROMPTS] = None,
    tags: Annotated[Sequence[str] | None, _TAGS] = None,
) -> FactorStrengths:
    """Find strengths and weaknesses, see `bonwise.factors.strengths.find_strengths`."""
    from bonwise.factors import strengths

    return strengths.find_strengths(view, model, prompts=prompts, tags=tags)


COMMANDS = {
    "leaderboard": Command(rank_models, "Rank the models on all prompts, on one, or on a category."),
    "explain": Command(
        explain_gaps, "Explain the gap between two models by tags of the prompts and by their length."
    ),
    "strengths": Command(
        find_strengths, "Find the groups of prompts, and the prompts, on which a model is strong or weak."
    ),
    "predict": Command(
        predict_averages,
        """Predict the average rating, or the net win rate, of every model.

        Also of models that no human has rated.
        """,
    ),
}
"""What is typed after ``bonwise factor``, beside ``fit``, ``study`` and ``compare``."""
