"""Whether a judge may choose for users: six points, each with figures, or what the table lacks to say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from pydantic import Field

from bonwise.auditing.result import Audit, AuditSettings, JudgeFound
from bonwise.errors import InputError
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.limits import LABELS, OTHER_CANDIDATES, OTHER_PROMPTS, limits
from bonwise.results import Document, FrameRow, Record
from bonwise.table.reading_options import ReadingKeywords

State = Literal["holds", "fails", "open", "cannot be said"]
_STATES: Mapping[str, State] = {"pass": "holds", "above": "holds", "fail": "fails", "below": "fails"}

_POINTS = {
    "target": ("What is decided", "audit FILE"),
    "within_prompts": ("Within prompts", "audit FILE --full"),
    "hard_regime": ("Candidates as in use", "audit FILE --full"),
    "pairwise": ("Verdicts on pairs", "study label-strategy FILE --verdicts pairs.csv"),
    "routing": ("Stated uncertainty", "route FILE"),
    "threshold": ("Threshold on your labels", "study requirements FILE --target 50%"),
}
"""Title of each point (Landesberg 2026, section 7.5), and the command that says more."""

_UNCERTAIN = ("interval_width", "draw_sd")
"""Signals of the uncertainty that a judge states."""

_NO_PAIRS = (
    "The table has no verdicts on pairs. Ask for them: bonwise judge POOLS.jsonl --judge pairwise:PROVIDER/MODEL "
    "--pairs pairs.csv"
)


class ReadinessPoint(Record):
    """One point of the list."""

    state: State
    """``holds`` and ``fails`` by intervals, ``open`` where these settle nothing."""
    figures: dict[str, EstimateRecord]
    """Of a point that cannot be said from this table, at most what stands beside it."""
    sentence: str
    command: str
    """What says more; FILE is the table."""


class Readiness(Document):
    """Whether judges may choose for users: six points each."""

    schema_: Literal["bonwise.readiness/1"] = Field(default="bonwise.readiness/1", alias="schema")
    judges: dict[str, dict[str, ReadinessPoint]]
    """By judge, each point by name."""
    settings: AuditSettings

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, point and figure."""
        for judge, points in self.judges.items():
            for name, point in points.items():
                for metric, figure in point.figures.items():
                    at = {"judge": judge, "point": name, "state": point.state, "metric": metric}
                    yield {**at, **figure.to_dict()}


def readiness(audit: Audit, seed: int) -> Readiness:
    """Go through the six points for each judge of an audit."""
    from bonwise.routing.front import route  # noqa: PLC0415 - the page of an audit loads both as late
    from bonwise.studies.requirements.front import study_requirements  # noqa: PLC0415

    settings = audit.settings
    same: dict[str, Any] = {"exclude": settings.exclude, "shape": settings.shape, "confidence": settings.confidence}
    useful = [settings.thresholds.recovery_useful]
    routes = _or_why(partial(route, audit.table, strong="none", seed=seed, **same))
    needs = _or_why(partial(study_requirements, audit.table, targets=useful, seed=seed, **same))
    judges = {}
    for name, judge in audit.judges.items():
        points = [*_of_audit(judge, settings), _routing(routes, name), _threshold(needs, name)]
        judges[name] = {
            point: ReadinessPoint(state=state, sentence=sentence, figures=figures, command=f"bonwise {command}")
            for (point, (_, command)), (state, sentence, figures) in zip(_POINTS.items(), points, strict=True)
        }
    return Readiness(judges=judges, settings=settings)


def _or_why(study: partial[Any]) -> Mapping[str, Any] | str:
    """Return what a study says of each judge, or why it says nothing."""
    try:
        return dict(study().judges)
    except InputError as error:
        return error.message


_Point = tuple[State, str, dict[str, EstimateRecord]]


def _of_audit(judge: JudgeFound, settings: AuditSettings) -> Iterator[_Point]:
    """Yield the first four points."""
    metrics, verdict = judge.metrics, judge.verdict
    levels: Mapping[str, State] = {"useful": "holds", "inconclusive": "open"}
    decide = ("recovery", "global_r") if settings.target == "best-of-n" else ("global_r", "level_bias")
    yield levels.get(verdict.level, "fails"), verdict.sentences[0], {name: metrics[name] for name in decide}
    figures = {name: metrics[name] for name in ("within_r", "tie_rate", "recovery", "top1_accuracy")}
    yield _STATES.get(verdict.checks["directional"], "open"), verdict.of_checks().get("directional", ""), figures
    state: State = "open"
    says = "No candidate alone sets the figures. Whether your users choose from such candidates no table says."
    figures = {name: metrics[name] for name in ("oracle_between_share", "oracle_tie_rate")}
    for suspicion in judge.suspicions or ():
        if suspicion.with_candidate is not None and suspicion.without_candidate is not None:
            figures = {"with them": suspicion.with_candidate, "without them": suspicion.without_candidate}
            state, says = "fails", suspicion.sentence
    yield state, says, figures
    yield "cannot be said", _NO_PAIRS, {}


def _routing(routes: Mapping[str, Any] | str, name: str) -> _Point:
    if isinstance(routes, str) or name not in routes:
        return "cannot be said", routes if isinstance(routes, str) else "Routing was not studied.", {}
    signals = {signal: routes[name].signals[signal].corr_gain for signal in (*_UNCERTAIN, "margin")}
    figures = {f"corr({signal}, gain)": figure for signal, figure in signals.items() if figure is not None}
    stated = [answers.outcome_of(signals[signal]) for signal in _UNCERTAIN if signals[signal] is not None]
    if not stated:
        return "cannot be said", "The table has no intervals of scores and no repeated scores.", figures
    best = next(outcome for outcome in ("above", "open", "below") if outcome in stated)
    return _STATES.get(best, "open"), "Stated uncertainty should rise with what a perfect judge would gain.", figures


def _threshold(needs: Mapping[str, Any] | str, name: str) -> _Point:
    if isinstance(needs, str) or name not in needs:
        return "cannot be said", needs if isinstance(needs, str) else "The judge was not studied.", {}
    own, target = needs[name].judge.within_r, needs[name].targets[0]
    figures = {"within_r": own, "within_r needed": target.within_r}
    if target.within_r.estimate is None:
        return "cannot be said", target.within_r.reason or "", figures
    says = f"Beside the judge's within_r is the one that a recovery of {numbers.percent(target.target)} takes here."
    return _STATES.get(answers.outcome_of(own, target.within_r.estimate), "open"), says, figures


def answer(document: Readiness) -> answers.StatedVerdict | None:
    """Return on how many points each judge holds."""
    stated = {}
    for name, points in document.judges.items():
        states = [point.state for point in points.values()]
        counts = {state: states.count(state) for state in dict.fromkeys(states)}
        says = f"Of {len(states)} points: {numbers.listed_counts(counts.items())}."
        state: answers.State = "bad" if "fails" in counts else "good" if set(counts) == {"holds"} else "open"
        stated[name] = answers.StatedVerdict(f"holds on {counts.get('holds', 0)} of {len(states)}", state, says)
    then = answers.steps("Read the audit first:", document.then("audit", "--full", takes=ReadingKeywords))
    return answers.of_judges(stated, "May this judge choose for your users?", then)


def describe(document: Readiness) -> Part:
    """Describe the points of each judge."""
    settings, stated = document.settings, answer(document)
    facts = [("scores", settings.source), ("decision", settings.target), ("bonwise", settings.version)]
    intervals = f"intervals at {numbers.percent(settings.confidence)}, clustered by prompt"
    note = f"{intervals}; FILE is {file_name(settings.source)}"
    blocks: list[Block] = [Table.facts(facts), *([] if stated is None else [answers.verdict(stated)])]
    for at, (name, points) in enumerate(document.judges.items(), start=1):
        blocks.append(Part(printable(name, longest=60), list(_judge(points)), anchor=f"readiness-{at}"))
    blocks += [Said("note", note), limits((OTHER_PROMPTS, OTHER_CANDIDATES, LABELS), reference=settings.reference)]
    return Part(f"Readiness of the judges of {file_name(settings.source)}", blocks)


def _judge(points: Mapping[str, ReadinessPoint]) -> Iterator[Block]:
    rows = []
    for at, (name, point) in enumerate(points.items(), start=1):
        first: tuple[str, str] = (f"{at}. {_POINTS[name][0]}", point.state)
        for metric, figure in point.figures.items() or [("", None)]:
            unit = "share" if metric.endswith("them") else unit_of(metric)
            cells = (*first, metric, numbers.estimate(figure, unit), numbers.interval(figure, unit))
            rows.append(Row(cells, strong=bool(first[0])))
            first = ("", "")
    columns = (Column("point", "name"), Column("state", "words"), Column("figure", "name"))
    yield Table((*columns, Column("estimate"), Column("interval")), rows, "Six points", at_a_glance=len(rows))
    for at, point in enumerate(points.values(), start=1):
        sentence = printable(point.sentence, longest=600).removesuffix(".")
        yield Said("finding", f"{at}. {sentence}. More: {point.command}")
