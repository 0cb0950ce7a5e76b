"""What to do after an audit: one or two commands that run as they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.auditing.verdict_sentences import deciding_metric
from bonwise.cli.shared_flags import flags_of
from bonwise.extras import PAGES
from bonwise.printable import shell_path, shell_word
from bonwise.report.blocks import Said

if TYPE_CHECKING:
    from bonwise.documents.audit import AuditDocument
    from bonwise.documents.audited.judge import JudgeFound

__all__ = ["AuditCommand", "next_of_audit"]

_PAGE, _ROWS = "audit.html", "worst.csv"

_NOT_GOOD = ("weak", "harmful", "random")

_USUAL_WITHIN_R = 0.3
"""Planned for where the labels so far say nothing."""


@dataclass(frozen=True)
class AuditCommand:
    """An audit as it was typed.

    Parameters
    ----------
    file : pathlib.Path
    reading : sequence of str
        Flags that open the table, quoted for a shell.
    own : mapping of str to object
        Those of the audit alone, see `bonwise.cli.shared_flags.flags_of`.
    gated, shown : bool
        Whether gates were asked for, and a page.
    """

    file: Path
    reading: Sequence[str] = ()
    own: Mapping[str, object] = field(default_factory=dict)
    gated: bool = False
    shown: bool = False

    def again(self, *flags: str) -> str:
        """Return the same audit with further flags."""
        return self._typed("audit", *self.reading, *flags_of(self.own), *flags)

    def on_the_table(self, command: str, left_out: Sequence[str]) -> str:
        """Return another command on the same table, without candidates that the figures leave out."""
        return self._typed(command, *self.reading, *flags_of({"--exclude": list(left_out)}))

    def _typed(self, command: str, *flags: str) -> str:
        return " ".join(["bonwise", command, shell_path(self.file), *flags])


def next_of_audit(document: AuditDocument, typed: AuditCommand) -> list[Said]:
    """Return what to do next, each a sentence and its command.

    Parameters
    ----------
    document : AuditDocument
    typed : AuditCommand
    """
    steps = list(_steps(document, typed))
    said = [one for why, command in steps for one in (Said("finding", why), Said("command", command))]
    return [Said("lead", "Next"), *said] if said else []


def _steps(document: AuditDocument, typed: AuditCommand) -> Iterator[tuple[str, str]]:
    settled = list(_what_settles(document, typed))
    if settled:
        yield settled[0]
        return
    levels = [judge.verdict.level for judge in document.judges.values()]
    if len(levels) == 1 and levels[0] == "useful" and not typed.gated:
        yield "Check it in CI; the exit code is 0 as long as the judge passes:", typed.again(_gate(document))
    elif len(levels) == 1 and levels[0] == "inconclusive" and not typed.gated:
        yield "See about how many more labels would decide:", typed.again(_gate(document))
    elif all(level in _NOT_GOOD for level in levels) and _can_be_studied(document):
        if len(levels) == 1:
            yield "See what a useful judge needs on these labels:", _study(document, typed, "study requirements")
        yield "See which prompts to send to a stronger judge:", _study(document, typed, "route")
    elif not typed.shown:
        yield _look(typed)


def _what_settles(document: AuditDocument, typed: AuditCommand) -> Iterator[tuple[str, str]]:
    """Yield what a suspicion asks for, the first one first."""
    for judge in document.judges.values():
        for one in judge.suspicions or ():
            if one.kind == "easy candidate" and one.candidate is not None and document.settings.picks is None:
                flag = f"--control {shell_word(one.candidate)}"
                yield "See the figures with it and without it:", typed.again(flag)
            elif one.kind == "few pools":
                yield "See how many labels to collect:", _plan(judge)
            elif one.kind == "missing labels" and not typed.own.get("--design"):
                single = judge.unused_labels is not None
                what, design = ("candidates", "cells") if single else ("prompts", "uniform")
                yield f"If the labelled {what} are a random sample of all:", typed.again(f"--design {design}")


def _gate(document: AuditDocument) -> str:
    settings = document.settings
    metric = deciding_metric(settings.target)
    limit = settings.thresholds.global_r if settings.target == "system" else settings.thresholds.recovery_useful
    return f"--fail-under {metric}={limit:g}"


def _plan(judge: JudgeFound) -> str:
    found = judge.metrics.get("within_r")
    within_r = _USUAL_WITHIN_R if found is None or found.estimate is None else round(found.estimate, 2)
    if not 0 < within_r < 1:
        within_r = _USUAL_WITHIN_R
    candidates = judge.data.candidates or judge.data.candidates_max or 2
    return f"bonwise plan --question 'recovery>0' --candidates {candidates} --within-r {within_r:g}"


def _can_be_studied(document: AuditDocument) -> bool:
    """Tell whether the table has scores, and the prompts have the labels of all their candidates."""
    settings = document.settings
    whole = all(judge.sampling is None and judge.balance is None for judge in document.judges.values())
    return whole and settings.picks is None and settings.target == "best-of-n"


def _study(document: AuditDocument, typed: AuditCommand, command: str) -> str:
    return typed.on_the_table(command, document.settings.control or ())


def _look(typed: AuditCommand) -> tuple[str, str]:
    if PAGES.missing():
        return "See the prompts where the picks lost most:", typed.again(f"--per-prompt {_ROWS}")
    return "See the prompts where the picks lost most, on a page:", typed.again(f"--html {_PAGE}")
