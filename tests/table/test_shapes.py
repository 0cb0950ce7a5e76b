"""Shapes that people's data has: a table written in any of them and read back is the same table."""

from __future__ import annotations

import csv
import json
import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.errors import BonwiseError, ColumnError, RowError, UsageError
from bonwise.table import nested, row_labels
from bonwise.table.opening import open_table
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import Rows

NAMES = ("alpha", "beta", "gamma")


@st.composite
def tables(draw):
    """Draw scores and labels by prompt and candidate, as whole numbers that differ somewhere."""
    prompts, names = [f"q{at}" for at in range(draw(st.integers(3, 5)))], NAMES[: draw(st.integers(2, 3))]
    values = st.integers(0, 9)
    cells = {(prompt, name): (draw(values), draw(values)) for prompt in prompts for name in names}
    cells[prompts[0], names[0]], cells[prompts[0], names[1]] = (1, 0), (2, 3)
    return cells


def write(path, records):
    """Write records as the ending of the path says."""
    if path.suffix == ".parquet":
        pd.DataFrame(records).to_parquet(path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    elif path.suffix == ".json":
        path.write_text(json.dumps(records), "utf-8")
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def long(cells):
    """Return a row per candidate."""
    return [
        {"prompt_id": prompt, "candidate": name, "judge_score": score, "oracle_label": label}
        for (prompt, name), (score, label) in cells.items()
    ]


def by_prompt(cells):
    """Return the candidates of each prompt: name, score and label."""
    grouped = {}
    for (prompt, name), (score, label) in cells.items():
        grouped.setdefault(prompt, []).append((name, score, label))
    return grouped


def of_ending(ending):
    """Return the writer of long tables in a kind of file."""
    return lambda folder, cells: (write(folder / f"t{ending}", long(cells)), {})


def objects_of_objects(folder, cells):
    """Write objects of candidates within an object of prompts."""
    inner = {
        prompt: {name: {"judge_score": score, "oracle_label": label} for name, score, label in rows}
        for prompt, rows in by_prompt(cells).items()
    }
    return write(folder / "t.json", inner), {}


def nested_objects(folder, cells):
    """Write values within objects, which paths name."""
    records = [
        {"q": p, "system": n, "judge": {"scores": {"all": s}}, "people": [{"label": x}]}
        for (p, n), (s, x) in cells.items()
    ]
    columns = {"prompt_id": "q", "judge_score": "judge.scores.all", "oracle_label": "people[0].label"}
    return write(folder / "t.jsonl", records), {"columns": columns}


def column_per_candidate(folder, cells):
    """Write a row per prompt."""
    records = [
        {"prompt_id": p, **{f"{n}_score": s for n, s, _ in rows}, **{f"{n}_label": x for n, _, x in rows}}
        for p, rows in by_prompt(cells).items()
    ]
    return write(folder / "t.csv", records), {}


def columns_of_metrics(folder, cells):
    """Write several metrics per row, of which one is chosen."""
    records = [
        {"prompt_id": p, "candidate": n, "fluency": 1, "overall": s, "human": x} for (p, n), (s, x) in cells.items()
    ]
    return write(folder / "t.csv", records), {"columns": {"judge_score": "overall"}}


def lists(ending):
    """Return the writer of lists in cells, of CSV as JSON text."""

    def writer(folder, cells):
        as_cell = json.dumps if ending == ".csv" else list
        records = [
            {
                "prompt_id": p,
                **{
                    k: as_cell(v)
                    for k, v in zip(("models", "scores", "labels"), zip(*rows, strict=True), strict=True)
                },
            }
            for p, rows in by_prompt(cells).items()
        ]
        return write(folder / f"t{ending}", records), {}

    return writer


def completions(folder, cells):
    """Write a list of objects per prompt."""
    records = [
        {
            "prompt_id": p,
            "completions": [{"model": n, "score": s, "human_label": x, "response": n} for n, s, x in rows],
        }
        for p, rows in by_prompt(cells).items()
    ]
    return write(folder / "t.jsonl", records), {}


def draws(folder, cells):
    """Write three draws in a cell, whose mean is the score."""
    records = [{**row, "judge_score": [row["judge_score"] + d for d in (-1, 0, 1)]} for row in long(cells)]
    return write(folder / "t.jsonl", records), {}


def joined(folder, cells):
    """Write labels of their own, shuffled, that an id joins."""
    rows = [{"uid": f"u{at}", **row} for at, row in enumerate(long(cells))]
    labels = write(folder / "l.csv", [{"uid": row["uid"], "human": row.pop("oracle_label")} for row in rows][::-1])
    return write(folder / "t.csv", rows), {"labels": labels, "join_col": "uid"}


def by_line(folder, cells):
    """Write labels of their own in the order of the scores."""
    rows = long(cells)
    labels = write(folder / "l.csv", [{"human": row.pop("oracle_label")} for row in rows])
    return write(folder / "t.csv", rows), {"labels": labels, "by_line": True}


def by_text(folder, cells):
    """Write labels that the texts of prompt and response join."""
    rows = [{**row, "response": f"{row['candidate']} says, {row['prompt_id']}"} for row in long(cells)]
    labels = [{"response": row["response"], "gold": row.pop("oracle_label")} for row in rows]
    return write(folder / "t.csv", rows), {"labels": write(folder / "l.jsonl", labels), "join_col": ["response"]}


SHAPES = {
    **{f"long{ending}": of_ending(ending) for ending in (".csv", ".jsonl", ".json", ".parquet")},
    **{f"lists{ending}": lists(ending) for ending in (".jsonl", ".csv")},
    "objects of objects": objects_of_objects,
    "nested objects": nested_objects,
    "a column per candidate": column_per_candidate,
    "metrics": columns_of_metrics,
    "completions": completions,
    "draws in a cell": draws,
    "joined by id": joined,
    "joined by line": by_line,
    "joined by text": by_text,
}


def read(path, options):
    """Return score and label of each candidate as they are read."""
    table = open_table(path, ReadingOptions(**options))
    frame = table.frame
    return {
        (row.prompt_id, row.candidate): (row.judge_score, row.oracle_label) for row in frame.itertuples(index=False)
    }


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=8)
@given(cells=tables())
def test_a_table_in_any_shape_is_the_same_table(tmp_path_factory, shape, cells):
    """Whatever a table is written as, prompts, candidates, scores and labels are read back."""
    path, options = SHAPES[shape](tmp_path_factory.mktemp("shape"), cells)
    assert read(path, options) == cells


@settings(max_examples=15)
@given(cells=tables())
def test_both_orders_of_a_pair_are_the_same_pair(tmp_path_factory, cells):
    """The second order is turned round where it lists places, is taken as it stands otherwise, and asked about."""
    rows = {prompt: rows[:2] for prompt, rows in by_prompt(cells).items()}
    folder = tmp_path_factory.mktemp("pairs")
    for order, step in (("turned", -1), ("as-named", 1)):
        records = [
            {
                "id": p,
                "response_A": "x",
                "response_B": "y",
                "label": "A>B" if one[2] > other[2] else "B>A",
                "runs": [{"s": [one[1], other[1]]}, {"s": [one[1], other[1]][::step]}],
            }
            for p, (one, other) in rows.items()
        ]
        path = write(folder / "t.jsonl", records)
        columns = {"prompt_id": "id", "judge_score": ["runs[0].s", "runs[1].s"]}
        found = read(path, {"columns": columns, "second_order": order})
        for p, (one, other) in rows.items():
            won = float(one[2] > other[2])
            assert found[p, "A"] == (one[1], won)
            assert found[p, "B"] == (other[1], 1 - won)
        with pytest.raises(UsageError, match="two orders of one judge"):
            read(path, {"columns": columns})


@pytest.mark.parametrize("score", [1, [1, 2], [[1, 2]]])
def test_a_second_order_of_what_has_none_is_refused(tmp_path, score):
    """One column of scores, two of plain scores, draws, and a table that is read: nothing is turned."""
    rows = [{"prompt_id": p, "candidate": c, "s1": score, "s2": score} for p in "pq" for c in "xy"]
    for columns in ("s1", "s1, s2"):
        with pytest.raises((UsageError, ColumnError), match=r"--second-order is of two columns|draws of several"):
            read(write(tmp_path / "t.jsonl", rows), {"columns": {"judge_score": columns}, "second_order": "turned"})
    if score == 1:
        for table in (
            rows,
            ScoreTable.read(tmp_path / "t.jsonl", columns={"judge_score": "s1", "oracle_label": "s2"}),
        ):
            with pytest.raises(UsageError, match=r"--second-order is of two columns|is read is fixed"):
                open_table(table, ReadingOptions(second_order="as-named"))


def test_a_row_with_scores_of_one_order_is_counted(tmp_path):
    """Its candidates count with that order; a cell that is no list of numbers is named by its row."""
    pair = {"response_A": "x", "response_B": "y", "label": "A>B"}
    rows = [{"id": f"p{at}", **pair, "s1": [at, 2], "s2": [1, at]} for at in range(3)]
    options = {"columns": {"prompt_id": "id", "judge_score": ["s1", "s2"]}, "second_order": "turned"}
    whole = open_table(write(tmp_path / "t.jsonl", rows), ReadingOptions(**options))
    assert "order only" not in whole.readings["file"]
    lacking = write(tmp_path / "n.jsonl", [rows[0], {**rows[1], "s2": None}, {**rows[2], "s1": [None, 2]}])
    assert (
        "; 2 of 3 rows have scores of one order only;"
        in open_table(lacking, ReadingOptions(**options)).readings["file"]
    )
    damaged = write(tmp_path / "d.jsonl", [rows[0], rows[1], {**rows[2], "s1": ["a", 2]}])
    with pytest.raises(RowError, match=r"row 3: 's1' is no list of numbers: '\[\"a\", 2\]'"):
        read(damaged, options)


def test_keys_at_several_candidates_are_counted(tmp_path):
    """A label of a key is that of each candidate that has it; draws of one candidate are one candidate."""
    rows = [{"prompt_id": p, "candidate": c, "judge_score": 1, "uid": f"{p}{c}"} for p in "pq" for c in "ab"]
    labels = write(tmp_path / "l.csv", [{"uid": row["uid"], "human": 1} for row in rows])
    options = ReadingOptions(labels=labels, join_col="uid")
    draws = write(tmp_path / "d.csv", [{**row, "draw": draw} for row in rows for draw in (1, 2)])
    assert "several candidates" not in open_table(draws, options).readings["file"]
    shared = write(tmp_path / "s.csv", [*rows[:3], {**rows[3], "uid": "pa"}])
    assert "; 1 of 3 keys stand at several candidates each" in open_table(shared, options).readings["file"]


@settings(max_examples=25)
@given(cells=tables(), data=st.data())
def test_joined_files_never_join_wrongly_in_silence(tmp_path_factory, cells, data):
    """Shuffled, missing and doubled keys: a label is that of its key, missing ones are counted."""
    folder, rows = tmp_path_factory.mktemp("joined"), long(cells)
    truth = {f"u{at}": row.pop("oracle_label") for at, row in enumerate(rows)}
    keys = data.draw(st.permutations([*truth, "strange"]))[: data.draw(st.integers(2, len(truth) + 1))]
    doubled = data.draw(st.booleans())
    labels = [{"uid": key, "human": truth.get(key, 5)} for key in [*keys, *(keys[:1] if doubled else [])]]
    scores = write(folder / "t.csv", [{"uid": f"u{at}", **row} for at, row in enumerate(rows)])
    options = {"labels": write(folder / "l.csv", labels), "join_col": "uid"}
    if doubled:
        with pytest.raises(RowError, match="stands here again"):
            read(scores, options)
        return
    table = open_table(scores, ReadingOptions(**options))
    found = dict(zip(truth, table.frame["oracle_label"], strict=True))
    for key, label in found.items():
        assert label == truth[key] if key in keys else np.isnan(label)
    joined_rows = len({*keys} & {*truth})
    assert f"{joined_rows} of {len(truth)} rows have a label" in table.readings["file"]
    assert ("match none" in table.readings["file"]) is ("strange" in keys)
    if len(labels) != len(rows):
        with pytest.raises(RowError, match="do not belong together line by line"):
            read(scores, {"labels": options["labels"], "by_line": True})


def test_lines_that_say_two_things_do_not_belong_together(tmp_path):
    """A column of both files has to agree in every row by line; blanks and ways to write a number do not matter."""
    rows = [{"prompt_id": p, "candidate": c, "judge_score": 1, "uid": f"{p}{c}"} for p in (1, 2) for c in "ab"]
    keys = [{"prompt_id": float(row["prompt_id"]), "uid": row["uid"], "human": at} for at, row in enumerate(rows)]
    scores, labels = (
        write(tmp_path / "t.csv", rows),
        write(tmp_path / "l.jsonl", [{**keys[0], "uid": None}, *keys[1:]]),
    )
    assert [*read(scores, {"labels": labels, "by_line": True}).values()] == [(1, at) for at in range(4)]
    swapped = write(tmp_path / "s.jsonl", [keys[0], keys[2], keys[1], keys[3]])
    with pytest.raises(RowError, match=r"row 3 of .*t.csv has '1' in 'prompt_id', and row 2 of .*s.jsonl '?2.0'?:"):
        read(scores, {"labels": swapped, "by_line": True})
    turned = write(tmp_path / "r.csv", [{"uid": row["uid"], "human": 1} for row in keys[::-1]])
    with pytest.raises(RowError, match=r"has '1a' in 'uid', .* '2b': .*--join-col NAME"):
        read(scores, {"labels": turned, "by_line": True})


def test_keys_in_two_unicode_forms_are_named(tmp_path):
    """A text that two files write in two forms of Unicode matches nowhere, and is named."""
    names = [unicodedata.normalize(form, "caf\u00e9") for form in ("NFC", "NFD")]
    rows = [
        {"uid": f"{names[0]} {p}{c}", "prompt_id": p, "candidate": c, "judge_score": 1} for p in "pq" for c in "ab"
    ]
    scores = write(tmp_path / "t.csv", rows)
    labels = write(tmp_path / "l.csv", [{"uid": f"{names[1]} {p}{c}", "human": 1} for p in "pq" for c in "ab"])
    with pytest.raises(RowError, match="two Unicode forms"):
        read(scores, {"labels": labels, "join_col": "uid"})
    assert row_labels.unlike_in_form([names[0]], ["cafe"]) is None


def test_labels_join_one_way(tmp_path):
    """By columns or by line, of labels that are given; a key that is not there is named."""
    with pytest.raises(UsageError, match="join labels, and none are given"):
        ReadingOptions(by_line=True)
    with pytest.raises(UsageError, match="by columns or by line"):
        ReadingOptions(labels=tmp_path, by_line=True, join_col="x")
    with pytest.raises(UsageError, match="second_order is 'twisted'"):
        ReadingOptions(second_order="twisted")
    rows = [{"prompt_id": p, "candidate": c, "judge_score": 1} for p in "pq" for c in "ab"]
    with pytest.raises(ColumnError, match="no column named 'uid' to join by"):
        read(rows, {"labels": [{"uid": "a", "human": 1}], "join_col": "uid"})


def test_a_path_goes_where_it_says():
    """Keys and places lead to a value, in objects and in JSON text; what is not there is no column."""
    rows = Rows.of_records([{"a": '{"b": [1, {"c": 2}]}', "a.b": 7}, {"a": '{"b": [3]}', "a.b": 8}])
    found = nested.with_paths(rows, {"judge_score": "a.b[1].c", "oracle_label": "a.b", "judge": "a.x, a.b[0]"})
    assert found.columns["a.b[1].c"].to_numpy().tolist() == [2, None]
    assert found.columns["a.b[0]"].to_numpy().tolist() == [1, 3]
    assert found.columns["a.b"].to_numpy().tolist() == [7, 8]
    assert "a.x" not in found.columns
    assert [*nested.leaves(rows)] == ["a.b[0]", "a.b[1].c", "a.b"]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_cell_is_walked_or_left_alone(value):
    """Whatever stands in a cell, its values are found without an error of Python."""
    rows = Rows.of_records([{"x": json.dumps(value)}, {"x": value if isinstance(value, str) else "[1]"}])
    for path, column in nested.leaves(rows).items():
        assert len(column) == 2
        assert path.startswith("x")


def test_files_of_scores_with_lists_that_differ_are_refused(tmp_path):
    """Two lists of one row of different lengths, and several lists of draws, are one sentence each."""
    record = {"id": "p", "a": {"s": [1, 2]}, "b": {"s": [1, 2, 3]}}
    path = write(tmp_path / "t.jsonl", [record, {**record, "id": "q"}])
    with pytest.raises(BonwiseError, match="different numbers of scores"):
        read(path, {"columns": {"prompt_id": "id", "judge_score": "a.s, b.s"}})
    rows = [{"prompt_id": p, "candidate": c, "a": [1, 2], "b": [1, 2]} for p in "pq" for c in "xy"]
    with pytest.raises(ColumnError, match="draws of several judges"):
        read(write(tmp_path / "d.jsonl", rows), {"columns": {"judge_score": "a, b"}})
