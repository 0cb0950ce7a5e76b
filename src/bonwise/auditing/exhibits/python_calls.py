"""What to do after an audit, as calls of Python: ``audit`` is the audit, ``bw`` the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bonwise.auditing.next_steps import next_steps
from bonwise.data.checks import CONFIDENCE
from bonwise.documents.audit import AuditDocument
from bonwise.report.blocks import Said

__all__ = ["PythonCalls", "next_in_python"]


def next_in_python(document: AuditDocument, *, gated: bool) -> list[Said]:
    """Return what to do next for who made the page in Python.

    Parameters
    ----------
    document : AuditDocument
    gated : bool
        Whether gates were asked for.
    """
    return next_steps(document, PythonCalls(document, gated=gated))


@dataclass(frozen=True)
class PythonCalls:
    """How what comes after an audit is typed in Python; the page is there."""

    document: AuditDocument
    """Of the audit."""
    gated: bool
    """Whether gates were asked for."""
    shown: bool = True

    @property
    def design_stated(self) -> bool:
        """Whether a draw of labels was stated."""
        return any(judge.sampling is not None for judge in self.document.judges.values())

    def with_control(self, candidate: str) -> str:
        """Return the same audit with an easy candidate as its control."""
        return self._again(control=[*(self.document.settings.control or ()), candidate])

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
