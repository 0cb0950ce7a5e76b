"""Metrics of a judge whose candidates are labelled one by one: estimates for all prompts from every label."""

from __future__ import annotations

from dataclasses import replace

from bonwise.auditing.judge_metrics import JudgeMetrics, by_unit, judge_only
from bonwise.auditing.labelled_cells import CellLabels
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import Settings, label_range
from bonwise.data.panel import Panel
from bonwise.errors import UsageError
from bonwise.stats.catalog import METRICS
from bonwise.stats.cells.bounds import cell_bounds
from bonwise.stats.cells.comparing import compare_cells
from bonwise.stats.cells.diagnostics import label_diagnostics
from bonwise.stats.cells.figures import cell_figures
from bonwise.stats.cells.no_gain import DealtCells
from bonwise.stats.cells.results import LabelledCellFigures
from bonwise.stats.cells.table import CellTable
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.no_gain import no_gain_laws
from bonwise.stats.simultaneous import UnitInfluences, pick_influences

__all__ = ["cell_differences", "cell_metrics"]

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
