"""Look a file over before an audit, and write it in the shape that every command reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag
from bonwise.table.reading_options import LookedOverKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.doctoring.result import DoctorDocument
    from bonwise.table.opening import ScoreSource


@opens_a_table
def doctor(
    source: Annotated[ScoreSource, Flag("Scores: CSV, JSONL, Parquet or a folder of responses.", "FILE", Path)],
    *,
    fix: Annotated[
        str | Path | None, Flag("Write the table that was understood here, as CSV that needs no flag.", kind=Path)
    ] = None,
    **reading: Unpack[LookedOverKeywords],
) -> DoctorDocument:
    """Look a table of scores over before an audit: what each column was taken for, what is odd, what to type next.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        What `audit` reads.
    fix : str or pathlib.Path, optional
        Where the table goes that was understood: values that mean no score are blank, lower values that are better
        are reversed, lists and objects are rows and columns. What is next is then said of it.
    **reading
        How its columns are read, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    DoctorDocument
        `str`, `to_html` and `to_markdown` show it.

    Raises
    ------
    bonwise.errors.InputError
        It cannot be read as a table of scores at all.

    Examples
    --------
    >>> rows = [{"prompt_id": f"p{at}", "candidate": name, "judge_score": 1} for at in range(3) for name in "ab"]
    >>> found = doctor(rows)
    >>> found.counts.prompts, found.suspicious
    (3, ["'judge' is constant: every score is 1, so its picks are random picks."])
    """
    from bonwise.doctoring.engine import looked_over

    return looked_over(source, ReadingOptions.of(doctor, reading), None if fix is None else Path(fix))
