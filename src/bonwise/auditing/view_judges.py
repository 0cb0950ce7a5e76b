"""The metrics of a judge, and several judges side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bonwise.auditing import figures, view_labels
from bonwise.auditing.result import CHOSEN_BY, Audit, AuditSettings, ChoiceRecord, JudgeFound, JudgesCompared
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import MetricGroup, groups_of, unit_of
from bonwise.printable import printable
from bonwise.report import numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Row, Said, Table
from bonwise.report.figures import forest, names
from bonwise.stats import estimand, support

_MOST_NAMES = 5


def best_of(choices: Mapping[str, ChoiceRecord] | None, those: str, reference: str | None = None) -> Iterator[Said]:
    """Yield who is the best by recovery, or by gain without it, and by gain where that is someone else."""
    found = [(metric, choices[metric]) for metric in CHOSEN_BY if choices is not None and metric in choices]
    for at, (metric, one) in enumerate(found):
        if at == 0 or not {*one.best} & {*found[0][1].best}:
            yield Said("finding", numbers.named(_chosen(one, metric, those), reference))
            if len(one.simultaneous) > 2 and any(apart.interval for apart in one.differences.values()):
                yield Said("finding", _not_worse(one))


def _chosen(one: ChoiceRecord, metric: str, those: str) -> str:
    unit = unit_of(metric)
    names = " and ".join(printable(name, longest=60) for name in one.best[:_MOST_NAMES])
    many = numbers.count(len(one.simultaneous))
    who = f"Best of {many} {those} by {metric}: {names}"
    if len(one.best) > 1:
        who += f" ({numbers.count(len(one.best))} have the same estimate)"
    if one.after is None:
        why = f": {printable(one.reason, longest=200)}" if one.reason else ""
        figure = (
            numbers.with_interval(numbers.Ends(one.estimate, *one.before), unit)
            if one.before
            else numbers.estimate(numbers.Ends(one.estimate, None, None), unit)
        )
        return f"{who}, {figure} before the choice; no interval holds after it{why}."
    after = numbers.Ends(one.estimate, *one.after)
    before = (
        ""
        if one.before is None
        else f" ({numbers.interval(numbers.Ends(one.estimate, *one.before), unit)} before it)"
    )
    return f"{who}, {numbers.with_interval(after, unit)} after the choice{before}."


def _not_worse(one: ChoiceRecord) -> str:
    """Say which of the others are not shown to be worse than the best."""
    others = one.differences
    alike = [name for name, found in others.items() if found.interval is None or found.interval[0] <= 0]
    if not alike:
        return (
            f"Each of the {numbers.count(len(others))} others is shown to be worse, all differences taken together."
        )
    names = ", ".join(printable(name, longest=40) for name in alike[:_MOST_NAMES])
    more = ", ..." if len(alike) > _MOST_NAMES else ""
    verb = "is" if len(alike) == 1 else "are"
    return (
        f"{numbers.count(len(alike))} of the {numbers.count(len(others))} others {verb} not shown to be worse: "
        f"{names}{more}."
    )


def has_intervals(choices: Mapping[str, ChoiceRecord] | None, metric: str) -> bool:
    """Tell whether there are intervals of a metric that hold together."""
    return choices is not None and metric in choices and any(choices[metric].simultaneous.values())


def held_together(choices: Mapping[str, ChoiceRecord] | None, metric: str, name: str) -> str:
    """Write the interval of one that holds together with those of all others; a dash where there is none."""
    one = None if choices is None else choices.get(metric)
    ends = None if one is None else one.simultaneous.get(name)
    return numbers.interval(None if ends is None else numbers.Ends(sum(ends) / 2, *ends), unit_of(metric))


def differences_from_best(choices: Mapping[str, ChoiceRecord] | None) -> Iterator[Part]:
    """Yield the differences between the best and each of several others, with intervals that hold together."""
    for metric, one in (choices or {}).items():
        if len(one.differences) < 2 or not has_intervals(choices, metric) or metric != CHOSEN_BY[0]:
            continue
        unit = numbers.unit_of_difference(unit_of(metric))
        rows = []
        for name, found in one.differences.items():
            ends = numbers.Ends(found.estimate, *(found.interval or (None, None)))
            rows.append(
                Row(
                    (
                        printable(name),
                        numbers.estimate(ends, unit, sign=True),
                        numbers.interval(ends, unit, sign=True),
                    )
                )
            )
        best = printable(one.best[0], longest=60)
        columns = (Column("judge", "name"), Column(f"{metric} below the best"), Column("simultaneous interval"))
        told = Said(
            "finding",
            f"{best} minus each other judge, on the prompts that both scored completely. The intervals hold "
            "together, although the best was chosen for its estimate.",
        )
        table = Table(columns, rows, at_a_glance=_AT_A_GLANCE)
        folded = Part("", [table], "detail", folded=f"A table of the {numbers.counted(len(rows), 'difference')}")
        blocks: list[Block] = [told, *figures.differences_figure(metric, one, best), folded]
        yield Part("Differences from the best", blocks, "detail", anchor="differences-from-best")


MOST_DRAWN = 6
"""Judges that have drawings of their own: a drawing takes a third of a second."""

_ORDERED_BY = "recovery"

_SUMMARY = {_ORDERED_BY: 0, "within_r": 0, "global_r": 5, "inflation": 2, "tie_rate": 3}
"""Metrics of a summary, and when they are left out on a narrow terminal."""

_DIFFERENCES = ("recovery", "within_r")

_FEW = 3
"""Judges of whom every pair is drawn."""

_PAIRS, _AT_A_GLANCE = 100, 15
"""Pairs of judges in a table, and rows that a terminal shows."""


def side_by_side(document: Audit) -> Iterator[Part]:
    """Yield what compares the judges."""
    judges = document.judges
    reference = document.settings.reference
    blocks: list[Block] = [
        *_on_a_page(
            figures.judges_figures(by_recovery(judges), document.settings.thresholds.recovery_useful, reference)
        ),
        Part("", [summary(document)], folded=f"A table of the {numbers.count(len(judges))} judges"),
        *best_of(document.choice, "judges", reference),
    ]
    if len(judges) > MOST_DRAWN:
        told = (
            f"Of {numbers.count(len(judges))} judges each has tables below and no drawings: up to {MOST_DRAWN} "
            "judges are drawn in full."
        )
        blocks.append(Part("", [Said("note", told)], "detail"))
    yield Part("Judges side by side", blocks, anchor="judges")
    yield from not_audited(document)
    yield from differences_from_best(document.choice)
    if document.comparisons:
        yield _paired(document.comparisons, few=len(judges) <= _FEW)


def _on_a_page(blocks: Iterable[Block]) -> Iterator[Part]:
    yield Part("", list(blocks), "detail")


def not_audited(document: Audit) -> Iterator[Part]:
    """Yield the judges that were not audited, and why; nothing where there are none."""
    if document.not_audited:
        columns = (Column("judge", "name"), Column("why", "words"))
        yield Part("Not audited", [Table.of(columns, document.not_audited.items())], anchor="not-audited")


def by_recovery(judges: Mapping[str, JudgeFound]) -> Mapping[str, JudgeFound]:
    """Return judges with the largest recovery first, and last those where it is undefined."""
    return dict(sorted(judges.items(), key=lambda one: _recovery(one[1])))


def _recovery(judge: JudgeFound) -> tuple[bool, float]:
    found = judge.metrics.get(_ORDERED_BY)
    undefined = found is None or found.estimate is None
    return undefined, 0.0 if found is None or found.estimate is None else -found.estimate


def dropped_prompts(judges: Mapping[str, JudgeFound]) -> Iterator[Part]:
    """Yield in one table what was dropped of each judge, where its own part is for pages alone."""
    columns = (Column("judge", "name"), Column("prompts"), Column("why", "words"))
    rows = [
        Row((printable(name), numbers.count(len(judge.data.dropped)), view_labels.dropped_of(judge.data.dropped)))
        for name, judge in judges.items()
        if judge.data.dropped
    ]
    if rows:
        yield Part("Dropped prompts", [Table(columns, rows, at_a_glance=_AT_A_GLANCE)], anchor="dropped")


def summary(document: Audit) -> Table:
    """Return one row per judge, the largest recovery first."""
    first, *others = _SUMMARY
    judges, reference, choice = document.judges, document.settings.reference, document.choice
    together = [Column("simultaneous", spare=1)] if has_intervals(choice, first) else []
    columns = (
        Column("judge", "name"),
        Column("verdict", "name"),
        Column(numbers.named(first, reference)),
        Column("its interval", spare=6),
        *together,
        *(Column(numbers.named(name, reference), spare=_SUMMARY[name]) for name in others),
        Column("prompts", spare=4),
    )
    rows = [
        (
            printable(name),
            judge.verdict.level,
            numbers.estimate(judge.metrics.get(first), unit_of(first)),
            numbers.interval(judge.metrics.get(first), unit_of(first)),
            *(held_together(choice, first, name) for _ in together),
            *(numbers.estimate(judge.metrics.get(metric), unit_of(metric)) for metric in others),
            numbers.count(judge.data.labelled_prompts),
        )
        for name, judge in by_recovery(judges).items()
    ]
    held = "; simultaneous intervals hold together" if together else ""
    return Table.of(columns, rows, f"Each judge on its complete prompts{held}")


def _paired(pairs: Sequence[JudgesCompared], *, few: bool) -> Part:
    """Return the differences of all pairs; of more than a few judges those from the best one are drawn alone."""
    columns = (
        Column("first", "name"),
        Column("second", "name"),
        Column("prompts", spare=3),
        Column("recovery"),
        Column("its interval"),
        Column("within_r", spare=2),
        Column("its interval", spare=1),
    )
    rows = [Row(_pair(pair)) for pair in pairs[:_PAIRS]]
    more = len(pairs) - _PAIRS
    told = f"{numbers.counted(more, 'more pair')} {'is' if more == 1 else 'are'} in the JSON document (--json FILE)."
    return Part(
        "Paired differences",
        [
            Said(
                "finding", "First judge minus second, on the prompts that both scored completely, paired by prompt."
            ),
            *(_forest(pairs) if few else ()),
            Table(columns, rows, "First minus second", at_a_glance=_AT_A_GLANCE),
            *([Said("note", told)] if more > 0 else []),
        ],
        anchor="differences",
        folded="" if few else f"All {numbers.counted(len(pairs), 'pair')} of judges",
    )


def _pair(pair: JudgesCompared) -> Sequence[str]:
    found = [(pair.differences.get(name), numbers.unit_of_difference(unit_of(name))) for name in _DIFFERENCES]
    figures = [
        cell
        for one, unit in found
        for cell in (numbers.estimate(one, unit, sign=True), numbers.interval(one, unit, sign=True))
    ]
    return printable(pair.first), printable(pair.second), numbers.count(pair.prompts), *figures


def _forest(pairs: Sequence[JudgesCompared]) -> Iterator[Drawing[forest.Forest]]:
    for name in _DIFFERENCES:
        yield from forest.forest_figure(
            [_row(pair, pair.differences[name]) for pair in pairs if name in pair.differences],
            f"paired-{name.replace('_', '-')}",
            f"Difference of {name}",
            f"{name} of the first judge minus that of the second; right of 0 the first does better.",
            across=f"difference of {name}",
            unit=numbers.unit_of_difference(unit_of(name)),
            sign=True,
        )


def _row(pair: JudgesCompared, found: EstimateRecord) -> forest.Row:
    return names.pair(pair.first, pair.second), found.estimate, found.low, found.high


def subsets_in_words(judge: JudgeFound) -> Iterator[Said]:
    """Yield the worst and the best subset of the prompts; nothing where no column forms any."""
    if judge.subsets is not None and judge.subsets.sentence:
        yield Said("finding", judge.subsets.sentence)


def subsets(judge: JudgeFound, anchor: str) -> Iterator[Part]:
    """Yield every subset, the worst first, and columns that form none; no table of what the sentence names alone."""
    found = judge.subsets
    if found is None:
        return
    unit, rows = unit_of(found.metric), []
    columns = (Column("column", "name"), Column("value", "name"), Column("prompts"), Column(found.metric))
    further = (Column("simultaneous interval"), Column("shrunk"), Column("why not", "words"))
    for row in found.rows:
        figures = (
            numbers.estimate(row, unit),
            numbers.interval(row, unit),
            numbers.estimate(numbers.Ends(row.shrunk, row.low, row.high), unit),
        )
        rows.append((row.column, row.value, numbers.count(row.prompts), *figures, row.reason or ""))
    table = Table.of((*columns, *further), rows, f"{found.metric} by subset, the worst first")
    notes = [Said("note", f"{printable(name)}: no subsets: {why}") for name, why in found.left_out.items()]
    more = any(row not in (found.worst, found.best) for row in found.rows)
    tables = [replace(table, at_a_glance=_AT_A_GLANCE)] if more else []
    folded = f"A table of {numbers.counted(len(rows), 'subset')}" if tables else ""
    yield Part("Subsets of the prompts", [*subsets_in_words(judge), *tables, *notes], anchor=anchor, folded=folded)


ALONE = "* from the completely labelled prompts alone"
"""What a star beside a metric says."""

_LABELS_ALONE, _WITH_CONTROL = "labels alone", "with control"

_FIRST_OF_PICKS = ("recovery", "top1_accuracy", "within_r", "hit_rate", "gain", "value_judge")
_FIRST_OF_SYSTEMS = ("global_r", "level_bias", "recovery", "within_r")
"""Metrics to read first by what is decided; those that are undefined leave their place to the next ones."""

_MOST_FIRST = 3

_OF_BEST_K = ("top_recovery", "ndcg", "recall")
"""Metrics that are there where ``--top`` asks for them; they are read after the first ones."""

_BRIEFLY: Mapping[str, str] = {
    "top1_accuracy": "the pick is the best",
    "hit_rate": "the pick is among the best",
    "gain": "picks minus random picks",
    "level_bias": "largest bias of a mean",
}
"""Meanings that leave room for the gate on 80 columns."""

_RESTS_ON = ("cells", "pools", "pairs")
"""Columns of what a figure rests on where candidates are labelled one by one."""


def metrics(judge: JudgeFound, settings: AuditSettings, anchor: str) -> Part:
    """Return every metric that the labels or logged picks have, with its interval, its prompts and what it says."""
    groups = _groups(judge, settings)
    beside = [column.title for column in _beside(judge, groups)]
    width = numbers.interval_title(settings.confidence)
    without = f"; figures under {' and '.join(beside)} have none here" if beside else ""
    starred = [Said("note", ALONE)] if judge.balance is not None else []
    blocks: list[Block] = [
        Part("", [Said("finding", f"Every estimate with its {width}, clustered by prompt{without}.")], "detail"),
        _table(judge, settings, groups),
        *(Said("note", f"{', '.join(names)}: {why}") for why, names in _reasons(judge, settings, groups).items()),
        *starred,
        Part("", [Said("note", f"Thresholds of the verdict: {_thresholds(settings)}.")], "detail"),
    ]
    many = sum(len(group.metrics) for group in groups)
    return Part("Metrics", blocks, anchor=anchor, folded=f"{numbers.count(many)} metrics with their intervals")


def first_figures(judge: JudgeFound, settings: AuditSettings) -> Iterator[Block]:
    """Yield the figures to read first as a table, each with its interval and the gate of the verdict on it."""
    wanted = _FIRST_OF_SYSTEMS if settings.target == "system" else _FIRST_OF_PICKS
    names = [name for name in wanted if name in judge.metrics]
    known = [name for name in names if judge.metrics[name].estimate is not None]
    # The verdict says why the first one is undefined where it is.
    first = list(dict.fromkeys([*names[:1], *known]))[:_MOST_FIRST]
    first += [name for name in _OF_BEST_K if name in judge.metrics and judge.metrics[name].estimate is not None]
    groups = groups_of(first)
    found = {one.name: one for group in groups for one in group.metrics}
    beside = _beside(judge, groups)
    shown = [found[name] for name in first]
    gates = _gates(settings)
    columns = (
        Column("metric", "metric"),
        Column("estimate"),
        Column(numbers.interval_title(settings.confidence)),
        Column("gate"),
        *(beside or (Column("what it says", "meaning", spare=1),)),
    )
    rows = []
    for metric, (name, figure, ends, *others) in zip(
        shown, _cells(shown, judge, settings.reference, beside), strict=True
    ):
        meaning = numbers.named(_BRIEFLY.get(metric.name, metric.meaning), settings.reference)
        last = others[: len(beside)] or [meaning]
        rows.append((name, figure, ends, gates.get(metric.name, ""), *last))
    yield Table.of(columns, rows)
    yield from rests_on(judge, settings.reference)
    if judge.balance is not None:
        yield Said("note", ALONE)


def _gates(settings: AuditSettings) -> Mapping[str, str]:
    """Return what the checks of a verdict compare with, by metric; the verdict itself says it of the level bias."""
    limits = settings.thresholds
    decision = {"recovery": numbers.setting(limits.recovery_useful, "share")}
    # Of picks only the decision is judged.
    return (
        decision
        if settings.picks is not None
        else {**decision, "within_r": numbers.setting(0.0), "global_r": numbers.setting(limits.global_r)}
    )


def _groups(judge: JudgeFound, settings: AuditSettings) -> Sequence[MetricGroup]:
    groups = groups_of(judge.metrics)
    # Logged picks may hold no scores, so what is made of scores would be a page of dashes.
    scored = settings.picks is None or judge.metrics["tie_rate"].estimate is not None
    return groups if scored else [group for group in groups if group.title == "Picks"]


def _table(judge: JudgeFound, settings: AuditSettings, groups: Sequence[MetricGroup]) -> Table:
    beside = _beside(judge, groups)
    columns = (
        Column("metric", "metric"),
        Column("estimate"),
        Column(numbers.interval_title(settings.confidence)),
        *beside,
        *_counts(judge),
        Column("n", spare=4),
        *([Column("effective n", spare=6)] if _known_support(judge) else []),
        Column("what it says", "meaning", spare=1),
    )
    shown = [(group.title, [one for one in group.metrics if _has_row(judge, one)]) for group in groups]
    cells = _cells([one for _, some in shown for one in some], judge, settings.reference, beside)
    rows = [
        Row(next(cells), metric.headline, "" if at else title)
        for title, some in shown
        for at, metric in enumerate(some)
    ]
    return Table(columns, rows)


def _has_row(judge: JudgeFound, metric: estimand.Metric) -> bool:
    drawn = judge.sampling
    single = drawn is not None and (drawn.labels_a_prompt is not None or drawn.pairs is not None)
    return not single or judge.metrics[metric.name].estimate is not None


def _beside(judge: JudgeFound, groups: Sequence[MetricGroup]) -> Sequence[Column]:
    """Return the columns of figures that stand beside the estimates."""
    found = [judge.metrics[metric.name] for group in groups for metric in group.metrics]
    sampled = any(one.labelled_only is not None for one in found)
    return (
        *((Column(_LABELS_ALONE, spare=2),) if sampled else ()),
        *((Column(_WITH_CONTROL, spare=3),) if judge.with_control is not None else ()),
    )


def _counts(judge: JudgeFound) -> Sequence[Column]:
    return () if judge.labelled_cells is None else [Column(title, spare=5) for title in _RESTS_ON]


def _cells(
    shown: Sequence[estimand.Metric], judge: JudgeFound, reference: str | None, beside: Sequence[Column]
) -> Iterator[Sequence[str]]:
    """Return the cells of each row, written column by column."""
    found = [judge.metrics[one.name] for one in shown]
    figures = [(figure, metric.unit) for figure, metric in zip(found, shown, strict=True)]
    names = numbers.all_named((one.name for one in shown), reference)
    starred = [f"{name} *" if one.method == "labelled_only" else name for name, one in zip(names, found, strict=True)]
    written = [starred, *([write(*figure) for figure in figures] for write in (numbers.estimate, numbers.interval))]
    for column in beside:
        if column.title == _LABELS_ALONE:
            written.append(
                [
                    "" if one.labelled_only is None else numbers.estimate(one.labelled_only, unit)
                    for one, unit in figures
                ]
            )
        else:
            controlled: Mapping[str, EstimateRecord] = judge.with_control or {}
            written.append([numbers.estimate(controlled.get(one.name), one.unit) for one in shown])
    if judge.labelled_cells is not None:
        behind = [judge.labelled_cells.counts.get(one.name) for one in shown]
        written += [
            ["" if one is None or not getattr(one, title) else numbers.count(getattr(one, title)) for one in behind]
            for title in _RESTS_ON
        ]
    written.append([numbers.count(one.n) for one in found])
    if _known_support(judge):
        written.append(["" if one.effective_n is None else numbers.count(int(one.effective_n)) for one in found])
    written.append(numbers.all_named((one.meaning for one in shown), reference))
    return zip(*written, strict=True)


def _known_support(judge: JudgeFound) -> bool:
    return any(one.effective_n is not None for one in judge.metrics.values())


def rests_on(judge: JudgeFound, reference: str | None) -> Iterator[Said]:
    """Yield how many prompts the recovery is worth, which gates and verdicts need twenty of."""
    found = judge.metrics.get(_ORDERED_BY)
    if found is not None and found.effective_n is not None:
        name, worth = numbers.named(_ORDERED_BY, reference), numbers.count(int(found.effective_n))
        of = numbers.counted(judge.data.labelled_prompts, "labelled prompt")
        yield Said("note", f"Effective number: {name} rests on about {worth} of {of}; a gate needs {support.FEWEST}.")
        if found.moved:
            yield Said("note", f"Interval of {name}: {found.moved}.")


def _reasons(judge: JudgeFound, settings: AuditSettings, groups: Sequence[MetricGroup]) -> Mapping[str, list[str]]:
    """Return what is to be said below the table, and the metrics it is said of, each reason once."""
    found: dict[str, list[str]] = {}
    for metric in (one for group in groups for one in group.metrics):
        for note in _notes(judge.metrics[metric.name]):
            found.setdefault(note, []).append(numbers.named(metric.name, settings.reference))
    return found


def _notes(found: EstimateRecord) -> Iterator[str]:
    if found.reason:
        yield found.reason
    if found.moved:
        yield found.moved
    if found.interval == "exact":
        yield "all prompts alike: bound"


def _thresholds(settings: AuditSettings) -> str:
    return ", ".join(f"{name} {numbers.setting(value)}" for name, value in settings.thresholds.to_dict().items())
