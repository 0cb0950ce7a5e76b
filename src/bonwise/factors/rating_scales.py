"""The ordered categories of a rater: what its ratings say, or the bins that hold its many values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.errors import RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table.checks import check_whole
from bonwise.table.numbers import parse_numbers
from bonwise.table.verdict_words import Side
from bonwise.table.vote_readings import verdicts_or_nothing

__all__ = ["BINNINGS", "MOST_CATEGORIES", "Binning", "CategoryRules", "RaterScale", "scale_of_ratings"]

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

Binning = Literal["equal_count", "equal_width"]
"""How a rater's numbers are binned: into groups of about equal size, or into intervals of equal width."""

BINNINGS: tuple[Binning, ...] = get_args(Binning)

MOST_CATEGORIES = 10
"""Distinct numbers beyond which a rater's numbers are binned, and the most bins: the ten of the paper."""

_VERDICTS: Mapping[float, str] = {0.0: "opponent", 0.5: "tie", 1.0: "model"}
_OWN_WORDS: Mapping[str, Side] = {"model": "first", "opponent": "second"}


@dataclass(frozen=True, slots=True)
class CategoryRules:
    """How ratings become ordered categories."""

    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The words of a rater, lowest first; a rating that is none of them is refused."""
    bins: int = MOST_CATEGORIES
    """Distinct numbers beyond which a rater's numbers are binned, and the most bins; at least 2."""
    binning: Binning = "equal_count"

    def __post_init__(self) -> None:
        check_whole("bins", self.bins, least=2)
        if self.binning not in BINNINGS:
            raise UsageError(f"there is no binning {quoted(self.binning)}", hint=f"one of {', '.join(BINNINGS)}")
        for rater, words in self.declared.items():
            if isinstance(words, str) or len(words) < 2 or len({str(one) for one in words}) < len(words):
                raise UsageError(
                    f"the categories declared for {quoted(rater)} are not at least two different words",
                    hint="list them from the lowest to the highest, such as ['poor', 'fair', 'good']",
                )


@dataclass(frozen=True, slots=True)
class RaterScale:
    """A rater and its ordered categories."""

    rater: str
    side_by_side: bool
    """Whether a rating compares a model with an opponent; its categories then mirror each other."""
    labels: tuple[str, ...]
    """Names of the categories, lowest first."""
    points: tuple[float, ...]
    """What a category counts in an average: the number itself, the mean of the numbers in a bin, the position of a
    word counted from 0, or -1, 0 and 1 for a verdict.
    """
    rule: Literal["numbers", "words", "verdicts", "bins"]
    distinct: int
    """Distinct numbers before binning; of other rules the number of categories."""

    @property
    def size(self) -> int:
        """How many categories there are."""
        return len(self.labels)


def scale_of_ratings(
    column: pd.Series, rater: str, *, side_by_side: bool, names: pd.DataFrame, rules: CategoryRules, source: str
) -> tuple[RaterScale, _Ints]:
    """Read the ratings of one rater.

    Parameters
    ----------
    column : pandas.Series, shape (rows,)
        Cells that are not blank; the index holds the row numbers.
    rater : str
    side_by_side : bool
    names : pandas.DataFrame, shape (rows, 2)
        ``model`` and ``opponent`` of each row, which may serve as verdicts.
    rules : CategoryRules
    source : str
        How to name the file in an error.

    Returns
    -------
    scale : RaterScale
    categories : ndarray of int64, shape (rows,)
        Positions in the scale's categories.

    Raises
    ------
    bonwise.errors.RowError
        A rating that is neither a number nor a declared word, or numbers of a comparison that have no middle.

    Examples
    --------
    >>> cells = pd.Series(["3", "1", "3"])
    >>> none = pd.DataFrame({"model": ["a"] * 3, "opponent": [""] * 3})
    >>> scale, found = scale_of_ratings(
    ...     cells, "gpt", side_by_side=False, names=none, rules=CategoryRules(), source="table"
    ... )
    >>> scale.labels, found.tolist()
    (('1', '3'), [1, 0, 1])
    """
    if rater in rules.declared:
        return _declared(column, rater, tuple(str(one) for one in rules.declared[rater]), side_by_side, source)
    if side_by_side:
        verdicts = _verdicts(column, names, source)
        if not np.isnan(verdicts).any():
            return _of_verdicts(verdicts, rater)
        return _of_differences(column, rater, rules, source)
    numbers = parse_numbers(column, role=f"rating of {quoted(rater)}", source=source)
    return _of_numbers(numbers, rater, rules)


def _declared(
    column: pd.Series, rater: str, labels: tuple[str, ...], side_by_side: bool, source: str
) -> tuple[RaterScale, _Ints]:
    at = pd.Index(labels).get_indexer(pd.Index([_word(cell) for cell in column]))
    if (at < 0).any():
        first = int(np.flatnonzero(at < 0)[0])
        raise RowError(
            f"{source}, row {column.index[first]}: {quoted(column.iloc[first])} is not a category of {quoted(rater)}",
            hint=f"its categories are {listed(labels)}",
        )
    points = np.arange(len(labels)) - ((len(labels) - 1) / 2 if side_by_side else 0)
    scale = RaterScale(rater, side_by_side, labels, tuple(points.tolist()), "words", len(labels))
    return scale, at.astype(np.int64)


def _word(cell: object) -> str:
    text = str(cell).strip()
    return text.removesuffix(".0") if isinstance(cell, float | np.floating) else text


def _verdicts(column: pd.Series, names: pd.DataFrame, source: str) -> _Floats:
    """Read verdicts: 1 for the model, 0 for the opponent, 1/2 for a tie, NaN for what is no verdict."""
    return verdicts_or_nothing(column, source, sides=names[["model", "opponent"]], words=_OWN_WORDS)[0]


def _of_verdicts(verdicts: _Floats, rater: str) -> tuple[RaterScale, _Ints]:
    tied = bool((verdicts == 0.5).any())
    kept = [value for value in _VERDICTS if tied or value != 0.5]
    labels = tuple(_VERDICTS[value] for value in kept)
    points = tuple(2 * value - 1 for value in kept)
    scale = RaterScale(rater, side_by_side=True, labels=labels, points=points, rule="verdicts", distinct=len(kept))
    return scale, np.searchsorted(kept, verdicts).astype(np.int64)


def _of_differences(column: pd.Series, rater: str, rules: CategoryRules, source: str) -> tuple[RaterScale, _Ints]:
    """Read numbers that say by how much the model is better: their sign says who wins."""
    try:
        numbers = parse_numbers(column, role=f"rating of {quoted(rater)}", source=source)
    except RowError as error:
        raise RowError(
            error.message, hint="write model, opponent or tie, the name of the winner, or a number such as -2 to 2"
        ) from None
    if not (numbers < 0).any():
        at = int(np.argmin(numbers))
        raise RowError(
            f"{source}, row {column.index[at]}: {quoted(rater)} compares two models, and none of its numbers is "
            "negative, so which of them mean that the opponent wins is unknown",
            hint="write model, opponent or tie, or numbers below 0 where the opponent wins",
        )
    sizes = np.abs(numbers)
    # Bins of the sizes, mirrored, keep the two sides alike.
    groups, means, edges, binned = _grouped(sizes, max(rules.bins // 2, 1), rules.binning, zero=True)
    zero = bool((sizes == 0).any())
    ups = len(means) - zero
    signed = np.sign(numbers).astype(np.int64) * (groups + (0 if zero else 1))
    found = signed + ups if zero else np.where(signed < 0, signed + ups, signed + ups - 1)
    top = list(zip(means[int(zero) :], edges[int(zero) :], strict=True))
    downs = (f"-{label}" if " " not in label else f"-({label})" for _, label in reversed(top))
    labels = (*downs, *(["0"] if zero else []), *(label for _, label in top))
    points = (*(-mean for mean, _ in reversed(top)), *([0.0] if zero else []), *(mean for mean, _ in top))
    rule: Literal["bins", "numbers"] = "bins" if binned else "numbers"
    return RaterScale(
        rater, side_by_side=True, labels=labels, points=points, rule=rule, distinct=len(np.unique(numbers))
    ), found


def _of_numbers(numbers: _Floats, rater: str, rules: CategoryRules) -> tuple[RaterScale, _Ints]:
    groups, means, labels, binned = _grouped(numbers, rules.bins, rules.binning)
    rule: Literal["bins", "numbers"] = "bins" if binned else "numbers"
    return RaterScale(
        rater,
        side_by_side=False,
        labels=tuple(labels),
        points=tuple(means),
        rule=rule,
        distinct=len(np.unique(numbers)),
    ), groups


def _grouped(
    numbers: _Floats, most: int, binning: Binning, *, zero: bool = False
) -> tuple[_Ints, list[float], list[str], bool]:
    """Group numbers: each distinct one alone where there are few, else by the rule; 0 alone where `zero`.

    Equal numbers are never divided. Returns the group of each number, the mean number of each group, its label, and
    whether numbers were binned.
    """
    found, at, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    apart = bool(zero and found[0] == 0)
    rest = len(found) - apart
    if rest <= most:
        return at.astype(np.int64), found.tolist(), [f"{value:g}" for value in found], False
    values, weights = found[int(apart) :], counts[int(apart) :]
    if binning == "equal_width":
        places = (values - values[0]) / (values[-1] - values[0])
    else:
        places = (np.cumsum(weights) - weights / 2) / weights.sum()
    _, group = np.unique(np.minimum((most * places).astype(np.int64), most - 1), return_inverse=True)
    group = np.concatenate([[0], group + 1]) if apart else group
    total = np.bincount(group, counts)
    means = (np.bincount(group, counts * found) / total).tolist()
    ends = [found[group == one][[0, -1]] for one in range(len(total))]
    labels = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ends]
    return group[at].astype(np.int64), means, labels, True
