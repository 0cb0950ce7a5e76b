"""The study of mixed difficulty: how figures rise as easy candidates enter the pools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import NO_FLAG, Flag
from bonwise.studies.mix.result import MixStudy
from bonwise.studies.registration import Study, WithAudit
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.studies.labelled_panels import LabelledPanels
    from bonwise.table.opening import ScoreSource


@opens_a_table
def study_mix(
    source: Annotated[ScoreSource, Flag("Scores (CSV, JSONL, Parquet, a folder).", "FILE", Path)],
    *,
    control: Annotated[str | Sequence[str], Flag("A candidate that is easy to tell apart (repeatable).")],
    confidence: float = CONFIDENCE,
    seed: Annotated[int, NO_FLAG] = SEED,
    **reading: Unpack[ReadingKeywords],
) -> MixStudy:
    """Calculate how a judge's figures move as candidates that anyone can tell apart enter the pools.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    control : str or sequence of str
        Names of the easy candidates; see `docs/study_mix.md`.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Repeated in the settings; nothing is drawn.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where no prompt holds a control.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> frame = simulate("arena", n=200, seed=1).frame()
    >>> easy = frame[frame["candidate"] == "c0"].assign(candidate="bad", judge_score=0.0, oracle_label=0.0)
    >>> import pandas as pd
    >>> found = study_mix(pd.concat([frame, easy]), control="bad").judges["judge"]
    >>> found.change["recovery"].low > 0.3
    True
    """
    from bonwise.studies.mix.engine import mix_study

    return mix_study(source, ReadingOptions.of(study_mix, reading), control=control, confidence=confidence, seed=seed)


def _on_audited(judged: LabelledPanels) -> MixStudy:
    from bonwise.studies.mix.engine import mix_of

    return mix_of(judged)


STUDY = Study(
    study_mix,
    MixStudy,
    with_audit=WithAudit(
        "What easy candidates do to the figures", _on_audited, when=lambda settings: bool(settings.control)
    ),
)
