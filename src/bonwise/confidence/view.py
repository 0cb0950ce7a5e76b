"""Stated confidence: bins, levels, and what sums them up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.confidence.result import BinRecord, ConfidenceAudit, JudgeConfidence, Level
from bonwise.estimates import EstimateRecord
from bonwise.printable import file_name, printable
from bonwise.report import numbers, table_facts
from bonwise.report.answers import StatedVerdict, of_judges, outcome_of, steps, verdict
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.curves import Curve, Curves, curves_figure
from bonwise.report.limits import LABELS, OTHER_PROMPTS, limits
from bonwise.table.reading_options import ReadingKeywords

_LIMITS = (
    "Whether the judge tells good candidates from bad ones: a judge can state its doubts well and know little.",
    "That the confidence stays right: another version of the judge, or another prompt for it, states another.",
    OTHER_PROMPTS,
    LABELS,
)

_UNITS: dict[str, numbers.Unit] = {"accuracy": "share", "coverage": "share"}
"""What is not a probability, as it was stated, or a score of such."""

_ERROR = "mean_bin_error"

_MORE = "More statements with labels make the interval narrower."

_TIES = {"exclude": "; oracle ties excluded", "half": "; oracle ties count half"}


def describe(document: ConfidenceAudit) -> Part:
    """Describe what judges stated: one part per judge."""
    settings, stated = document.settings, answer(document)
    ties = "" if settings.oracle_ties is None else _TIES[settings.oracle_ties]
    return Part(
        f"Stated confidence of {file_name(settings.source)}",
        [
            Table.facts(
                [
                    ("scores", settings.source),
                    ("judges", numbers.count(len(document.judges))),
                    ("intervals", f"{numbers.percent(settings.confidence)}, clustered by prompt"),
                    ("bonwise", settings.version),
                ]
            ),
            Said("note", f"intervals at {numbers.percent(settings.confidence)}, clustered by prompt{ties}"),
            *([] if stated is None else [verdict(stated)]),
            *table_facts.labels_left_out(settings.labels_left_out),
            *table_facts.values_read_as(settings),
            *(
                Part(_title(name, judge), list(_judge(judge, settings.confidence, f"confidence-{at}")))
                for at, (name, judge) in enumerate(document.judges.items(), start=1)
            ),
            limits(_LIMITS),
        ],
    )


def answer(document: ConfidenceAudit) -> StatedVerdict | None:
    """Return whether stated probabilities are shown to be off; None where no judge stated any."""
    stated = _answers(document)
    off = any(judged.state == "bad" for judged in stated.values())
    why = "Do not read the stated probabilities as chances. Whether the judge ranks candidates well, an audit says:"
    audit = document.then("audit", takes=ReadingKeywords) if document.kind == "intervals" else None
    then = steps(why, audit) if off else steps(_MORE)
    return of_judges(stated, "Are the stated probabilities right?", then)


def _answers(document: ConfidenceAudit) -> dict[str, StatedVerdict]:
    """Return the answer of each judge; nothing of a judge that stated none."""
    errors = {name: judge.metrics[_ERROR] for name, judge in document.judges.items() if _ERROR in judge.metrics}
    return {name: _off(error) for name, error in errors.items() if error.estimate is not None}


def _off(error: EstimateRecord) -> StatedVerdict:
    figure = f"on average over the bins they differ from what was the case by {numbers.with_interval(error)}"
    if outcome_of(error) == "above":
        return StatedVerdict("probabilities are off", "bad", f"The stated probabilities are wrong: {figure}.", error)
    return StatedVerdict(
        "no error shown", "open", f"The stated probabilities are not shown to be wrong: {figure}.", error
    )


def _title(name: str, judge: JudgeConfidence) -> str:
    data = judge.data
    return (
        f"{printable(name)}: {numbers.counted(data.statements, 'statement')} on "
        f"{numbers.counted(data.prompts, 'prompt')}"
    )


def _judge(judge: JudgeConfidence, confidence: float, key: str) -> Iterator[Block]:
    if judge.data.dropped:
        yield Said("caveat", f"left out: {numbers.listed_counts(judge.data.dropped.items())}")
    ends = numbers.interval_title(confidence)
    if judge.bins is not None:
        yield from _drawn(judge.bins, key)
        yield _bins(judge.bins, ends)
    if judge.levels is not None:
        yield _levels(judge.levels, ends)
    if judge.metrics:
        yield _summary(judge, ends)


def _drawn(bins: Sequence[BinRecord], key: str) -> list[Drawing[Curves]]:
    """Draw what was the case by what was stated, beside what a calibrated judge would show."""
    there = [bin_ for bin_ in bins if bin_.stated is not None and bin_.observed.estimate is not None]
    if not there:
        return []
    calibrated = Curve("calibrated", [0, 1], [0, 1], role="oracle", dashed=True)
    judge = Curve(
        "this judge",
        [bin_.stated for bin_ in there if bin_.stated is not None],
        [bin_.observed.estimate for bin_ in there],
        [bin_.observed.low for bin_ in there],
        [bin_.observed.high for bin_ in there],
        points=True,
    )
    first, last = there[0], there[-1]
    return curves_figure(
        [calibrated, judge],
        key,
        "Stated and observed",
        f"Where {numbers.number(first.stated)} was stated, the share is {numbers.with_interval(first.observed)}; "
        f"where {numbers.number(last.stated)} was stated, {numbers.with_interval(last.observed)}.",
        across="stated probability",
        up="share that was the case",
    )


def _summary(judge: JudgeConfidence, ends: str) -> Table:
    rows = [
        (metric.replace("_", " "), numbers.estimate(figure, unit), numbers.interval(figure, unit), _note(figure))
        for metric, figure in judge.metrics.items()
        for unit in [_UNITS.get(metric, "number")]
    ]
    if judge.data.mean_width is not None:
        rows.append(("mean width", numbers.number(judge.data.mean_width), "", ""))
    columns = (Column("summary", "name"), Column("estimate"), Column(ends), Column("note", "meaning", spare=1))
    return Table.of(columns, rows, "What sums it up")


def _note(error: EstimateRecord) -> str:
    """Say why there is no estimate or interval, or that an interval is of another kind than its neighbours."""
    if error.reason is not None:
        return error.reason
    return "from the bins' intervals, which hold all at once" if error.interval == "bins" else ""


def _bins(bins: Sequence[BinRecord], ends: str) -> Table:
    columns = (
        Column("stated", "name"),
        Column("statements", spare=1),
        *(Column(title) for title in ("mean", "observed", ends, "error")),
        Column("of the error", spare=2),
    )
    rows = [
        (
            f"P in [{numbers.setting(each.low)}, {numbers.setting(each.high)}{']' if each is bins[-1] else ')'}",
            numbers.count(each.statements),
            numbers.number(each.stated),
            numbers.estimate(each.observed),
            numbers.interval(each.observed),
            numbers.estimate(each.error),
            numbers.interval(each.error),
        )
        for each in bins
    ]
    return Table.of(columns, rows, "Outcomes by stated probability")


def _levels(levels: Sequence[Level], ends: str) -> Table:
    columns = (Column("confidence", "name"), Column("statements"), Column("accuracy"), Column(ends))
    rows = [
        (
            str(level.level),
            numbers.count(level.statements),
            numbers.estimate(level.accuracy, "share"),
            numbers.interval(level.accuracy, "share"),
        )
        for level in levels
    ]
    return Table.of(columns, rows, "Accuracy by stated level")
