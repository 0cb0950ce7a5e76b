"""The verdict on a judge at another gate, or with another recovery: by the rule and the words of every verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bonwise.auditing.gates import ONE_SIDED
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.settings import Settings
from bonwise.auditing.suspected import Suspected
from bonwise.auditing.verdict import best_of_n_answer
from bonwise.auditing.verdict_sentences import VerdictSentences
from bonwise.documents.audited.verdict import Level
from bonwise.stats.estimate import Estimate

__all__ = ["RECOVERY", "VerdictElsewhere", "step_figures"]

RECOVERY = "recovery"


@dataclass(frozen=True, slots=True)
class VerdictElsewhere:
    """What the verdict on one judge would be."""

    judge: JudgeAudit
    settings: Settings
    against: str
    """What the judge is compared with, as a noun."""

    @property
    def gate(self) -> float:
        """The gate of the audit."""
        return self.settings.thresholds.recovery_useful

    @property
    def recovery(self) -> Estimate:
        """The recovery of the audit."""
        return self.judge.metrics[RECOVERY]

    @property
    def who(self) -> str:
        """What the verdict is on."""
        return "what picked" if self.judge.logged else "this judge"

    def answer(
        self,
        *,
        gate: float | None = None,
        recovery: Estimate | None = None,
        suspected: Sequence[Suspected] | None = None,
    ) -> tuple[Level, str]:
        """Return the word and the first sentence of the verdict; what is not given is that of the audit."""
        thresholds = self.settings.thresholds
        metrics = self.judge.metrics
        said = VerdictSentences(
            metrics if recovery is None else {**metrics, RECOVERY: recovery},
            thresholds if gate is None else replace(thresholds, recovery_useful=gate),
            self.against,
            who=self.who,
        )
        return best_of_n_answer(said, self.judge.suspected if suspected is None else suspected)


def step_figures(found: Estimate) -> dict[str, Any]:
    """Return recovery, its two-sided interval and the one-sided bounds, as every step of a slider holds them."""
    lower, upper = found.bounds(2 * ONE_SIDED - 1) or (None, None)
    if found.interval is not None and found.law is None:  # known without error, such as where all prompts are sent
        lower, upper = found.low, found.high
    return {"recovery": found.estimate, "low": found.low, "high": found.high, "lower": lower, "upper": upper}
