"""Ratings of models by several raters, one of them human: the table that factor models are fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.errors import InputError, RowError, UsageError
from bonwise.factors.rating_scales import MOST_CATEGORIES, Binning, CategoryRules, RaterScale, scale_of_ratings
from bonwise.printable import listed, quoted
from bonwise.table.identifiers import as_categories, require_columns
from bonwise.table.numbers import is_blank
from bonwise.table.reading import RowSource, open_rows

__all__ = ["RATING_COLUMNS", "RatingTable"]

_Ints = npt.NDArray[np.int64]

RATING_COLUMNS = ("prompt_id", "model", "rater", "rating")
"""Columns that a table of ratings needs; ``opponent``, ``category`` and ``replicate`` may be there too."""


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
    raters : tuple of RaterScale
        Sorted by name, each with its categories.
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
    raters: tuple[RaterScale, ...] = field(repr=False)
    human: int
    prompt: _Ints = field(repr=False)
    model: _Ints = field(repr=False)
    opponent: _Ints = field(repr=False)
    rater: _Ints = field(repr=False)
    rating: _Ints = field(repr=False)
    categories: tuple[str, ...] = field(repr=False)
    prompt_category: _Ints = field(repr=False)
    repeats: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        source: RowSource,
        *,
        human: str,
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
            who wins. A blank rating is left out and counted.
        human : str
            The rater whose ratings are to be predicted.
        categories : mapping of str to sequence of str, optional
            The words that a rater uses, lowest first.
        bins : int
            Numbers of a rater are its categories where there are at most so many distinct ones, and are binned
            otherwise; at least 2.
        binning : {"equal_count", "equal_width"}
            Bins of about equal size, or intervals of equal width. Equal numbers are in one bin.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, a rating outside the rater's categories, a rater that rates both one model and
            two, a prompt in two categories, a replicate that occurs twice, or no rating by `human`.
        """
        rules = CategoryRules(dict(categories or {}), bins, binning)
        raw, name = open_rows(source)
        require_columns(raw, RATING_COLUMNS, name)
        raw, dropped = _kept(raw, name)
        prompts = as_categories(raw["prompt_id"], role="prompt_id", source=name)
        raters = as_categories(raw["rater"], role="rater", source=name)
        models, model, opponent = _sides(raw, name)
        names = tuple(str(one) for one in raters.categories)
        if human not in names:
            raise UsageError(f"{name}: no rater named {quoted(human)}", hint=f"the raters are {listed(names)}")
        if absent := [one for one in rules.declared if one not in names]:
            raise UsageError(f"{name}: no rater named {quoted(absent[0])}", hint=f"the raters are {listed(names)}")
        rater = raters.codes.astype(np.int64)
        scales, rating = _scales(raw, names, rater, (model, opponent, models), rules, name)
        prompt = prompts.codes.astype(np.int64)
        cells = pd.DataFrame({"rater": rater, "prompt": prompt, "model": model, "opponent": opponent})
        groups, of_prompt = _categories(raw, prompt, len(prompts.categories), name)
        return cls(
            name,
            tuple(str(one) for one in prompts.categories),
            models,
            scales,
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
    def human_scale(self) -> RaterScale:
        """The human rater and its categories."""
        return self.raters[self.human]

    @cached_property
    def by_human(self) -> npt.NDArray[np.bool_]:
        """Which ratings are the human's."""
        return np.asarray(self.rater == self.human)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rating.

        Columns: ``prompt_id``, ``model``, ``opponent`` (blank for none), ``rater``, ``rating`` (the label of the
        category), ``points`` (what it counts in an average) and ``category``.
        """
        labels = [self.raters[r].labels[y] for r, y in zip(self.rater, self.rating, strict=True)]
        points = [self.raters[r].points[y] for r, y in zip(self.rater, self.rating, strict=True)]
        of_prompt = np.array([*self.categories, ""], dtype=object)[self.prompt_category]
        return pd.DataFrame(
            {
                "prompt_id": np.array(self.prompts, dtype=object)[self.prompt],
                "model": np.array(self.models, dtype=object)[self.model],
                "opponent": np.array([*self.models, ""], dtype=object)[self.opponent],
                "rater": np.array([one.rater for one in self.raters], dtype=object)[self.rater],
                "rating": labels,
                "points": points,
                "category": of_prompt[self.prompt],
            }
        )


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


def _sides(raw: pd.DataFrame, source: str) -> tuple[tuple[str, ...], _Ints, _Ints]:
    """Return the names of all models, and which of them are rated and compared with; -1 for no opponent."""
    model = as_categories(raw["model"], role="model", source=source)
    names = {str(one) for one in model.categories}
    compared = np.zeros(len(raw), dtype=bool)
    if "opponent" in raw.columns:
        compared = ~is_blank(raw["opponent"])
    opponent = as_categories(raw["opponent"][compared], role="opponent", source=source) if compared.any() else None
    if opponent is not None:
        names |= {str(one) for one in opponent.categories}
    models = pd.Index(sorted(names), dtype=object)
    against = np.full(len(raw), -1, dtype=np.int64)
    if opponent is not None:
        against[compared] = models.get_indexer(pd.Index(opponent.categories, dtype=object))[opponent.codes]
    rated = models.get_indexer(pd.Index(model.categories, dtype=object))[model.codes]
    return tuple(models), rated.astype(np.int64), against


def _scales(
    raw: pd.DataFrame,
    names: tuple[str, ...],
    rater: _Ints,
    sides: tuple[_Ints, _Ints, tuple[str, ...]],
    rules: CategoryRules,
    source: str,
) -> tuple[tuple[RaterScale, ...], _Ints]:
    """Return the categories of each rater, and the category of each rating."""
    model, opponent, models = sides
    index = np.array([*models, ""], dtype=object)
    scales, rating = [], np.zeros(len(raw), dtype=np.int64)
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
        scale, rating[mine] = scale_of_ratings(
            raw["rating"].iloc[mine],
            name,
            side_by_side=bool(compares[0]),
            names=words,
            rules=rules,
            source=source,
        )
        scales.append(scale)
    return tuple(scales), rating


def _categories(raw: pd.DataFrame, prompt: _Ints, count: int, source: str) -> tuple[tuple[str, ...], _Ints]:
    """Return the names of the categories, and that of each prompt."""
    found = np.full(count, -1, dtype=np.int64)
    if "category" not in raw.columns:
        return (), found
    stated = np.flatnonzero(~is_blank(raw["category"]))
    if not stated.size:
        return (), found
    named = as_categories(raw["category"].iloc[stated], role="category", source=source)
    # The last assignment stays, so that a prompt has the category of its first row.
    found[prompt[stated][::-1]] = named.codes[::-1]
    unlike = np.flatnonzero(found[prompt[stated]] != named.codes)
    if unlike.size:
        at = stated[unlike[0]]
        raise RowError(
            f"{source}, row {raw.index[at]}: prompt {quoted(raw['prompt_id'].iloc[at])} is in two categories",
            hint="give each prompt one category",
        )
    return tuple(str(one) for one in named.categories), found


def _repeats(raw: pd.DataFrame, cells: pd.DataFrame, source: str) -> int:
    """Count the ratings that repeat an earlier one without a replicate; refuse a replicate that occurs twice."""
    if "replicate" not in raw.columns or is_blank(raw["replicate"]).all():
        return int(cells.duplicated().sum())
    replicate = as_categories(raw["replicate"], role="replicate", source=source)
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
