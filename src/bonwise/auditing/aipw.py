"""What picks are worth, from all prompts when only some carry labels: augmented inverse-probability weighting."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from bonwise.auditing.label_interval import Influence, fieller, influence, student, where_labels_carry
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.clusters import too_few_clusters
from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.estimation import IntervalRule, estimate, from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.laws import EffectiveShare, Law, RecoveryNearOne
from bonwise.stats.partial.label_features import LabelFeatures, outcomes
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.stats.partial.outcome_model import (
    ModelChoice,
    OutcomeModel,
    choose_model,
    cluster_folds,
    power_tuning,
    predictions,
    prompt_folds,
    share_explained,
)
from bonwise.stats.sums import Floats

__all__ = ["ModelFit", "PartialEstimates", "partial_estimates"]

_UNBOUNDED = f"unbounded: {NOT_DISTINGUISHABLE}"
_ESTIMANDS = tuple(e for e in ESTIMANDS if e.outcomes is not None)
_RECOVERY = next(e for e in _ESTIMANDS if e.name == "recovery")


@dataclass(frozen=True, slots=True, eq=False)
class ModelFit:
    """Means, their covariance, and how the model fared."""

    influence: Influence
    choice: ModelChoice
    tuning: float
    """Weight in [0, 1] that the model has in recovery, 0 where labels are used alone."""
    share_explained: float | None
    """Cross-fitted R^2 of what recovery rests on (Y1 - rho Y2), at least 0; None where it does not vary."""


@dataclass(frozen=True, slots=True, eq=False)
class PartialEstimates:
    """Estimates for all prompts from the labels of some."""

    metrics: dict[str, Estimate]
    """Those that are made of outcomes (`Estimand.outcomes`), each with the estimate from the labelled prompts alone
    beside it.
    """
    fit: ModelFit
    narrowed: float | None
    """1 - width of recovery's interval / its width without the further judges; None where there are none, where
    either interval does not exist, or where all prompts are labelled.
    """
    notes: tuple[str, ...] = ()
    """What a reader must know beside the figures, in sentences."""
    influences: dict[str, Floats] = field(default_factory=dict, repr=False)
    """How much every unit moves gain and recovery."""


@dataclass(frozen=True, slots=True, eq=False)
class _LabelledOutcomes:
    """Outcomes of the labelled prompts, how these were drawn, and what they say alone."""

    Y: Floats
    draw: ScaledSample
    alone: dict[str, Estimate]
    clusters: npt.NDArray[np.int64] | None


def partial_estimates(
    sums: Floats,
    features: LabelFeatures,
    sample: LabelSample,
    rule: IntervalRule,
    *,
    model: OutcomeModel | None = None,
    seed: int = 0,
) -> PartialEstimates:
    """Estimate what picks are worth for all prompts from the labels of some (appendix Q of arXiv:2603.12520).

    ``A_k = m_k + R / pi (Y_k - m_k)`` for the outcomes R, Y1 = J - R, Y2 = M - R, same_top and hit; m_k predicts Y_k
    from scores, by a model that never saw the labels of the prompt (5 folds), shrunk towards the labels' mean by the
    weight that makes the variance smallest. Recovery is ``mean A_1 / mean A_2`` with Fieller's interval.

    Parameters
    ----------
    sums : ndarray of float64, shape (len(Sums._fields), labelled prompts)
        `prompt_sums` of the labelled prompts, in the order of `sample`.
    features : LabelFeatures
        Of all prompts.
    sample : LabelSample
        Over all prompts. Weights are scaled to add up to the number of prompts, in every stratum, or overall where
        prompts were drawn independently.
    rule : IntervalRule
        Where some prompts have no labels, intervals come from influence values whatever its `kind`. Its clusters are
        those of all prompts.
    model : OutcomeModel, optional
        Regressor in the manner of scikit-learn, cross-fitted on copies, with all covariates; used with 10 labelled
        prompts or more.
    seed : int
        Of the folds. They do not depend on the order of the prompts.

    Returns
    -------
    PartialEstimates

    Raises
    ------
    UsageError
        No prompt is labelled, or `model` predicts what is not a number.

    Examples
    --------
    >>> from bonwise.stats.partial.label_features import label_features
    >>> from bonwise.stats.sums import prompt_sums
    >>> scores, sizes = np.array([.9, .1, .2, .8, .6, .4, .5, .7]), np.full(4, 2)
    >>> labels = np.array([1., 0., 0., 1., 1., 0.])
    >>> sample = LabelSample.uniform(np.array([True, True, True, False]))
    >>> sums = prompt_sums(scores[:6], labels, sizes[:3])
    >>> found = partial_estimates(sums, label_features(scores, sizes), sample, IntervalRule())
    >>> found.metrics["gain"].estimate, found.fit.choice.name
    (0.5, 'labels only')
    """
    problem = _LabelledOutcomes(
        outcomes(sums),
        ScaledSample.of(sample),
        estimate(_ESTIMANDS, sums, replace(rule.keep(sample.labelled), kind="default")),
        rule.clusters,
    )
    folds = prompt_folds(features, problem.draw, problem.Y, seed)
    if rule.clusters is not None:
        folds = cluster_folds(rule.clusters, seed)
    fit = _fit(problem, features, folds, model)
    if problem.draw.complete:
        # Nothing is left to predict: the complete-data rule, whose t has n - 1 degrees of freedom, is exact.
        metrics = estimate(_ESTIMANDS, sums, rule)
    else:
        metrics = {e.name: _metric(e, fit.influence, problem, sample, rule) for e in _ESTIMANDS}
    narrowed = None
    if features.further and not problem.draw.complete:
        without = _fit(problem, features.alone(), folds, model).influence
        narrowed = _narrowed(metrics["recovery"], _metric(_RECOVERY, without, problem, sample, rule))
    ess = sample.ess
    metrics = {name: _beside(found, problem.alone[name], ess) for name, found in metrics.items()}
    notes = _notes(sample, rule, features)
    moved = _influences(fit.influence)
    return PartialEstimates(metrics, fit, narrowed, notes, moved)


def _influences(found: Influence) -> dict[str, Floats]:
    gain, room = (found.spread @ np.array(of) for of in (_RECOVERY.outcomes, _RECOVERY.outcomes_below))
    means = found.means @ np.array(_RECOVERY.outcomes), found.means @ np.array(_RECOVERY.outcomes_below)
    units = len(gain)
    if means[1] <= 0:
        return {"gain": gain / units}
    return {"gain": gain / units, "recovery": (gain - means[0] / means[1] * room) / means[1] / units}


def _beside(found: Estimate, alone: Estimate, ess: float) -> Estimate:
    return replace(
        where_labels_carry(found, ess), method="aipw", ess=ess, labelled_only=alone.with_method("labelled_only")
    )


def _fit(
    problem: _LabelledOutcomes, features: LabelFeatures, folds: npt.NDArray[np.int64], model: OutcomeModel | None
) -> ModelFit:
    """Predict, shrink the predictions towards the labels' mean, and combine them with the labels."""
    Y, draw = problem.Y, problem.draw
    choice = choose_model(features, len(Y), model)
    centre = draw.mean(Y)
    rho = centre[1] / centre[2] if centre[2] > 0 else 0.0
    predicted = predictions(choice, features, draw, Y, folds)
    if predicted is None:
        m, tuning = np.tile(centre, (len(draw.q), 1)), np.zeros(len(centre))
    else:
        tuning = power_tuning(predicted, Y, draw, rho)
        m = tuning * predicted + (1 - tuning) * centre
    explained = share_explained(m[draw.rows], Y, draw, np.array([0.0, 1.0, -rho, 0.0, 0.0]))
    return ModelFit(influence(m, Y, draw, problem.clusters), choice, float(tuning[1]), explained)


def _metric(
    e: Estimand, found: Influence, problem: _LabelledOutcomes, sample: LabelSample, rule: IntervalRule
) -> Estimate:
    """Estimate one metric with its interval."""
    limits, alone, labels = _limits(e, rule), problem.alone[e.name], sample.count
    law: Law
    # Every metric is a contrast of the same means: sums and differences of metrics hold exactly.
    above = np.array(e.outcomes)
    if e.outcomes_below is None:
        mean = law = student(found, above, limits)
        value, se, df = mean.estimate, mean.se, mean.df
        if not e.contrast and np.isfinite(limits).all() and limits[0] < value < limits[1] and se > 0:
            law = EffectiveShare(value, se, df, limits)
    else:
        below = np.array(e.outcomes_below)
        if alone.reason is not None and alone.reason.startswith("undefined"):
            return Estimate.undefined(alone.reason, labels)
        if below @ found.means <= 0:
            return Estimate.undefined(_UNBOUNDED, labels)
        ratio, se = fieller(found, above, below, limits)
        value, df = ratio.a / ratio.b, ratio.df
        law = RecoveryNearOne.over(ratio, value, se, df)
        if labels > 1 and law.at(rule.confidence) is None:
            return Estimate.undefined(f"{_UNBOUNDED}; the ratio itself is {min(value, limits[1]):.3g}", labels)
    # A weighted mean of labels and predictions may leave the range of the metric; the interval never does.
    value = min(max(value, limits[0]), limits[1])
    if few := too_few_clusters(None if problem.clusters is None else problem.clusters[sample.labelled]):
        return Estimate(value, None, None, None, labels, None, reason=f"no interval: {few}")
    made = from_jackknife(value, Scatter(se, df), labels, limits, rule.confidence, exact=None, law=law)
    return _alike(made, alone, sample) if made.low is None and labels > 1 else made


def _limits(e: Estimand, rule: IntervalRule) -> tuple[float, float]:
    low, high = e.limits if e.limits is not None else rule.label_range
    return (low - high, high - low) if e.contrast else (low, high)


def _alike(made: Estimate, alone: Estimate, sample: LabelSample) -> Estimate:
    """Bound what does not vary, which is possible where every prompt was as likely to be labelled."""
    if sample.equal and alone.interval == "exact":
        return alone
    return replace(made, reason="no interval: the labelled prompts are all alike")


def _narrowed(found: Estimate, without: Estimate) -> float | None:
    if found.low is None or found.high is None or without.low is None or without.high is None:
        return None
    width = without.high - without.low
    return 1 - (found.high - found.low) / width if width > 0 else None


def _notes(sample: LabelSample, rule: IntervalRule, features: LabelFeatures) -> tuple[str, ...]:
    notes = []
    partial = not sample.labelled.all()
    if rule.kind == "bootstrap" and partial:
        notes.append("some prompts have no labels: intervals come from influence values, not from the bootstrap")
    if sample.borrowed:
        notes.append(
            f"{sample.borrowed} prompts lie in strata without any label: the next stratum's labels are used for them"
        )
    if features.imputed:
        notes.append(
            f"{features.imputed} prompts lack scores of every further judge: the mean of the others is used there"
        )
    return tuple(notes)
