"""Further studies on the page of an audit: those that its table has the data for, and those that were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.cli.arguments import say
from bonwise.errors import InputError, UsageError

if TYPE_CHECKING:
    from bonwise.auditing.audit import Audit
    from bonwise.shown import Shown

__all__ = ["further_studies"]


def further_studies(found: Audit, *, calibration: bool, verdicts: Path | None, pools: Path | None) -> list[Shown]:
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
    studies: list[Shown] = []
    if found.picks is not None or table is None:
        if calibration or verdicts is not None:
            raise UsageError("logged picks hold no scores to study", hint="leave --calibration and --verdicts out")
        return studies
    if verdicts is not None:
        from bonwise.auditing.studies.label_strategy.study import study_label_strategy

        studies.append(study_label_strategy(table, verdicts=verdicts, seed=settings.seed, **asked))
    if calibration:
        from bonwise.auditing.studies.calibration import study_calibration

        studies.append(study_calibration(table, pools=pools, seed=settings.seed, **asked))
    return [*studies, *_routing(found, asked)]


def _routing(found: Audit, asked: dict[str, Any]) -> list[Shown]:
    """Return the study for a table with stated intervals or repeated draws; nothing for others.

    What the scores alone tell of a prompt is no signal that a judge gave, and ``bonwise route`` studies it.
    """
    table = found.table
    if table is None or (found.draws < 2 and not {"ci_width", "low", "high"} & set(table.frame.columns)):
        return []
    from bonwise.routing.study import route

    try:
        return [route(table, seed=found.settings.seed, **asked)]
    except InputError as error:
        say(f"the page has no routing curves: {error.message}")
        return []
