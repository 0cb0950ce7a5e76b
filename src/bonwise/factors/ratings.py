"""Ratings of models by several raters, one of them human: the table that factor models are fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, RowError, UsageError
from bonwise.factors import rating_sources
from bonwise.factors.result import RaterRecord, RatingRule
from bonwise.factors.settings import MOST_CATEGORIES, Binning
from bonwise.flags import takes_numbers
from bonwise.printable import listed, quoted
from bonwise.table import checks, identifiers, sources, verdict_words, vote_readings
from bonwise.table.numbers import is_blank, parse_numbers
from bonwise.table.reading import RowSource, open_frame
from bonwise.table.score_table import ScoreTable

BINNINGS: tuple[Binning, ...] = get_args(Binning)

_VERDICTS: Mapping[float, str] = {0.0: "opponent", 0.5: "tie", 1.0: "model"}
_OWN_WORDS: Mapping[str, verdict_words.Side] = {"model": "first", "opponent": "second"}


@dataclass(frozen=True, slots=True)
class CategoryRules:
    """How ratings become ordered categories."""

    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The words of a rater, lowest first; a rating that is none of them is refused."""
    bins: int = MOST_CATEGORIES
    """Distinct numbers beyond which a rater's numbers are binned, and the most bins; at least 2."""
    binning: Binning = "equal_count"

    def __post_init__(self) -> None:
        checks.check_whole("bins", self.bins, least=2)
        if self.binning not in BINNINGS:
            raise UsageError(f"there is no binning {quoted(self.binning)}", hint=f"one of {', '.join(BINNINGS)}")
        for rater, words in self.declared.items():
            if isinstance(words, str) or len(words) < 2 or len({str(word) for word in words}) < len(words):
                raise UsageError(
                    f"the categories declared for {quoted(rater)} are not at least two different words",
                    hint="list them from the lowest to the highest, such as ['poor', 'fair', 'good']",
                )


RATING_COLUMNS = ("prompt_id", "model", "rater", "rating")
"""Columns that a table of ratings needs; ``opponent``, ``category`` and ``replicate`` may be there too."""


@takes_numbers
@dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings in ordered categories, one row per rating.

    Make one with `read`; the constructor trusts its arguments.

    Parameters
    ----------
    source : str
        The file's name, or ``table``.
    prompts, models : tuple of str
        Sorted.
    raters : tuple of RaterRecord
        Sorted by name, each with its categories.
    points : tuple of tuple of float
        What each category of each rater counts in an average.
    human : int
        Position of the human rater in `raters`.
    prompt, model, rater, rating : ndarray of int64, shape (ratings,)
        Positions in `prompts`, `models`, `raters`, and in the categories of the rater.
    opponent : ndarray of int64, shape (ratings,)
        Position in `models` of the model that `model` is compared with; -1 where a model is rated alone.
    categories : tuple of str
        Names of the categories of prompts, sorted; empty where there is no such column.
    prompt_category : ndarray of int64, shape (prompts,)
        Position in `categories`; -1 for none.
    repeats : int
        Rows that repeat rater, prompt and models of an earlier row without a replicate of their own; each counts as a
        further replicate.
    left_out : mapping of str to int
        Rows left out, by reason.

    Examples
    --------
    >>> rows = [
    ...     {"prompt_id": "p1", "model": "a", "rater": "gpt", "rating": 4},
    ...     {"prompt_id": "p1", "model": "b", "rater": "gpt", "rating": 2},
    ...     {"prompt_id": "p1", "model": "a", "opponent": "b", "rater": "ann", "rating": "model"},
    ... ]
    >>> RatingTable.read(rows, human="ann")
    <RatingTable: 3 ratings, 1 prompt, 2 models, 2 raters, human ann>
    """

    source: str
    prompts: tuple[str, ...] = field(repr=False)
    models: tuple[str, ...] = field(repr=False)
    raters: tuple[RaterRecord, ...] = field(repr=False)
    points: tuple[tuple[float, ...], ...] = field(repr=False)
    human: int
    prompt: Ints = field(repr=False)
    model: Ints = field(repr=False)
    opponent: Ints = field(repr=False)
    rater: Ints = field(repr=False)
    rating: Ints = field(repr=False)
    categories: tuple[str, ...] = field(repr=False)
    prompt_category: Ints = field(repr=False)
    repeats: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        source: RowSource | ScoreTable,
        *,
        human: str,
        pairs: RowSource | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
        bins: int = MOST_CATEGORIES,
        binning: Binning = "equal_count",
    ) -> RatingTable:
        """Read a file or frame.

        Parameters
        ----------
        source : str, pathlib.Path, pandas.DataFrame or rows as mappings
            Columns ``prompt_id``, ``model``, ``rater``, ``rating``; optional ``opponent`` (the rating then compares
            the model with it), ``category`` (of the prompt) and ``replicate``. A rating of one model is a number. A
            rating of two is ``model``, ``opponent`` or ``tie``, the name of the winner, or a number whose sign says
            says who wins. A blank rating is left out and counted. Or a table of scores that `bonwise.audit` reads:
            its judges are raters, and its labels those of `human`.
        human : str
            The rater whose ratings are to be predicted.
        pairs : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
            Comparisons that ``bonwise judge --pairs`` wrote, in place of the scores of their judges.
        categories : mapping of str to sequence of str, optional
            The words that a rater uses, lowest first.
        bins : int
            Numbers of a rater are its categories where there are at most so many distinct ones, and are binned
            otherwise; at least 2.
        binning : {"equal_count", "equal_width"}
            Into groups of about equal size, or into intervals of equal width. Equal numbers are in one group.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, a rating outside the rater's categories, a rater that rates both one model and
            two, a prompt in two categories, a replicate that occurs twice, or no rating by `human`.
        """
        rules = CategoryRules(dict(categories or {}), bins, binning)
        raw, name = _opened(source, human)
        if pairs is not None:
            compared = rating_sources.ratings_of_pairs(pairs)
            raw = pd.concat([raw[~raw["rater"].isin(compared["rater"])], compared], ignore_index=True)
        identifiers.require_columns(raw, RATING_COLUMNS, name)
        raw, dropped = _kept(raw, name)
        prompts = identifiers.as_categories(raw["prompt_id"], role="prompt_id", source=name)
        raters = identifiers.as_categories(raw["rater"], role="rater", source=name)
        models, model, opponent = _sides(raw, name)
        names = tuple(str(category) for category in raters.categories)
        if human not in names:
            raise UsageError(f"{name}: no rater named {quoted(human)}", hint=f"the raters are {listed(names)}")
        if absent := [one for one in rules.declared if one not in names]:
            raise UsageError(f"{name}: no rater named {quoted(absent[0])}", hint=f"the raters are {listed(names)}")
        rater = raters.codes.astype(np.int64)
        scales, points, rating = _scales(raw, names, rater, (model, opponent, models), rules, name)
        prompt = prompts.codes.astype(np.int64)
        cells = pd.DataFrame({"rater": rater, "prompt": prompt, "model": model, "opponent": opponent})
        groups, of_prompt = _categories(raw, prompt, len(prompts.categories), name)
        return cls(
            name,
            tuple(str(category) for category in prompts.categories),
            models,
            scales,
            points,
            names.index(human),
            prompt,
            model,
            opponent,
            rater,
            rating,
            groups,
            of_prompt,
            _repeats(raw, cells, name),
            dropped,
        )

    def __repr__(self) -> str:
        prompts = "1 prompt" if len(self.prompts) == 1 else f"{len(self.prompts):,} prompts"
        return (
            f"<RatingTable: {len(self.rating):,} ratings, {prompts}, {len(self.models)} models, "
            f"{len(self.raters)} raters, human {self.raters[self.human].rater}>"
        )

    @property
    def human_scale(self) -> RaterRecord:
        """The human rater and its categories."""
        return self.raters[self.human]

    @cached_property
    def by_human(self) -> Mask:
        """Which ratings are the human's."""
        return np.asarray(self.rater == self.human)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rating.

        Columns: ``prompt_id``, ``model``, ``opponent`` (blank for none), ``rater``, ``rating`` (the label of the
        category), ``points`` (what it counts in an average) and ``category``.
        """
        labels = [self.raters[r].categories[y] for r, y in zip(self.rater, self.rating, strict=True)]
        points = [self.points[r][y] for r, y in zip(self.rater, self.rating, strict=True)]
        of_prompt = np.array([*self.categories, ""], dtype=object)[self.prompt_category]
        return pd.DataFrame(
            {
                "prompt_id": np.array(self.prompts, dtype=object)[self.prompt],
                "model": np.array(self.models, dtype=object)[self.model],
                "opponent": np.array([*self.models, ""], dtype=object)[self.opponent],
                "rater": np.array([rater.rater for rater in self.raters], dtype=object)[self.rater],
                "rating": labels,
                "points": points,
                "category": of_prompt[self.prompt],
            }
        )


def _opened(source: RowSource | ScoreTable, human: str) -> tuple[pd.DataFrame, str]:
    """Return the rows of ratings; those of a table of scores, in any shape that an audit reads, are made."""
    if isinstance(source, ScoreTable):
        return rating_sources.ratings_of_scores(source, human=human), source.source
    opened = sources.open_source(source, {})
    if opened.imported is None and {"rater", "rating", "model"} & set(opened.rows.columns):
        return open_frame(source)
    return rating_sources.ratings_of_scores(source, human=human), opened.name


def _kept(raw: pd.DataFrame, source: str) -> tuple[pd.DataFrame, dict[str, int]]:
    """Leave out rows that rate nothing."""
    blank = is_blank(raw["rating"])
    itself = np.zeros(len(raw), dtype=bool)
    if "opponent" in raw.columns:
        sides = [raw[side].astype(str).str.strip() for side in ("model", "opponent")]
        itself = np.asarray(sides[0] == sides[1]) & ~is_blank(raw["opponent"]) & ~blank
    reasons = {"no rating": blank, "a model against itself": itself}
    kept = raw[~(blank | itself)]
    if not len(kept):
        raise InputError(f"{source}: no row holds a rating", hint="fill in the column rating")
    return kept, {reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()}


def _sides(raw: pd.DataFrame, source: str) -> tuple[tuple[str, ...], Ints, Ints]:
    """Return the names of all models, and which of them are rated and compared with; -1 for no opponent."""
    model = identifiers.as_categories(raw["model"], role="model", source=source)
    names = {str(category) for category in model.categories}
    compared = np.zeros(len(raw), dtype=bool)
    if "opponent" in raw.columns:
        compared = ~is_blank(raw["opponent"])
    opponent = (
        identifiers.as_categories(raw["opponent"][compared], role="opponent", source=source)
        if compared.any()
        else None
    )
    if opponent is not None:
        names |= {str(category) for category in opponent.categories}
    models = pd.Index(sorted(names), dtype=object)
    against = np.full(len(raw), -1, dtype=np.int64)
    if opponent is not None:
        against[compared] = models.get_indexer(pd.Index(opponent.categories, dtype=object))[opponent.codes]
    rated = models.get_indexer(pd.Index(model.categories, dtype=object))[model.codes]
    return tuple(models), rated.astype(np.int64), against


def _scales(
    raw: pd.DataFrame,
    names: tuple[str, ...],
    rater: Ints,
    sides: tuple[Ints, Ints, tuple[str, ...]],
    rules: CategoryRules,
    source: str,
) -> tuple[tuple[RaterRecord, ...], tuple[tuple[float, ...], ...], Ints]:
    """Return the categories of each rater, what they count, and the category of each rating."""
    model, opponent, models = sides
    index = np.array([*models, ""], dtype=object)
    scales, points, rating = [], [], np.zeros(len(raw), dtype=np.int64)
    for code, name in enumerate(names):
        mine = np.flatnonzero(rater == code)
        compares = opponent[mine] >= 0
        if compares.any() and not compares.all():
            row = raw.index[mine[int(np.argmax(compares != compares[0]))]]
            raise RowError(
                f"{source}, row {row}: {quoted(name)} compares two models in some rows and rates one model in others",
                hint=f"name them as two raters, such as {name[:20]}-pairs",
            )
        words = pd.DataFrame({"model": index[model[mine]], "opponent": index[opponent[mine]]})
        scale, counted, rating[mine] = scale_of_ratings(
            raw["rating"].iloc[mine], name, side_by_side=bool(compares[0]), names=words, rules=rules, source=source
        )
        scales.append(scale)
        points.append(counted)
    return tuple(scales), tuple(points), rating


def _categories(raw: pd.DataFrame, prompt: Ints, count: int, source: str) -> tuple[tuple[str, ...], Ints]:
    """Return the names of the categories, and that of each prompt."""
    found = np.full(count, -1, dtype=np.int64)
    if "category" not in raw.columns:
        return (), found
    stated = np.flatnonzero(~is_blank(raw["category"]))
    if not stated.size:
        return (), found
    named = identifiers.as_categories(raw["category"].iloc[stated], role="category", source=source)
    # The last assignment stays, so that a prompt has the category of its first row.
    found[prompt[stated][::-1]] = named.codes[::-1]
    unlike = np.flatnonzero(found[prompt[stated]] != named.codes)
    if unlike.size:
        at = stated[unlike[0]]
        raise RowError(
            f"{source}, row {raw.index[at]}: prompt {quoted(raw['prompt_id'].iloc[at])} is in two categories",
            hint="give each prompt one category",
        )
    return tuple(str(category) for category in named.categories), found


def _repeats(raw: pd.DataFrame, cells: pd.DataFrame, source: str) -> int:
    """Count the ratings that repeat an earlier one without a replicate; refuse a replicate that occurs twice."""
    if "replicate" not in raw.columns or is_blank(raw["replicate"]).all():
        return int(cells.duplicated().sum())
    replicate = identifiers.as_categories(raw["replicate"], role="replicate", source=source)
    again = cells.assign(replicate=replicate.codes).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        row = raw.iloc[at]
        raise RowError(
            f"{source}, row {raw.index[at]}: {quoted(row['rater'])} rates {quoted(row['model'])} on "
            f"{quoted(row['prompt_id'])} again, with the same replicate",
            hint="remove one of the rows, or number the replicates",
        )
    return 0


def scale_of_ratings(
    column: pd.Series, rater: str, *, side_by_side: bool, names: pd.DataFrame, rules: CategoryRules, source: str
) -> tuple[RaterRecord, tuple[float, ...], Ints]:
    """Read the ratings of one rater.

    `column` has the cells that are not blank, with row numbers as its index; `names`, shape (rows, 2), has ``model``
    and ``opponent`` of each row, which may serve as verdicts. Returned are the rater and its categories; what each
    category counts in an average (the number itself, the mean of the numbers in a bin, the position of a word counted
    from 0, or -1, 0 and 1 for a verdict); and the position of each rating in the categories. A rating that is neither
    a number nor a declared word, or numbers of a comparison that have no middle, raise `RowError`.
    """
    if rater in rules.declared:
        words = [str(word) for word in rules.declared[rater]]
        scale = _declared(column, rater, words, side_by_side, source)
    elif not side_by_side:
        scale = _of_numbers(parse_numbers(column, role=f"rating of {quoted(rater)}", source=source), rules)
    else:
        verdicts = _verdicts(column, names, source)
        known = not np.isnan(verdicts).any()
        scale = _of_verdicts(verdicts) if known else _of_differences(column, rater, rules, source)
    record = RaterRecord(
        rater=rater,
        ratings=len(column),
        side_by_side=side_by_side,
        categories=scale.labels,
        rule=scale.rule,
        distinct=scale.distinct or len(scale.labels),
    )
    return record, tuple(scale.points), scale.rating


class _ReadRatings(NamedTuple):
    labels: list[str]
    points: list[float]
    rule: RatingRule
    rating: Ints
    distinct: int = 0
    """Numbers; 0 where there are none."""


def _declared(column: pd.Series, rater: str, labels: list[str], side_by_side: bool, source: str) -> _ReadRatings:
    at = pd.Index(labels).get_indexer(pd.Index([_word(cell) for cell in column]))
    if (at < 0).any():
        first = int(np.flatnonzero(at < 0)[0])
        raise RowError(
            f"{source}, row {column.index[first]}: {quoted(column.iloc[first])} is not a category of {quoted(rater)}",
            hint=f"its categories are {listed(labels)}",
        )
    points = np.arange(len(labels)) - ((len(labels) - 1) / 2 if side_by_side else 0)
    return _ReadRatings(labels, points.tolist(), "words", at.astype(np.int64))


def _word(cell: object) -> str:
    text = str(cell).strip()
    return text.removesuffix(".0") if isinstance(cell, float | np.floating) else text


def _verdicts(column: pd.Series, names: pd.DataFrame, source: str) -> Floats:
    """Read verdicts: 1 for the model, 0 for the opponent, 1/2 for a tie, NaN for what is no verdict."""
    return vote_readings.verdicts_or_nothing(column, source, sides=names[["model", "opponent"]], words=_OWN_WORDS)[0]


def _of_verdicts(verdicts: Floats) -> _ReadRatings:
    tied = bool((verdicts == 0.5).any())
    kept = [value for value in _VERDICTS if tied or value != 0.5]
    rating = np.searchsorted(kept, verdicts).astype(np.int64)
    return _ReadRatings([_VERDICTS[value] for value in kept], [2 * value - 1 for value in kept], "verdicts", rating)


def _of_differences(column: pd.Series, rater: str, rules: CategoryRules, source: str) -> _ReadRatings:
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
    rating = signed + ups if zero else np.where(signed < 0, signed + ups, signed + ups - 1)
    top = list(zip(means[int(zero) :], edges[int(zero) :], strict=True))
    downs = (f"-{label}" if " " not in label else f"-({label})" for _, label in reversed(top))
    labels = [*downs, *(["0"] if zero else []), *(label for _, label in top)]
    points = [*(-mean for mean, _ in reversed(top)), *([0.0] if zero else []), *(mean for mean, _ in top)]
    return _ReadRatings(labels, points, "bins" if binned else "numbers", rating, len(np.unique(numbers)))


def _of_numbers(numbers: Floats, rules: CategoryRules) -> _ReadRatings:
    groups, means, labels, binned = _grouped(numbers, rules.bins, rules.binning)
    return _ReadRatings(labels, means, "bins" if binned else "numbers", groups, len(np.unique(numbers)))


def _grouped(
    numbers: Floats, most: int, binning: Binning, *, zero: bool = False
) -> tuple[Ints, list[float], list[str], bool]:
    """Group numbers: each distinct one alone where there are few, else by the rule; 0 alone where `zero`.

    Returns the group of each number, equal ones never divided, each group's mean and label, and whether it binned.
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
