"""What a run came to: the engine's figures, and what is counted from verdicts and picks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.data.verdicts import Unscored

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.errors import CallError
    from bonwise.judges.protocol import Judge
    from bonwise.judges.scoring import JudgedPool
    from bonwise.selection.selection import Selection

__all__ = ["RunSummary"]

FOR_GOOD = "the server refused the request"
"""How the reason of an unscored verdict begins where the request was refused for good."""

GUESSED = {"first", "random"}
"""What decides where nothing could be judged: an answer was missing, or none that came had a score."""

CUT = {"deadline", "partial", *GUESSED}
"""What decides where less is known than was asked for."""


@dataclass(slots=True)
class RunSummary:
    """How a run goes."""

    engine: Engine
    """Its `totals` and `spending` hold what was asked and paid."""
    judges: Sequence[Judge]
    run: Path | None = None
    """The run folder."""
    interrupted: bool = False
    """Whether the run was told to end."""
    pools: int = 0
    """Pools that are done."""
    refused: int = 0
    """Verdicts that are missing because a server refused the request for good."""
    owed: int = 0
    """Pools in which nothing is picked because a judge failed or an answer has not arrived."""
    cut: int = 0
    """Pools whose pick does without an answer that has not arrived."""
    failure: CallError | None = None
    """An answer that did not arrive and ended the run."""
    _parameters: dict[str, dict[str, None]] = field(default_factory=dict)

    def note(self, judged: JudgedPool) -> None:
        """Take in what was found about one pool."""
        self.pools += 1
        for judge, found in zip(self.judges, judged.judgments, strict=True):
            self._note_missing(verdict.reason for verdict in found.verdicts if isinstance(verdict, Unscored))
            self._parameters.setdefault(judge.name, {}).update(dict.fromkeys(map(_in_words, found.effective)))

    def note_pick(self, pick: Selection) -> None:
        """Take in what was picked from one pool."""
        self.pools += 1
        self.owed += pick.decided_by == "owed"
        self.cut += pick.decided_by in CUT and (
            pick.decided_by not in GUESSED or any(reason.startswith("owed") for reason in pick.unscored.values())
        )
        self._note_missing(pick.unscored.values())
        # Further draws, another judge and a router ask with parameters of their own.
        asked_once = max(pick.draws, default=1) <= 1 and not (pick.draws and pick.comparisons)
        if asked_once and pick.routed is None:
            sets = map(_in_words, pick.settings["parameters"])
            self._parameters.setdefault(pick.settings["judge"], {}).update(dict.fromkeys(sets))

    def _note_missing(self, reasons: Iterable[str]) -> None:
        self.refused += sum(reason.startswith(FOR_GOOD) for reason in reasons)

    @property
    def mixtures(self) -> Iterator[tuple[str, list[str]]]:
        """Judges whose questions were not all asked with the same parameters, with the sets in words."""
        for name, parameters in self._parameters.items():
            if len(parameters) > 1:
                yield name, list(parameters)


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(parameters.items())) or "none"
