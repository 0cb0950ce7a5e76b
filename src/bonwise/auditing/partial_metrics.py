"""The metrics of one judge from a random sample of prompts, and from single labelled candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bonwise.auditing.aipw import PartialEstimates, partial_estimates
from bonwise.auditing.bounds import cell_bounds
from bonwise.auditing.cell_figures import cell_figures
from bonwise.auditing.cell_gains import DealtCells
from bonwise.auditing.cell_intervals import LabelledCellFigures, compare_cells
from bonwise.auditing.cell_table import CellTable, label_diagnostics
from bonwise.auditing.judge_metrics import JudgeMetrics, by_unit, judge_only, panel_influences, panel_level_bias
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result_labels import OutcomeModelUsed, SampleUse
from bonwise.auditing.settings import Settings, label_range
from bonwise.auditing.simultaneous import UnitInfluences, pick_influences
from bonwise.auditing.unlabelled import CellLabels
from bonwise.auditing.weighted_metrics import weighted_estimates
from bonwise.errors import UsageError
from bonwise.stats.catalog import ESTIMANDS, METRICS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.no_gain import no_gain_laws
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Floats, prompt_sums
from bonwise.table.panel import Panel

__all__ = ["cell_differences", "cell_metrics", "sampled_metrics"]

_NOT_DRAWN = "intervals are not those of the bootstrap, which draws prompts that are labelled whole"

_BOUNDED = ("value_oracle", "recovery")


def cell_metrics(labelling: Labelling, settings: Settings) -> JudgeMetrics:
    """Estimate every metric for all prompts.

    Intervals are by their own law also where the settings ask for a bootstrap, and a note says so.

    Parameters
    ----------
    labelling : Labelling
        With the method ``cells``.
    settings : Settings

    Raises
    ------
    bonwise.errors.InputError
        Propensities of candidates that are missing, or that cannot be.
    bonwise.errors.UsageError
        An outcome model, which is of whole prompts.
    """
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
    metrics = {**found.metrics, **_with_no_gain_tests(found, table, rule), **judge_only(panel, settings)}
    ends = cell_bounds(table, label_range(panel.labels))
    bounds = {name: ends[name] for name in _BOUNDED if metrics[name].estimate is None and name in ends}
    diagnostics = label_diagnostics(table, list(panel.candidates))
    notes = (*found.notes, *([_NOT_DRAWN] if settings.interval == "bootstrap" else []))
    cells = CellLabels(labelling, table, found, diagnostics, bounds, notes)
    figures = {one.name: metrics[one.name] for one in METRICS}
    return JudgeMetrics(figures, cells=cells, influences=_influences(found, panel))


def _influences(found: LabelledCellFigures, panel: Panel) -> UnitInfluences | None:
    """Return how much every unit moves gain, and recovery where it is not refused; None where both are."""
    gain, room = found.gain_parts, found.oracle_parts
    if gain is None:
        return None
    both = pick_influences(gain, gain if room is None else room, panel.clusters)
    return by_unit(panel, both if room is not None else {"gain": both["gain"]})


def _with_no_gain_tests(found: LabelledCellFigures, table: CellTable, rule: IntervalRule) -> dict[str, Estimate]:
    """Return gain and recovery with the tests that there is none, where they have intervals."""
    gain, room = found.gain_parts, found.oracle_parts
    if gain is None:
        return {}
    low, high = rule.label_range
    laws = no_gain_laws(gain, gain if room is None else room, table.clusters, (low - high, high - low))
    return {
        name: replace(
            found.metrics[name],
            no_gain=DealtCells(table.scores, table.labels, table.sizes, table.clusters, laws[name]),
        )
        for name in ("gain", "recovery")
        if found.metrics[name].law is not None
    }


def cell_differences(first: Labelling, second: Labelling, settings: Settings) -> tuple[dict[str, Estimate], int]:
    """Estimate the differences of two judges, first minus second, on the prompts that both scored completely.

    Parameters
    ----------
    first, second : Labelling
        One of them at least with the method ``cells``.
    settings : Settings

    Returns
    -------
    differences, prompts
        By metric, empty without a common prompt; and the common prompts with a label.
    """
    left, right = _on_common_prompts(first, second), _on_common_prompts(second, first)
    prompts = int((left.panel.labelled_cells > 0).sum())
    if not prompts:
        return {}, 0
    rule = settings.rule(left.panel.labels, left.panel.clusters)
    one, other = (cell_figures(_cell_table(side), rule, seed=settings.seed) for side in (left, right))
    found = compare_cells(one, other, rule)
    return {one.name: found[one.name] for one in METRICS if one.name in found}, prompts


def _on_common_prompts(mine: Labelling, other: Labelling) -> Labelling:
    panel = mine.panel.keep(mine.panel.prompt_ids.isin(other.panel.prompt_ids))
    return replace(mine, panel=panel)


def _cell_table(labelling: Labelling) -> CellTable:
    """Return the cells of a panel with what is stated of who was labelled."""
    panel, stated = labelling.panel, labelling.stated
    return CellTable(
        panel.sizes,
        panel.scores,
        panel.labels,
        names=panel.names,
        propensities=None if stated is None else stated.cell_propensities(panel),
        fitted=labelling.by_model,
        clusters=panel.clusters,
    )


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
    fit, model = partial.fit, partial.fit.choice
    return SampleUse(
        ess=ess,
        model=OutcomeModelUsed(name=model.name, covariates=list(model.covariates), reason=model.reason),
        share_explained=fit.share_explained,
        tuning=fit.tuning,
        further_judges=further,
        narrowed=partial.narrowed,
        notes=list(partial.notes),
    )
