"""``bonwise factor``: ratings of several judges fused with few human ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import Output, shared_flags
from bonwise.errors import UsageError
from bonwise.table.checks import CONFIDENCE, SEED

if TYPE_CHECKING:
    from bonwise.report.blocks import Said

__all__ = ["app"]

app = typer.Typer(name="factor", help="Fuse judges' ratings of models with few human ratings.", rich_markup_mode=None)

Prompts = Annotated[
    Path | None,
    typer.Option(
        "--prompts", help="Table of prompts: prompt_id, and columns of tags, categories, numbers or the text."
    ),
]
Tags = Annotated[
    str | None, typer.Option("--tags", help="Columns of that table to use, separated by commas; all if not given.")
]
Fitted = Annotated[Path, typer.Argument(help="What bonwise factor fit --save wrote.", show_default=False)]


@app.command("fit")
@shared_flags()
def fit(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            help="Ratings with columns prompt_id, model, rater, rating (CSV, JSONL or Parquet).", show_default=False
        ),
    ],
    human: Annotated[str, typer.Option("--human", help="The human rater, as the file names it.", show_default=False)],
    rank: Annotated[int | None, typer.Option("--rank", help="Skills; cross-validation chooses if not given.")] = None,
    prior: Annotated[
        float | None,
        typer.Option("--prior", help="Precision of the factors' prior; cross-validation chooses if not given."),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="The paper's column normalisation in place of the prior.")
    ] = False,
    restarts: Annotated[int, typer.Option("--restarts", help="Starts of stage 1; the best is kept.")] = 2,
    holdout: Annotated[
        float | None, typer.Option("--holdout", help="Share of the human ratings to hold out and predict.")
    ] = None,
    interval: Annotated[
        str, typer.Option("--interval", help="laplace_gibbs, propagated, fixed (the paper's), or none.")
    ] = "laplace_gibbs",
    categories: Annotated[
        list[str] | None,
        typer.Option("--categories", help="Words of a rater, lowest first: NAME=poor,fair,good (repeatable)."),
    ] = None,
    bins: Annotated[int, typer.Option("--bins", help="Bins of a rater with more different numbers.")] = 10,
    binning: Annotated[str, typer.Option("--binning", help="equal_count or equal_width.")] = "equal_count",
    backend: Annotated[
        str, typer.Option("--backend", help="auto, numpy or torch. auto: torch above 300,000 ratings if installed.")
    ] = "auto",
    save: Annotated[
        Path | None, typer.Option("--save", help="Write what the other commands of bonwise factor read (JSON).")
    ] = None,
    confidence: given.Confidence = CONFIDENCE,
    seed: given.Seed = SEED,
    output: Output,
) -> int:
    """Fit capabilities of models to judges' ratings, and align them with human ratings.

    For models that answer the same prompts. Where candidates differ from prompt to prompt, fit a stack of judges.
    """
    output.refuse_overwriting(file, also=(save,))
    from bonwise.factors.front import fit_factors
    from bonwise.factors.view_answers import after_fit, fit_answer

    if save is not None and interval == "none":
        raise UsageError("--save writes what the interval is made of", hint="leave out --interval none, or --save")
    found = fit_factors(
        file,
        human=human,
        rank=rank,
        prior=prior,
        normalize=normalize,
        restarts=restarts,
        holdout=holdout,
        interval=None if interval == "none" else interval,  # type: ignore[arg-type]
        confidence=confidence,
        seed=seed,
        backend=backend,  # type: ignore[arg-type]
        categories=_words(categories),
        bins=bins,
        binning=binning,  # type: ignore[arg-type]
        say=given.say,
    )
    if save is not None and found.view is not None:
        found.view.save(save)
    then = after_fit(fit_answer(found), found, None if save is None else str(save))
    output.deliver(found, then=_next(then))
    return 0


@app.command("study")
@shared_flags()
def study(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            help="Ratings with columns prompt_id, model, rater, rating (CSV, JSONL or Parquet).", show_default=False
        ),
    ],
    human: Annotated[str, typer.Option("--human", help="The human rater, as the file names it.", show_default=False)],
    budgets: Annotated[
        list[float] | None,
        typer.Option(
            "--budget", help="Share of the human ratings to fit (repeatable); 0.05, 0.1, 0.2 and 0.4 if not given."
        ),
    ] = None,
    rater_shares: Annotated[
        list[float] | None,
        typer.Option(
            "--rater-share", help="Share of the judges to fit (repeatable); 0.25, 0.5, 0.75 and 1 if not given."
        ),
    ] = None,
    rater_budget: Annotated[
        float | None,
        typer.Option("--rater-budget", help="The budget at which shares of judges are compared; nearest to 0.1."),
    ] = None,
    splits: Annotated[int, typer.Option("--splits", help="Random orders of the human ratings and judges.")] = 5,
    rank: Annotated[int | None, typer.Option("--rank", help="Skills; cross-validation chooses if not given.")] = None,
    prior: Annotated[
        float | None,
        typer.Option("--prior", help="Precision of the factors' prior; cross-validation chooses if not given."),
    ] = None,
    restarts: Annotated[int, typer.Option("--restarts", help="Starts of stage 1; the best is kept.")] = 2,
    backend: Annotated[
        str, typer.Option("--backend", help="auto, numpy or torch. auto: torch above 300,000 ratings if installed.")
    ] = "auto",
    categories: Annotated[
        list[str] | None,
        typer.Option("--categories", help="Words of a rater, lowest first: NAME=poor,fair,good (repeatable)."),
    ] = None,
    bins: Annotated[int, typer.Option("--bins", help="Bins of a rater with more different numbers.")] = 10,
    binning: Annotated[str, typer.Option("--binning", help="equal_count or equal_width.")] = "equal_count",
    confidence: given.Confidence = CONFIDENCE,
    seed: given.Seed = SEED,
    output: Output,
) -> int:
    """Study what further human ratings and further judges are worth.

    Fits shares of the human ratings, and of the judges, and predicts the same other human ratings from each.
    """
    output.refuse_overwriting(file)
    from bonwise.factors.study import RATER_SHARES, study_factors
    from bonwise.factors.view_answers import after_study, study_answer

    found = study_factors(
        file,
        human=human,
        budgets=budgets or None,
        rater_shares=rater_shares or RATER_SHARES,
        rater_budget=rater_budget,
        splits=splits,
        rank=rank,
        prior=prior,
        restarts=restarts,
        confidence=confidence,
        seed=seed,
        backend=backend,  # type: ignore[arg-type]
        categories=_words(categories),
        bins=bins,
        binning=binning,  # type: ignore[arg-type]
        say=given.say,
    )
    output.deliver(found, then=_next(after_study(study_answer(found))))
    return 0


@app.command("leaderboard")
@shared_flags()
def leaderboard(
    *,
    file: Fitted,
    prompt: Annotated[str | None, typer.Option("--prompt", help="Rank on this prompt.")] = None,
    category: Annotated[str | None, typer.Option("--category", help="Rank on the prompts of this category.")] = None,
    output: Output,
) -> int:
    """Rank the models on all prompts, on one, or on a category."""
    output.refuse_overwriting(file)
    from bonwise.factors.human_view import load_factors
    from bonwise.factors.leaderboards import rank_models
    from bonwise.factors.view_answers import after_leaderboard

    document = rank_models(load_factors(file), prompt=prompt, category=category)
    first, second = document.models[0].model, document.models[1].model
    output.deliver(document, then=_next(after_leaderboard(first, second, str(file))))
    return 0


@app.command("compare")
@shared_flags()
def compare(
    *,
    file: Fitted,
    model: Annotated[str, typer.Argument(help="A model.", show_default=False)],
    other: Annotated[str, typer.Argument(help="The model to compare it with.", show_default=False)],
    output: Output,
) -> int:
    """Compare two models on every prompt, and by category."""
    output.refuse_overwriting(file)
    from bonwise.factors.comparisons import compare_models
    from bonwise.factors.human_view import load_factors
    from bonwise.factors.view_answers import after_comparison

    then = after_comparison(model, other, str(file))
    output.deliver(compare_models(load_factors(file), model, other), then=_next(then))
    return 0


@app.command("explain")
@shared_flags()
def explain(
    *,
    file: Fitted,
    model: Annotated[str, typer.Argument(help="A model.", show_default=False)],
    other: Annotated[str, typer.Argument(help="The model to compare it with.", show_default=False)],
    prompts: Prompts = None,
    tags: Tags = None,
    output: Output,
) -> int:
    """Explain the gap between two models by tags of the prompts and by their length."""
    output.refuse_overwriting(file, prompts)
    from bonwise.factors.comparisons import explain_gaps
    from bonwise.factors.human_view import load_factors
    from bonwise.factors.view_answers import after_explanation

    document = explain_gaps(load_factors(file), model, other, prompts=prompts, tags=_columns(tags))
    table = {} if prompts is None else {"prompts": str(prompts)}
    output.deliver(document, then=_next(after_explanation(model, str(file), **table)))
    return 0


@app.command("strengths")
@shared_flags()
def strengths(
    *,
    file: Fitted,
    model: Annotated[str, typer.Argument(help="A model.", show_default=False)],
    prompts: Prompts = None,
    tags: Tags = None,
    output: Output,
) -> int:
    """Find the groups of prompts, and the prompts, on which a model is strong or weak."""
    output.refuse_overwriting(file, prompts)
    from bonwise.factors.human_view import load_factors
    from bonwise.factors.strengths import find_strengths
    from bonwise.factors.view_answers import after_strengths, strengths_answer

    document = find_strengths(load_factors(file), model, prompts=prompts, tags=_columns(tags))
    output.deliver(document, then=_next(after_strengths(strengths_answer(document), str(file))))
    return 0


@app.command("predict")
@shared_flags()
def predict(
    *,
    file: Fitted,
    output: Output,
) -> int:
    """Predict the average rating, or the net win rate, of every model.

    Also of models that no human has rated.
    """
    output.refuse_overwriting(file)
    from bonwise.factors.human_view import load_factors
    from bonwise.factors.leaderboards import predict_averages
    from bonwise.factors.view_answers import after_prediction

    output.deliver(predict_averages(load_factors(file)), then=_next(after_prediction(str(file))))
    return 0


def _next(then: Sequence[Said]) -> list[Said]:
    """Say what to do next, as it is printed last."""
    from bonwise.report.blocks import Said

    return [Said("note", "Next:"), *then]


def _columns(text: str | None) -> list[str] | None:
    """Read ``maths,length``."""
    return None if text is None else [one.strip() for one in text.split(",") if one.strip()] or None


def _words(texts: list[str] | None) -> dict[str, list[str]]:
    """Read ``NAME=poor,fair,good``."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        name, _, words = text.rpartition("=")
        if not name or "," not in words:
            raise UsageError(f"not categories of a rater: {text!r}", hint="write NAME=poor,fair,good")
        found[name] = [word.strip() for word in words.split(",")]
    return found
