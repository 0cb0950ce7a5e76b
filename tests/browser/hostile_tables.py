"""Tables in which every hostile text once names a judge, a column, a value of a column and a candidate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bonwise.table.score_table import ScoreTable
from browser.hostile import HOSTILE, IN_FILES

__all__ = ["ALL", "COLUMNS", "FILE_NAMES", "JUDGES", "of_columns", "of_judges", "renamed", "text_at", "values_of"]

ALL = (*HOSTILE, *IN_FILES)

_POOL = 4
_VALUES, _USUAL, _RARE = 5, 10, 4  # prompts: of values that fewer than ten hold one is shown as it is

JUDGES = tuple(ALL[at::3] for at in range(3))
"""Judges of each page: so many that none is drawn alone, only all together."""

COLUMNS = tuple(ALL[at::4] for at in range(4))
"""Columns of each page."""


def of_judges(page):
    """Return the table of one page of judges, with prompts enough for a recovery of each."""
    return _table([1.0] * 12, 12 * page, JUDGES[page], {}, source=HOSTILE[page])


def of_columns(page):
    """Return the table of one page of columns, of five values each; the judge ties all: one figure a column."""
    counts = [_USUAL] * (_VALUES - 1) + [_RARE]
    columns = {
        name: np.repeat(values_of(page, at), [_POOL * count for count in counts])
        for at, name in enumerate(COLUMNS[page])
    }
    return _table([1.0] * sum(counts), 48 * page, ALL[page : page + 1], columns, source=HOSTILE[-page - 1], tied=True)


def values_of(page, at):
    """Return the values of a column of a page; those of the first four columns, which are drawn, are all texts."""
    first = 17 * page + _VALUES * at
    return np.array([ALL[(first + more) % len(ALL)] for more in range(_VALUES)], dtype=object)


def _table(worth, first, judges, columns, *, source, tied=False):
    """Lay out prompts whose ids and whose candidates' names are the texts, from the first of them on."""
    random = np.random.default_rng(20261121)
    rows = len(worth) * _POOL
    base = {
        "prompt_id": [ALL[(first + at // _POOL) % len(ALL)] for at in range(rows)],
        "candidate": [ALL[(first + at) % len(ALL)] for at in range(rows)],
        "oracle_label": (random.random(rows) * np.repeat(worth, _POOL)).round(4),
        **columns,
    }
    frames = [
        pd.DataFrame({**base, "judge": judge, "judge_score": 0.5 if tied else random.random(rows).round(2)})
        for judge in judges
    ]
    return ScoreTable.from_frame(pd.concat(frames, ignore_index=True), source=source)


def renamed(frame, **columns):
    """Return a table whose values of some columns are hostile texts, a distinct one for each.

    `columns` are the place of the first text by column; more values than texts get a number behind theirs.
    """
    made = frame.copy()
    for name, first in columns.items():
        values = list(dict.fromkeys(frame[name]))
        names = {value: text_at(first + at) for at, value in enumerate(values)}
        made[name] = frame[name].map(names)
    return made


def text_at(at):
    """Return a text by its place; after a whole round with the number of the round."""
    return ALL[at % len(ALL)] + (f" {at // len(ALL)}" if at >= len(ALL) else "")


FILE_NAMES = tuple(text for text in ALL if "/" not in text and "\0" not in text and len(text.encode()) < 200)
"""Texts that a file may be called."""
