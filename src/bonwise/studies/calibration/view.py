"""The study of calibration: what each way of calibrating changes, drawn and in tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, limits, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Row, Said, Table
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.studies.calibration import result
from bonwise.studies.description import DescribedStudy, change_words
from bonwise.table.facts import JudgeCounts
from bonwise.table.reading_options import ReadingKeywords

_LIMITS = (
    "That a map stays right: it must be learnt again when the judge, its prompt or the generator changes.",
    limits.OTHER_PROMPTS,
    limits.LABELS,
)

_CHANGES = (
    *("recovery", "top1_accuracy", "hit_rate", "within_r", "global_r"),
    *("sign_agreement", "effective_agreement", "tie_rate", "top1_tie_rate"),
)
"""The metrics whose changes are shown; the document holds all."""

_DRAWN = ("recovery", "within_r", "global_r", "sign_agreement")


def described(document: result.CalibrationStudy) -> DescribedStudy:
    """Describe what calibrating does to the metrics and the picks: one part per judge."""
    settings = document.settings
    stated = {name: _answer(judge) for name, judge in document.judges.items() if judge.methods}
    judges = {
        name: Part(_title(name, judge), list(_judge(judge, settings, f"calibration-{at}")))
        for at, (name, judge) in enumerate(document.judges.items(), start=1)
    }
    how = (
        f"{settings.folds} folds of whole prompts, each calibrated by a map of the others, seed {settings.seed}; "
        f"in brackets {numbers.percent(settings.confidence)} intervals, paired by prompt"
    )
    return DescribedStudy(
        title=f"Calibration of judges of {file_name(settings.source)}",
        heading="Calibration",
        anchor="calibration",
        limits=_LIMITS,
        judges=judges,
        notes=[Said("note", how)],
        together=list(_over_judges(document)),
        answers=stated,
        question="Do calibrated scores pick better?",
        then=_then(document, stated),
    )


def _then(document: result.CalibrationStudy, stated: Mapping[str, answers.StatedVerdict]) -> Sequence[Said]:
    """Return by which judges' calibrated scores to pick; an audit of the raw ones where none gains."""
    good = [printable(name, longest=60) for name, answer in stated.items() if answer.state == "good"]
    if good:
        whose = "" if len(stated) == 1 else f" of {', '.join(good)}"
        return answers.steps(f"Pick by the calibrated scores{whose}, and learn the map again when the judge changes.")
    why = "Keep the raw scores: no gain of calibrating them is shown. What their picks are worth, an audit says:"
    return answers.steps(why, document.then("audit", takes=ReadingKeywords))


def _over_judges(document: result.CalibrationStudy) -> Iterator[Block]:
    """Yield the means over several judges, a row per method and metric, or why there are none."""
    if len(document.judges) < 2:
        return
    if document.not_over_judges is not None:
        yield Said("caveat", f"No means over judges: {document.not_over_judges}.")
    percents = ("percent of the mean", "mean of the percents")
    titles = ("mean change", numbers.interval_title(document.settings.confidence), percents[0], "", percents[1], "")
    rows = []
    for method, means in (document.over_judges or {}).items():
        for metric in (name for name in _CHANGES if name in means.changes):
            moved, unit = means.changes[metric], numbers.unit_of_difference(unit_of(metric))
            own = (numbers.estimate(moved, unit, sign=True), numbers.interval(moved, unit, sign=True))
            shares = [share.get(metric) for share in (means.percent_of_mean, means.mean_of_percents)]
            both = [cell for share in shares for cell in (("", "") if share is None else _relative(share))]
            rows.append(Row((_words(method), metric, *own, *both), strong=metric == "recovery"))
    if rows:
        columns = (Column("method", "name"), Column("metric", "metric"), *map(Column, titles))
        yield Table(columns, rows, f"Means over {len(document.judges)} judges")


def _answer(judge: result.CalibrationJudge) -> answers.StatedVerdict:
    """Return whether a way of calibrating changes recovery."""
    changes = {
        _words(name): change
        for name, method in judge.methods.items()
        for metric, change in method.changes.items()
        if metric == "recovery"
    }
    outcomes = [answers.outcome_of(change) for change in changes.values()]
    each = "; ".join(f"{name} {change_words(change, 'recovery')}" for name, change in changes.items())
    says = f"Change of recovery by calibration: {each}."
    figure = max(changes.values(), key=lambda change: float("-inf") if change.estimate is None else change.estimate)
    if "above" in outcomes:
        return answers.StatedVerdict("better picks", "good", says, figure)
    if set(outcomes) == {"below"}:
        return answers.StatedVerdict("worse picks", "bad", says, figure)
    return answers.StatedVerdict("no change shown", "open", says, figure)


def _title(name: str, judge: result.CalibrationJudge) -> str:
    data = judge.data
    prompts, rows = numbers.counted(data.prompts, "labelled prompt"), numbers.counted(data.rows, "row")
    return f"{printable(name, longest=60)}: {prompts}, {rows}"


def _judge(judge: result.CalibrationJudge, settings: result.CalibrationSettings, key: str) -> Iterator[Block]:
    if judge.data.method == "labelled_only":
        yield Said("caveat", f"* {_labelled_note(judge.data)}")
    known = ", ".join(printable(covariate, longest=40) for covariate in judge.covariates)
    if known:
        yield Said("note", f"covariates: {known}")
    for sentence in judge.sentences:
        yield Said("finding", numbers.named(printable(sentence), settings.reference))
    for metric in _DRAWN:
        yield from _figure(metric, judge, settings, f"{key}-{metric.replace('_', '-')}")
    yield _changes(judge, settings)
    yield Said("note", _interval_note(judge))
    yield _picks(judge)


def _labelled_note(data: JudgeCounts) -> str:
    """Say how many prompts lack labels."""
    verb = "lacks" if data.unlabelled_prompts == 1 else "lack"
    return f"from the labelled prompts alone; {numbers.count(data.unlabelled_prompts)} {verb} labels"


def _interval_note(judge: result.CalibrationJudge) -> str:
    """Say which intervals learn the maps again, and which take them as fixed."""
    fixed = [f"all of {_words(name)}" for name, found in judge.methods.items() if found.intervals != result.REFITTED]
    return (
        f"Intervals learn the maps again without each of {judge.groups} groups of prompts; those of "
        f"{' and '.join(['the level', *fixed])} take the maps as fixed."
    )


def _changes(judge: result.CalibrationJudge, settings: result.CalibrationSettings) -> Table:
    columns = (
        Column("method", "name"),
        Column("metric", "metric"),
        Column("raw", spare=3),
        Column("calibrated", spare=4),
        Column("change"),
        Column(numbers.interval_title(settings.confidence)),
        Column("in %", spare=2),
        Column("[in %]", spare=1),
    )
    rows = [
        Row(_change(method, metric, found, judge), strong=metric == "recovery")
        for method, found in judge.methods.items()
        for metric in _CHANGES
        if metric in found.changes
    ]
    return Table(columns, rows, "What calibrating changes")


def _change(
    method: str, metric: str, found: result.CalibratedMethod, judge: result.CalibrationJudge
) -> tuple[str, ...]:
    moved, relative, unit = found.changes[metric], found.relative.get(metric), unit_of(metric)
    apart, star = numbers.unit_of_difference(unit), " *" if moved.method == "labelled_only" else ""
    return (
        _words(method),
        f"{metric}{star}",
        *(numbers.number(one.metrics[metric].estimate, unit, like=moved) for one in (judge.raw, found)),
        numbers.estimate(moved, apart, sign=True),
        numbers.interval(moved, apart, sign=True),
        *(("", "") if relative is None else _relative(relative)),
    )


def _relative(found: EstimateRecord) -> tuple[str, str]:
    return numbers.estimate(found, "share", sign=True), numbers.interval(found, "share", sign=True)


def _picks(judge: result.CalibrationJudge) -> Table:
    columns = (
        Column("method", "name"),
        Column("picks changed"),
        Column("without ties"),
        Column("newly tied"),
        Column("ties broken"),
        Column("prompts", spare=2),
        Column("of them without ties", spare=1),
    )
    rows = []
    for method, found in judge.methods.items():
        everything, untied = found.picks.all, found.picks.without_ties
        counts = (
            everything.picks_changed,
            untied.picks_changed,
            everything.picks_newly_tied,
            everything.ties_broken,
            everything.prompts,
            untied.prompts,
        )
        rows.append((_words(method), *map(numbers.count, counts)))
    return Table.of(columns, rows, "What becomes of the picks")


def _figure(
    metric: str, judge: result.CalibrationJudge, settings: result.CalibrationSettings, key: str
) -> list[Drawing[Forest]]:
    unit = numbers.unit_of_difference(unit_of(metric))
    changes = {
        _words(method): found.changes[metric] for method, found in judge.methods.items() if metric in found.changes
    }
    said = [
        f"{method} {numbers.estimate(change, unit, sign=True)} {numbers.interval(change, unit, sign=True)}"
        if change.estimate is not None
        else f"{method} unknown, {change.reason}"
        for method, change in changes.items()
    ]
    return forest_figure(
        [(method, change.estimate, change.low, change.high) for method, change in changes.items()],
        key,
        f"Change of {metric}",
        f"Calibrated minus raw {metric}, one dot per method with its {numbers.interval_title(settings.confidence)}: "
        f"{'; '.join(said)}. At the line nothing changes.",
        across=f"change of {metric}",
        unit=unit,
        sign=True,
    )


def _words(method: str) -> str:
    return method.replace("_", " ")
