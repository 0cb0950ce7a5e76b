"""One judge audited on labels that a design drew cell by cell: single candidates, pairs, or whole pools and pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bonwise.arrays import Floats
from bonwise.auditing import bounds, cell_table, drawn_candidates, gates, judge_record, result_labels, whole_and_pair
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import Settings, label_range
from bonwise.auditing.suspected import few_pools, of_easy_candidate, outstanding_of, remarks
from bonwise.auditing.verdict import candidate_validity
from bonwise.report.numbers import counted
from bonwise.report.table_facts import off_scale_words
from bonwise.results import given
from bonwise.stats import catalog, estimand, sums, support
from bonwise.stats.partial.cell_allocation import FEWEST_WHOLE
from bonwise.table import cell_scores, label_design, score_table
from bonwise.table.panel import Panel, easy_of_panel

_NAMES = (*(e.name for e in catalog.ESTIMANDS), "level_bias")

_WHOLE_POOLS = "undefined: needs the labels of all candidates of a prompt, and the design drew single ones"
_NO_BEST = (
    "undefined: needs the best label of a prompt, and the design drew single candidates; their best is only a lower "
    "bound of it"
)
_REASONS = {
    "pick": {
        "value_random": "undefined: needs labels of candidates other than the pick",
        "gain": "undefined: needs labels of candidates other than the pick",
    },
    "pair": dict.fromkeys(
        ("value_random", "value_judge"),
        "undefined: a pair tells how far its two labels differ, and prompts that the judge ties entirely have none",
    ),
}
_MEASURED = {"pick": "the value of the judge's picks", "pair": "the gain of the judge's picks over random ones"}


@dataclass(frozen=True, eq=False)
class CandidateFigures:
    """What labels of single candidates say of a judge."""

    metrics: Mapping[str, estimand.Estimate] = field(repr=False)
    """Every metric of an audit; one that these labels cannot tell holds the reason."""
    bounds: Mapping[str, tuple[float, float]] = field(repr=False)
    """Ends between which a metric lies at the audit's confidence whatever the missing labels are. Of labels of an
    unknown scale recovery alone.
    """
    how: str
    scope: str
    """Both: what was labelled; what the figures stand for, as a sentence."""
    drawn: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    labelled: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    lacking: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    unlabelled: int
    """Prompts that were drawn; those with all labels that were drawn of them; those without; all without that a
    design could draw.
    """
    not_drawn: int
    """Labelled candidates that were not drawn: their labels are left out."""
    tuning: float
    """Share of the model of the labels that was used, from 0 (labels alone) to 1."""


def audit_candidate_labels(
    panel: Panel,
    others: Sequence[Floats],
    design: label_design.LabelDesign,
    settings: Settings,
    *,
    judge_only: Mapping[str, estimand.Estimate],
) -> CandidateFigures:
    """Audit a judge on the labels of the candidates that a design drew: value_judge from picks, gain from pairs.

    What needs V(oracle) is refused with a reason; `CandidateFigures.bounds` says what the labels leave possible.
    `panel` is the judge's that the design was drawn for, NaN where there is no label; scores of `others`, (cells,),
    NaN where one did not score, narrow the interval, which is by its usual law also where a bootstrap is asked for.

    Raises `bonwise.errors.UsageError` for a design that draws prompts, and `bonwise.errors.InputError` for other
    prompts or scores, or where more than 5 % of the drawn prompts lack labels: why is unknown.
    """
    found = drawn_candidates.drawn_candidates(panel, design)
    result = drawn_candidates.candidate_estimate(
        found.draw,
        panel.labels,
        sums.filled_scores(panel.scores, panel.sizes),
        others,
        settings.rule(panel.labels, panel.clusters),
        strata=found.strata,
        seed=settings.seed,
    )
    metrics = dict(judge_only)
    metrics["gain" if design.rule == "pair" else "value_judge"] = result.estimate
    reasons, labelled = _REASONS[design.rule], int(found.draw.labelled.sum())
    for name in _NAMES:
        if name not in metrics:
            reason = _NO_BEST if name in ("value_oracle", "recovery") else reasons.get(name, _WHOLE_POOLS)
            metrics[name] = estimand.Estimate.undefined(reason, labelled).with_method("aipw")
    return CandidateFigures(
        {name: metrics[name] for name in _NAMES},
        result.bounds,
        _how_candidates_were_drawn(found, design, len(panel.sizes), result.borrowed),
        f"These labels estimate {_MEASURED[design.rule]} for all prompts, and bound recovery without estimating it.",
        found.drawn,
        labelled,
        found.drawn - labelled,
        int(found.possible.sum()) - labelled,
        found.not_drawn,
        result.tuning,
    )


def _how_candidates_were_drawn(
    found: drawn_candidates.DrawnCandidates, design: label_design.LabelDesign, prompts: int, borrowed: int
) -> str:
    labelled = int(found.draw.labelled.sum())
    what = "the judge's pick" if design.rule == "pick" else "the judge's pick and one other candidate"
    drawn = f"drawn from {prompts:,} by the rule {design.rule!r} (seed {design.seed})"
    words = [f"{what} in {labelled:,} prompt{'s' * (labelled != 1)}, {drawn}"]
    if design.rule == "pair" and (tied := int(found.draw.all_tied.sum())):
        words.append(f"{tied:,} more that the judge ties entirely need none, because it gains nothing there")
    if lacking := found.drawn - labelled:
        words.append(f"{lacking:,} more were drawn and lack labels")
    if borrowed:
        words.append(f"{borrowed:,} lie in strata without any label: the next stratum's labels are used for them")
    if found.not_drawn:
        words.append(f"labels of {counted(found.not_drawn, 'candidate')} not drawn are left out")
    return "; ".join(words)


_REFUSED = (
    "undefined: the labels were drawn for gain and recovery; of two candidates of a prompt they tell how far these "
    "differ, and no more"
)
_SCOPE = "These labels estimate gain and recovery for all prompts."


@dataclass(frozen=True, eq=False)
class WholeAndPairFigures:
    """What labels of whole pools and pairs say of a judge."""

    metrics: Mapping[str, estimand.Estimate] = field(repr=False)
    """Every metric of an audit; one that these labels cannot tell holds the reason."""
    bounds: Mapping[str, tuple[float, float]] = field(repr=False)
    """Where recovery is not estimated: the ends between which it lies whatever the missing labels are."""
    sampling: result_labels.Sampling = field(repr=False)
    """For the document."""
    scope: str
    """What the figures stand for, as a sentence."""
    labelled: int
    unlabelled: int
    """Both: prompts with all labels that were drawn of them, and the others."""
    labels_each: float
    """Labels per labelled prompt."""


def audit_whole_and_pairs(
    panel: Panel, design: label_design.LabelDesign, settings: Settings, *, judge_only: Mapping[str, estimand.Estimate]
) -> WholeAndPairFigures:
    """Audit a judge on the labels of the pools and pairs that were drawn; errors as of `audit_candidate_labels`."""
    drawn_pools = drawn_candidates.drawn_pools(panel, design)
    draw = drawn_pools.draw
    rule = settings.rule(panel.labels, panel.clusters)
    told = whole_and_pair.whole_and_pair_estimates(draw, panel.labels, rule, seed=settings.seed)
    whole, pairs = int(draw.whole.sum()), int(draw.pairs.sum())
    metrics = {**judge_only, "gain": told.gain, "recovery": told.recovery}
    refused = estimand.Estimate.undefined(_REFUSED, whole + pairs).with_method("cells")
    few = [f"Few complete pools: with fewer than {FEWEST_WHOLE} the interval of recovery is approximate."]
    sampling = result_labels.Sampling(
        design=design.rule,
        how=_how_pools_were_drawn(drawn_pools, design, len(panel.sizes)),
        drawn_without_labels=drawn_pools.drawn - whole - pairs,
        labelled_not_drawn=drawn_pools.not_drawn,
        **given(notes=few if whole < FEWEST_WHOLE else None),
        whole_pools=whole,
        pairs=pairs,
    )
    cells = int(panel.sizes[draw.whole].sum()) + 2 * pairs
    return WholeAndPairFigures(
        {name: metrics.get(name, refused) for name in _NAMES},
        _bounds(panel) if told.recovery.estimate is None else {},
        sampling,
        _SCOPE,
        whole + pairs,
        len(panel.sizes) - whole - pairs,
        cells / max(whole + pairs, 1),
    )


def _bounds(panel: Panel) -> Mapping[str, tuple[float, float]]:
    table = cell_table.CellTable(panel.sizes, panel.ranked, panel.labels)
    found = bounds.cell_bounds(table, label_range(panel.labels))
    return {"recovery": found["recovery"]} if "recovery" in found else {}


def _how_pools_were_drawn(found: drawn_candidates.DrawnPools, design: label_design.LabelDesign, prompts: int) -> str:
    whole, pairs = int(found.draw.whole.sum()), int(found.draw.pairs.sum())
    drawn = (
        f"all candidates of {whole:,} prompts, and of {pairs:,} others one with the judge's highest score and one "
        f"other, drawn from {prompts:,} by the rule {design.rule!r} (seed {design.seed})"
    )
    words = [drawn]
    if lacking := found.drawn - whole - pairs:
        words.append(f"{lacking:,} more were drawn and lack labels")
    if found.not_drawn:
        words.append(f"labels of {counted(found.not_drawn, 'candidate')} not drawn are left out")
    return "; ".join(words)


def audit_drawn_labels(
    panel: Panel, settings: Settings, table: score_table.ScoreTable, design: label_design.LabelDesign
) -> judge_record.JudgeAudit:
    """Audit a judge of whose pools candidates were drawn; the other judges of `table` are covariates."""
    if design.rule == label_design.WHOLE_AND_PAIR:
        return _of_whole_and_pairs(panel, settings, table, design)
    others = cell_scores.further_scores(table, panel)
    own = judge_record.judge_only(panel, settings)
    figures = audit_candidate_labels(panel, list(others.values()), design, settings, judge_only=own)
    labels_each: Literal[1, 2] = 2 if design.rule == "pair" else 1
    sampling = result_labels.Sampling(
        design=design.rule,
        how=figures.how,
        labels_a_prompt=labels_each,
        drawn_without_labels=figures.lacking,
        labelled_not_drawn=figures.not_drawn,
        tuning=figures.tuning,
        further_judges=list(others),
    )
    drawn = gates.Labelled(figures.labelled, figures.unlabelled, labels_each)
    scope = " ".join((*(said for said, _ in off_scale_words(table, panel.judge)), figures.scope))
    return _found(panel, settings, figures.metrics, scope, figures.bounds, sampling, drawn)


def _of_whole_and_pairs(
    panel: Panel, settings: Settings, table: score_table.ScoreTable, design: label_design.LabelDesign
) -> judge_record.JudgeAudit:
    """Audit a judge of whose prompts some were drawn whole, and of others a pair."""
    figures = audit_whole_and_pairs(panel, design, settings, judge_only=judge_record.judge_only(panel, settings))
    drawn = gates.Labelled(figures.labelled, figures.unlabelled, figures.labels_each)
    scope = " ".join((*(said for said, _ in off_scale_words(table, panel.judge)), figures.scope))
    return _found(panel, settings, figures.metrics, scope, figures.bounds, figures.sampling, drawn)


def _found(
    panel: Panel,
    settings: Settings,
    metrics: Mapping[str, estimand.Estimate],
    scope: str,
    bounds: Mapping[str, tuple[float, float]],
    sampling: result_labels.Sampling,
    drawn: gates.Labelled,
) -> judge_record.JudgeAudit:
    suspected = tuple(
        of_easy_candidate(easy, "", with_it=None, without_it=None)
        for easy in easy_of_panel(panel)
        if easy.name not in settings.keep_easy
    )
    suspected += (few_pools(drawn.prompts),) if drawn.prompts < support.FEWEST else ()
    outstanding = outstanding_of(panel, settings.keep_easy, lambda *_: {})
    scope = " ".join((scope, *remarks(outstanding, "recovery", metrics["recovery"])))
    verdict = candidate_validity(
        metrics,
        settings.thresholds,
        settings.target,
        scope=scope,
        bounds=bounds,
        suspected=suspected,
        some_whole=bool(sampling.whole_pools),
    )
    labels = panel.labelled_cells
    partly = int(((labels > 0) & (labels < panel.sizes)).sum())
    labelling = Labelling(panel, labels == panel.sizes, partly, "aipw")
    # Every label that a design drew counts.
    record = judge_record.judge_record(
        labelling, metrics, verdict, bounds=bounds, suspected=suspected, sampling=sampling
    )
    return judge_record.JudgeAudit(panel.judge, record, metrics, labelling, drawn=drawn, suspected=suspected)
