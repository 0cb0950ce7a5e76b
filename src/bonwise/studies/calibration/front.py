"""Would calibrating a judge's scores against labels help selection? Every metric and every pick, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag
from bonwise.studies.calibration.result import CalibrationStudy
from bonwise.studies.registration import SOURCE, Study
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource


@opens_a_table
def study_calibration(
    source: Annotated[ScoreSource, SOURCE],
    *,
    covariates: Annotated[
        str | Sequence[str],
        Flag("A numeric column, or length, that of the candidate's text (repeatable).", "--covariate"),
    ] = (),
    pools: Annotated[str | Path | None, Flag("Pools with the texts of the candidates.")] = None,
    folds: Annotated[int, Flag("Parts of the prompts, each calibrated by the others.")] = 5,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> CalibrationStudy:
    """Calibrate each judge's scores against the labels, and tell what that does to its picks.

    Four ways, each learned on the other folds of prompts: ``isotonic``, ``two_stage``, ``two_stage_covariates`` and
    ``gradient_boosting``; see `docs/study_calibration.md` (Landesberg 2026, arXiv:2603.12520, appendices A, M and P).

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label`` and optional columns.
    covariates : str or sequence of str
        Numeric columns of the table, one value per candidate, or ``length``: the characters of its text. Without any,
        the length where the texts are known.
    pools : str or pathlib.Path, optional
        Pools with the texts of the candidates; otherwise a column ``text`` or ``response`` of the table.
    folds : int
        Parts of the prompts, 2 or more, of which each is calibrated by a map learned on the others.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Deals the prompts to folds, and to the groups that are left out in turn for the intervals.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    CalibrationStudy

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = study_calibration(simulate("arena", n=200, seed=1).frame())
    >>> picks = found["judge"].methods["isotonic"].picks.all
    >>> picks.picks_changed - picks.picks_newly_tied
    0
    >>> list(found["judge"].left_out)
    ['two_stage_covariates', 'gradient_boosting']
    """
    from bonwise.studies.calibration.engine import calibration_study

    return calibration_study(
        source,
        ReadingOptions.of(study_calibration, reading),
        covariates=covariates,
        pools=pools,
        folds=folds,
        confidence=confidence,
        seed=seed,
    )


STUDY = Study(study_calibration, CalibrationStudy)
