"""One judge audited on labels that a design drew cell by cell: single candidates, pairs, or whole pools and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from bonwise.auditing.candidate_labels import audit_candidate_labels
from bonwise.auditing.gates import Labelled
from bonwise.auditing.judge_metrics import judge_only
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import Settings
from bonwise.auditing.suspected import FEWEST_POOLS, Suspected, few_pools, of_easy_candidate
from bonwise.auditing.verdict import Verdict, candidate_validity
from bonwise.auditing.whole_and_pair_labels import audit_whole_and_pairs
from bonwise.data.cell_scores import further_scores
from bonwise.data.easy_candidates import easy_of_panel
from bonwise.data.label_design import WHOLE_AND_PAIR, LabelDesign
from bonwise.data.panel import Panel
from bonwise.data.table import ScoreTable
from bonwise.documents.audited.sampling import Sampling
from bonwise.stats.estimate import Estimate

__all__ = ["DrawnLabelsFound", "audit_drawn_labels"]


class DrawnLabelsFound(TypedDict):
    """What an audit found, by the names of `bonwise.auditing.judge_audit.JudgeAudit`."""

    metrics: Mapping[str, Estimate]
    verdict: Verdict
    labelling: Labelling
    bounds: Mapping[str, tuple[float, float]]
    sampling: Sampling
    drawn: Labelled
    suspected: tuple[Suspected, ...]


def audit_drawn_labels(panel: Panel, settings: Settings, table: ScoreTable, design: LabelDesign) -> DrawnLabelsFound:
    """Audit a judge of whose pools single candidates were drawn for labelling.

    Parameters
    ----------
    panel : Panel
        Of the judge that the design was drawn for; labels are NaN where there is none.
    settings : Settings
    table : ScoreTable
        Its other judges serve as covariates of picks and pairs.
    design : LabelDesign
        By the rule ``pick``, ``pair`` or ``whole-and-pair``.

    Raises
    ------
    bonwise.errors.InputError
        A design that was drawn from other prompts or for other scores; more than 5 % of the drawn prompts without
        the labels that were drawn: why they lack them is unknown.
    """
    if design.rule == WHOLE_AND_PAIR:
        return _of_whole_and_pairs(panel, settings, design)
    others = further_scores(table, panel)
    own = judge_only(panel, settings)
    figures = audit_candidate_labels(panel, list(others.values()), design, settings, judge_only=own)
    labels_each: Literal[1, 2] = 2 if design.rule == "pair" else 1
    sampling = Sampling(
        design=design.rule,
        how=figures.how,
        labels_a_prompt=labels_each,
        drawn_without_labels=figures.lacking,
        labelled_not_drawn=figures.not_drawn,
        tuning=figures.tuning,
        further_judges=list(others),
    )
    drawn = Labelled(figures.labelled, figures.unlabelled, labels_each)
    return _found(panel, settings, figures.metrics, figures.scope, figures.bounds, sampling, drawn)


def _of_whole_and_pairs(panel: Panel, settings: Settings, design: LabelDesign) -> DrawnLabelsFound:
    """Audit a judge of whose prompts some were drawn whole, and of others a pair."""
    figures = audit_whole_and_pairs(panel, design, settings, judge_only=judge_only(panel, settings))
    drawn = Labelled(figures.labelled, figures.unlabelled, figures.labels_each)
    return _found(panel, settings, figures.metrics, figures.scope, figures.bounds, figures.sampling, drawn)


def _found(
    panel: Panel,
    settings: Settings,
    metrics: Mapping[str, Estimate],
    scope: str,
    bounds: Mapping[str, tuple[float, float]],
    sampling: Sampling,
    drawn: Labelled,
) -> DrawnLabelsFound:
    suspected = tuple(
        of_easy_candidate(easy, "", with_it=None, without_it=None)
        for easy in easy_of_panel(panel)
        if easy.name not in settings.keep_easy
    )
    suspected += (few_pools(drawn.prompts),) if drawn.prompts < FEWEST_POOLS else ()
    verdict = candidate_validity(
        metrics,
        settings.thresholds,
        settings.target,
        scope=scope,
        bounds=bounds,
        suspected=suspected,
        some_whole=bool(sampling.whole_pools),
    )
    found = panel.labelled_cells
    partly = int(((found > 0) & (found < panel.sizes)).sum())
    return {
        "metrics": metrics,
        "verdict": verdict,
        "labelling": Labelling(panel, found == panel.sizes, partly, "aipw"),
        "bounds": bounds,
        "sampling": sampling,
        "drawn": drawn,
        "suspected": suspected,
    }
