"""The study of shortlists: would a few of the judge's highest scores do for a closer look?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag
from bonwise.studies.registration import SOURCE, Study, WithAudit
from bonwise.studies.shortlist.result import ShortlistStudy
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.studies.labelled_panels import LabelledPanels
    from bonwise.table.opening import ScoreSource

__all__ = ["STUDY", "study_shortlist"]


@opens_a_table
def study_shortlist(
    source: Annotated[ScoreSource, SOURCE],
    *,
    keep: Annotated[int, Flag("Places on the shortlist.")] = 2,
    confidence: float = CONFIDENCE,
    **reading: Unpack[ReadingKeywords],
) -> ShortlistStudy:
    """Estimate how often the `keep` highest scores hold a best candidate.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    keep : int
        Places on the shortlist.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.
    """
    from bonwise.studies.shortlist.engine import shortlist_study

    return shortlist_study(source, ReadingOptions.of(study_shortlist, reading), keep=keep, confidence=confidence)


def _on_audited(judged: LabelledPanels) -> ShortlistStudy:
    from bonwise.studies.shortlist.engine import shortlist_of

    return shortlist_of(judged)


STUDY = Study(study_shortlist, ShortlistStudy, with_audit=WithAudit("Shortlists", _on_audited))
