"""What a judge's figures rest on: counts, draw of labels, annotators, candidates, preferences at equal label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.auditing import result, result_labels
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import all_printable, printable
from bonwise.report import numbers
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.results import Ends
from bonwise.table.facts import DroppedPrompt

_METRICS: tuple[tuple[str, numbers.Unit], ...] = (
    ("recovery", "share"),
    ("within_r", "number"),
    ("top1_accuracy", "share"),
)

_SPLIT = {"majority": "tied between labels", "median": "with a median between two labels"}

_DIFFERENCES = {
    "nominal": "two labels are the same or not",
    "ordinal": "two labels differ by their ranks",
    "interval": "two labels differ by their distance",
}

_SHOWN = 12
"""Judges of which a sentence compares each with an annotator."""


def agreement_of_annotators(found: result_labels.Annotators) -> Part:
    """Return how far annotators agree, and what one of them recovers of the labels of the others."""
    blocks: list[Block] = [
        Said("finding", _labels(found)),
        Said("finding" if found.agree else "caveat", _alpha(found)),
    ]
    if not found.agree:
        blocks.reverse()
    else:
        blocks += _against_others(found)
    if found.agree and found.one_annotator is not None:
        rows = {"one annotator": found.one_annotator, **(found.judges or {})}
        blocks.append(_table(rows, "Against the labels of the other annotators", "compared"))
    alone = {one.annotator: one for one in found.each if one.pools}
    if len(alone) > 1:
        blocks.append(Part("", [_table(alone, "Each annotator against the others", "annotator")], "detail"))
    return Part("Annotators", blocks, anchor="annotators")


def _labels(found: result_labels.Annotators) -> str:
    gave = f"{numbers.counted(found.annotators, 'annotator')} gave {numbers.counted(found.labels, 'label')}"
    asked = ", as you asked" if found.rule_stated else ""
    said = (
        f"{gave} of {numbers.counted(found.labelled_candidates, 'candidate')}; candidates with two labels or more: "
        f"{numbers.count(found.several_labels)}. The label of a candidate is the {found.rule} of its labels "
        f"({found.kind}{asked})."
    )
    if found.split:
        said += f" Candidates {_SPLIT[found.rule]}: {numbers.count(found.split)}; they have the mean of these labels."
    return said


def _alpha(found: result_labels.Annotators) -> str:
    if found.alpha.estimate is None:
        return f"Their agreement cannot be told: {printable(found.alpha.reason or 'unknown')}."
    why = f" ({printable(found.alpha.reason)})" if found.alpha.reason else ""
    if not found.agree:
        return (
            "Question the labels first: the annotators are not shown to agree beyond chance. Krippendorff's alpha is "
            f"{numbers.with_interval(found.alpha)}{why}: 0 is chance; {_DIFFERENCES[found.level]}. A figure against "
            "these labels says little about a judge. Check the instructions, and whether an annotator reversed the "
            "scale."
        )
    return (
        f"The annotators agree with Krippendorff's alpha {numbers.with_interval(found.alpha)}{why}: 0 is chance, 1 "
        f"is full agreement; {_DIFFERENCES[found.level]}."
    )


def _against_others(found: result_labels.Annotators) -> Iterator[Said]:
    """Yield what one annotator recovers, and how the judges compare with that."""
    one = found.one_annotator
    if one is None:
        yield Said("caveat", f"What one annotator recovers cannot be told: {found.reason}.")
        return
    recovery = one.recovery
    if recovery is None or recovery.estimate is None:
        why = "unknown" if recovery is None else printable(recovery.reason or "unknown")
        yield Said("caveat", f"What one annotator recovers cannot be told: {why}.")
        return
    yield Said(
        "finding",
        f"One annotator's labels recover {numbers.with_interval(recovery, 'share')} against the labels of the "
        "others. A judge as good as one annotator reaches about that much when people like these check it; a better "
        "judge may reach more.",
    )
    for name, judge in list((found.judges or {}).items())[:_SHOWN]:
        if (said := _judge(name, judge)) is not None:
            yield Said("finding", said)


def _judge(name: str, judge: result_labels.JudgeAgainstOthers) -> str | None:
    own, difference = judge.recovery, judge.recovery_minus_annotator
    if own is None or own.estimate is None:
        return None
    said = f"{printable(name)} recovers {numbers.with_interval(own, 'share')} against the same labels"
    if difference is None or difference.estimate is None or difference.low is None or difference.high is None:
        return f"{said}."
    apart = numbers.with_interval(difference, "points", sign=True)
    if difference.low > 0:
        return f"{said}, more than one annotator: the difference is {apart}."
    if difference.high < 0:
        return f"{said}, less than one annotator: the difference is {apart}."
    return f"{said}: it cannot be told apart from one annotator (difference {apart})."


def _table(rows: Mapping[str, result_labels.AgainstOthers], caption: str, first: str) -> Table:
    columns = [Column(first, "name")]
    for name, _ in _METRICS:
        columns += [Column(name), Column("its interval")]
    columns.append(Column("prompts", spare=1))
    return Table(tuple(columns), [_row(name, row) for name, row in rows.items()], caption)


def _row(name: str, one: result_labels.AgainstOthers) -> Row:
    cells = [printable(name, longest=60)]
    for metric, unit in _METRICS:
        found = getattr(one, metric)
        cells += [numbers.estimate(found, unit), numbers.interval(found, unit)]
    return Row((*cells, numbers.count(one.prompts)))


_TITLES = {"length": "Length", "family": "Family", "position": "Place"}

_ROWS: tuple[tuple[str, str, numbers.Unit], ...] = (
    ("score", "effect on the score at equal label, sd", "number"),
    ("score_unadjusted", "the same without the label, sd", "number"),
    ("score_jointly", "the same at equal other attributes too, sd", "number"),
    ("recovery_cost", "cost in recovery", "points"),
    ("regret_cost", "cost in label points per pick", "number"),
)


def preferences_at_equal_label(found: result.CandidateEffects, anchor: str) -> Part:
    """Return what a judge prefers at equal label."""
    blocks: list[Block] = [Said("finding", " ".join(effect.sentences)) for effect in found.effects]
    blocks += [Said("caveat", note) for note in found.notes]
    blocks += _groups(found)
    told = [effect for effect in found.effects if effect.score is not None]
    blocks += [Part("", [_figures(one), _manner(one)], "detail") for one in told]
    return Part("What the judge prefers at equal label", blocks, anchor=anchor)


def _groups(found: result.CandidateEffects) -> Iterator[Table]:
    columns = (
        Column("candidates", "name"),
        Column("of picks"),
        Column("of best labels"),
        Column("difference"),
        Column("its interval"),
        Column("by chance", spare=2),
        Column("prompts", spare=1),
    )
    rows = [
        Row(
            (
                printable(group.group, longest=60),
                numbers.estimate(group.picked, "share"),
                numbers.estimate(group.best, "share"),
                numbers.estimate(group.difference, "points", sign=True),
                numbers.interval(group.difference, "points", sign=True),
                numbers.number(group.chance, "share"),
                numbers.count(group.prompts),
            ),
            group="" if at else _TITLES[effect.attribute],
        )
        for effect in found.effects
        for at, group in enumerate(effect.groups)
    ]
    if rows:
        yield Table(columns, rows, "Picks by group, in prompts that hold the group and others", at_a_glance=_SHOWN)


def _figures(one: result.CandidateEffect) -> Table:
    columns = (Column(_TITLES[one.attribute], "name"), Column("estimate"), Column("its interval"), Column("prompts"))
    rows = []
    for key, title, unit in _ROWS:
        record: EstimateRecord | None = getattr(one, key)
        if record is not None:
            rows.append(
                (
                    title,
                    numbers.estimate(record, unit, sign=True),
                    numbers.interval(record, unit, sign=True),
                    numbers.count(record.n),
                )
            )
    return Table.of(columns, rows, f"{_TITLES[one.attribute]} ({printable(one.source)}): {one.contrast}")


def _manner(one: result.CandidateEffect) -> Said:
    how = (
        "an indicator for each of its levels"
        if one.adjusted_for == "levels"
        else "straight pieces that join at its quintiles"
    )
    return Said(
        "note",
        f"The label is adjusted for with {how}, within prompts. A cost compares the picks with those of scores "
        "without the effect, which is estimated on other prompts; candidates that the judge ties stay tied.",
    )


_GROUPS = {"name": "By name", "top": "By place", "score": "By score"}

_BY_SCORE = "--design cells-by-score fits the chances of being labelled to scores and names instead."


def who_was_labelled(found: result_labels.LabelledCells, anchor: str) -> Part:
    """Return how many are labelled of each group of candidates, which a statement on them is judged by."""
    blocks: list[Block] = [Said("finding", _used(found))]
    if found.contradictions:
        against = "; ".join(found.contradictions)
        offered = f" {_BY_SCORE}" if found.statement == "at random" else ""
        blocks.append(Said("caveat", f"The labels contradict what is stated: {against}.{offered}"))
    blocks += [Said("caveat", f"note: {note}") for note in found.notes]
    blocks.append(_shares(found.shares))
    blocks += _pools(found.pools)
    return Part("Who was labelled", blocks, anchor=anchor)


def _used(found: result_labels.LabelledCells) -> str:
    before = "none of them in a prompt that is labelled whole"
    if found.whole_prompts:
        whole = numbers.counted(found.whole_prompts, "prompt")
        before = f"{numbers.count(found.labels_of_whole_prompts)} of them in {whole} labelled whole"
    return (
        f"Figures rest on {numbers.counted(found.labels, 'label')} of {numbers.count(found.cells)} candidates, "
        f"{before}."
    )


def _shares(shares: Sequence[result_labels.LabelledShare]) -> Table:
    columns = (
        Column("candidates", "name"),
        Column("labelled"),
        Column("minus the others", spare=2),
        Column("t", spare=1),
    )
    rows, before = [], ""
    for share in shares:
        group = _GROUPS[share.by] if share.by != before else ""
        cells = (
            printable(share.group, longest=60),
            numbers.number(share.share, "share"),
            numbers.number(share.difference, "points", sign=True),
            numbers.number(share.t, sign=True),
        )
        rows.append(Row(cells, group=group))
        before = share.by
    return Table(columns, rows, "Share of candidates that are labelled", at_a_glance=_SHOWN)


def _pools(pools: Sequence[result_labels.PoolsByLabelsRecord]) -> Iterator[Block]:
    columns = (Column("candidates"), Column("labels"), Column("prompts"), Column("at one rate"))
    rows = [
        (
            numbers.count(pool.candidates),
            numbers.count(pool.labels),
            numbers.count(pool.pools),
            numbers.number(pool.expected),
        )
        for pool in pools
    ]
    told = Said("note", "Labels may come in bunches: the figures hold then too.")
    yield Part("", [Table.of(columns, rows, "Prompts by their number of labels"), told], "detail")


_REASONS, _EXAMPLES, _OF_A_REASON = 5, 5, 8
"""Reasons of dropped prompts in a sentence, prompts named there, and prompts named of each reason."""

_TOLD = 0.005
"""A smaller share is not worth a word."""

_LONGEST = 40

_WORST_CASE = "Worst case over the missing labels"

_NO_VALUES = "they need the scale of the labels (--label-scale), and two labelled prompts"


def data(judge: result.JudgeFound, anchor: str, name: str = "", reference: str | None = None) -> Part:
    """Return the counts behind a judge's figures, dropped prompts by reason, and how labels were drawn."""
    told = counts_of(judge.data)
    blocks: list[Block] = [Said("finding", f"{printable(name)}: {told}" if name else told)]
    if judge.data.pools is not None and judge.data.pools_without_pick:
        without, pools = numbers.count(judge.data.pools_without_pick), numbers.count(judge.data.pools)
        blocks.append(Said("note", f"Of {pools} pools {without} have no pick."))
    if judge.data.unscored is not None:
        blocks.append(Said("caveat", _unscored(judge.data.unscored)))
    blocks += _kept(judge.data.kept)
    blocks += _two_scales(judge.data, reference)
    blocks += _tied(judge.data)
    blocks += [*_dropped(judge.data.dropped), *dropped_in_passes(judge.data)]
    blocks += _clusters(judge.data)
    if judge.sampling is not None:
        blocks += _sampling(judge.sampling)
    if judge.unused_labels is not None:
        blocks.append(Said("caveat", judge.unused_labels.sentence))
    return Part("Data", blocks, anchor=anchor)


def _unscored(lost: result_labels.UnscoredCandidates) -> str:
    """Say how many candidates have no score, and why."""
    none = (
        f", {numbers.count(lost.prompts_without_scores)} of them without any score"
        if lost.prompts_without_scores
        else ""
    )
    why = (
        f": {numbers.listed_counts((printable(why), times) for why, times in lost.reasons.items())}"
        if lost.reasons
        else ""
    )
    return (
        f"{numbers.counted(lost.candidates, 'candidate')} without a score in "
        f"{numbers.counted(lost.prompts, 'prompt')}{none}{why}"
    )


def _kept(kept: result_labels.KeptCandidates | None) -> Iterator[Said]:
    """Say what the figures of the best k count, and what each of their ideals is."""
    if kept is None:
        return
    k, whole = kept.k, numbers.counted(kept.prompts_kept_whole, "prompt")
    sentences = (
        f"top_value and top_recovery keep the {k} highest scored candidates of each prompt, ties in expectation; "
        f"{whole} with at most {k} keep all. Their ideal is the best {k} candidates of the table."
    )
    if kept.topics is not None:
        gain, topics = "" if kept.gain == "linear" else ", gain 2^label - 1", numbers.counted(kept.topics, "prompt")
        counts = (kept.documents_not_retrieved, kept.not_retrieved, kept.without_relevant)
        others, nothing, none = (numbers.count(count or 0) for count in counts)
        sentences += (
            f" ndcg and recall are at {k}{gain}, over {topics} with a label: 0 for {nothing} of which it ranked "
            f"nothing and {none} without a relevant candidate. Their ideal is all labelled candidates, also the "
            f"{others} that it did not rank."
        )
    yield Said("note", sentences)


def _tied(found: result_labels.AuditData) -> Iterator[Said]:
    """Say how many values tie because they differ by too little."""
    for what, count in (("score", found.scores_tied), ("label", found.labels_tied)):
        if count:
            yield Said(
                "caveat",
                f"{numbers.counted(count, what)} differ from another one of the prompt by less than is compared, 9 "
                f"digits of the spread of all {what}s, and tie with it; logarithms would tell them apart.",
            )


def _clusters(found: result_labels.AuditData) -> Iterator[Said]:
    """Say how many clusters the prompts come in, and what these leave uncertain."""
    if found.clusters is None:
        return
    clusters, largest = (
        numbers.counted(found.clusters.clusters, "cluster"),
        numbers.counted(found.clusters.largest, "prompt"),
    )
    yield Said(
        "note", f"The prompts come in {clusters}, the largest of {largest}: clusters are the units of intervals."
    )
    yield from (Said("caveat", note) for note in found.clusters.notes)


def _two_scales(found: result_labels.AuditData, reference: str | None) -> Iterator[Said]:
    """Say in which units figures are where scores and labels are on two scales."""
    if found.score_range is None or found.label_range is None:
        return
    of_scores, of_labels = (
        " to ".join(numbers.setting(end) for end in ends) for ends in (found.score_range, found.label_range)
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


def counts_of(found: result_labels.AuditData) -> str:
    """Return the counts in words."""
    if found.candidates is None:
        width = f"{numbers.count(found.candidates_min)} to {numbers.count(found.candidates_max)} candidates"
    else:
        width = numbers.counted(found.candidates, "candidate")
    told = f"{numbers.counted(found.prompts, 'prompt')} x {width}, {numbers.counted(found.rows, 'row')}"
    if found.labelled_prompts < found.prompts:
        told += (
            f"; {numbers.counted(found.labelled_prompts, 'prompt')} labelled, "
            f"{numbers.count(found.partly_labelled_prompts)} in part"
        )
    return told


def missing_labels(judge: result.JudgeFound, reference: str | None, anchor: str) -> Iterator[Part]:
    """Yield what is known of missing labels: how labelled prompts differ, and worst cases."""
    blocks: list[Block] = []
    if judge.balance is not None:
        blocks.append(_balance(judge.balance))
    if judge.bounds:
        blocks += [Said("caveat", f"{_WORST_CASE}, all prompts:"), _bounds(judge.bounds, reference)]
    blocks += no_worst_case(judge)
    if blocks:
        yield Part("Missing labels", blocks, anchor=anchor)


def no_worst_case(judge: result.JudgeFound) -> Iterator[Said]:
    """Yield that nothing bounds the values, where labels are missing and it does not."""
    if judge.bounds is not None and "value_random" not in judge.bounds and judge.labelled_cells is None:
        yield Said("caveat", f"{_WORST_CASE}, of values unknown: {_NO_VALUES}")
    if judge.bounds == {} and judge.labelled_cells is not None:
        yield Said("caveat", f"{_WORST_CASE} unknown: it needs the scale of the labels (--label-scale)")


def _balance(rows: Sequence[result.Balance]) -> Table:
    columns = (
        Column("feature of the scores", "name"),
        Column("labelled", spare=1),
        Column("unlabelled", spare=2),
        Column("difference"),
        Column("interval"),
    )
    return Table.of(columns, (_balanced(row) for row in rows), "Labelled against unlabelled prompts")


def _balanced(row: result.Balance) -> tuple[str, ...]:
    ends = numbers.Ends(row.difference, row.low, row.high)
    sides = (numbers.number(side, like=ends) for side in (row.labelled, row.unlabelled))
    return row.feature, *sides, numbers.estimate(ends), numbers.interval(ends)


def _bounds(bounds: dict[str, Ends], reference: str | None) -> Table:
    columns = (Column("metric", "metric"), Column("at least"), Column("at most"))
    rows = [
        (numbers.named(name, reference), numbers.number(low, unit_of(name)), numbers.number(high, unit_of(name)))
        for name, (low, high) in bounds.items()
    ]
    return Table.of(columns, rows)


def _dropped(dropped: Sequence[DroppedPrompt]) -> Iterator[Block]:
    if not dropped:
        return
    named_ones = _such_as([one.prompt_id for one in dropped], _EXAMPLES)
    yield Said("caveat", f"dropped {numbers.counted(len(dropped), 'prompt')}: {dropped_of(dropped)}: {named_ones}")
    columns = (Column("why", "words"), Column("prompts"), Column("such as", "words"))
    rows = [
        (reason, numbers.count(len(prompts)), _such_as(prompts, _OF_A_REASON))
        for reason, prompts in _by_reason(dropped)
    ]
    yield Part("", [Table.of(columns, rows, "Dropped prompts")], "detail")


def dropped_in_passes(data: result_labels.AuditData) -> Iterator[Said]:
    """Say how many prompts were dropped where none is named."""
    reasons = (data.dropped_by_reason or {}).items()
    if reasons:
        prompts = numbers.counted(sum(times for _, times in reasons), "prompt")
        yield Said("caveat", f"dropped {prompts}: {numbers.listed_counts(reasons)}")


def dropped_of(dropped: Sequence[DroppedPrompt]) -> str:
    """Return the most frequent reasons with how often each holds."""
    reasons = _by_reason(dropped)
    told = numbers.listed_counts((printable(reason), len(prompts)) for reason, prompts in reasons[:_REASONS])
    return f"{told}{', ...' if len(reasons) > _REASONS else ''}"


def _by_reason(dropped: Sequence[DroppedPrompt]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for one in dropped:
        found.setdefault(one.reason, []).append(one.prompt_id)
    return sorted(found.items(), key=lambda reason: -len(reason[1]))


def _such_as(prompts: Sequence[str], most: int) -> str:
    shown = ", ".join(all_printable(prompts[:most], longest=_LONGEST))
    return f"{shown}{', ...' if len(prompts) > most else ''}"


def _sampling(sampling: result_labels.Sampling) -> Iterator[Said]:
    size = None if sampling.ess is None else numbers.counted(round(sampling.ess), "label")
    worth = "" if size is None else f"; equivalent to {size} drawn at random (effective sample size)"
    yield Said("note", f"labels: {sampling.how}{worth}")
    if sampling.model is not None:
        yield Said("note", f"outcome model: {_model(sampling.model, sampling.share_explained)}")
    if sampling.further_judges:
        yield Said("note", _further(sampling.further_judges, sampling.narrowed))
    for note in sampling.notes or ():
        yield Said("caveat", f"note: {note}")


def _model(model: result_labels.OutcomeModelUsed, explained: float | None) -> str:
    share = explained or 0.0
    told = (
        f"; explains {numbers.number(share, 'share')} of the variance" if share >= _TOLD and model.covariates else ""
    )
    return f"{model.name}: {model.reason}{told}"


def _further(judges: Sequence[str], narrowed: float | None) -> str:
    names = ", ".join(printable(name) for name in judges)
    share = narrowed or 0.0
    if abs(share) < _TOLD:
        return f"further judges as covariates: {names}"
    told = f"{numbers.number(share, 'share')} narrower" if share > 0 else f"{numbers.number(-share, 'share')} wider"
    return f"with {names} as covariates the interval of recovery is {told}"
