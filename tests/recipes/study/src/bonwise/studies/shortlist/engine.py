"""How often the shortlist of a judge, its highest scores, holds a best candidate of the prompt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.stats.estimand import Estimate
from bonwise.stats.estimation import from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.laws import EffectiveShare
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.shortlist.result import ShortlistJudge, ShortlistSettings, ShortlistStudy
from bonwise.table.facts import JudgeCounts
from bonwise.table.opening import ScoreSource
from bonwise.table.reading_options import ReadingOptions

__all__ = ["shortlist_of", "shortlist_study"]


def shortlist_study(source: ScoreSource, options: ReadingOptions, *, keep: int, confidence: float) -> ShortlistStudy:
    """Open the table and make the study."""
    settings = Settings(confidence=confidence, exclude=options.exclude, shape=options.shape)
    return shortlist_of(open_judged(source, settings, options), keep=keep)


def shortlist_of(judged: LabelledPanels, *, keep: int = 2) -> ShortlistStudy:
    """Make the study on judges whose table is open."""
    judges = {}
    for name, panel in judged.panels.items():
        held = _held(panel.scores, panel.labels, panel.sizes, keep=keep, confidence=judged.settings.confidence)
        judges[name] = ShortlistJudge(
            data=judged.counts_as(JudgeCounts, name),
            held=EstimateRecord.of(held.with_method(judged.methods[name])),
            sentences=[f"The {keep} highest scores hold a best candidate in {held.estimate:.0%} of the prompts."],
        )
    settings = judged.settings_as(ShortlistSettings, keep=keep)
    return ShortlistStudy(settings=settings, judges=judges, not_studied=dict(judged.not_studied))


def _held(scores: Floats, labels: Floats, sizes: npt.NDArray[np.int64], *, keep: int, confidence: float) -> Estimate:
    """Estimate the share of prompts with a best candidate among the `keep` highest scores.

    Candidates that tie for the last place are all on the shortlist.
    """
    ends = np.cumsum(sizes)[:-1]
    held = [
        float(labels_[(scores_[:, None] < scores_).sum(1) < keep].max() == labels_.max())
        for scores_, labels_ in zip(np.split(scores, ends), np.split(labels, ends), strict=True)
    ]
    n, value = len(held), float(np.mean(held))
    se = float(np.std(held, ddof=1) / n**0.5) if n > 1 else np.nan
    law = EffectiveShare(value, se, n - 1.0, (0.0, 1.0)) if 0 < value < 1 else None
    return from_jackknife(value, Scatter(se, n - 1.0), n, (0.0, 1.0), confidence, exact=None, law=law)
