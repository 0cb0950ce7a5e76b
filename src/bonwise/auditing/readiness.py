"""Whether a judge may choose for users: six points, each with figures, or what the table lacks to say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from bonwise.auditing.front import audit as run_audit
from bonwise.auditing.result import JudgeFound
from bonwise.auditing.result_verdict import Target
from bonwise.errors import InputError
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.release import release
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.limits import LABELS, OTHER_CANDIDATES, OTHER_PROMPTS, limits
from bonwise.results import Confidence, Document, FrameRow, Record
from bonwise.table.reading_options import ReadingKeywords

__all__ = ["Readiness", "ReadinessPoint", "answer", "describe", "readiness"]

State = Literal["holds", "fails", "open", "cannot be said"]

_STATES: Mapping[str, State] = {"pass": "holds", "above": "holds", "fail": "fails", "below": "fails"}

_UNCERTAIN = ("interval_width", "draw_sd")
"""Signals that state a judge's own uncertainty."""

_POINTS = {
    "target": ("What is decided", "audit", ""),
    "within_prompts": ("Within prompts", "audit", "--full"),
    "hard_regime": ("Candidates as in use", "audit", "--full"),
    "pairwise": ("Verdicts on pairs", "study label-strategy", "--verdicts pairs.csv"),
    "routing": ("Stated uncertainty", "route", ""),
    "threshold": ("Threshold on your labels", "study requirements", "--target 50%"),
}
"""Title of each point (Landesberg 2026, section 7.5), and the command that says more."""

_LIMITS = (OTHER_PROMPTS, OTHER_CANDIDATES, LABELS, "That a judge which holds on every point suits your users.")


class ReadinessPoint(Record):
    """One point of the list."""

    state: State
    """``holds`` and ``fails`` by intervals, ``open`` where these settle nothing."""
    figures: dict[str, EstimateRecord]
    """Of a point that cannot be said from this table, at most what stands beside it."""
    sentence: str
    command: str
    """What says more, with FILE for the table."""


class ReadinessSettings(Record):
    """What was asked for."""

    source: str
    confidence: Confidence
    target: Target
    version: str


class Readiness(Document):
    """Whether judges may choose for users: six points each."""

    schema_: Literal["bonwise.readiness/1"] = Field(default="bonwise.readiness/1", alias="schema")
    judges: dict[str, Annotated[dict[str, ReadinessPoint], Field(min_length=1)]]
    """By judge, each point by name."""
    settings: ReadinessSettings

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, point and figure; a point without figures has one row."""
        for judge, points in self.judges.items():
            for name, point in points.items():
                for metric, figure in point.figures.items() or [(None, None)]:
                    found = {} if figure is None else figure.to_dict()
                    yield {"judge": judge, "point": name, "state": point.state, "metric": metric, **found}


class _Studied(NamedTuple):
    """What is known of one judge."""

    judge: JudgeFound
    target: Target
    signals: Mapping[str, Any]
    no_signals: str
    needs: Any


def readiness(source: Any, *, target: Target, confidence: float, seed: int, reading: Mapping[str, Any]) -> Readiness:
    """Go through the six points for each judge of a table."""
    from bonwise.routing.front import route  # noqa: PLC0415 - the page of an audit loads both as late
    from bonwise.studies.requirements.front import study_requirements  # noqa: PLC0415

    audit = run_audit(source, target=target, confidence=confidence, seed=seed, **reading)
    asked: dict[str, Any] = {"exclude": tuple(audit.settings.exclude), "shape": audit.settings.shape, "confidence": confidence}
    useful = audit.settings.thresholds.recovery_useful
    routes, unrouted = _or_why(partial(route, audit.table, strong="none", seed=seed, **asked))
    needs, unknown = _or_why(partial(study_requirements, audit.table, targets=[useful], seed=seed, **asked))
    judges = {}
    for name, judge in audit.judges.items():
        signals = routes[name].signals if name in routes else {}
        studied = _Studied(judge, target, signals, unrouted, needs.get(name, unknown))
        judges[name] = dict(zip(_POINTS, _points(studied, useful), strict=True))
    settings = ReadinessSettings(
        source=audit.settings.source, confidence=confidence, target=target, version=release()
    )
    return Readiness(judges=judges, settings=settings)


def _or_why(study: partial[Any]) -> tuple[Mapping[str, Any], str]:
    """Return what a study says of each judge, or why it says nothing."""
    try:
        return study().judges, "it was not studied"
    except InputError as error:
        return {}, error.message


def _points(of: _Studied, useful: float) -> Iterator[ReadinessPoint]:
    judge, metrics, checks = of.judge, of.judge.metrics, of.judge.verdict.checks
    figures = ("recovery", "global_r") if of.target == "best-of-n" else ("global_r", "level_bias")
    word = {"useful": "holds", "inconclusive": "open"}.get(judge.verdict.level, "fails")
    yield _point("target", word, judge.verdict.sentences[0], {name: metrics[name] for name in figures})
    named = {name: metrics[name] for name in ("within_r", "tie_rate", "recovery", "top1_accuracy")}
    state = _STATES.get(checks["directional"], "open")
    yield _point("within_prompts", state, judge.verdict.of_checks().get("directional", ""), named)
    yield _hard_regime(judge)
    asking = "have pairs judged (bonwise judge POOLS.jsonl --judge pairwise:MODEL --pairs pairs.csv)"
    yield _point("pairwise", "cannot be said", f"the table holds no verdicts on pairs: {asking}", {})
    yield _routing(of)
    yield _threshold(of, useful)


def _point(name: str, state: Any, sentence: str, figures: Mapping[str, EstimateRecord]) -> ReadinessPoint:
    _, words, flags = _POINTS[name]
    command = " ".join(filter(None, ("bonwise", words, "FILE", flags)))
    return ReadinessPoint(state=state, figures=dict(figures), sentence=sentence, command=command)


def _hard_regime(judge: JudgeFound) -> ReadinessPoint:
    """Say whether some candidates set the figures; whether users choose from such pools no table says."""
    for suspicion in judge.suspicions or ():
        if suspicion.with_candidate is not None and suspicion.without_candidate is not None:
            ends = {"with them": suspicion.with_candidate, "without them": suspicion.without_candidate}
            return _point("hard_regime", "fails", suspicion.sentence, ends)
    figures = {name: judge.metrics[name] for name in ("oracle_between_share", "oracle_tie_rate")}
    says = "no candidate sets the figures alone; whether your users choose from such candidates no table says"
    return _point("hard_regime", "open", says, figures)


def _routing(of: _Studied) -> ReadinessPoint:
    known = {name: of.signals[name].corr_gain for name in (*_UNCERTAIN, "margin") if name in of.signals}
    figures = {f"corr({name}, gain)": figure for name, figure in known.items() if figure is not None}
    stated = [known[name] for name in _UNCERTAIN if known.get(name) is not None]
    if not stated:
        why = of.no_signals if not of.signals else "the table has no intervals of scores and no repeated scores"
        return _point("routing", "cannot be said", f"{why}; a margin of the scores is a weak signal", figures)
    outcome = max((answers.outcome_of(figure) for figure in stated), key=["open", "below", "above"].index)
    says = "the judge's stated uncertainty against what a perfect judge would gain; it should rise with it"
    return _point("routing", _STATES.get(outcome, "open"), says, figures)


def _threshold(of: _Studied, useful: float) -> ReadinessPoint:
    if isinstance(of.needs, str):
        return _point("threshold", "cannot be said", of.needs, {})
    own, needed = of.needs.judge.within_r, of.needs.targets[0].within_r
    if needed.estimate is None or own.estimate is None:
        return _point("threshold", "cannot be said", needed.reason or own.reason or "", {})
    says = f"a recovery of {numbers.percent(useful)} takes a within_r of {numbers.with_any_interval(needed)} here"
    state = _STATES.get(answers.outcome_of(own, needed.estimate), "open")
    return _point("threshold", state, says, {"within_r": own, "within_r needed": needed})


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
    confidence = numbers.percent(settings.confidence)
    facts = [("scores", settings.source), ("decision", settings.target), ("bonwise", settings.version)]
    blocks: list[Block] = [Table.facts(facts), *([] if stated is None else [answers.verdict(stated)])]
    blocks.append(Said("note", f"intervals at {confidence}, clustered by prompt; FILE is {settings.source}"))
    for at, (name, points) in enumerate(document.judges.items(), start=1):
        blocks.append(Part(printable(name, longest=60), list(_judge(points)), anchor=f"readiness-{at}"))
    return Part(f"Readiness of the judges of {file_name(settings.source)}", [*blocks, limits(_LIMITS)])


def _judge(points: Mapping[str, ReadinessPoint]) -> Iterator[Block]:
    rows = []
    for at, (name, point) in enumerate(points.items(), start=1):
        first: tuple[str, str] = (f"{at}. {_POINTS[name][0]}", point.state)
        for metric, figure in point.figures.items() or [("", None)]:
            unit = "share" if metric in {"with them", "without them"} else unit_of(metric)
            rows.append(Row((*first, metric, numbers.estimate(figure, unit), numbers.interval(figure, unit))))
            first = ("", "")
    columns = (Column("point", "name"), Column("state", "words"), Column("figure", "name"))
    yield Table((*columns, Column("estimate"), Column("interval")), rows, "Six points", at_a_glance=len(rows))
    for at, point in enumerate(points.values(), start=1):
        yield Said("finding", f"{at}. {printable(point.sentence, longest=600).removesuffix(".")}. More: {point.command}")
