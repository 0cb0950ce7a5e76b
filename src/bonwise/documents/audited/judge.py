"""What an audit found of one judge, as its document holds it."""

from __future__ import annotations

from bonwise.documents.audited.candidate_effects import CandidateEffects
from bonwise.documents.audited.cells import LabelledCells
from bonwise.documents.audited.data import AuditData
from bonwise.documents.audited.sampling import Sampling
from bonwise.documents.audited.suspicion import AuditSuspicion
from bonwise.documents.audited.verdict import Verdict
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.unused_labels import UnusedLabels
from bonwise.documents.values import Ends, Number

__all__ = ["Balance", "Ends", "JudgeFound"]


class Balance(Record):
    """One feature of the judge's scores on prompts with and without labels."""

    feature: str
    """Of the scores of a prompt."""
    labelled: Number
    """Means over prompts, and the first minus the second."""
    unlabelled: Number
    """Means over prompts, and the first minus the second."""
    difference: Number
    """Means over prompts, and the first minus the second."""
    low: Number | None
    """Ends of the interval of the difference."""
    high: Number | None
    """Ends of the interval of the difference."""


class JudgeFound(Record):
    """What was found of one judge."""

    data: AuditData
    """Counts, and dropped prompts."""
    metrics: dict[str, EstimateRecord]
    """By name."""
    verdict: Verdict
    """What they mean."""
    sampling: Sampling | None = None
    """Where a draw of the labelled prompts was stated."""
    balance: list[Balance] | None = None
    """Where the labelled prompts stand for themselves alone."""
    bounds: dict[str, Ends] | None = None
    """Worst cases over missing labels."""
    with_control: dict[str, EstimateRecord] | None = None
    """The metrics with the easy candidates put back."""
    suspicions: list[AuditSuspicion] | None = None
    """Why the verdict is not ``useful`` and no gate is met, whatever the figures are."""
    unused_labels: UnusedLabels | None = None
    """Labels of prompts that are labelled in part, where these count as unlabelled."""
    labelled_cells: LabelledCells | None = None
    """Where candidates are labelled one by one: what each figure rests on, and what speaks against the statement."""
    candidate_effects: CandidateEffects | None = None
    """What the judge prefers at equal label, where length, family or place of candidates is known."""
