"""The study of shortlists: would a few of the judge's highest scores do for a closer look?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.judged import Judged, open_judged, study_document
from bonwise.shown import Shown
from bonwise.stats.shortlist import shortlist_recall

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ShortlistStudy", "shortlist_of", "study_shortlist"]


@dataclass(frozen=True, eq=False)
class ShortlistStudy(Shown):
    """How often the shortlist of each judge holds a best candidate.

    Parameters
    ----------
    judges : mapping of str to mapping
        Each judge's part of the document.
    not_studied : mapping of str to str
        The judges without a prompt to study them on, and why.
    settings : mapping
    """

    judges: Mapping[str, Mapping[str, Any]]
    not_studied: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        from bonwise.report.shortlist_text import shortlist_text  # noqa: PLC0415 - rendering loads rich

        return shortlist_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.study/1``; it holds no NaN."""
        return study_document("shortlist", self.judges, self.settings, self.not_studied)


def study_shortlist(
    source: str | Path | pd.DataFrame,
    *,
    keep: int = 2,
    labels: str | Path | pd.DataFrame | None = None,
    confidence: float = 0.95,
) -> ShortlistStudy:
    """Estimate how often the `keep` highest scores hold a best candidate.

    Parameters
    ----------
    source, labels
        As those of `bonwise.audit`.
    keep : int
        Places on the shortlist.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    """
    return shortlist_of(open_judged(source, Settings(confidence=confidence), labels=labels), keep=keep)


def shortlist_of(judged: Judged, *, keep: int) -> ShortlistStudy:
    """Make the study on judges whose table is open."""
    found = {}
    for name, panel in judged.panels.items():
        held = shortlist_recall(
            panel.scores, panel.labels, panel.sizes, keep=keep, confidence=judged.settings.confidence
        )
        held = held.with_method(judged.methods[name])
        sentence = f"The {keep} highest scores hold a best candidate in {held.estimate:.0%} of the prompts."
        found[name] = {"data": judged.counts(name), "held": held.to_dict(), "sentences": [sentence]}
    return ShortlistStudy(found, judged.not_studied, {**judged.described, "keep": keep})
