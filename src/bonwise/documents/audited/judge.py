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
    """One feature of the judge's scores on prompts with and without labels.

    Parameters
    ----------
    feature : str
        Of the scores of a prompt.
    labelled, unlabelled, difference : float
        Means over prompts, and the first minus the second.
    low, high : float or None
        Ends of the interval of the difference.
    """

    feature: str
    labelled: Number
    unlabelled: Number
    difference: Number
    low: Number | None
    high: Number | None


class JudgeFound(Record):
    """What was found of one judge.

    Parameters
    ----------
    data : AuditData
        Counts, and dropped prompts.
    metrics : dict of str to EstimateRecord
        By name.
    verdict : Verdict
        What they mean.
    sampling : Sampling, optional
        Where a draw of the labelled prompts was stated.
    balance : list of Balance, optional
        Where the labelled prompts stand for themselves alone.
    bounds : dict of str to Ends, optional
        Worst cases over missing labels.
    with_control : dict of str to EstimateRecord, optional
        The metrics with the easy candidates put back.
    suspicions : list of AuditSuspicion, optional
        Why the verdict is not ``useful`` and no gate is met, whatever the figures are.
    unused_labels : UnusedLabels, optional
        Labels of prompts that are labelled in part, where these count as unlabelled.
    labelled_cells : LabelledCells, optional
        Where candidates are labelled one by one: what each figure rests on, and what speaks against the statement.
    candidate_effects : CandidateEffects, optional
        What the judge prefers at equal label, where length, family or place of candidates is known.
    """

    data: AuditData
    metrics: dict[str, EstimateRecord]
    verdict: Verdict
    sampling: Sampling | None = None
    balance: list[Balance] | None = None
    bounds: dict[str, Ends] | None = None
    with_control: dict[str, EstimateRecord] | None = None
    suspicions: list[AuditSuspicion] | None = None
    unused_labels: UnusedLabels | None = None
    labelled_cells: LabelledCells | None = None
    candidate_effects: CandidateEffects | None = None
