"""The verdict of an audit, the figures to read first, and the gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.gate import Gate, GateState
from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.audited.settings import AuditSettings
from bonwise.documents.audited.verdict import DECIDES, CheckState, Level, Verdict
from bonwise.documents.exhibits import ExhibitsDocument, JudgeExhibits
from bonwise.documents.metrics import METRICS_FIRST, Metric
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Role, Said, Table
from bonwise.report.described.audited.first_screen import (
    bar_of_best,
    next_part,
    recovery_bar,
    what_would_change,
    what_would_change_several,
)
from bonwise.report.described.audited.judges import by_recovery
from bonwise.report.described.audited.metrics import first_figures
from bonwise.report.numbers import count, counted, estimate, interval, setting, with_any_interval
from bonwise.report.wording import named

__all__ = ["gates", "in_a_line", "verdict", "verdict_in_short", "verdict_of_several"]

_State = Literal["good", "bad", "open"]

_USEFUL: Level = "useful"
_RECOVERY = "recovery"

_STATES: Mapping[Level, _State] = {
    "useful": "good",
    "weak": "bad",
    "harmful": "bad",
    "random": "bad",
    "inconclusive": "open",
}

_STATES_OF_A_CHECK: Mapping[CheckState, str] = {
    "pass": "passes",
    "fail": "fails",
    "inconclusive": "inconclusive",
    "undefined": "undefined",
}

_OUTCOMES: Mapping[GateState, Role] = {"met": "good", "not met": "bad", "inconclusive": "open"}

_HEADLINES = 3


def verdict(
    judge: JudgeFound,
    settings: AuditSettings,
    *,
    alone: bool,
    shown: JudgeExhibits | None = None,
    then: Sequence[Said] = (),
) -> Part:
    """Return the verdict on one judge, the only one or one of several: the answer leads, the levels are a table.

    Parameters
    ----------
    judge : JudgeFound
    settings : AuditSettings
    alone : bool
        Whether it is the only judge.
    shown : JudgeExhibits or None
        What a page shows beside the figures.
    then : sequence of Said
        What to type next, for a page.
    """
    found, line = judge.verdict, recovery_bar(judge, settings)
    blocks = [
        *_answer(judge, settings, alone=alone),
        *line,
        *_on_a_page(what_would_change(judge, settings, shown)),
        *next_part(then),
        *_levels(found),
        # What the line says already would stand there twice.
        _headlines(judge, settings.reference, but=DECIDES[settings.target] if line else None),
    ]
    return Part(found.level, blocks, "verdict", _STATES[found.level])


def _on_a_page(said: Iterable[Said]) -> Iterator[Part]:
    """Yield sentences for pages alone: the first lines of a terminal say less."""
    if blocks := list(said):
        yield Part("", blocks, "detail")


def verdict_in_short(judge: JudgeFound, settings: AuditSettings) -> Part:
    """Return the verdict on the only judge with the figures to read first."""
    found = judge.verdict
    blocks = [*_answer(judge, settings, alone=True), *first_figures(judge, settings)]
    return Part(found.level, blocks, "verdict", _STATES[found.level])


def _answer(judge: JudgeFound, settings: AuditSettings, *, alone: bool) -> Iterator[Block]:
    answer, *scope = (Said("finding", sentence) for sentence in judge.verdict.opening)
    yield replace(answer, role="lead")
    yield from _against(settings) if alone else ()
    yield from scope


def _levels(found: Verdict) -> Iterator[Part]:
    """Yield the four levels of validity as a table, which a page folds."""
    columns = (Column("validity", "name"), Column("state", "name"), Column("what it rests on", "sentences"))
    rows = [(check, _STATES_OF_A_CHECK[found.checks[check]], says) for check, says in found.of_checks().items()]
    if rows:
        passing = sum(state == "pass" for state in found.checks.values())
        folded = f"What the verdict rests on: {count(passing)} of {count(len(rows))} levels of validity pass"
        yield Part("", [Table.of(columns, rows)], folded=folded, anchor="levels")


def verdict_of_several(
    document: AuditDocument,
    exhibits: ExhibitsDocument | None = None,
    then: Sequence[Said] = (),
    *,
    in_short: bool = False,
) -> Part:
    """Return how many of the judges are useful, and which are what; in short, what the best one recovers.

    Parameters
    ----------
    document : AuditDocument
    exhibits : ExhibitsDocument or None
        What a page shows beside the figures.
    then : sequence of Said
        What to type next, for a page.
    in_short : bool
    """
    judges, settings = document.judges, document.settings
    levels: dict[Level, list[str]] = {}
    for name, judge in judges.items():
        levels.setdefault(judge.verdict.level, []).append(f"{printable(name)} ({_recovery(judge)})")
    useful, of = len(levels.get(_USEFUL, ())), len(judges)
    state: _State = "open"
    if useful == of:
        state = "good"
    elif all(_STATES[level] == "bad" for level in levels):
        state = "bad"
    what = (
        "comparing whole systems on averages over prompts"
        if settings.target == "system"
        else "picking the best candidate of one prompt"
    )
    share = f"{count(useful)} of {count(of)}"
    lead = Said("lead", f"{share} judges {'is' if useful == 1 else 'are'} useful for {what}.")
    if in_short:
        lead = replace(lead, text=f"{lead.text} {_best(document)}")
        return Part(f"{share} useful", [lead, *_against(settings)], "verdict", state)
    which = [Said("finding", f"{level}: {'; '.join(levels[level])}") for level in _STATES if level in levels]
    blocks = [
        lead,
        *_against(settings),
        *bar_of_best(document),
        *_on_a_page(what_would_change_several(document, exhibits)),
        *next_part(then),
        Part("", which, "detail", anchor="levels", folded="Which judges are what"),
    ]
    return Part(f"{share} useful", blocks, "verdict", state)


def in_a_line(judge: JudgeFound) -> str:
    """Return the word of the verdict and recovery, for what a page folds."""
    return f"{judge.verdict.level}: {_recovery(judge)}"


def _best(document: AuditDocument) -> str:
    name, judge = next(iter(by_recovery(document.judges).items()))
    gate = setting(document.settings.thresholds.recovery_useful, "share")
    found = judge.metrics.get(_RECOVERY)
    if found is None or found.estimate is None:
        return f"Recovery is undefined for every judge; the gate is {gate}."
    figure = _recovery(judge).removeprefix(f"{_RECOVERY} ")
    return f"The largest recovery is {figure}, of {printable(name, longest=40)}; the gate is {gate}."


def gates(document: AuditDocument) -> Iterator[Part]:
    """Yield the gates that were asked for, each with its state and why."""
    if document.gates is None:
        return
    met = sum(gate.state == "met" for gate in document.gates)
    told = Said("finding", f"{count(met)} of {counted(len(document.gates), 'gate')} met.")
    outcomes = [Said(_OUTCOMES[gate.state], _outcome(gate, document)) for gate in document.gates]
    yield Part("Gates", [told, *outcomes], "outcomes", anchor="gates")


def _outcome(gate: Gate, document: AuditDocument) -> str:
    whose = f"{printable(gate.judge)}: " if document.several else ""
    return f"{whose}{named(gate.sentence, document.settings.reference)}"


def _against(settings: AuditSettings) -> Iterator[Block]:
    if settings.reference is not None:
        yield Said(
            "lead",
            f"The reference is the scores of {printable(settings.reference, longest=60)}: the figures say how far "
            "picks agree with them, not how good they are.",
        )


def _recovery(judge: JudgeFound) -> str:
    found = judge.metrics.get(_RECOVERY)
    if found is None or found.estimate is None:
        return "recovery undefined"
    return f"recovery {with_any_interval(found, 'share')}"


def _headlines(judge: JudgeFound, reference: str | None, *, but: str | None) -> Table:
    """Return the figures to read first, of those that there are, but for one."""
    known = [
        metric
        for metric in METRICS_FIRST
        if metric.name != but and metric.name in judge.metrics and judge.metrics[metric.name].estimate is not None
    ]
    columns = [Column(title) for title in ("figure", "estimate", "interval", "meaning", "beside")]
    rows = [_headline(metric, judge, reference) for metric in known[:_HEADLINES]]
    made = Table.of(columns, rows)
    return Table(made.columns, made.rows, role="headlines")


def _headline(metric: Metric, judge: JudgeFound, reference: str | None) -> Sequence[str]:
    found, unit = judge.metrics[metric.name], metric.unit
    beside = []
    controlled = None if judge.with_control is None else judge.with_control.get(metric.name)
    if controlled is not None:
        beside.append(f"{estimate(controlled, unit)} with the control")
    if found.labelled_only is not None:
        beside.append(f"{estimate(found.labelled_only, unit)} of the labelled prompts alone")
    return (
        named(metric.name, reference),
        estimate(found, unit),
        "no interval" if found.low is None else interval(found, unit),
        named(metric.meaning, reference),
        "; ".join(beside),
    )
