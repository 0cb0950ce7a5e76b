"""What coarse scores cost: a simulated judge on the labels at hand, its scores cut into bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag, as_share
from bonwise.studies.discretisation.result import BINS, DiscretisationStudy
from bonwise.studies.registration import SOURCE, Study
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource


@opens_a_table
def study_discretisation(
    source: Annotated[ScoreSource, SOURCE],
    *,
    bins: Annotated[Sequence[int], Flag("A number of bins (repeatable) [100, 20, 10, 5].")] = BINS,
    recovery: Annotated[
        float | None, Flag("Recovery before scores are cut [0.5].", kind=str, read=lambda text, _: as_share(text))
    ] = None,
    rho: Annotated[float | None, Flag("Quality in place of --recovery, see the docs.", kind=float)] = None,
    draws: Annotated[int, Flag("Simulated judges, over which figures are means.")] = 50,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> DiscretisationStudy:
    """Cut the scores of a simulated judge into bins, and find what that costs on these labels.

    It scores a candidate with label O as ``X = O + s sqrt(1 / rho^2 - 1) Z``, where Z is normal and s^2 the mean
    squared deviation of labels from the mean of their prompt; see `docs/study_discretisation.md`.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores and labels; or labels alone, which say nothing of the values that a judge uses.
    bins : sequence of int
        Numbers of bins, from 2 to 1,000.
    recovery, rho : float, optional
        One of them, in (0, 1); without either the uncut scores recover 0.5 of the possible gain.
    draws : int
        Simulated judges, 2 to 1,000.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of these judges, and of the draw of prompts from a table too large to compute from whole.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where labels leave nothing to recover.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> rows = study_discretisation(simulate("arena", n=200, seed=1).frame(), bins=[5]).judges["judge"].rows
    >>> [row.scale for row in rows], rows[1].loss.high < 0
    (['continuous', 'range', 'clipped', 'quantile', 'own', 'judge'], True)
    """
    from bonwise.studies.discretisation.engine import discretisation_study

    options = ReadingOptions.of(study_discretisation, reading)
    quality = (recovery, rho)
    return discretisation_study(
        source, options, bins=bins, quality=quality, draws=draws, confidence=confidence, seed=seed
    )


STUDY = Study(study_discretisation, DiscretisationStudy)
