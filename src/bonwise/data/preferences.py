"""Pairwise verdict tables: which of two candidates per judge, and the oracle, prefers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.rows import RowSource, open_rows
from bonwise.data.verdict_words import joined_names, preferences_of, require_columns
from bonwise.data.wording import quoted
from bonwise.errors import ColumnError, InputError, RowError, UsageError

__all__ = ["PreferenceTable"]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PreferenceTable:
    """Verdicts on pairs, one row per judge and pair.

    Parameters
    ----------
    source : str
    prompt, judge, context : pandas.Categorical, shape (rows,)
    verdicts : ndarray of float64, shape (rows, orders)
        1 for the first candidate, 0 for the second, 1/2 for a tie; NaN where there is none.
    oracle : ndarray of float64, shape (rows,)
    dropped : mapping of str to mapping of str to int
        Rows left out, by judge and reason.
    asked : mapping of str to frozenset of int
        The pairs of each judge's rows, by number, those left out among them.
    """

    source: str
    prompt: pd.Categorical = field(repr=False)
    judge: pd.Categorical = field(repr=False)
    context: pd.Categorical = field(repr=False)
    verdicts: _Floats = field(repr=False)
    oracle: _Floats = field(repr=False)
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    asked: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        source: RowSource,
        *,
        verdicts: Sequence[str],
        oracle: str,
        prompt: Sequence[str],
        judge: Sequence[str] = (),
        context: Sequence[str] = (),
        pair: Sequence[str] = (),
    ) -> PreferenceTable:
        """Read a file or frame; several columns together may name a prompt, a judge, a context or a pair.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, a verdict that is none, a pair judged twice, a prompt in two
            contexts, or no row with both a verdict and a label.
        """
        taken = {"label": (oracle,), "prompt": prompt, "judge": judge, "context": context, "pair": pair}
        _refuse_twice(verdicts, taken)
        raw, name = open_rows(source)
        require_columns(raw, [*verdicts, oracle, *prompt, *judge, *context, *pair], name)
        if not verdicts:
            raise ColumnError(f"{name}: no verdict column was named", hint="name one or two with --verdict-col")
        preferred: _Floats = np.column_stack([preferences_of(raw[column], name) for column in verdicts])
        gold = preferences_of(raw[oracle], name)
        judges = joined_names(raw, judge, "judge", name) if judge else _constant(len(raw), "judge")
        reason = np.where(np.isnan(gold), "no label", np.where(np.isnan(preferred).any(axis=1), "no verdict", ""))
        kept = reason == ""
        if not kept.any():
            raise InputError(
                f"{name}: no row has both a verdict and a label", hint="check the columns that were named"
            )
        dropped = {str(j): dict(Counter(reason[(judges == j) & ~kept].tolist())) for j in judges.categories}
        pairs = joined_names(raw, [*prompt, *pair], "pair", name)
        table = cls(
            name,
            joined_names(raw, prompt, "prompt_id", name)[kept],
            judges[kept],
            (joined_names(raw, context, "context", name) if context else _constant(len(raw), "all"))[kept],
            preferred[kept],
            gold[kept],
            {j: counts for j, counts in dropped.items() if counts},
            {str(j): frozenset(pairs.codes[judges == j].tolist()) for j in judges.categories},
        )
        _refuse_split_prompts(table)
        _refuse_repeats(table, pairs[kept], raw.index[kept])
        return table


def _constant(rows: int, name: str) -> pd.Categorical:
    return pd.Categorical(pd.Index([name], dtype=object)).repeat(rows)


def _refuse_twice(verdicts: Sequence[str], taken: Mapping[str, Sequence[str]]) -> None:
    """Refuse a column of verdicts that would be two orders, or is something else already."""
    for at, column in enumerate(verdicts):
        if column in verdicts[:at]:
            raise UsageError(
                f"verdict column {quoted(column)} is named twice",
                hint="two presentation orders are two columns; of one order name its column once",
            )
        role = next((role for role, columns in taken.items() if column in columns), None)
        if role is not None:
            raise UsageError(
                f"verdict column {quoted(column)} is a {role} column too",
                hint="name the column that holds the verdicts",
            )


def _refuse_split_prompts(table: PreferenceTable) -> None:
    pairs = pd.DataFrame({"prompt": table.prompt.codes, "context": table.context.codes}).drop_duplicates()
    again = np.flatnonzero(pairs["prompt"].duplicated())
    if again.size:
        prompt = table.prompt.categories[pairs["prompt"].to_numpy()[again[0]]]
        raise InputError(
            f"{table.source}: prompt {quoted(prompt)} is in two contexts",
            hint="name the context among the prompt columns too, such as --prompt-col dataset,item",
        )


def _refuse_repeats(table: PreferenceTable, pairs: pd.Categorical, rows: pd.Index) -> None:
    again = pd.DataFrame({"p": pairs.codes, "j": table.judge.codes}).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        raise RowError(
            f"{table.source}, row {rows[at]}: {quoted(table.judge[at])} judges {quoted(pairs[at])} again",
            hint="name all columns of the judge with --judge-col a,b; what tells its pairs apart, with --pair-col",
        )
