"""What judge a wanted recovery takes on the labels at hand, and what the judges of a table make of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag, as_share
from bonwise.studies.registration import SOURCE, Study, WithAudit
from bonwise.studies.requirements.result import TARGETS, RequirementsStudy
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.studies.labelled_panels import LabelledPanels
    from bonwise.table.opening import ScoreSource


@opens_a_table
def study_requirements(
    source: Annotated[ScoreSource, SOURCE],
    *,
    targets: Annotated[
        Sequence[float], Flag("A wanted recovery (repeatable) [0.25, 0.5, 0.75, 0.9].", "--target", parse=as_share)
    ] = TARGETS,
    within_r: Annotated[
        Sequence[float], Flag("What does a judge with this within_r recover? (repeatable)", "--within-r")
    ] = (),
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> RequirementsStudy:
    """Find the judge that a wanted recovery takes on these labels, and what one with a given within_r recovers.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    targets : sequence of float
        Recoveries, in [0, 1].
    within_r : sequence of float
        Correlations within prompts whose recovery is asked for, in [-1, 1].
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of the draw of prompts from a table too large to compute from whole; nothing else is drawn.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    RequirementsStudy

    Raises
    ------
    bonwise.errors.InputError
        No judge has a prompt that it scored completely and that is labelled.
    bonwise.errors.UsageError
        A target or a within_r outside its range.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = study_requirements(simulate("arena", n=2000, seed=1).frame(), targets=[0.5])
    >>> round(found.judges["judge"]["targets"][0]["within_r"]["estimate"], 1)
    0.5
    """
    from bonwise.studies.requirements.engine import requirements_study

    return requirements_study(
        source,
        ReadingOptions.of(study_requirements, reading),
        targets=targets,
        within_r=within_r,
        confidence=confidence,
        seed=seed,
    )


def _on_audited(judged: LabelledPanels) -> RequirementsStudy:
    from bonwise.studies.requirements.engine import requirements_of

    return requirements_of(judged)


STUDY = Study(study_requirements, RequirementsStudy, with_audit=WithAudit("What recovery takes", _on_audited))
