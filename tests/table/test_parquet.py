"""Parquet: columns of every type are read or refused in one sentence, and limits hold, and can be raised."""

from __future__ import annotations

import datetime as dt
import json
import struct
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from bonwise.doctoring.front import doctor
from bonwise.errors import FileError, InputError, UsageError
from bonwise.table.score_table import ScoreTable

ROWS = 16
SCORES = [(at * 7 % ROWS) / ROWS for at in range(ROWS)]
PLAIN = {
    "prompt_id": pa.array([f"p{at // 4}" for at in range(ROWS)]),
    "candidate": pa.array([f"c{at % 4}" for at in range(ROWS)]),
    "judge_score": pa.array(SCORES),
    "oracle_label": pa.array([float(at % 3 == 0) for at in range(ROWS)]),
}
DAYS = [dt.datetime(2020, 1, 1 + at // 4, tzinfo=dt.UTC) for at in range(ROWS)]
DECIMALS = pa.array([Decimal(str(one)) for one in SCORES], pa.decimal128(10, 4))

COLUMNS = {
    "a list": pa.array([[one] for one in SCORES]),
    "a list of two": pa.array([[one, one] for one in SCORES], pa.list_(pa.float64(), 2)),
    "an empty list": pa.array([[] for _ in SCORES], pa.list_(pa.float64())),
    "a list of lists": pa.array([[[one], []] for one in SCORES]),
    "a struct": pa.array([{"a": one, "b": [one]} for one in SCORES]),
    "a map": pa.array([[("k", one)] for one in SCORES], pa.map_(pa.string(), pa.float64())),
    "a decimal": DECIMALS,
    "a wide decimal": DECIMALS.cast(pa.decimal256(50, 4)),
    "a timestamp": pa.array(DAYS, pa.timestamp("ns")),
    "a timestamp with a zone": pa.array(DAYS, pa.timestamp("us", "UTC")),
    "a date": pa.array([dt.date(2020, 1, 1 + at // 4) for at in range(ROWS)]),
    "a time": pa.array([dt.time(at // 4) for at in range(ROWS)]),
    "a duration": pa.array([dt.timedelta(seconds=at // 4) for at in range(ROWS)]),
    "a dictionary": PLAIN["prompt_id"].dictionary_encode(),
    "a dictionary of numbers": PLAIN["judge_score"].dictionary_encode(),
    "a dictionary of decimals": DECIMALS.dictionary_encode(),
    "bytes": pa.array([f"p{at // 4}".encode() for at in range(ROWS)]),
    "nothing": pa.nulls(ROWS),
}


def written(path, **columns):
    """Write a table of scores with other columns, and return the path."""
    parquet.write_table(pa.table({**PLAIN, **columns}), path)
    return path


@pytest.mark.parametrize("role", [*PLAIN, "extra"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_type_is_read_or_refused(tmp_path, kind, role):
    """By the reader and by the doctor, who looks at every column."""
    path = written(tmp_path / "s.parquet", **{role: COLUMNS[kind]})
    for call in (ScoreTable.read, doctor):
        refused = _refusal(call, path)
        assert refused is None or (str(path) in refused and refused.isprintable()), refused
        assert role != "extra" or refused is None, refused


def _refusal(call, path):
    try:
        call(str(path))
    except InputError as error:
        return str(error)
    return None


def test_decimals_and_dictionaries_are_what_they_hold(tmp_path):
    """A score of a decimal or a dictionary is the same score."""
    plain = ScoreTable.read(written(tmp_path / "plain.parquet")).frame["judge_score"].tolist()
    for kind in ("a decimal", "a wide decimal", "a dictionary of numbers", "a dictionary of decimals"):
        table = ScoreTable.read(written(tmp_path / "s.parquet", judge_score=COLUMNS[kind]))
        assert table.frame["judge_score"].tolist() == plain


def _many_rows(path):
    written(path)


def _long_cell(path):
    written(path, note=pa.array(["x" * (2**20 + 1)] + [""] * (ROWS - 1)))


def _much_text(path):
    indices = pa.array([0] * 200_000, pa.int32())
    note = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 5_000]))
    parquet.write_table(pa.table({"note": note}), path)


def _lists(path):
    parquet.write_table(pa.table({"prompt_id": pa.array([[0.0] * 10_000] * 50)}), path)


def _deep(path):
    document = json.loads("[" * 70 + "]" * 70)
    path.write_text(json.dumps([{"prompt_id": "p", "candidate": c, "judge_score": 1, "x": document} for c in "ab"]))


LIMITS = {
    "rows": ("s.parquet", _many_rows, "MOST_ROWS", "15", "16 rows, and at most 15 are read"),
    "columns": ("s.parquet", _many_rows, "MOST_COLUMNS", "3", "4 columns, and at most 3 are read"),
    "values in lists": ("s.parquet", _lists, "MOST_CELLS", "499999", "500,000 cells"),
    "a cell": ("s.parquet", _long_cell, "LONGEST_LINE", str(2**20), "'note' holds a cell of more than 1 MiB"),
    "text": ("s.parquet", _much_text, "MOST_BYTES", "999999999", "grows to more text than is read"),
    "nesting": ("s.json", _deep, "DEEPEST", "64", "nested deeper than 64 levels"),
}


@pytest.mark.parametrize("what", LIMITS)
def test_a_limit_is_said_and_can_be_raised(tmp_path, monkeypatch, what):
    """The refusal names the variable, and a higher number in it lifts the refusal."""
    name, write, variable, most, said = LIMITS[what]
    path = tmp_path / name
    write(path)
    monkeypatch.setenv(f"BONWISE_{variable}", most)
    with pytest.raises(InputError, match=said) as refused:
        ScoreTable.read(path)
    assert f"BONWISE_{variable}" in str(refused.value)
    monkeypatch.setenv(f"BONWISE_{variable}", str(10**10))
    assert f"BONWISE_{variable}" not in (_refusal(ScoreTable.read, path) or "")


def _text(values, *, long=False):
    """Return bytes that pass for text."""
    held = pa.array(values, pa.large_binary() if long else pa.binary())
    return pa.Array.from_buffers(pa.large_string() if long else pa.string(), len(values), held.buffers())


OTHER = [b"\xff\xfe" + bytes([at // 4]) for at in range(ROWS)]
OTHER_TEXT = {
    "text": _text(OTHER),
    "long text": _text(OTHER, long=True),
    "a list": pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), _text(OTHER)),
    "a struct": pa.StructArray.from_arrays([_text(OTHER)], ["x"]),
    "a dictionary": pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), _text(OTHER[:1])),
    "the last cell": _text([b"a"] * (ROWS - 1) + [b"\xc3"]),
}


@pytest.mark.parametrize("role", ["prompt_id", "candidate", "extra"])
@pytest.mark.parametrize("kind", OTHER_TEXT)
@pytest.mark.parametrize("stored", [True, False], ids=["each text once", "each cell"])
def test_text_that_is_not_utf_8_is_refused_by_its_column(tmp_path, kind, role, stored):
    """By the reader and by the doctor, in one sentence."""
    path = tmp_path / "s.parquet"
    parquet.write_table(pa.table({**PLAIN, role: OTHER_TEXT[kind]}), path, use_dictionary=stored)
    for call in (ScoreTable.read, doctor):
        assert _refusal(call, path) == f"{path}: '{role}' is not UTF-8 (write its text as UTF-8)"


def nested(levels, repetition):
    """Return a Parquet file without rows, of one column in so many groups; no library writes such a footer."""

    def number(value):
        coded = b""
        while value > 127:
            coded, value = coded + bytes([value & 127 | 128]), value >> 7
        return coded + bytes([value])

    root = b"\x48\x01s\x15\x02\x00"  # name s, one child
    group = b"\x35" + number(2 * repetition) + b"\x18\x01g\x15\x02\x00"
    leaf = b"\x15\x02\x25\x02\x18\x01x\x00"  # an optional whole number x
    schema = b"\xfc" + number(levels + 2) + root + group * levels + leaf
    footer = b"\x15\x02\x19" + schema + b"\x16\x00\x19\x0c\x00"  # version 1, schema, no rows, no groups of rows
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


DEPTHS = [30, 1_000, 9_000, 50_000, 1_000_000]


def test_a_schema_of_any_depth_is_refused(tmp_path):
    """In a process of its own: a decoder that follows it takes the interpreter down."""
    files = [(levels, tmp_path / f"{levels}-{kind}.parquet", kind) for levels in DEPTHS for kind in range(3)]
    for levels, path, kind in files:
        path.write_bytes(nested(levels, kind))
    words = [[command, str(path)] for _, path, _ in files for command in ("audit", "doctor")]
    code = f"from bonwise.cli.entry import run\nfor words in {words!r}: print(run(words), flush=True)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["2"] * len(words)
    lines = ended.stderr.splitlines()
    assert len(lines) == len(words)
    for (command, path), line in zip(words, lines, strict=True):
        shallow = "no rows (check that whatever wrote it has finished)"
        deep = "columns nested too deep, or too many row groups (write columns of plain values)"
        assert line == f"bonwise: {path}: {shallow if '/30-' in path else deep}", command


def test_eight_million_rows_of_a_dictionary_are_refused_at_once(tmp_path):
    """What would take minutes is refused before it is read."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 8_000_000, pa.int8()), pa.array(["x" * 1000]))
    parquet.write_table(pa.table(dict.fromkeys(PLAIN, column)), tmp_path / "s.parquet")
    with pytest.raises(FileError, match="8,000,000 rows, and at most 5,000,000 are read"):
        ScoreTable.read(tmp_path / "s.parquet")


@pytest.mark.parametrize("text", ["0", "-1", "many", "1e9", "9" * 400])
def test_a_limit_that_means_nothing_is_refused(tmp_path, monkeypatch, text):
    """The variable is named."""
    monkeypatch.setenv("BONWISE_MOST_ROWS", text)
    with pytest.raises(UsageError, match="BONWISE_MOST_ROWS is"):
        ScoreTable.read(written(tmp_path / "s.parquet"))
