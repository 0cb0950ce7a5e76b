"""What to do after an audit, as commands that run as they are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bonwise.cli.shared_flags import flags_of
from bonwise.extras import PAGES
from bonwise.printable import shell_path, shell_word

__all__ = ["AuditCommand"]

_PAGE, _ROWS = "audit.html", "worst.csv"


@dataclass(frozen=True)
class AuditCommand:
    """An audit as it was typed, and how `bonwise.auditing.next_steps` types what comes next."""

    file: Path
    reading: Sequence[str] = ()
    """Flags that open the table, quoted for a shell."""
    own: Mapping[str, object] = field(default_factory=dict)
    """Those of the audit alone, see `bonwise.cli.shared_flags.flags_of`."""
    gated: bool = False
    """Whether gates were asked for, and a page."""
    shown: bool = False
    """Whether gates were asked for, and a page."""

    @property
    def design_stated(self) -> bool:
        """Whether a draw of labels was stated."""
        return bool(self.own.get("--design"))

    def with_control(self, candidate: str) -> str:
        """Return the same audit with an easy candidate as its control."""
        return self._again(f"--control {shell_word(candidate)}")

    def with_design(self, design: str) -> str:
        """Return the same audit where a draw of labels is stated."""
        return self._again(f"--design {design}")

    def with_gate(self, metric: str, limit: float) -> str:
        """Return the same audit with a gate."""
        return self._again(f"--fail-under {metric}={limit:g}")

    def plan(self, candidates: int, within_r: float) -> str:
        """Return what says how many labels to collect."""
        return f"bonwise plan --question 'recovery>0' --candidates {candidates} --within-r {within_r:g}"

    def requirements(self, left_out: Sequence[str]) -> str:
        """Return the study of what a useful judge needs, without candidates that the figures leave out."""
        return self._on_the_table("study requirements", left_out)

    def route(self, left_out: Sequence[str]) -> str:
        """Return what says which prompts to send to a stronger judge."""
        return self._on_the_table("route", left_out)

    def together(self, left_out: Sequence[str]) -> str:
        """Return what fits the judges together, without candidates that the figures leave out."""
        return self._on_the_table("stack fit", left_out)

    def look(self) -> tuple[str, str]:
        """Return a sentence, and what shows the prompts where the picks lost most."""
        if PAGES.missing():
            return "See the prompts where the picks lost most:", self.rows()
        return "See the prompts where the picks lost most, on a page:", self._again(f"--html {_PAGE}")

    def rows(self) -> str:
        """Return what writes a row per prompt."""
        return self._again(f"--per-prompt {_ROWS}")

    def _again(self, *flags: str) -> str:
        return self._typed("audit", *self.reading, *flags_of(self.own), *flags)

    def _on_the_table(self, command: str, left_out: Sequence[str]) -> str:
        return self._typed(command, *self.reading, *flags_of({"--exclude": list(left_out)}))

    def _typed(self, command: str, *flags: str) -> str:
        return " ".join(["bonwise", command, shell_path(self.file), *flags])
