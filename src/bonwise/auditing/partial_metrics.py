"""The metrics of one judge from a random sample of prompts, and from single labelled candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import cell_gains, cell_intervals, cell_table, simultaneous, unlabelled, weighted_metrics
from bonwise.auditing.bounds import cell_bounds
from bonwise.auditing.cell_figures import cell_figures
from bonwise.auditing.judge_record import JudgeMetrics, by_unit, judge_only, panel_influences, panel_level_bias
from bonwise.auditing.label_interval import Influence, fieller, influence, student, where_labels_carry
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result_labels import OutcomeModelUsed
from bonwise.auditing.settings import Settings, label_range
from bonwise.errors import UsageError
from bonwise.stats import catalog, clusters, correlation, estimation, jackknife, laws, no_gain, support
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimand, Estimate
from bonwise.stats.partial import label_features, label_sample, outcome_model
from bonwise.stats.sums import Sums
from bonwise.table.panel import Panel

_UNBOUNDED = f"unbounded: {NOT_DISTINGUISHABLE}"
_ESTIMANDS = tuple(e for e in catalog.ESTIMANDS if e.outcomes is not None)
_RECOVERY = next(e for e in _ESTIMANDS if e.name == "recovery")


@dataclass(frozen=True, slots=True, eq=False)
class ModelFit:
    """Means, their covariance, and how the model fared."""

    influence: Influence
    choice: outcome_model.ModelChoice
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
    draw: label_sample.ScaledSample
    alone: dict[str, Estimate]
    clusters: Ints | None
    unseen: float


def partial_estimates(
    sums: Floats,
    features: label_features.LabelFeatures,
    sample: label_sample.LabelSample,
    rule: estimation.IntervalRule,
    *,
    model: outcome_model.OutcomeModel | None = None,
    seed: int = 0,
) -> PartialEstimates:
    """Estimate what picks are worth for all prompts from the labels of some (appendix Q of arXiv:2603.12520).

    ``A_k = m_k + R / pi (Y_k - m_k)`` for the outcomes R, Y1 = J - R, Y2 = M - R, same_top and hit; m_k predicts Y_k
    from scores, by a model that never saw the labels of the prompt (5 folds), shrunk towards the labels' mean by the
    weight that makes the variance smallest. Recovery is ``mean A_1 / mean A_2`` with Fieller's interval.

    `sums`, (len(Sums._fields), labelled prompts), are `prompt_sums` in the order of `sample`; `features` and `sample`
    are of all prompts. Weights are scaled to add up to the number of prompts, in every stratum, or overall where
    prompts were drawn independently. Where some prompts have no labels, intervals come from influence values whatever
    the `kind` of `rule`, whose clusters are those of all prompts.

    `model` is a regressor in the manner of scikit-learn, cross-fitted on copies, with all covariates; it is used with
    10 labelled prompts or more. `seed` deals the folds, which do not depend on the order of the prompts. Raises
    `bonwise.errors.UsageError` where no prompt is labelled, or `model` predicts what is not a number.
    """
    problem = _LabelledOutcomes(
        label_features.outcomes(sums),
        label_sample.ScaledSample.of(sample),
        estimation.estimate(_ESTIMANDS, sums, replace(rule.keep(sample.labelled), kind="default")),
        rule.clusters,
        sample.unseen,
    )
    folds = outcome_model.prompt_folds(features, problem.draw, problem.Y, seed)
    if rule.clusters is not None:
        folds = outcome_model.cluster_folds(rule.clusters, seed)
    fit = _fit(problem, features, folds, model)
    if problem.draw.complete:
        # Nothing is left to predict: the complete-data rule, whose t has n - 1 degrees of freedom, is exact.
        metrics = estimation.estimate(_ESTIMANDS, sums, rule)
    else:
        metrics = {e.name: _metric(e, fit.influence, problem, sample, rule) for e in _ESTIMANDS}
    narrowed = None
    if features.further and not problem.draw.complete:
        without = _fit(problem, features.alone(), folds, model).influence
        narrowed = _narrowed(metrics["recovery"], _metric(_RECOVERY, without, problem, sample, rule))
    ess = sample.ess
    metrics = {name: _beside(found, problem.alone[name], ess) for name, found in metrics.items()}
    notes = _notes(sample, rule, features)
    moved = _outcome_influences(fit.influence)
    return PartialEstimates(metrics, fit, narrowed, notes, moved)


def _outcome_influences(found: Influence) -> dict[str, Floats]:
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
    problem: _LabelledOutcomes,
    features: label_features.LabelFeatures,
    folds: Ints,
    model: outcome_model.OutcomeModel | None,
) -> ModelFit:
    """Predict, shrink the predictions towards the labels' mean, and combine them with the labels."""
    Y, draw = problem.Y, problem.draw
    choice = outcome_model.choose_model(features, len(Y), model)
    centre = draw.mean(Y)
    rho = centre[1] / centre[2] if centre[2] > 0 else 0.0
    predicted = outcome_model.predictions(choice, features, draw, Y, folds)
    if predicted is None:
        m, tuning = np.tile(centre, (len(draw.q), 1)), np.zeros(len(centre))
    else:
        tuning = outcome_model.power_tuning(predicted, Y, draw, rho)
        m = tuning * predicted + (1 - tuning) * centre
    explained = outcome_model.share_explained(m[draw.rows], Y, draw, np.array([0.0, 1.0, -rho, 0.0, 0.0]))
    return ModelFit(influence(m, Y, draw, problem.clusters, problem.unseen), choice, float(tuning[1]), explained)


def _metric(
    e: Estimand,
    found: Influence,
    problem: _LabelledOutcomes,
    sample: label_sample.LabelSample,
    rule: estimation.IntervalRule,
) -> Estimate:
    """Estimate one metric with its interval."""
    limits, alone, labels = _limits(e, rule), problem.alone[e.name], sample.count
    law: laws.Law
    # Every metric is a contrast of the same means: sums and differences of metrics hold exactly.
    above = np.array(e.outcomes)
    if e.outcomes_below is None:
        mean = law = student(found, above, limits)
        value, se, df = mean.estimate, mean.se, mean.df
        if not e.contrast and np.isfinite(limits).all() and limits[0] < value < limits[1] and se > 0:
            of_labels = problem.Y @ above
            at_ends = e.at_most_prompts or bool(np.isin(of_labels, limits).all())
            law = laws.EffectiveShare(value, se, df, limits, most=sample.ess if at_ends else np.inf)
    else:
        below = np.array(e.outcomes_below)
        if alone.reason is not None and alone.reason.startswith("undefined"):
            return Estimate.undefined(alone.reason, labels)
        if below @ found.means <= 0:
            return Estimate.undefined(_UNBOUNDED, labels)
        ratio, se = fieller(found, above, below, limits)
        value, df = ratio.a / ratio.b, ratio.df
        law = laws.RecoveryNearOne.over(ratio, value, se, df)
        if labels > 1 and law.at(rule.confidence) is None:
            return Estimate.undefined(f"{_UNBOUNDED}; the ratio itself is {min(value, limits[1]):.3g}", labels)
    # A weighted mean of labels and predictions may leave the range of the metric; the interval never does.
    value = min(max(value, limits[0]), limits[1])
    if few := clusters.too_few_clusters(None if problem.clusters is None else problem.clusters[sample.labelled]):
        return Estimate(value, None, None, None, labels, None, reason=f"no interval: {few}")
    if labels > 1 and isinstance(alone.law, laws.Exact) and not e.contrast and e.outcomes_below is None:
        # What models predict around labels that are all alike is no scatter of theirs.
        if not sample.equal:
            return _alike(Estimate(value, None, None, None, labels, None), alone, sample)
        law = replace(alone.law, estimate=value)
    scatter = jackknife.Scatter(se, df, size=1.0 if e.limits is not None else rule.label_width)
    made = estimation.from_jackknife(value, scatter, labels, limits, rule.confidence, exact=None, law=law)
    return _alike(made, alone, sample) if made.low is None and labels > 1 else made


def _limits(e: Estimand, rule: estimation.IntervalRule) -> tuple[float, float]:
    low, high = e.limits if e.limits is not None else rule.label_range
    return (low - high, high - low) if e.contrast else (low, high)


def _alike(made: Estimate, alone: Estimate, sample: label_sample.LabelSample) -> Estimate:
    """Bound what does not vary, which is possible where every prompt was as likely to be labelled."""
    if sample.equal and alone.interval == "exact":
        return alone
    if alone.estimate is not None and alone.reason is not None:
        return replace(made, estimate=alone.estimate, reason=alone.reason)
    return replace(made, reason="no interval: the labelled prompts are all alike")


def _narrowed(found: Estimate, without: Estimate) -> float | None:
    if found.low is None or found.high is None or without.low is None or without.high is None:
        return None
    width = without.high - without.low
    return 1 - (found.high - found.low) / width if width > 0 else None


def _notes(
    sample: label_sample.LabelSample, rule: estimation.IntervalRule, features: label_features.LabelFeatures
) -> tuple[str, ...]:
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


_NOT_DRAWN = "intervals are not those of the bootstrap, which draws prompts that are labelled whole"

_BOUNDED = ("value_oracle", "recovery")


def cell_metrics(labelling: Labelling, settings: Settings) -> JudgeMetrics:
    """Estimate every metric for all prompts by the method ``cells``; takes propensities and no outcome model."""
    if settings.outcome_model is not None:
        raise UsageError(
            "an outcome model predicts figures of whole prompts, and here candidates are labelled one by one",
            hint="leave outcome_model out: labels of candidates have a regression of their own",
        )
    panel, table, rule = (
        labelling.panel,
        _cell_table(labelling),
        settings.rule(labelling.panel.labels, labelling.panel.clusters),
    )
    found = cell_figures(table, rule, seed=settings.seed)
    of_labels = correlation.without_correlations(found.metrics, correlation.heavy_tails(table.scores, table.labels))
    metrics = {**of_labels, **_with_no_gain_tests(found, table, rule), **judge_only(panel, settings)}
    ends = cell_bounds(table, label_range(panel.labels))
    bounds = {name: ends[name] for name in _BOUNDED if metrics[name].estimate is None and name in ends}
    diagnostics = cell_table.label_diagnostics(table, list(panel.candidates))
    notes = (*found.notes, *([_NOT_DRAWN] if settings.interval == "bootstrap" else []))
    cells = unlabelled.CellLabels(labelling, table, found, diagnostics, bounds, notes)
    figures = {one.name: metrics[one.name] for one in catalog.METRICS}
    return JudgeMetrics(figures, cells=cells, influences=_influences(found, panel))


def _influences(found: cell_intervals.LabelledCellFigures, panel: Panel) -> simultaneous.UnitInfluences | None:
    """Return how much every unit moves gain, and recovery where it is not refused; None where both are."""
    gain, room = found.gain_parts, found.oracle_parts
    if gain is None:
        return None
    both = simultaneous.pick_influences(gain, gain if room is None else room, panel.clusters)
    return by_unit(panel, both if room is not None else {"gain": both["gain"]})


def _with_no_gain_tests(
    found: cell_intervals.LabelledCellFigures, table: cell_table.CellTable, rule: estimation.IntervalRule
) -> dict[str, Estimate]:
    """Return gain and recovery with the tests that there is none, where they have intervals."""
    gain, room = found.gain_parts, found.oracle_parts
    if gain is None:
        return {}
    low, high = rule.label_range
    laws = no_gain.no_gain_laws(gain, gain if room is None else room, table.clusters, (low - high, high - low))
    return {
        name: replace(
            found.metrics[name],
            no_gain=cell_gains.DealtCells(table.ranks, table.labels, table.sizes, table.clusters, laws[name]),
        )
        for name in ("gain", "recovery")
        if found.metrics[name].law is not None
    }


def cell_differences(first: Labelling, second: Labelling, settings: Settings) -> tuple[dict[str, Estimate], int]:
    """Estimate metric differences on prompts that both judges scored completely; count those with a label."""
    left, right = _on_common_prompts(first, second), _on_common_prompts(second, first)
    prompts = int((left.panel.labelled_cells > 0).sum())
    if not prompts:
        return {}, 0
    rule = settings.rule(left.panel.labels, left.panel.clusters)
    first_figures, second_figures = (
        cell_figures(_cell_table(side), rule, seed=settings.seed) for side in (left, right)
    )
    differences = cell_intervals.compare_cells(first_figures, second_figures, rule)
    for side in (left, right):
        heavy = correlation.heavy_tails(side.panel.scores, side.panel.labels)
        differences = correlation.without_correlations(differences, heavy)
    order = [metric.name for metric in catalog.METRICS if metric.name in differences]
    return {name: differences[name] for name in order}, prompts


def _on_common_prompts(mine: Labelling, other: Labelling) -> Labelling:
    panel = mine.panel.keep(mine.panel.prompt_ids.isin(other.panel.prompt_ids))
    return replace(mine, panel=panel)


def _cell_table(labelling: Labelling) -> cell_table.CellTable:
    """Return the cells of a panel with what is stated of who was labelled."""
    panel, stated = labelling.panel, labelling.stated
    return cell_table.CellTable(
        panel.sizes,
        panel.scores,
        panel.labels,
        names=panel.names,
        propensities=None if stated is None else stated.cell_propensities(panel),
        fitted=labelling.by_model,
        clusters=panel.clusters,
        ranked=panel.ranked,
    )


def sampled_metrics(
    labelling: Labelling, sample: label_sample.LabelSample, further: Mapping[str, Floats], settings: Settings
) -> JudgeMetrics:
    """Estimate every metric for all prompts: picks by influence, others by 1 / propensity; `further` are judges."""
    panel = labelling.panel
    known = panel.keep(sample.labelled)
    sums, rule = known.sums(), settings.rule(known.labels, panel.clusters)
    weights = sample.weights[sample.labelled]
    influences = panel_influences(known, Sums(*sums), weights)
    metrics: dict[str, Estimate] = {}
    use: Mapping[str, Any] = {"ess": sample.ess}
    if labelling.method == "aipw":
        features = label_features.label_features(panel.scores, panel.sizes, list(further.values()), panel.ranked)
        model = settings.outcome_model
        partial = partial_estimates(sums, features, sample, rule, model=model, seed=settings.seed)
        metrics |= partial.metrics
        influences = by_unit(panel, partial.influences)
        use = {**use, **_with_model(partial, list(further))}
    others = [e for e in catalog.ESTIMANDS if e.on_labels and e.name not in metrics]
    metrics |= weighted_metrics.weighted_estimates(others, sums, sample, rule.keep(sample.labelled))
    metrics = correlation.without_correlations(metrics, correlation.heavy_tails(known.scores, known.labels))
    metrics = {
        name: correlation.without_interval(estimate, labelling.few_carry) for name, estimate in metrics.items()
    }
    bias = panel_level_bias(known, settings, weights).with_method("weighted")
    metrics = {**metrics, **judge_only(panel, settings), "level_bias": bias}
    behind = Sums(*sums), known.lowest_labels(), rule.keep(sample.labelled)
    metrics |= support.of_whole_prompts(metrics, *behind, weights)
    alone = {name: estimate.labelled_only for name, estimate in metrics.items() if estimate.labelled_only is not None}
    for name, estimate in support.of_whole_prompts(alone, *behind).items():
        metrics[name] = replace(metrics[name], labelled_only=estimate)
    order = [*(e.name for e in catalog.ESTIMANDS), "level_bias"]
    return JudgeMetrics({name: metrics[name] for name in order}, use, influences=influences)


def _with_model(partial: PartialEstimates, further: list[str]) -> Mapping[str, Any]:
    fit, model = partial.fit, partial.fit.choice
    return {
        "model": OutcomeModelUsed(name=model.name, covariates=list(model.covariates), reason=model.reason),
        "share_explained": fit.share_explained,
        "tuning": fit.tuning,
        "further_judges": further,
        "narrowed": partial.narrowed,
        "notes": list(partial.notes),
    }
