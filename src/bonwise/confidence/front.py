"""Audit what a judge says of its own confidence: probabilities, levels from 1 to 5, intervals around scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Command, Flag
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import NO_PROPENSITY, LabelledKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.confidence.engine import Ties
    from bonwise.confidence.result import ConfidenceAudit
    from bonwise.table.reading import RowSource


@opens_a_table
def audit_confidence(
    source: Annotated[
        RowSource,
        Flag(
            "Pairs of bonwise judge --pairs, a table of probability and outcome, or scores with low and high.",
            "FILE",
            Path,
        ),
    ],
    *,
    ties: Annotated[Ties, Flag("Pairs with equal labels: exclude or half.", kind=str)] = "exclude",
    confidence: float = CONFIDENCE,
    **reading: Unpack[LabelledKeywords],
) -> ConfidenceAudit:
    """Hold what judges state of their confidence against what was the case.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
        A file of ``bonwise judge --pairs``; a table with ``probability`` and ``outcome``; or a table of scores with
        the ends ``low`` and ``high`` of the intervals that the judge stated.
    ties : {"exclude", "half"}
        What becomes of statements on pairs with equal labels.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    **reading
        How scores (with their intervals) and labels are read, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    ConfidenceAudit

    Raises
    ------
    bonwise.errors.InputError
        The file is none of the three, or nothing in it can be compared with a label.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"probability": [.9, .8, .1, .3], "outcome": [1, 1, 0, 1]})
    >>> round(audit_confidence(frame).judges["judge"]["metrics"]["brier"]["estimate"], 4)
    0.1375
    """
    from bonwise.confidence.engine import audited_confidence

    return audited_confidence(source, ReadingOptions.of(audit_confidence, reading), ties=ties, confidence=confidence)


COMMAND = Command(
    audit_confidence,
    """Audit the confidence that a judge states.

    Prints the calibration of probabilities, the accuracy by level and the coverage of intervals.
    """,
    without=NO_PROPENSITY,
)
