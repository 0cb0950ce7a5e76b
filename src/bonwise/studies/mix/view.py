"""The study of mixed difficulty: what was found, the curve over both legs, and the change of every metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import groups_of, unit_of
from bonwise.printable import file_name, printable, shell_flag
from bonwise.report import answers, limits, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Row, Said, Table
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.studies.description import DescribedStudy, change_words
from bonwise.studies.mix.result import CurveAt, MixJudge, MixSettings, MixStudy
from bonwise.table.reading_options import ReadingKeywords

_LIMITS = (
    "Which pools are the right ones: that depends on what users will choose among.",
    limits.OTHER_PROMPTS,
    limits.LABELS,
)

_OVER_PAIRS = {"global_r": "judge", "sign_agreement": "other", "effective_agreement": "ink"}
_OVER_PROMPTS = {"recovery": "judge", "within_r": "other", "top1_accuracy": "ink"}
"""Metrics that are drawn, and their colours."""

_SHOWN = {
    "global_r": "global_r",
    "recovery": "recovery",
    "sign_agreement": "sign",
    "effective_agreement": "effective",
    "within_r": "within_r",
    "top1_accuracy": "top-1",
}
"""Metrics of the table of the curve, and their headings."""

_WITH_ENDS = ("global_r", "recovery")

_LEGEND = (
    "of pools: share of the pools that hold a control in which it is shown, every second point of the curve (--json "
    "has each). all + 10%: a tenth of the way from there to easy pairs alone. sign, effective: agreement."
)
_HOW = (
    "Between the ends the curve is calculated: at 30% the easy candidates are shown in 30% of the pools that hold "
    "them, in expectation over which. Nothing is simulated. Intervals have the prompt as their unit."
)
_ROUNDING = 1e-9


def described(document: MixStudy) -> DescribedStudy:
    """Describe what easy candidates do to the figures: one part per judge."""
    settings = document.settings
    controls = ", ".join(printable(name, longest=40) for name in settings.control)
    judges = {
        name: Part(_title(name, judge), list(_judge(judge, settings, str(at))))
        for at, (name, judge) in enumerate(document.judges.items(), start=1)
    }
    return DescribedStudy(
        title=f"Mixed difficulty of {file_name(settings.source)}, control: {controls}",
        heading="Easy candidates mixed in",
        anchor="mix",
        limits=_LIMITS,
        judges=judges,
        answers={name: _answer(judge) for name, judge in document.judges.items() if judge.change},
        question="Do the easy candidates change the figures?",
        then=_then(document),
    )


def _then(document: MixStudy) -> Sequence[Said]:
    """Return the audit without the candidates where they are shown to move a figure."""
    moved = any(_answer(judge).state == "bad" for judge in document.judges.values() if judge.change)
    if not moved:
        return answers.steps("No figure is shown to move: quote those of the pools that your users choose from.")
    flags = [shell_flag("--control", name) for name in document.settings.control]
    why = "Quote the figures without the easy candidates where users never see such candidates:"
    return answers.steps(why, document.then("audit", *flags, takes=ReadingKeywords))


def _answer(judge: MixJudge) -> answers.StatedVerdict:
    """Return whether the easy candidates change the figures."""
    known = [name for name in ("recovery", "global_r") if name in judge.change]
    each = "; ".join(f"{name} {change_words(judge.change[name], name)}" for name in known)
    says = f"With the easy candidates in every pool: {each}."
    moved = [name for name in known if answers.outcome_of(judge.change[name]) != "open"]
    if moved:
        return answers.StatedVerdict(f"{' and '.join(moved)} changed", "bad", says, judge.change[moved[0]])
    return answers.StatedVerdict("no change shown", "open", says, judge.change[known[0]])


def _title(name: str, judge: MixJudge) -> str:
    data = judge.data
    return (
        f"{printable(name)}: {numbers.counted(data.mixed_prompts, 'prompt')}, "
        f"{numbers.count(data.prompts_with_control)} with a control"
    )


def _judge(judge: MixJudge, settings: MixSettings, suffix: str) -> Iterator[Block]:
    reference = settings.reference
    for sentence in judge.sentences:
        yield Said("finding", numbers.named(printable(sentence, longest=1000), reference))
    yield from _figures(judge, suffix)
    yield _change(judge, settings)
    yield from (Said("note", note) for note in _change_notes(judge, reference))
    if any(found.method == "labelled_only" for found in judge.change.values()):
        yield Said("caveat", "* from the completely labelled prompts alone")
    yield _curve(judge)
    yield Said("note", _LEGEND)
    yield Part("", [Said("note", _HOW)], "detail")


def _curve(judge: MixJudge) -> Table:
    columns = [Column("of pools", "name"), Column("easy pairs")]
    for at, (metric, title) in enumerate(_SHOWN.items()):
        columns.append(Column(title, spare=len(_SHOWN) - at if at > 1 else 0))
        if metric in _WITH_ENDS:
            columns.append(Column(f"[{title}]", spare=len(_SHOWN) + 1 - at))
    return Table.of(columns, [_point(point) for point in _every_second(judge)], "The curve")


def _point(point: CurveAt) -> list[str]:
    cells = [_where(point), numbers.number(point.easy_pairs, "share")]
    for metric in _SHOWN:
        found, unit = point.metrics.get(metric), unit_of(metric)
        cells.append("" if found is None else numbers.estimate(found, unit))
        if metric in _WITH_ENDS:
            cells.append("" if found is None else numbers.interval(found, unit))
    return cells


def _every_second(judge: MixJudge) -> list[CurveAt]:
    """Return every second point up to that of every pool, counted back from it, and all after it."""
    first = judge.first_leg
    kept = first[:1] + [point for at, point in enumerate(first) if at and (len(first) - 1 - at) % 2 == 0]
    return [*kept, *judge.points[len(first) :]]


def _where(point: CurveAt) -> str:
    """Name a point of the curve."""
    if not point.towards:
        return numbers.percent(point.share)
    return f"all + {numbers.percent(point.towards)}" if point.towards < 1 else "easy alone"


def _change(judge: MixJudge, settings: MixSettings) -> Table:
    columns = (
        Column("metric", "metric"),
        Column("without", spare=2),
        Column("with", spare=3),
        Column("with - without"),
        Column(numbers.interval_title(settings.confidence)),
        Column("n", spare=1),
    )
    ends = judge.points[0].metrics, judge.whole.metrics
    rows = []
    for key in _in_groups(judge):
        found, unit = judge.change[key], unit_of(key)
        apart = numbers.unit_of_difference(unit)
        star = " *" if found.method == "labelled_only" else ""
        cells = (
            f"{numbers.named(key, settings.reference)}{star}",
            *(numbers.number(end[key].estimate, unit, like=found) for end in ends),
            numbers.estimate(found, apart, sign=True),
            numbers.interval(found, apart, sign=True),
            numbers.count(found.n),
        )
        rows.append(Row(cells, strong=key in _WITH_ENDS))
    return Table(columns, rows, "Each metric without and with the control, paired by prompt")


def _change_notes(judge: MixJudge, reference: str | None) -> list[str]:
    """Return what is to be said below the rows, each thing once with the metrics it is said of."""
    said: dict[str, list[str]] = {}
    for key in _in_groups(judge):
        for note in _notes(judge.change[key]):
            said.setdefault(note, []).append(numbers.named(key, reference))
    return [f"{', '.join(keys)}: {note}" for note, keys in said.items()]


def _notes(found: EstimateRecord) -> Iterator[str]:
    if found.reason:
        yield printable(found.reason, longest=200)
    if found.interval == "exact" and found.estimate is not None:
        what = "no prompt changed" if abs(found.estimate) < _ROUNDING else "all prompts changed alike"
        yield f"{what}: exact bound of {numbers.counted(found.n, 'prompt')}"


def _in_groups(judge: MixJudge) -> list[str]:
    return [metric.name for group in groups_of(judge.change) for metric in group.metrics]


def _figures(judge: MixJudge, suffix: str) -> list[Drawing[Curves]]:
    points, first, all_shown = judge.points, judge.first_leg, judge.whole.easy_pairs
    return [
        *curves_figure(
            [_line(points, [point.easy_pairs for point in points], *one) for one in _OVER_PAIRS.items()],
            f"mix-pairs-{suffix}",
            "Agreement by the share of easy pairs",
            f"{_from_to(points, list(_OVER_PAIRS))} as easy pairs rise from 0% to 100% of the pairs; from "
            f"{numbers.number(all_shown, 'share')} on every pool shows its control.",
            across="easy pairs among all pairs",
            up="metric",
            guides=[Guide("every pool", x=all_shown)],
            units=("share", "number"),
        ),
        *curves_figure(
            [_line(first, [point.share for point in first], *one) for one in _OVER_PROMPTS.items()],
            f"mix-prompts-{suffix}",
            "What is picked, by the share of the pools with the control shown",
            f"{_from_to(first, list(_OVER_PROMPTS))} as the control enters the pools.",
            across="shown, of the pools that hold the control",
            up="metric",
            units=("share", "number"),
        ),
    ]


def _line(points: Sequence[CurveAt], x: Sequence[float], metric: str, role: str) -> Curve:
    found = [point.metrics.get(metric) for point in points]
    return Curve(
        metric,
        x,
        [None if one is None else one.estimate for one in found],
        [None if one is None else one.low for one in found],
        [None if one is None else one.high for one in found],
        role,
        points=True,
    )


def _from_to(points: Sequence[CurveAt], metrics: Sequence[str]) -> str:
    first, last = points[0].metrics, points[-1].metrics
    return ", ".join(
        (
            f"{metric} {numbers.estimate(first.get(metric), unit_of(metric))} to "
            f"{numbers.estimate(last.get(metric), unit_of(metric))}"
        )
        for metric in metrics
    )
