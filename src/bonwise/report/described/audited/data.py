"""What a judge's figures rest on: counts, what was dropped and why, how labels were drawn, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.audited.data import AuditData
from bonwise.documents.audited.judge import Balance, JudgeFound
from bonwise.documents.audited.judge import Ends as Bounds
from bonwise.documents.audited.sampling import OutcomeModelUsed, Sampling
from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.metrics import unit_of
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.numbers import Ends, count, counted, estimate, interval, listed_counts, number, setting
from bonwise.report.wording import named

__all__ = ["counts_of", "data", "dropped_of", "missing_labels"]

_REASONS, _EXAMPLES, _OF_A_REASON = 5, 5, 8
"""Reasons of dropped prompts in a sentence, prompts named there, and prompts named of each reason."""

_TOLD = 0.005
"""A smaller share is not worth a word."""

_LONGEST = 40

_WORST_CASE = "Worst case over the missing labels"

_NO_VALUES = "they need the scale of the labels (--label-scale), and two labelled prompts"


def data(judge: JudgeFound, anchor: str, name: str = "", reference: str | None = None) -> Part:
    """Return the counts behind a judge's figures, its dropped prompts by reason, and how labels were drawn.

    Parameters
    ----------
    judge : JudgeFound
    anchor : str
    name : str
        Of the judge, where no heading says it.
    reference : str, optional
        The judge that stands in for labels.
    """
    told = counts_of(judge.data)
    blocks: list[Block] = [Said("finding", f"{printable(name)}: {told}" if name else told)]
    if judge.data.pools is not None and judge.data.pools_without_pick:
        without, pools = count(judge.data.pools_without_pick), count(judge.data.pools)
        blocks.append(Said("note", f"Of {pools} pools {without} have no pick."))
    blocks += _two_scales(judge.data, reference)
    blocks += _dropped(judge.data.dropped)
    blocks += _clusters(judge.data)
    if judge.sampling is not None:
        blocks += _sampling(judge.sampling)
    if judge.unused_labels is not None:
        blocks.append(Said("caveat", judge.unused_labels.sentence))
    return Part("Data", blocks, anchor=anchor)


def _clusters(found: AuditData) -> Iterator[Said]:
    """Say how many clusters the prompts come in, and what these leave uncertain."""
    if found.clusters is None:
        return
    clusters, largest = counted(found.clusters.clusters, "cluster"), counted(found.clusters.largest, "prompt")
    yield Said(
        "note", f"The prompts come in {clusters}, the largest of {largest}: clusters are the units of intervals."
    )
    yield from (Said("caveat", note) for note in found.clusters.notes)


def _two_scales(found: AuditData, reference: str | None) -> Iterator[Said]:
    """Say in which units figures are where scores and labels are on two scales."""
    if found.score_range is None or found.label_range is None:
        return
    of_scores, of_labels = (
        " to ".join(setting(end) for end in ends) for ends in (found.score_range, found.label_range)
    )
    labels, points, point = "labels", "label points", "label point"
    if reference is not None:
        judge = printable(reference)
        labels, points, point = f"the scores of {judge}", f"points of {judge}", f"point of {judge}"
    yield Said(
        "note",
        f"Scores run from {of_scores} and {labels} from {of_labels}: both stay as they are. Values, gain and the "
        f"level bias are in {points}; attenuation is in score points per {point}.",
    )


def counts_of(found: AuditData) -> str:
    """Return the counts in words.

    Examples
    --------
    >>> counts_of(
    ...     AuditData(
    ...         prompts=99, candidates=4, rows=396, labelled_prompts=20, partly_labelled_prompts=1, dropped=[]
    ...     )
    ... )
    '99 prompts x 4 candidates, 396 rows; 20 prompts labelled, 1 in part'
    """
    if found.candidates is None:
        width = f"{count(found.candidates_min)} to {count(found.candidates_max)} candidates"
    else:
        width = counted(found.candidates, "candidate")
    told = f"{counted(found.prompts, 'prompt')} x {width}, {counted(found.rows, 'row')}"
    if found.labelled_prompts < found.prompts:
        told += (
            f"; {counted(found.labelled_prompts, 'prompt')} labelled, {count(found.partly_labelled_prompts)} in part"
        )
    return told


def missing_labels(judge: JudgeFound, reference: str | None, anchor: str) -> Iterator[Part]:
    """Yield what is known of missing labels: how labelled prompts differ, and worst cases."""
    blocks: list[Block] = []
    if judge.balance is not None:
        blocks.append(_balance(judge.balance))
    if judge.bounds is not None:
        if judge.bounds:
            blocks += [Said("caveat", f"{_WORST_CASE}, all prompts:"), _bounds(judge.bounds, reference)]
        if "value_random" not in judge.bounds and judge.labelled_cells is None:
            blocks.append(Said("caveat", f"{_WORST_CASE}, of values unknown: {_NO_VALUES}"))
    if blocks:
        yield Part("Missing labels", blocks, anchor=anchor)


def _balance(rows: Sequence[Balance]) -> Table:
    columns = (
        Column("feature of the scores", "name"),
        Column("labelled", spare=1),
        Column("unlabelled", spare=2),
        Column("difference"),
        Column("interval"),
    )
    return Table.of(columns, (_balanced(row) for row in rows), "Labelled against unlabelled prompts")


def _balanced(row: Balance) -> tuple[str, ...]:
    found = Ends(row.difference, row.low, row.high)
    sides = (number(side, like=found) for side in (row.labelled, row.unlabelled))
    return row.feature, *sides, estimate(found), interval(found)


def _bounds(bounds: dict[str, Bounds], reference: str | None) -> Table:
    columns = (Column("metric", "metric"), Column("at least"), Column("at most"))
    rows = [
        (named(name, reference), number(low, unit_of(name)), number(high, unit_of(name)))
        for name, (low, high) in bounds.items()
    ]
    return Table.of(columns, rows)


def _dropped(dropped: Sequence[DroppedPrompt]) -> Iterator[Block]:
    if not dropped:
        return
    named_ones = _such_as([one.prompt_id for one in dropped], _EXAMPLES)
    yield Said("caveat", f"dropped {counted(len(dropped), 'prompt')}: {dropped_of(dropped)}: {named_ones}")
    columns = (Column("why", "words"), Column("prompts"), Column("such as", "words"))
    rows = [(reason, count(len(prompts)), _such_as(prompts, _OF_A_REASON)) for reason, prompts in _by_reason(dropped)]
    yield Part("", [Table.of(columns, rows, "Dropped prompts")], "detail")


def dropped_of(dropped: Sequence[DroppedPrompt]) -> str:
    """Return the most frequent reasons with how often each holds."""
    reasons = _by_reason(dropped)
    told = listed_counts((printable(reason), len(prompts)) for reason, prompts in reasons[:_REASONS])
    return f"{told}{', ...' if len(reasons) > _REASONS else ''}"


def _by_reason(dropped: Sequence[DroppedPrompt]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for one in dropped:
        found.setdefault(one.reason, []).append(one.prompt_id)
    return sorted(found.items(), key=lambda reason: -len(reason[1]))


def _such_as(prompts: Sequence[str], most: int) -> str:
    shown = ", ".join(printable(one, longest=_LONGEST) for one in prompts[:most])
    return f"{shown}{', ...' if len(prompts) > most else ''}"


def _sampling(sampling: Sampling) -> Iterator[Said]:
    size = None if sampling.ess is None else counted(round(sampling.ess), "label")
    worth = "" if size is None else f"; equivalent to {size} drawn at random (effective sample size)"
    yield Said("note", f"labels: {sampling.how}{worth}")
    if sampling.model is not None:
        yield Said("note", f"outcome model: {_model(sampling.model, sampling.share_explained)}")
    if sampling.further_judges:
        yield Said("note", _further(sampling.further_judges, sampling.narrowed))
    for note in sampling.notes or ():
        yield Said("caveat", f"note: {note}")


def _model(model: OutcomeModelUsed, explained: float | None) -> str:
    share = explained or 0.0
    told = f"; explains {number(share, 'share')} of the variance" if share >= _TOLD and model.covariates else ""
    return f"{model.name}: {model.reason}{told}"


def _further(judges: Sequence[str], narrowed: float | None) -> str:
    names = ", ".join(printable(name) for name in judges)
    share = narrowed or 0.0
    if abs(share) < _TOLD:
        return f"further judges as covariates: {names}"
    told = f"{number(share, 'share')} narrower" if share > 0 else f"{number(-share, 'share')} wider"
    return f"with {names} as covariates the interval of recovery is {told}"
