"""Drift in production: whether the picks of a log moved away from a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from bonwise.flags import POOLS, Command, Flag
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import NOT_OF_LABELS, PickKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource
    from bonwise.watching.result import Watch


@opens_a_table
def watch(  # noqa: PLR0913 - all but the files are named
    picks: Annotated[
        str | Path | Sequence[str | Path],
        Flag("Picks in the order of time, one file per day or with a time per line.", "FILES", list[str]),
    ],
    *,
    baseline: Annotated[
        str | Path | Sequence[str | Path] | None,
        Flag("An audit (.json), or earlier picks; quote a pattern. Repeatable.", kind=list[str]),
    ] = None,
    labels: Annotated[RowSource | None, Flag("Oracle labels of some picks: watches recovery.", kind=Path)] = None,
    by: Annotated[str | int | None, Flag("A period: file, hour, day, week, or a number of picks.")] = None,
    time: Annotated[str | None, Flag("Key of a line that holds its time.")] = None,
    first: Annotated[int | None, Flag("Periods of the log that are its own baseline [14].", rare=True)] = None,
    baseline_from: Annotated[
        str | None, Flag("The period at which the log's own baseline begins, such as that of a new judge.")
    ] = None,
    judge: Annotated[str | None, Flag("The judge of an audit that holds several.")] = None,
    pools: Annotated[str | Path | None, POOLS] = None,
    year: Annotated[int, Flag("Looks over which the chance of a false alarm is spent.", rare=True)] = 365,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    **reading: Unpack[PickKeywords],
) -> Watch:
    """Tell whether the picks of a log moved away from a baseline, by a rule that may be asked every day.

    The same files give the same alarms, and files that are added later change no alarm of earlier periods.

    Parameters
    ----------
    picks : str, pathlib.Path or sequence of these
        Files of picks in the order of time, as ``bonwise select`` writes them, or patterns such as
        ``picks/*.jsonl``. Files of the baseline among them are not watched.
    baseline : str, pathlib.Path or sequence of these, optional
        Files of earlier picks, an audit (``.json``), or both. A signal that neither tells is compared with the first
        periods of the log.
    labels : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Labels from elsewhere, joined on prompt and candidate.
    by : {"file", "hour", "day", "week"} or int, optional
        What a period is, or how many picks it holds; a day where every line has a time, else a file.
    time : str, optional
        Key of a line that holds its time; one of ``timestamp``, ``created_at`` and ``time`` unless given.
    first : int, optional
        Periods of the log that are its own baseline, 14 unless given; not beside files of earlier picks.
    baseline_from : str, optional
        The first of these periods; earlier picks are not read further. Not beside files of earlier picks.
    judge : str, optional
        The judge of the audit, where it holds several and the picks name none of them.
    pools : str or pathlib.Path, optional
        Pools with the texts of the candidates, for the page; otherwise the ``text`` of each pick is shown.
    year : int
        Looks over which the chance of a false alarm is spent; it begins anew after as many.
    confidence : float
        In [0.5, 1): of the intervals, and 1 minus the chance of any false alarm of any signal within a year of looks.
    seed : int
        Of the draws that decide among equal periods, and which picks of a long period are taken.
    **reading
        How the file of labels is read, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    Watch

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or argument, how to mend.

    Examples
    --------
    >>> import json, tempfile
    >>> def line(day, one):
    ...     scores = [0.5, 0.5] if day > 20 else [one / 100, 0.5]
    ...     return {"prompt_id": f"{day}-{one}", "ids": ["a", "b"], "best": "b", "scores": scores}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in range(40):
    ...         lines = "".join(json.dumps(line(day, one)) + chr(10) for one in range(30))
    ...         _ = Path(folder, f"{day:02}.jsonl").write_text(lines)
    ...     found = watch(f"{folder}/*.jsonl")
    >>> found, found.signals["tie_rate"].alarm.since
    (<Watch over 26 periods: tie_rate>, '21')
    """
    from bonwise.watching.engine import watched

    return watched(
        picks,
        ReadingOptions.of(watch, reading, labels=labels),
        baseline=baseline,
        by=by,
        time=time,
        first=first,
        baseline_from=baseline_from,
        judge=judge,
        pools=pools,
        year=year,
        confidence=confidence,
        seed=seed,
    )


def _files(typed: Mapping[str, Any]) -> Iterator[str | Path | None]:
    from bonwise.watching import engine, pick_log

    audit, earlier = engine.baseline_files(typed["baseline"]) if typed["baseline"] else (None, ())
    yield from (*pick_log.files_of(typed["picks"]), *earlier, audit, typed["labels"], typed["pools"])


def _code(watched: Watch) -> int:
    # A log is no still log where its picks were made in two ways.
    return {"nothing moved": 3 if watched.data.changes else 0, "moved": 1, "too early": 3}[watched.verdict]


COMMAND = Command(
    watch,
    """Tell what moved in the picks of production.

    Watches ties, margins, order effect, unscored share, cost, length and, with labels, recovery. Made for a daily
    job: run it over the growing set of files.

    Exit codes: 0 nothing moved, 1 a signal moved, 3 too early to say, or the judge or a setting was changed.

    The columns named are those of the label file.
    """,
    without=NOT_OF_LABELS,
    inputs=_files,
    code=_code,
)
