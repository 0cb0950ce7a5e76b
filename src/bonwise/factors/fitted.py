"""What a fit of a factor model found, its prompts in two dimensions, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from bonwise.documented import DocumentedResult
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.factors.comparisons import compare_models, explain_gaps
from bonwise.factors.difference_bands import COVERS, StageOneError
from bonwise.factors.human_view import HumanView
from bonwise.factors.judge_information import information_of_judges
from bonwise.factors.leaderboards import cohesion_of_categories, predict_averages, rank_models, unrated
from bonwise.factors.model_choice import ChosenModel
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.result import (
    BaselineRecord,
    FactorData,
    FactorDocument,
    FactorSettings,
    HoldoutRecord,
    MapAxis,
    ModelCandidateRecord,
    ModelCapability,
    PromptMap,
    PromptPlace,
    RaterRecord,
)
from bonwise.factors.result_models import (
    FactorComparisonDocument,
    FactorExplanationDocument,
    FactorLeaderboardDocument,
    FactorPredictionDocument,
    FactorStrengthsDocument,
)
from bonwise.factors.stage_one import UsedBackend
from bonwise.factors.strengths import find_strengths
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.sums import Floats
from bonwise.table.reading import RowSource

__all__ = ["FactorFit", "FitSettings", "HeldOut", "map_of_prompts", "principal_places"]

_FLAT = 1e-6
"""Share of the variance below which a second axis says nothing: the model has one skill."""


def principal_places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows along the principal axes of their columns.

    Parameters
    ----------
    values : ndarray of float64, shape (rows, columns)

    Returns
    -------
    places : ndarray of float64, shape (rows, axes)
    axes : ndarray of float64, shape (axes, columns)
        Unit vectors; the largest entry of each is positive, because the sign is otherwise open.
    shares : ndarray of float64, shape (axes,)
        Of the variance.

    Examples
    --------
    >>> places, axes, shares = principal_places(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]))
    >>> places[:, 0].round(6).tolist(), axes[0].round(6).tolist(), float(shares[0])
    ([1.0, -1.0, 0.0], [1.0, 0.0], 1.0)
    """
    off = values - values.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0) + 0.0
    squares = sizes**2
    return off @ axes.T + 0.0, axes, squares / max(float(squares.sum()), 1e-300)


def map_of_prompts(view: HumanView) -> PromptMap | None:
    """Return the map of prompts, None where all of them stand on a line.

    Parameters
    ----------
    view : HumanView
    """
    found = _capabilities(view)
    if min(found.shape) < 2:
        return None
    places, axes, shares = principal_places(found)
    if shares[1] < _FLAT:
        return None
    x, y = (
        MapAxis(
            share=float(min(shares[at], 1.0)),
            high=view.models[int(axes[at].argmax())],
            low=view.models[int(axes[at].argmin())],
        )
        for at in range(2)
    )
    return PromptMap(
        x=x,
        y=y,
        prompts=[
            PromptPlace(prompt_id=name, category=category, x=float(place[0]), y=float(place[1]))
            for name, category, place in zip(view.prompts, view.prompt_categories, places, strict=True)
        ],
    )


def _capabilities(view: HumanView) -> Floats:
    """Return mean capabilities over draws, less their mean on the prompt, shape (prompts, models)."""
    found = np.zeros((len(view.prompts), len(view.models)))
    for models, prompts in zip(view.draws.models, view.draws.prompts, strict=True):
        found += prompts @ models.T
    found /= len(view.draws)
    return np.asarray(found - found.mean(axis=1, keepdims=True))


_CONDITIONAL = "Intervals assume that no trait matters to people that every judge overlooks."


@dataclass(frozen=True, slots=True)
class FitSettings:
    """What was asked for."""

    rank: int | None
    """None where cross-validation chooses."""
    prior: float | None
    """None where cross-validation chooses."""
    normalize: bool
    restarts: int
    holdout: float | None
    interval: StageOneError | None
    confidence: float
    seed: int
    backend: UsedBackend
    """What computes stage 1."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What predicting each held-out rating cost, in nats."""

    own: Floats = field(repr=False)
    baselines: Mapping[str, Floats] = field(repr=False)
    prompt: npt.NDArray[np.int64] = field(repr=False)
    """Cluster of each rating."""

    def mean(self, losses: Floats, confidence: float) -> EstimateRecord:
        """Return a mean over ratings with its interval, clustered by prompt."""
        mean = float(losses.mean())
        _, owner = np.unique(self.prompt, return_inverse=True)
        off = np.bincount(owner, losses - mean)
        count = len(off)
        if count < 2:
            reason = "one prompt alone"
            return EstimateRecord(
                estimate=mean,
                low=None,
                high=None,
                se=None,
                n=count,
                interval=None,
                method="complete",
                reason=reason,
            )
        se = float(np.sqrt(count / (count - 1) * (off**2).sum()) / len(losses))
        half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * se
        return EstimateRecord(
            estimate=mean,
            low=mean - half,
            high=mean + half,
            se=se,
            n=count,
            interval="cluster_t",
            method="complete",
        )


@dataclass(frozen=True, eq=False)
class FactorFit(DocumentedResult):
    """A fitted factor model."""

    table: RatingTable = field(repr=False)
    settings: FitSettings = field(repr=False)
    chosen: ChosenModel = field(repr=False)
    """Stages 1 and 2, and what they were chosen among."""
    held_out: HeldOut | None = field(repr=False)
    view: HumanView | None = field(repr=False)
    """What leaderboards, comparisons and predictions are made from; None without an interval."""
    fitted: int
    """Human ratings that were fitted."""
    gap_variances: tuple[Floats, Floats] | None = field(default=None, repr=False)
    """See `bonwise.factors.judge_information.gap_variances`; None without an interval, a prior, or a second judge."""

    def __repr__(self) -> str:
        return (
            f"<FactorFit of {len(self.table.models)} models by {len(self.table.raters)} raters: "
            f"rank {self.chosen.best.rank}>"
        )

    @property
    def _shown(self) -> HumanView:
        if self.view is None:
            raise UsageError("the fit has no interval, so it ranks nothing", hint="fit with interval='laplace_gibbs'")
        return self.view

    def leaderboard(self, *, prompt: str | None = None, category: str | None = None) -> FactorLeaderboardDocument:
        """Rank the models on all prompts, one, or a category; see `bonwise.factors.leaderboards.rank_models`."""
        return rank_models(self._shown, prompt=prompt, category=category)

    def compare(self, model: str, other: str) -> FactorComparisonDocument:
        """Compare two models on every prompt; see `bonwise.factors.comparisons.compare_models`."""
        return compare_models(self._shown, model, other)

    def explain(
        self, model: str, other: str, *, prompts: RowSource | None = None, tags: Sequence[str] | None = None
    ) -> FactorExplanationDocument:
        """Explain the gap between two models; see `bonwise.factors.comparisons.explain_gaps`."""
        return explain_gaps(self._shown, model, other, prompts=prompts, tags=tags)

    def strengths(
        self, model: str, *, prompts: RowSource | None = None, tags: Sequence[str] | None = None
    ) -> FactorStrengthsDocument:
        """Find where a model is strong and weak; see `bonwise.factors.strengths.find_strengths`."""
        return find_strengths(self._shown, model, prompts=prompts, tags=tags)

    def predict(self) -> FactorPredictionDocument:
        """Predict the average of every model; see `bonwise.factors.leaderboards.predict_averages`."""
        return predict_averages(self._shown)

    def document(self) -> FactorDocument:
        """Return the document of schema ``bonwise.factor/1``."""
        best, table = self.chosen.best, self.table
        counts = np.bincount(table.rater, minlength=len(table.raters))
        order = [table.human, *(at for at in range(len(table.raters)) if at != table.human)]
        return FactorDocument(
            data=FactorData(
                prompts=len(table.prompts),
                models=len(table.models),
                ratings=len(table.rating),
                human_ratings=int(table.by_human.sum()),
                repeats=table.repeats,
                dropped=dict(table.left_out),
            ),
            settings=self._settings(),
            raters=[
                RaterRecord(
                    rater=table.raters[at].rater,
                    ratings=int(counts[at]),
                    side_by_side=table.raters[at].side_by_side,
                    categories=list(table.raters[at].labels),
                    rule=table.raters[at].rule,
                    distinct=table.raters[at].distinct,
                )
                for at in order
            ],
            rank=best.rank,
            prior=best.prior,
            columns=list(best.columns),
            ridge=best.ridge,
            candidates=list(self._candidates()),
            holdout=self._holdout(),
            baselines=self._baselines(),
            leaderboard=list(self._leaderboard()),
            **self._pictures(),
            notes=list(self._notes()),
        )

    def _settings(self) -> FactorSettings:
        asked = self.settings
        return FactorSettings(
            human=self.table.human_scale.rater,
            rank=asked.rank,
            prior=asked.prior,
            normalize=asked.normalize,
            restarts=asked.restarts,
            holdout=asked.holdout,
            interval=asked.interval,
            confidence=asked.confidence,
            seed=asked.seed,
            backend=asked.backend,
            source=self.table.source,
            version=release(),
        )

    def _candidates(self) -> Iterator[ModelCandidateRecord]:
        for one in self.chosen.candidates:
            yield ModelCandidateRecord(
                rank=one.rank,
                prior=one.prior,
                columns=list(one.columns),
                ridge=one.ridge,
                cross_entropy=one.cross_entropy,
                se=one.se,
                stage_one_loss=one.stage_one_loss,
            )

    def _holdout(self) -> HoldoutRecord | None:
        if self.held_out is None:
            return None
        mean = self.held_out.mean(self.held_out.own, self.settings.confidence)
        return HoldoutRecord(
            cross_entropy=float(self.held_out.own.mean()),
            se=mean.se,
            n=len(self.held_out.own),
            prompts=mean.n,
            fitted=self.fitted,
        )

    def _baselines(self) -> dict[str, BaselineRecord]:
        held = self.held_out
        if held is None:
            return {}
        return {
            name: BaselineRecord(
                cross_entropy=float(losses.mean()),
                difference=held.mean(losses - held.own, self.settings.confidence),
            )
            for name, losses in held.baselines.items()
        }

    def _leaderboard(self) -> Iterator[ModelCapability]:
        if self.view is None:
            return
        found = self.leaderboard()
        for one in found.models:
            yield ModelCapability(
                model=one.model,
                capability=EstimateRecord(
                    estimate=one.estimate,
                    low=one.low,
                    high=one.high,
                    se=one.se,
                    n=found.prompts,
                    interval=self.settings.interval,
                    method="complete",
                ),
                human_ratings=one.human_ratings,
            )

    def _pictures(self) -> dict[str, Any]:
        """Return what a page draws; a key is absent where there is nothing."""
        if self.view is None:
            return {}
        judges = [one.rater for at, one in enumerate(self.table.raters) if at != self.table.human and one.size > 1]
        information = (
            None
            if self.gap_variances is None
            else list(information_of_judges(judges, self.gap_variances, self.settings.confidence))
        )
        return given(
            cohesion=cohesion_of_categories(self.view) or None,
            information=information,
            prompt_map=map_of_prompts(self.view),
        )

    def _notes(self) -> Iterator[str]:
        silent = [one.rater for one in self.table.raters if one.size < 2]
        if silent:
            yield f"Left out: {', '.join(silent)}, because all their ratings are equal."
        judges = RatingArrays.of(self.table).without_human()
        missing = len(self.table.prompts) - len(np.unique(judges.prompt))
        if missing:
            yield f"No judge rates {missing} of the prompts: what is predicted there rests on the others."
        if self.chosen.human.regression.smoothed:
            yield "A category has no human rating to fit: half a rating was added to each."
        if self.settings.interval is not None:
            share = COVERS[self.settings.interval]
            yield (
                f"In simulations of BiGGen-Bench's size the 95% interval {self.settings.interval} held "
                f"{share:.0%} of the true differences within prompts."
            )
            yield _CONDITIONAL
        if self.view is not None:
            yield from unrated(self.view)
