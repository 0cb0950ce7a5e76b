"""The study of shortlists: would a few of the judge's highest scores do for a closer look?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.auditing.settings import Settings
from bonwise.documented import DocumentedResult
from bonwise.documents.studies.shortlist import ShortlistDocument, ShortlistJudge, ShortlistSettings
from bonwise.estimates import EstimateRecord
from bonwise.flags import Flag
from bonwise.stats.shortlist import shortlist_recall
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.registration import SOURCE, Study, WithAudit
from bonwise.table.checks import CONFIDENCE
from bonwise.table.facts import JudgeCounts
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STUDY", "ShortlistStudy", "shortlist_of", "study_shortlist"]


@dataclass(frozen=True, eq=False)
class ShortlistStudy(DocumentedResult):
    """How often the shortlist of each judge holds a best candidate.

    Parameters
    ----------
    judges : mapping of str to ShortlistJudge
    not_studied : mapping of str to str
        The judges without a prompt to study them on, and why.
    settings : ShortlistSettings
    """

    judges: Mapping[str, ShortlistJudge]
    not_studied: Mapping[str, str]
    settings: ShortlistSettings = field(repr=False)

    def document(self) -> ShortlistDocument:
        """Return the document of schema ``bonwise.study/1``, study ``shortlist``."""
        return ShortlistDocument(settings=self.settings, judges=dict(self.judges), not_studied=dict(self.not_studied))


@opens_a_table
def study_shortlist(
    source: Annotated[str | Path | pd.DataFrame, SOURCE],
    *,
    keep: Annotated[int, Flag("Places on the shortlist.")] = 2,
    confidence: float = CONFIDENCE,
    **reading: Unpack[ReadingKeywords],
) -> ShortlistStudy:
    """Estimate how often the `keep` highest scores hold a best candidate.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
    keep : int
        Places on the shortlist.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.
    """
    options = ReadingOptions.of(study_shortlist, reading)
    settings = Settings(confidence=confidence, exclude=options.exclude, shape=options.shape)
    return shortlist_of(open_judged(source, settings, options), keep=keep)


def shortlist_of(judged: LabelledPanels, *, keep: int = 2) -> ShortlistStudy:
    """Make the study on judges whose table is open."""
    found = {}
    for name, panel in judged.panels.items():
        held = shortlist_recall(
            panel.scores, panel.labels, panel.sizes, keep=keep, confidence=judged.settings.confidence
        )
        found[name] = ShortlistJudge(
            data=judged.counts_as(JudgeCounts, name),
            held=EstimateRecord.of(held.with_method(judged.methods[name])),
            sentences=[f"The {keep} highest scores hold a best candidate in {held.estimate:.0%} of the prompts."],
        )
    return ShortlistStudy(found, judged.not_studied, judged.settings_as(ShortlistSettings, keep=keep))


STUDY = Study(study_shortlist, ShortlistDocument, with_audit=WithAudit("Shortlists", shortlist_of))
