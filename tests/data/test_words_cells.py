"""Cells of words that are no text: lists of messages, mappings, arrays, and what is missing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import bonwise as bw
from bonwise.errors import ColumnError, RowError
from bonwise.table.score_table import ScoreTable
from bonwise.table.words import Words

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "caf\u00e9?"}]


def rows(**columns):
    """Return the rows of twelve pools of two, labelled, and further columns of one value each."""
    made = [
        {"prompt_id": f"p{x}", "candidate": name, "judge_score": score, "oracle_label": float((x + at) % 2)}
        for x in range(12)
        for at, (name, score) in enumerate((("a", 0.5 + x / 100), ("b", 0.4)))
    ]
    return [row | columns for row in made]


def spoken(cell):
    """Return the words of one cell."""
    frame = pd.DataFrame(rows())
    frame["text"] = pd.Series([cell] * len(frame), dtype=object)
    found = Words(ScoreTable.from_frame(frame)).of(["p0"])
    return found["p0"].texts["a"] if found else None


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("role", ["prompt", "text", "raw", "response"])
def test_messages_of_a_chat_are_words_in_every_kind_of_file(tmp_path, suffix, role):
    """A list of messages in Parquet reads as the same list in JSON Lines, and the page shows it."""
    path = tmp_path / f"scores.{suffix}"
    if suffix == "parquet":
        # Older versions of pyarrow sort the fields of a mapping whose type nobody states.
        messages = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
        table = pa.Table.from_pylist(rows())
        parquet.write_table(table.append_column(role, pa.array([CHAT] * len(table), messages)), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(**{role: CHAT})), encoding="utf-8")
    found = Words(ScoreTable.read(path)).of(["p0"])["p0"]
    words = {"prompt": found.prompt, "raw": found.raw.get(("judge", "a"))}.get(role, found.texts.get("a"))
    assert words == json.dumps(CHAT)
    bw.audit(path).to_html(tmp_path / "page.html")
    assert "Be brief." in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ([1, "b"], '[1, "b"]'),
        ((1, None), "[1, null]"),
        ([], "[]"),
        ({}, "{}"),
        (np.array([{"n": np.int64(3), "of": np.array(["a", "b"])}], dtype=object), '[{"n": 3, "of": ["a", "b"]}]'),
        (np.array([None]), "[null]"),
        ({"at": pd.Timestamp("2020-01-01")}, '{"at": "2020-01-01 00:00:00"}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        ("", ""),
        (1.5, "1.5"),
        (None, None),
        (float("nan"), None),
        (pd.NA, None),
    ],
    ids=repr,
)
def test_a_cell_is_missing_only_where_it_is_one_value_that_is_missing(cell, words):
    """Lists and mappings are words, empty ones too; None and NaN are none."""
    assert spoken(cell) == words


def test_a_list_that_holds_itself_is_shortened():
    """What JSON cannot hold is shown as far as it goes."""
    loop = []
    loop.append(loop)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert "..." in spoken(loop)
    assert "..." in spoken(deep)


BROKEN = ["caf\u00e9", None, "x", "half \ud83d"] * 6

COLUMNS = {
    "objects": pd.Series(BROKEN, dtype=object),
    "strings": pd.array(BROKEN, dtype=pd.StringDtype("python")),
    "categories": pd.Categorical.from_codes(
        [0, -1, 1, 2] * 6, pd.Index(["caf\u00e9", "x", "half \ud83d"], dtype=object)
    ),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_stratum_that_is_no_text_is_refused_with_its_row(column):
    """Half a surrogate pair in any kept column is one line with row, column and remedy."""
    frame = pd.DataFrame(rows()).assign(topic=column)
    with pytest.raises(RowError, match=r"^table, row 3: 'topic' holds what is not text \(write valid Unicode\)$"):
        ScoreTable.from_frame(frame)


def test_the_name_of_a_stratum_that_is_no_text_is_refused():
    """A column whose name is half a surrogate pair is one line, the name written out in it."""
    frame = pd.DataFrame(rows(topic="x"))
    frame.columns = pd.Index([*frame.columns[:-1], "t\ud800"], dtype=object)
    with pytest.raises(ColumnError, match=r"column 't\\ud800' is not text"):
        ScoreTable.from_frame(frame)
