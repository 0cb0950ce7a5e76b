"""Would calibrating a judge's scores against labels help selection? Every metric and every pick, before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.calibrating.covariates import Covariates, covariates_of
from bonwise.auditing.studies.calibrating.judge_calibration import JudgeCalibration, calibrate_judge
from bonwise.auditing.studies.calibrating.sentences import calibration_sentences
from bonwise.auditing.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.auditing.studies.registration import Flag, Study
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.panel import Panel
from bonwise.data.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.documented import DocumentedResult
from bonwise.documents.judge_counts import JudgeCounts
from bonwise.documents.studies.calibration import CalibrationDocument, CalibrationSettings
from bonwise.errors import InputError, UsageError
from bonwise.extras import TREES

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.data.opening import ScoreSource

__all__ = ["STUDY", "CalibrationStudy", "calibration_of", "study_calibration"]


@dataclass(frozen=True, eq=False)
class CalibrationStudy(DocumentedResult):
    """What calibrating does to the metrics and the picks of every judge."""

    judges: Mapping[str, JudgeCalibration]
    settings: CalibrationSettings
    """What was asked for; repeated in the document."""
    not_studied: Mapping[str, str] = field(default_factory=dict)
    """The judges that could not be studied, and why."""

    def __repr__(self) -> str:
        return f"<CalibrationStudy of {', '.join(self.judges)} on {self.settings.source}>"

    def __getitem__(self, judge: str) -> JudgeCalibration:
        if judge not in self.judges:
            raise UsageError(f"no study of a judge {judge!r}", hint=f"the judges are {', '.join(self.judges)}")
        return self.judges[judge]

    def document(self) -> CalibrationDocument:
        """Return the document of schema ``bonwise.study/1``, study ``calibration``."""
        judges = {name: found.document() for name, found in self.judges.items()}
        return CalibrationDocument(settings=self.settings, judges=judges, not_studied=dict(self.not_studied))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per judge, calibration, kind (``metric``, ``change`` or ``relative``) and metric."""
        return super().to_frame()


@opens_a_table
def study_calibration(
    source: ScoreSource,
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
        How the table is opened, see `bonwise.data.reading_options.ReadingOptions`.

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
    >>> found["judge"].methods["isotonic"].picks.picks_changed
    0
    >>> list(found["judge"].left_out)
    ['two_stage_covariates', 'gradient_boosting']
    """
    options = ReadingOptions.of(study_calibration, reading)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged = open_judged(source, settings, options)
    return calibration_of(
        judged, covariates=(covariates,) if isinstance(covariates, str) else covariates, pools=pools, folds=folds
    )


def calibration_of(
    judged: LabelledPanels, *, covariates: Sequence[str] = (), pools: str | Path | None = None, folds: int = 5
) -> CalibrationStudy:
    """Calibrate judges whose prompts are laid out already; the parameters are those of `study_calibration`.

    Raises
    ------
    bonwise.errors.InputError
        Fewer than 2 folds, a covariate that is none, or no judge with enough prompts.
    """
    if folds < 2:
        raise UsageError(f"2 folds or more are needed to learn a map on, not {folds}", hint="such as 5")
    joined = covariates_of(judged.table, covariates, pools)
    if joined.names:
        TREES.require("calibrating with covariates")
    judges: dict[str, JudgeCalibration] = {}
    refused = dict(judged.not_studied)
    for name in judged.panels:
        try:
            judges[name] = _calibrated(judged, name, joined, folds)
        except InputError as error:
            refused[name] = error.message
    if not judges:
        first, reason = next(iter(refused.items()))
        raise InputError(
            f"{judged.table.source}: no judge can be calibrated; {first!r}: {reason}", hint="see bonwise doctor"
        )
    settings = judged.settings_as(
        CalibrationSettings,
        folds=folds,
        covariates=list(joined.names),
        pools=None if pools is None else str(pools),
    )
    return CalibrationStudy(judges, settings, refused)


def _calibrated(judged: LabelledPanels, name: str, covariates: Covariates, folds: int) -> JudgeCalibration:
    panel, values = covariates.join(judged.panels[name])
    if len(panel.sizes) < 2 * folds:
        lost = len(judged.panels[name].sizes) - len(panel.sizes)
        without = f"; {lost:,} {'lacks' if lost == 1 else 'lack'} a covariate" if lost else ""
        raise InputError(f"{folds} folds need {2 * folds} labelled prompts, and it has {len(panel.sizes)}{without}")
    columns = dict(zip(covariates.names, values.T, strict=True))
    found = calibrate_judge(panel, columns, judged.settings, data=_counts(judged, name, panel), folds=folds)
    return replace(found, sentences=calibration_sentences(found, judged.prompts[name]))


def _counts(judged: LabelledPanels, name: str, panel: Panel) -> JudgeCounts:
    """Return the counts of a judge, those left out for lack of a covariate among the dropped."""
    dropped = Counter(judged.counts_as(JudgeCounts, name).dropped)
    dropped.update(one.reason for one in panel.dropped[len(judged.panels[name].dropped) :])
    rows = int(panel.sizes.sum())
    return judged.counts_as(JudgeCounts, name, prompts=len(panel.sizes), rows=rows, dropped=dict(dropped))


STUDY = Study(study_calibration, CalibrationDocument)
