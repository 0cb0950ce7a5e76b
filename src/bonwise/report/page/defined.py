"""What each metric is, in words, with the page of the documentation that says more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from bonwise.report import limits, numbers
from bonwise.report.blocks import Block, Column, Part, Row, Table
from bonwise.report.page.docs_site import docs_site

_WITHIN, _TIES, _AGREEMENT = "estimands/within_r", "estimands/ties", "estimands/agreement"


_BETWEEN, _TOP1, _VALUES = "estimands/between_share", "estimands/top1", "estimands/value_and_recovery"
_TOP_K = "estimands/top_k"
_UNSCORED = "estimands/unscored"


class MetricDefinition(NamedTuple):
    """What a metric is."""

    text: str
    """A few sentences."""
    page: str
    """Of the documentation, without its ending."""


DEFINITIONS: Mapping[str, MetricDefinition] = {
    "global_r": MetricDefinition(
        "Correlation of scores and labels over all cells, from -1 to 1. A part of it tells easy prompts from hard "
        "ones, which a choice among the candidates of a prompt cannot use.",
        "estimands/global_r",
    ),
    "within_r": MetricDefinition(
        "Correlation of scores and labels, from -1 to 1, once the mean of its prompt is taken from each. A choice "
        "among the candidates of a prompt can use all of it.",
        _WITHIN,
    ),
    "inflation": MetricDefinition(
        "1 - within_r / global_r: the share of global_r that is lost within prompts. It has no value where within_r "
        "is not below global_r.",
        _WITHIN,
    ),
    "attenuation": MetricDefinition(
        "Slope of the score on the label, once the mean of its prompt is taken from each: by how much two scores "
        "differ where two labels of a prompt differ by 1.",
        _WITHIN,
    ),
    "judge_between_share": MetricDefinition(
        "Sum of squares of the scores between prompts / their total sum of squares, from 0 to 1. It is 1 where the "
        "judge gives all candidates of a prompt the same score.",
        _BETWEEN,
    ),
    "oracle_between_share": MetricDefinition(
        "Sum of squares of the labels between prompts / their total sum of squares, from 0 to 1. It is 1 where all "
        "candidates of a prompt have the same label.",
        _BETWEEN,
    ),
    "tie_rate": MetricDefinition(
        "Pairs of candidates of a prompt with equal scores / all such pairs, pooled over prompts.", _TIES
    ),
    "oracle_tie_rate": MetricDefinition(
        "Pairs of candidates of a prompt with equal labels / all such pairs, pooled over prompts.", _TIES
    ),
    "top1_tie_rate": MetricDefinition(
        "Prompts where several candidates share the highest score / all prompts. There chance picks among them.",
        _TIES,
    ),
    "sign_agreement": MetricDefinition(
        "Pairs that the judge and the oracle put in the same order / pairs that neither of them ties, pooled over "
        "prompts. Chance reaches 1/2.",
        _AGREEMENT,
    ),
    "effective_agreement": MetricDefinition(
        "Mean over all pairs of candidates of a prompt: 1 for the same order, 0 for the opposite order, 1/2 where "
        "the judge or the oracle ties. Chance reaches 1/2.",
        _AGREEMENT,
    ),
    "effective_agreement_decided": MetricDefinition(
        "Mean over the pairs that the oracle does not tie: 1 for the same order, 0 for the opposite order, 1/2 "
        "where the judge ties. Chance reaches 1/2.",
        _AGREEMENT,
    ),
    "kendall_tau": MetricDefinition(
        "Mean over prompts of Kendall's tau-b, from -1 to 1: (pairs in the same order - pairs in the opposite order) "
        "/ sqrt(pairs that the judge decides * pairs that the oracle decides). Prompts where one of them ties all "
        "candidates have none.",
        _AGREEMENT,
    ),
    "top1_accuracy": MetricDefinition(
        "Probability that the judge and the oracle pick the same candidate where each settles its own ties by lot.",
        _TOP1,
    ),
    "hit_rate": MetricDefinition(
        "Probability that the judge's pick is one of the oracle's best candidates. Ties of the judge are settled by "
        "lot.",
        _TOP1,
    ),
    "value_random": MetricDefinition(
        "Mean label of a candidate drawn at random from each prompt: what a choice without a judge is worth.", _VALUES
    ),
    "value_judge": MetricDefinition(
        "Mean label of the candidates that the judge picks. A tie for the highest score counts as the mean of the "
        "tied candidates.",
        _VALUES,
    ),
    "value_oracle": MetricDefinition(
        "Mean label of the best candidate of each prompt: the most that any judge could reach.", _VALUES
    ),
    "gain": MetricDefinition("value_judge - value_random, in the unit of the labels.", _VALUES),
    "recovery": MetricDefinition(
        "(value_judge - value_random) / (value_oracle - value_random): the share of the possible gain that the judge "
        "brings. It is 1 where the judge always picks a best candidate, 0 where its picks are worth as much as "
        "random ones, and negative where they are worth less.",
        _VALUES,
    ),
    "top_value": MetricDefinition(
        "Mean label of the k candidates of each prompt with the highest scores. Candidates that tie at the edge "
        "share the places that are left.",
        _TOP_K,
    ),
    "top_recovery": MetricDefinition(
        "(top_value - value_random) / (mean label of the best k candidates - value_random): recovery of a choice "
        "that keeps k.",
        _TOP_K,
    ),
    "ndcg": MetricDefinition(
        "Mean over prompts of the sum of gain / log2(1 + place) over the first k places / the largest such sum that "
        "all labelled candidates allow. Ties share their places in expectation.",
        _TOP_K,
    ),
    "recall": MetricDefinition(
        "Mean over prompts of relevant candidates among the first k / all relevant candidates. Relevant is a label "
        "above 0.",
        _TOP_K,
    ),
    "level_bias": MetricDefinition(
        "The largest mean error among the names of candidates, after one increasing curve has turned all scores into "
        "labels: whether the judge favours a source of candidates. It is in the unit of the labels.",
        "estimands/level_bias",
    ),
    "unscored_rate": MetricDefinition("Candidates without a score / all candidates.", _UNSCORED),
    "unscored_prompt_rate": MetricDefinition("Prompts with a candidate without a score / all prompts.", _UNSCORED),
    "unscored_cost": MetricDefinition(
        "Recovery if the candidates without a score were scored like others with their label, less recovery as it "
        "is. It assumes that the loss does not depend on the score at equal label.",
        _UNSCORED,
    ),
}
"""By metric."""


_ALONE = " *"
"""What may stand behind the name of a metric in a table."""


_ANY_REFERENCE = "a reference"


_PAGE = "{site}{page}.html#definition"


def with_definitions(described: Part) -> Part:
    """Return a description with the metrics that its tables name defined, folded before its last words."""
    mentioned, site = set(_names(described.blocks)), docs_site()
    # A page that says "reference" in place of "oracle" says so in the names of some metrics too.
    known = max(
        (_known(reference, site) for reference in (None, _ANY_REFERENCE)),
        key=lambda definitions: len(mentioned & definitions.keys()),
    )
    names = [name for name in known if name in mentioned]
    if not names:
        return described
    columns = (Column("metric", "metric"), Column("definition", "sentences"), Column("documentation", "words"))
    table = Table(columns, [Row((name, *known[name])) for name in names], role="definitions")
    title = f"Definitions of {numbers.counted(len(names), 'metric')}"
    part = Part("What the metrics are", [table], anchor="metrics-defined", folded=title)
    last = [block for block in described.blocks if isinstance(block, Part) and block.anchor == limits.NOT_ESTABLISHED]
    return replace(described, blocks=[*(block for block in described.blocks if block not in last), part, *last])


def _known(reference: str | None, site: str | None) -> Mapping[str, tuple[str, str]]:
    """Return definition and address by the name that a page shows."""
    return {
        numbers.named(name, reference): (
            numbers.named(definition.text, reference),
            "" if site is None else _PAGE.format(site=site, page=definition.page),
        )
        for name, definition in DEFINITIONS.items()
    }


def _names(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield what may be the name of a metric in tables, in the order of the page."""
    for block in blocks:
        if isinstance(block, Part):
            yield from _names(block.blocks)
        elif isinstance(block, Table):
            yield from _in_table(block)


def _in_table(table: Table) -> Iterator[str]:
    if table.role == "headlines":
        yield from (row.cells[0] for row in table.rows)
    elif table.role == "table":
        yield from (column.title for column in table.columns if column.kind == "figure")
        cells = (zip(table.columns, row.cells, strict=True) for row in table.rows)
        yield from (
            cell.removesuffix(_ALONE) for column, cell in chain.from_iterable(cells) if column.kind == "metric"
        )
