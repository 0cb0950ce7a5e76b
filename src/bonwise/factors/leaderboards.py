"""Models by what the human would say: on all prompts, one or a category, and the average each would get."""

from __future__ import annotations

import numpy as np

from bonwise.errors import UsageError
from bonwise.factors import difference_bands, human_view, result, result_models
from bonwise.printable import quoted
from bonwise.results import given
from bonwise.stats import ordinal_ratings, sums

__all__ = ["PERMUTATIONS", "cohesion_of_categories", "composites", "predict_averages", "rank_models"]

PERMUTATIONS = 999
"""Random sets of prompts with which the cohesion of a category is compared."""

_COMPOSITE = (
    "A category is ranked by its reference composite. Composites of different categories are on different scales."
)
_ONE = "One prompt: intervals assume that no trait matters to people that every judge overlooks."


def rank_models(
    view: human_view.HumanView, *, prompt: str | None = None, category: str | None = None
) -> result_models.FactorLeaderboard:
    """Rank the models on all prompts, on one, or on those of a category; `UsageError` on both.

    A category's reference composite is the direction ``u`` that its prompts share: the leading eigenvector of the sum
    of ``P_p P_p'``, ``u'P_p`` positive on the whole.
    """
    if prompt is not None and category is not None:
        raise UsageError("a prompt and a category are two leaderboards", hint="give one of them")
    cohesion = None
    notes: list[str] = []
    if category is not None:
        rows = view.prompts_of(category)
        draws, shares = composites(view, rows)
        cohesion, _ = _cohesion(view, rows, shares)
        notes.append(_COMPOSITE)
    elif prompt is not None:
        if prompt not in view.prompts:
            raise UsageError(f"no prompt named {quoted(prompt)}", hint="use a prompt_id of the ratings")
        rows = np.array([view.prompts.index(prompt)])
        draws = view.draws.capabilities(rows)[:, :, 0]
        notes.append(_ONE)
    else:
        rows = np.arange(len(view.prompts))
        draws = view.draws.by_model @ view.draws.by_prompt.mean(axis=1)[:, :, None]
        draws = draws[:, :, 0]
    return result_models.FactorLeaderboard(
        scope="category" if category is not None else "prompt" if prompt is not None else "all",
        name=category if category is not None else prompt,
        prompts=len(rows),
        models=_ranked(view, draws),
        **given(cohesion=cohesion),
        confidence=view.confidence,
        notes=[*notes, *unrated(view)],
        human=view.human,
        source=view.source,
        version=view.version,
    )


def unrated(view: human_view.HumanView) -> list[str]:
    """Return a sentence about models that no human has rated; empty where there is none."""
    names = [name for name, count in zip(view.models, view.human_ratings, strict=True) if not count]
    return [f"No human has rated {', '.join(names)}: judges alone place them."] if names else []


def composites(view: human_view.HumanView, rows: np.typing.NDArray[np.int64]) -> tuple[sums.Floats, sums.Floats]:
    """Return the models, (draws, models), along the reference composite of prompts, and its cohesion, (draws,).

    The cohesion is the largest eigenvalue over the sum of all.
    """
    chosen = view.draws.by_prompt[:, rows]
    values, vectors = np.linalg.eigh(np.einsum("dpk,dpl->dkl", chosen, chosen))
    leading = vectors[:, :, -1]
    along = np.einsum("dpk,dk->d", chosen, leading)
    leading = leading * np.where(along < 0, -1.0, 1.0)[:, None]
    return np.einsum("dmk,dk->dm", view.draws.by_model, leading), values[:, -1] / values.sum(axis=1)


def cohesion_of_categories(view: human_view.HumanView) -> list[result.CategoryCohesion]:
    """Return the cohesion of every category with at least two prompts, the most cohesive first."""
    found = []
    for name in sorted({category for category in view.prompt_categories if category}):
        rows = view.prompts_of(name)
        if 1 < len(rows) < len(view.prompts):
            cohesion, random = _cohesion(view, rows, composites(view, rows)[1])
            found.append(result.CategoryCohesion(category=name, prompts=len(rows), cohesion=cohesion, random=random))
    return sorted(found, key=lambda one: -one.cohesion.share)


def _cohesion(
    view: human_view.HumanView, rows: np.typing.NDArray[np.int64], shares: sums.Floats
) -> tuple[result_models.CohesionRecord, float]:
    """Return the cohesion of some prompts, and the mean of random sets of as many."""
    rng = np.random.default_rng(view.seed)
    as_cohesive, total = 0, 0.0
    for at in range(PERMUTATIONS):
        # Each random set is compared in the coordinates of one draw.
        draw = at % len(shares)
        chosen = view.draws.by_prompt[draw][rng.choice(len(view.prompts), len(rows), replace=False)]
        values = np.linalg.eigvalsh(chosen.T @ chosen)
        share = float(values[-1] / values.sum())
        total += share
        as_cohesive += bool(share >= shares[draw] * (1 - 1e-12))
    low, high = np.quantile(shares, [(1 - view.confidence) / 2, (1 + view.confidence) / 2])
    record = result_models.CohesionRecord(
        share=float(min(shares.mean(), 1.0)),
        low=float(low),
        high=float(min(high, 1.0)),
        p=(1 + as_cohesive) / (PERMUTATIONS + 1),
        permutations=PERMUTATIONS,
    )
    return record, min(total / PERMUTATIONS, 1.0)


def _ranked(view: human_view.HumanView, draws: sums.Floats) -> list[result_models.LeaderboardRow]:
    band = difference_bands.band_of_draws(draws - draws.mean(axis=1, keepdims=True), view.confidence)
    order = np.argsort(-band.estimate, kind="stable")
    return [
        result_models.LeaderboardRow(model=view.models[at], **band.figures(at), human_ratings=view.human_ratings[at])
        for at in order
    ]


def predict_averages(view: human_view.HumanView) -> result_models.FactorPrediction:
    """Predict each model's mean ``E[Y]`` over prompts, or mean ``P(win) - P(loss)`` against every other model."""
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
        confidence=view.confidence,
        notes=unrated(view),
        human=view.human,
        source=view.source,
        version=view.version,
    )


def _averages(view: human_view.HumanView, draw: int) -> sums.Floats:
    """Return the average of each model in one draw, shape (models,)."""
    found = view.draws.by_model[draw] @ view.draws.by_prompt[draw].T
    cutoffs, points = view.draws.cutoffs[draw], np.array(view.points)
    models, prompts = found.shape
    if not view.side_by_side:
        expected = ordinal_ratings.category_probabilities(found.ravel(), cutoffs) @ points
        return np.asarray(expected.reshape(models, prompts).mean(axis=1))
    net = np.zeros((models, models))
    for one in range(models):
        for other in range(one):
            chances = ordinal_ratings.category_probabilities(found[one] - found[other], cutoffs)
            net[one, other] = (chances @ np.sign(points)).mean()
    return np.asarray((net - net.T).sum(axis=1) / (models - 1))
