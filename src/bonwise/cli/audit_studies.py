"""Further studies on the page of an audit: those that its table has the data for, and those that were asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.errors import InputError, UsageError

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit
    from bonwise.documented import DocumentedResult

__all__ = ["further_studies"]


def further_studies(
    found: Audit, *, calibration: bool, verdicts: Path | None, pools: Path | None
) -> list[DocumentedResult]:
    """Return the results that the page shows beside the audit's own.

    Parameters
    ----------
    found : Audit
    calibration : bool
        Whether calibration was asked for.
    verdicts : pathlib.Path or None
        Verdicts on pairs: how else the judge might be asked.
    pools : pathlib.Path or None
        With the texts whose length calibration may use.

    Raises
    ------
    bonwise.errors.UsageError
        Studies of scores were asked for, and picks were audited.
    """
    table, settings = found.table, found.settings
    left_out = (*settings.exclude, *settings.control)
    asked: dict[str, Any] = {"exclude": left_out, "confidence": settings.confidence, "shape": settings.shape}
    studies: list[DocumentedResult] = []
    if found.picks is not None or table is None:
        if calibration or verdicts is not None:
            raise UsageError("logged picks hold no scores to study", hint="leave --calibration and --verdicts out")
        return studies
    if verdicts is not None:
        from bonwise.auditing.studies.label_strategy.study import study_label_strategy

        asking = partial(study_label_strategy, table, verdicts=verdicts, seed=settings.seed, **asked)
        studies.append(_or_why("Ways of asking the judge", asking))
    if calibration:
        from bonwise.auditing.studies.calibration import study_calibration

        mapped = partial(study_calibration, table, pools=pools, seed=settings.seed, **asked)
        studies.append(_or_why("Calibration", mapped))
    # What the scores alone tell of a prompt is not a signal that a judge gave, and bonwise route studies it.
    if found.draws > 1 or {"ci_width", "low", "high"} & set(table.frame.columns):
        from bonwise.routing.study import route

        studies.append(_or_why("Routing", partial(route, table, seed=settings.seed, **asked)))
    return studies


def _or_why(title: str, study: Callable[[], DocumentedResult]) -> DocumentedResult:
    """Return a study, or a note where the data are too poor for it: the audit stands without."""
    from bonwise.auditing.exhibits.note import Note

    try:
        return study()
    except InputError as error:
        if type(error) is not InputError:
            raise  # a file, a column or a row to mend
        return Note(title, error.message)
