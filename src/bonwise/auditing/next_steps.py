"""What to do after an audit: one or two steps, each a sentence and what to type, on a command line or in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from bonwise.auditing.result import Audit, JudgeFound
from bonwise.report.blocks import Said
from bonwise.table.checks import CONFIDENCE

_NOT_GOOD = ("weak", "harmful", "random")

_USUAL_WITHIN_R = 0.3
"""Planned for where the labels so far say nothing."""


class AuditCall(Protocol):
    """An audit as it was asked for, and how what comes next is typed: as commands, or as calls of Python."""

    @property
    def gated(self) -> bool:
        """Whether gates were asked for."""

    @property
    def shown(self) -> bool:
        """Whether its page was asked for."""

    def with_control(self, *candidates: str) -> str:
        """Return the same audit with easy or outstanding candidates as its control."""

    def with_design(self, design: str) -> str:
        """Return the same audit where a draw of labels is stated."""

    def with_gate(self, metric: str, limit: float) -> str:
        """Return the same audit with a gate."""

    def plan(self, candidates: int, within_r: float) -> str:
        """Return what says how many labels to collect."""

    def requirements(self, left_out: Sequence[str]) -> str:
        """Return the study of what a useful judge needs, without candidates that the figures leave out."""

    def route(self, left_out: Sequence[str]) -> str:
        """Return what says which prompts to send to a stronger judge."""

    def together(self, left_out: Sequence[str]) -> str:
        """Return what fits the judges together, without candidates that the figures leave out."""

    def look(self) -> tuple[str, str]:
        """Return a sentence, and what shows the prompts where the picks lost most."""

    def rows(self) -> str:
        """Return what writes a row per prompt."""

    @property
    def design_stated(self) -> bool:
        """Whether a draw of labels was stated."""


def next_steps(document: Audit, call: AuditCall) -> list[Said]:
    """Return what to do next, each a sentence and what to type."""
    steps = list(_steps(document, call))
    said = [one for why, typed in steps for one in (Said("finding", why), Said("command", typed))]
    return [Said("lead", "Next:"), *said] if said else []


def _steps(document: Audit, call: AuditCall) -> Iterator[tuple[str, str]]:
    settled = list(_what_settles(document, call))
    if settled:
        yield settled[0]
        return
    levels = [judge.verdict.level for judge in document.judges.values()]
    gate, left_out = document.settings.deciding, document.settings.control or ()
    if len(levels) == 1 and levels[0] == "useful" and not call.gated:
        yield "Check it in CI; the exit code is 0 as long as the judge passes:", call.with_gate(*gate)
    elif len(levels) == 1 and levels[0] == "inconclusive" and not call.gated:
        yield "See about how many more labels would decide:", call.with_gate(*gate)
    elif all(level in _NOT_GOOD for level in levels) and _can_be_studied(document):
        if len(levels) == 1:
            yield "See what a useful judge needs on these labels:", call.requirements(left_out)
        yield "See which prompts to send to a stronger judge:", call.route(left_out)
    elif not call.shown:
        yield call.look()
    elif len(levels) > 1 and _can_be_studied(document):
        yield "See whether all judges together pick better than the best one alone:", call.together(left_out)
    else:
        yield "Take the prompts where the picks lost most to a table:", call.rows()


def _what_settles(document: Audit, call: AuditCall) -> Iterator[tuple[str, str]]:
    """Yield what a suspicion asks for, the first one first."""
    settings = document.settings
    stated = call.design_stated or settings.unlabelled is not None or settings.weight_col is not None
    for judge in document.judges.values():
        for one in judge.suspicions or ():
            if one.names and settings.picks is None:
                them = "it" if len(one.names) == 1 else "them"
                yield f"See the figures with {them} and without {them}:", call.with_control(*one.names)
            elif one.kind == "few pools":
                yield "See how many labels to collect:", _plan(judge, call)
            elif one.kind == "missing labels" and not stated:
                single = judge.unused_labels is not None
                what, design = ("candidates", "cells") if single else ("prompts", "uniform")
                yield f"If the labelled {what} are a random sample of all:", call.with_design(design)


def _plan(judge: JudgeFound, call: AuditCall) -> str:
    found = judge.metrics.get("within_r")
    within_r = _USUAL_WITHIN_R if found is None or found.estimate is None else round(found.estimate, 2)
    if not 0 < within_r < 1:
        within_r = _USUAL_WITHIN_R
    return call.plan(judge.data.candidates or judge.data.candidates_max or 2, within_r)


def _can_be_studied(document: Audit) -> bool:
    """Tell whether the table has scores, and the prompts have the labels of all their candidates."""
    settings = document.settings
    whole = all(judge.sampling is None and judge.balance is None for judge in document.judges.values())
    return whole and settings.picks is None and settings.target == "best-of-n"


def next_in_python(audit: Audit) -> list[Said]:
    """Return what to do next for who made the page in Python."""
    return next_steps(audit, PythonCalls(audit, gated=bool(audit.gates)))


@dataclass(frozen=True)
class PythonCalls:
    """How what comes after an audit is typed in Python; the page is there."""

    document: Audit
    """Of the audit."""
    gated: bool
    """Whether gates were asked for."""
    shown: bool = True

    @property
    def design_stated(self) -> bool:
        """Whether a draw of labels was stated."""
        return any(judge.sampling is not None for judge in self.document.judges.values())

    def with_control(self, *candidates: str) -> str:
        """Return the same audit with easy or outstanding candidates as its control."""
        return self._again(control=[*(self.document.settings.control or ()), *candidates])

    def with_design(self, design: str) -> str:
        """Return the same audit where a draw of labels is stated."""
        return self._again(design=design)

    def with_gate(self, metric: str, limit: float) -> str:
        """Return what checks a gate on the audit."""
        return f"audit.check({{{metric!r}: {limit:g}}})"

    def plan(self, candidates: int, within_r: float) -> str:
        """Return what says how many labels to collect."""
        return _call("plan", question="recovery>0", candidates=candidates, within_r=within_r)

    def requirements(self, left_out: Sequence[str]) -> str:
        """Return the study of what a useful judge needs, without candidates that the figures leave out."""
        return self._on_the_table("study_requirements", left_out)

    def route(self, left_out: Sequence[str]) -> str:
        """Return what says which prompts to send to a stronger judge."""
        return self._on_the_table("route", left_out)

    def together(self, left_out: Sequence[str]) -> str:
        """Return what fits the judges together, without candidates that the figures leave out."""
        return self._on_the_table("fit_stack", left_out)

    def look(self) -> tuple[str, str]:
        """Return a sentence, and what shows the prompts where the picks lost most."""
        return "See the prompts where the picks lost most:", self.rows()

    def rows(self) -> str:
        """Return what holds a row per prompt."""
        return "audit.per_prompt()"

    def _again(self, **further: object) -> str:
        settings = self.document.settings
        asked = {
            "exclude": settings.exclude,
            "control": settings.control,
            "keep_easy": settings.keep_easy,
            "stratum": settings.stratum,
            "weight_col": settings.weight_col,
            "gate": settings.gate,
            "target": None if settings.target == "best-of-n" else settings.target,
            "confidence": None if settings.confidence == CONFIDENCE else settings.confidence,
        }
        return _call("audit", "audit.table", **{**asked, **further})

    def _on_the_table(self, name: str, left_out: Sequence[str]) -> str:
        return _call(name, "audit.table", exclude=[*self.document.settings.exclude, *left_out])


def _call(name: str, *of: str, **keywords: object) -> str:
    """Write a call; keywords without a value are left out."""
    written = [f"{keyword}={value!r}" for keyword, value in keywords.items() if value not in (None, [])]
    return f"bw.{name}({', '.join([*of, *written])})"
