"""Two sets of logged picks, paired by prompt: what each is worth, what it took, and the differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import POOLS, Command, Flag, takes_numbers
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import NOT_OF_LABELS, PickKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit
    from bonwise.comparing.result import PickComparison, RegimeComparison
    from bonwise.table.reading import RowSource


@opens_a_table
def compare(
    first: Annotated[str | Path, Flag("Picks, as bonwise select writes them.")],
    second: Annotated[str | Path, Flag("Other picks of the same prompts.")],
    *,
    labels: Annotated[RowSource, Flag("Oracle labels, joined on prompt and candidate.", kind=Path)],
    as_picked: Annotated[bool, Flag("What the seed drew among equals, not its expectation.")] = False,
    pools: Annotated[str | Path | None, POOLS] = None,
    confidence: float = CONFIDENCE,
    **reading: Unpack[PickKeywords],
) -> PickComparison:
    """Compare two sets of logged picks against the same oracle labels.

    Parameters
    ----------
    first, second : str or pathlib.Path
        Files of picks, as ``bonwise select`` writes them.
    labels : str, pathlib.Path, pandas.DataFrame or rows as mappings
        Labels, joined on prompt and candidate.
    as_picked : bool
        Of logged picks: take what the seed drew among equals, not its expectation.
    pools : str or pathlib.Path, optional
        Pools with the texts of the candidates, for the page; otherwise the ``text`` of each pick is shown.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    **reading
        How the file of labels is read, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    PickComparison

    Raises
    ------
    bonwise.errors.InputError
        A line that is not a pick, labels that fit nothing, or no prompt that both sets share.
    """
    from bonwise.comparing.engine import compared

    options = ReadingOptions.of(compare, reading, labels=labels)
    return compared(first, second, options, confidence=confidence, as_picked=as_picked, pools=pools)


@takes_numbers
def compare_regimes(first: Audit, second: Audit) -> RegimeComparison:
    """Compare the audits of two sets of prompts, such as two benchmarks, side by side.

    Differences are first minus second, with intervals of independent samples: for a in [l, u] less b in [w, v] the
    lower end is ``a - b - sqrt((a - l)^2 + (v - b)^2)`` (Zou and Donner 2008).

    Parameters
    ----------
    first, second : Audit
        Of one judge each, which may differ; or of several, of which those with the same name are compared.

    Raises
    ------
    bonwise.errors.UsageError
        No judge is in both, or their intervals have two confidences.

    Examples
    --------
    >>> import bonwise as bw
    >>> from bonwise.testing import simulate
    >>> halves = [bw.audit(simulate("arena", n=200, seed=seed).frame()) for seed in (1, 2)]
    >>> difference = compare_regimes(*halves).judges["judge"].differences["within_r"]
    >>> difference.low < 0 < difference.high
    True
    """
    from bonwise.comparing.engine import regimes

    return regimes(first, second)


COMMAND = Command(
    compare,
    """Compare two sets of picks.

    Prints value, gain and recovery of each, what they cost, and the differences with intervals.

    The columns named are those of the label file.
    """,
    without=NOT_OF_LABELS,
)
