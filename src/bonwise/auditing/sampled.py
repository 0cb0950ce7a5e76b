"""Metrics of a judge whose labelled prompts are a random sample: estimates for all prompts."""

from __future__ import annotations

from collections.abc import Mapping

from bonwise.auditing.judge_metrics import JudgeMetrics, by_unit, judge_only, panel_influences
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.level import panel_level_bias
from bonwise.auditing.settings import Settings
from bonwise.documents.audited.sampling import OutcomeModelUsed, SampleUse
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.partial.aipw import PartialEstimates, partial_estimates
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.partial.weighted import weighted_estimates
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["sampled_metrics"]


def sampled_metrics(
    labelling: Labelling, sample: LabelSample, further: Mapping[str, Floats], settings: Settings
) -> JudgeMetrics:
    """Estimate every metric for all prompts.

    Values, gain, recovery, top-1 accuracy and hit rate come from the efficient influence function; the other metrics
    of labels from totals weighted by 1 / propensity; what needs no labels, from all prompts.

    Parameters
    ----------
    labelling : Labelling
    sample : LabelSample
        Of the prompts of its panel.
    further : mapping of str to ndarray, shape (cells,)
        Scores of the other judges of the table on the panel's cells.
    settings : Settings
    """
    panel = labelling.panel
    known = panel.keep(sample.labelled)
    sums, rule = prompt_sums(known.scores, known.labels, known.sizes), settings.rule(known.labels, panel.clusters)
    weights = sample.weights[sample.labelled]
    influences = panel_influences(known, sums, weights)
    found: dict[str, Estimate] = {}
    use = SampleUse(ess=sample.ess)
    if labelling.method == "aipw":
        features = label_features(panel.scores, panel.sizes, list(further.values()))
        model = settings.outcome_model
        partial = partial_estimates(sums, features, sample, rule, model=model, seed=settings.seed)
        found |= partial.metrics
        influences = by_unit(panel, partial.influences)
        use = _with_model(sample.ess, partial, list(further))
    others = [e for e in ESTIMANDS if e.on_labels and e.name not in found]
    found |= weighted_estimates(others, sums, sample, rule.keep(sample.labelled))
    bias = panel_level_bias(known, settings, weights).with_method("weighted")
    found = {**found, **judge_only(panel, settings), "level_bias": bias}
    order = [*(e.name for e in ESTIMANDS), "level_bias"]
    return JudgeMetrics({name: found[name] for name in order}, use, influences=influences)


def _with_model(ess: float, partial: PartialEstimates, further: list[str]) -> SampleUse:
    model = partial.model
    return SampleUse(
        ess=ess,
        model=OutcomeModelUsed(name=model.name, covariates=list(model.covariates), reason=model.reason),
        share_explained=partial.share_explained,
        tuning=partial.tuning,
        further_judges=further,
        narrowed=partial.narrowed,
        notes=list(partial.notes),
    )
