"""Every way to spoil a file, and the one line that answers it."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import ColumnError, FileError, InputError, RowError, UsageError
from bonwise.table.opening import join_labels
from bonwise.table.panel import lay_out
from bonwise.table.reading import read_raw
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable
from bonwise.table.text_files import LONGEST_LINE

HEADER = "prompt_id,candidate,judge_score,oracle_label\n"
GOOD = HEADER + "p1,a,0.5,1\np1,b,0.25,0\np2,a,0.5,0\np2,b,0.75,1\n"
HUGE = "x" * 1_000_000
RECORD = {"prompt_id": "p1", "candidate": "a", "judge_score": 0.5}
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def parquet_bytes():
    """Return the bytes of a small Parquet file."""
    return pd.DataFrame({"prompt_id": ["p"]}).to_parquet()


def lines(*records):
    """Return records as JSONL."""
    return "".join(json.dumps(record) + "\n" for record in records)


def refused(call, path, kind, *says):
    """Assert the one line: of its kind, printable, short, naming the file, with a remedy."""
    with pytest.raises(InputError) as caught:
        call()
    error, text = caught.value, str(caught.value)
    assert type(error) is kind, text
    assert text.isprintable(), ascii(text)
    assert len(text) < 700 + len(str(path))
    assert error.hint
    assert error.message.startswith(str(path))
    for words in says:
        assert words in text, text


SPOILT = {
    "empty": ("s.csv", "", FileError, ["the file is empty"]),
    "empty jsonl": ("s.jsonl", "", FileError, ["the file is empty"]),
    "empty parquet": ("s.parquet", "", FileError, ["the file is empty"]),
    "empty gzip": ("s.csv.gz", gzip.compress(b""), FileError, ["the file is empty"]),
    "zero bytes of gzip": ("s.csv.gz", b"", FileError, ["the file is empty"]),
    "mark only": ("s.csv", b"\xef\xbb\xbf", FileError, ["no header and no rows"]),
    "blank lines only": ("s.csv", "\n\n \n", FileError, ["no header and no rows"]),
    "blank lines only jsonl": ("s.jsonl", "\n\n", FileError, ["no rows"]),
    "header only": ("s.csv", HEADER, FileError, ["no rows"]),
    "header and blank rows": ("s.csv", HEADER + ",,,\n\n", FileError, ["no rows"]),
    "missing column": (
        "s.csv",
        "prompt_id,judge_score\np,1\n",
        ColumnError,
        ["no column for candidate", "--candidate-col"],
    ),
    "missing score": (
        "s.csv",
        "prompt_id,candidate,judge\np,a,1\n",
        ColumnError,
        ["no column for judge_score", "--score-col"],
    ),
    "alias of text": (
        "s.csv",
        "prompt_id,candidate,score\np,a,high\n",
        ColumnError,
        ["'score' would fit, but row 2 holds text"],
    ),
    "text in a score": ("s.csv", GOOD.replace("0.25", "good"), RowError, ["row 3: judge_score holds 'good'"]),
    "text in a label": (
        "s.jsonl",
        lines(RECORD, {**RECORD, "oracle_label": "good"}),
        RowError,
        ["row 2: oracle_label holds 'good'"],
    ),
    "list in a score": (
        "s.jsonl",
        lines({**RECORD, "judge_score": ["x"]}),
        RowError,
        ["row 1: judge_score holds '[\"x\"]'"],
    ),
    "infinite": ("s.csv", GOOD.replace("0.25", "inf"), RowError, ["row 3", "infinite"]),
    "minus infinite": ("s.csv", GOOD.replace("0.25", "-Infinity"), RowError, ["row 3", "infinite"]),
    "infinity of JSON": ("s.jsonl", lines({**RECORD, "judge_score": float("inf")}), RowError, ["row 1", "infinite"]),
    "beyond floats": ("s.jsonl", lines({**RECORD, "judge_score": 10**400}), RowError, ["row 1", "infinite"]),
    "too large": ("s.csv", GOOD.replace("0.25", "1e300"), RowError, ["row 3", "too large"]),
    "too small": (
        "s.csv",
        GOOD.replace("0.5", "5e-160").replace("0.25", "0").replace("0.75", "0"),
        RowError,
        ["row 2", "too small to square", "larger unit"],
    ),
    "too many digits": (
        "s.jsonl",
        '{"judge_score": ' + "9" * 5000 + "}\n",
        RowError,
        ["row 1: a number with too many digits"],
    ),
    "duplicate": (
        "s.csv",
        GOOD + "p1,a,0.5,1\n",
        RowError,
        ["row 6: 'p1' / 'a' is scored again", "first in row 2", "draw"],
    ),
    "duplicate id 1.0": (
        "s.jsonl",
        lines({**RECORD, "prompt_id": 1}, {**RECORD, "prompt_id": "1"}),
        RowError,
        ["row 2: '1' / 'a'"],
    ),
    "duplicate draw": (
        "s.csv",
        "prompt_id,candidate,judge_score,draw\np,a,1,1\np,a,1,1.0\n",
        RowError,
        ["row 3", "again"],
    ),
    "blank prompt_id": ("s.csv", GOOD.replace("p2,a", ",a"), RowError, ["row 4: no prompt_id"]),
    "null candidate": ("s.jsonl", lines(RECORD, {**RECORD, "candidate": None}), RowError, ["row 2: no candidate"]),
    "null as judge": ("s.jsonl", lines({**RECORD, "judge": None}), RowError, ["row 1: no judge"]),
    "object as prompt_id": (
        "s.jsonl",
        lines(RECORD, {**RECORD, "prompt_id": {"id": 1}}),
        RowError,
        ["row 2: the prompt_id is an object or a list: ", "write it as text"],
    ),
    "list as candidate": (
        "s.jsonl",
        lines({**RECORD, "candidate": ["a"]}),
        RowError,
        ["row 1: the candidate is an object or a list"],
    ),
    "a key twice": (
        "s.jsonl",
        lines(RECORD) + '{"prompt_id": "p", "candidate": "b", "judge_score": 1, "judge_score": 0}\n',
        RowError,
        ["row 2: the key 'judge_score' occurs twice in one object"],
    ),
    "Parquet as csv": ("s.csv", parquet_bytes, FileError, ["line 2: a NUL byte", "binary"]),
    "PNG as csv": ("s.csv", PNG, FileError, ["line 3: a NUL byte"]),
    "PNG as jsonl": ("s.jsonl", PNG, FileError, ["line 3: a NUL byte"]),
    "gzip bytes as csv": ("s.csv", gzip.compress(GOOD.encode()), FileError, ["line 1"]),
    "text as parquet": ("s.parquet", GOOD, FileError, ["not a Parquet file"]),
    "cut parquet": ("s.parquet", lambda: parquet_bytes()[:-20], FileError, ["not a Parquet file"]),
    "no letter of Windows-1252": (
        "s.csv",
        GOOD.replace("p2,b", "p\x81,b").encode("latin-1"),
        FileError,
        ["line 5: not UTF-8 (byte 0x81)"],
    ),
    "damaged UTF-8": ("s.csv", GOOD.encode() + b"\xe9,\xc3\xa9,1,1\n", FileError, ["line 6: not UTF-8 (byte 0xe9)"]),
    "cut UTF-8": ("s.csv", GOOD.encode() + "é".encode()[:1], FileError, ["line 6: not UTF-8"]),
    "cut UTF-16": (
        "s.csv",
        GOOD.encode("utf-16")[:-1],
        FileError,
        ["UTF-16 that ends within a letter", "write it again"],
    ),
    "UTF-16 without mark": ("s.csv", GOOD.encode("utf-16-le"), FileError, ["line 1"]),
    "cut gzip": ("s.csv.gz", lambda: gzip.compress(GOOD.encode())[:-12], FileError, ["not a complete gzip file"]),
    "garbage gzip": ("s.csv.gz", b"garbage", FileError, ["not a complete gzip file"]),
    "cut gzip of parquet": ("s.parquet.gz", lambda: gzip.compress(parquet_bytes())[:-12], FileError, ["gzip"]),
    "flipped gzip": ("s.csv.gz", lambda: gzip.compress(b"a" * 9)[:10] + b"\xff" * 20, FileError, ["gzip"]),
    "too many cells": ("s.csv", GOOD + "p3,a,1,1,9\n", RowError, ["row 6: 5 cells, but the header has 4"]),
    "too many cells at once": ("s.csv", HEADER + "p3,a,1,1,9\n", RowError, ["row 2: 5 cells"]),
    "too few cells": ("s.csv", GOOD + "p3,a,1\n", RowError, ["row 6: 3 cells, but the header has 4"]),
    "one cell": ("s.tsv", "a\tb\nword\n", RowError, ["row 2: 1 cell, but the header has 2"]),
    "open quote": ("s.csv", GOOD + '"p3,a,1,1\np4,a,1,1\n', RowError, ["row 6", "close every quote"]),
    "duplicate names": (
        "s.csv",
        "prompt_id,candidate,judge_score,a,a\np,a,1,1,1\n",
        ColumnError,
        ["two columns are named 'a'"],
    ),
    "array line": ("s.jsonl", lines(RECORD) + "[1, 2]\n", RowError, ["row 2: not a JSON object"]),
    "broken JSON": ("s.jsonl", lines(RECORD) + "\n{'a': 1}\n", RowError, ["row 3: not JSON"]),
    "pretty JSON": (
        "s.jsonl",
        json.dumps([RECORD], indent=1),
        RowError,
        ["row 1: not JSON", "one JSON object per line"],
    ),
    "deep JSON": (
        "s.jsonl",
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n",
        RowError,
        ["row 1: nested too deeply"],
    ),
    "half a surrogate": ("s.jsonl", lines({**RECORD, "prompt_id": "\udc00"}), RowError, ["row 1: half a surrogate"]),
    "a field a line": (
        "s.jsonl",
        lines(*({f"k{i}": 1} for i in range(2100))),
        RowError,
        ["row 2001", "different fields"],
    ),
    "a header of data": ("s.csv", ",".join(map(str, range(3000))) + "\n", ColumnError, ["more than 2,000 columns"]),
    "huge id": ("s.jsonl", lines(*[{**RECORD, "prompt_id": HUGE}] * 2), RowError, ["row 2", "again"]),
    "huge score": ("s.jsonl", lines({**RECORD, "judge_score": HUGE}), RowError, ["row 1", "is not a number"]),
    "huge column name": ("s.jsonl", lines({HUGE: 1}), ColumnError, ["no column for prompt_id"]),
    "huge header": ("s.csv", f"{HUGE[:100_000]},{HUGE[:100_000]}\n1,2\n", ColumnError, ["two columns are named"]),
    "escapes in an id": ("s.jsonl", lines(*[{**RECORD, "prompt_id": "\x1b[31m\n\u202e"}] * 2), RowError, ["row 2"]),
    "escapes in a name": ("s.jsonl", lines({"a\n\x1b[2J": 1}), ColumnError, ["a\\n\\x1b[2J"]),
    "escapes in a score": ("s.jsonl", lines({**RECORD, "judge_score": "\x1b]0;x\x07\u2028"}), RowError, ["row 1"]),
    "propensity 0": (
        "s.csv",
        "prompt_id,candidate,judge_score,propensity\np,a,1,0.5\np,b,1,0\n",
        RowError,
        ["row 3", "(0, 1]"],
    ),
    "propensity 2": ("s.csv", "prompt_id,candidate,judge_score,propensity\np,a,1,2\n", RowError, ["row 2", "(0, 1]"]),
    "low above high": (
        "s.csv",
        "prompt_id,candidate,judge_score,low,high\np,a,1,,1\np,b,1,0.9,0.1\n",
        RowError,
        ["row 3: low lies above high"],
    ),
    "unknown kind": ("s.docx", GOOD, FileError, ["unknown kind of file", ".parquet"]),
    "no ending": ("scores", GOOD, FileError, ["unknown kind of file"]),
    "only .gz": ("s.gz", GOOD, FileError, ["unknown kind of file"]),
}


@pytest.mark.parametrize(("name", "content", "kind", "says"), SPOILT.values(), ids=SPOILT)
def test_a_spoilt_file_is_refused_in_one_line(tmp_path, name, content, kind, says):
    """A spoilt file brings one printable line that names the file, the row and the remedy."""
    path = tmp_path / name
    content = content() if callable(content) else content
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    refused(lambda: ScoreTable.read(path), path, kind, *says)


@pytest.mark.parametrize(
    "name", ["s.csv", "s.jsonl", "s.parquet", "s.csv.gz", "s.xlsx", "no/such/folder/s.csv", "s.csv/x.csv"]
)
def test_an_absent_file_is_named(tmp_path, name):
    """A path that leads nowhere is one line, whatever its ending."""
    (tmp_path / "s.csv.d").mkdir()
    refused(lambda: ScoreTable.read(tmp_path / name), tmp_path / name, FileError, "no such file")


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 5000 + ".csv"])
def test_an_impossible_path_is_one_line(name):
    """A path that no system accepts is answered like any other; only the path itself may be long."""
    with pytest.raises(FileError) as caught:
        ScoreTable.read(name)
    assert str(caught.value).isprintable()
    assert caught.value.hint


def test_control_characters_in_a_file_name_stay_off_the_terminal(tmp_path):
    """A file name with line breaks and terminal escapes is shown escaped, in errors of file, row and label alike."""
    folder = tmp_path / "a\n\x1b[31mb"
    folder.mkdir()
    (folder / "s.csv").write_text(GOOD.replace("0.25", "bad"))
    (folder / "t.csv").write_text(GOOD.replace("oracle_label", "note"))
    (folder / "r.jsonl").write_text("[]\n")
    (folder / "x_responses.jsonl").write_text("{}\n")
    shown = f"{tmp_path}/a\\n\\x1b[31mb"
    refused(lambda: ScoreTable.read(folder / "s.csv"), f"{shown}/s.csv", RowError, "row 3")
    refused(lambda: ScoreTable.read(folder / "r.jsonl"), f"{shown}/r.jsonl", RowError, "row 1")
    refused(lambda: ScoreTable.read(folder / "absent.csv"), f"{shown}/absent.csv", FileError)
    refused(lambda: ScoreTable.read(folder), shown, ColumnError, "no column for prompt_id")
    table = ScoreTable.read(folder / "t.csv")
    refused(lambda: lay_out(table, exclude=["\x1b"]), f"{shown}/t.csv", UsageError, "no candidate named '\\x1b'")
    refused(lambda: join_labels(table, folder / "r.jsonl"), f"{shown}/r.jsonl", RowError)


def test_a_file_name_that_is_no_text_is_shown(tmp_path):
    """A file name of undecodable bytes is escaped, not an encoding error later."""
    path = tmp_path / "a\udcff.csv"
    path.write_text("")
    with pytest.raises(FileError) as caught:
        read_raw(path)
    str(caught.value).encode()


@pytest.fixture
def bytes_read(monkeypatch):
    """Return the number of bytes of each read of a file."""
    sizes = []

    class Counted(io.FileIO):
        def readinto(self, buffer):
            sizes.append(super().readinto(buffer))
            return sizes[-1]

        def readall(self):
            content = super().readall()
            sizes.append(len(content))
            return content

    monkeypatch.setattr("bonwise.table.text_files.open_plain", lambda path: io.BufferedReader(Counted(path)))
    return sizes


def test_a_line_without_end_is_refused_before_its_end(tmp_path, bytes_read):
    """Of a line of 200 MB no more is read than it takes to refuse it."""
    path = tmp_path / "s.jsonl"
    with path.open("wb") as stream:
        stream.write(b"a" * (17 * 2**20))
        stream.truncate(200 * 2**20)
    refused(lambda: ScoreTable.read(path), path, FileError, "line 1: longer than 16 MiB")
    assert LONGEST_LINE < sum(bytes_read) <= LONGEST_LINE + 2 * 2**20


def test_a_sparse_file_is_refused_at_its_beginning(tmp_path, bytes_read):
    """A file of 200 MB of nothing is binary at its first byte."""
    path = tmp_path / "s.csv"
    with path.open("wb") as stream:
        stream.truncate(200 * 2**20)
    refused(lambda: ScoreTable.read(path), path, FileError, "line 1: a NUL byte")
    assert 0 < sum(bytes_read) <= 2 * 2**20


def test_a_record_without_end_is_refused(tmp_path):
    """A quote that is never closed over many lines is one line of error, not a table of one row."""
    path = tmp_path / "s.csv"
    path.write_text(HEADER + '"p1,a,0.5,1\n' + "p1,a,0.5,1\n" * 7_000_000)
    refused(lambda: ScoreTable.read(path), path, FileError, "a row does not end", "close every quote")


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.parquet"])
@pytest.mark.parametrize("becomes", ["gone", "garbage"])
def test_a_file_that_changes_between_check_and_read(tmp_path, monkeypatch, name, becomes):
    """A file that vanishes or is overwritten after its check is still one line of error."""
    path = tmp_path / name
    path.write_text(GOOD)

    def vanish(checked):
        path.unlink() if becomes == "gone" else path.write_bytes(b"\xff\xfe{\x00\n" * 9)

    monkeypatch.setattr("bonwise.table.text_files.check_text", vanish)
    if name == "s.parquet":
        vanish(path)
    with pytest.raises(InputError) as caught:
        ScoreTable.read(path)
    assert str(caught.value).isprintable()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.parquet"])
def test_a_file_that_may_not_be_read(tmp_path, monkeypatch, name):
    """What the operating system refuses is told with its reason."""
    path = tmp_path / name
    path.write_text(GOOD)

    def forbidden(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.open", forbidden)
    refused(lambda: ScoreTable.read(path), path, FileError, "Permission denied")


def test_a_folder_that_may_not_be_read(tmp_path, monkeypatch):
    """A folder that may not be listed is told with the reason."""

    def forbidden(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.iterdir", forbidden)
    refused(lambda: ScoreTable.read(tmp_path), tmp_path, FileError, "Permission denied")


def test_a_folder_without_responses(tmp_path):
    """A folder without response files says which names it looked for."""
    (tmp_path / "scores.csv").write_text(GOOD)
    refused(lambda: ScoreTable.read(tmp_path), tmp_path, FileError, "<policy>_responses.jsonl")


def test_a_folder_with_a_spoilt_file_names_the_file(tmp_path):
    """In a folder the file that is spoilt is named, not only the folder."""
    (tmp_path / "a_responses.jsonl").write_text(lines(RECORD))
    (tmp_path / "b_responses.jsonl").write_text("[]\n")
    refused(lambda: ScoreTable.read(tmp_path), tmp_path / "b_responses.jsonl", RowError, "row 1")
    (tmp_path / "b_responses.jsonl").write_text(lines({**RECORD, "candidate": "b", "judge_score": "x"}))
    refused(lambda: ScoreTable.read(tmp_path), tmp_path, RowError, "row 1 of b_responses.jsonl")
    (tmp_path / "b_responses.jsonl").write_text(lines({**RECORD, "candidate": "c"}))
    refused(lambda: ScoreTable.read(tmp_path), tmp_path / "b_responses.jsonl", ColumnError, "contradicts its name")


FRAMES = {
    "no rows": (pd.DataFrame({"prompt_id": []}), ColumnError, "no rows"),
    "no columns": (pd.DataFrame(index=[1, 2]), ColumnError, "no column for prompt_id"),
    "two of a name": (pd.DataFrame([[1, 2]], columns=["a\n", "a\n"]), ColumnError, "two columns are named 'a\\n'"),
    "lists as ids": (
        pd.DataFrame([{**RECORD, "prompt_id": ["p"]}] * 2),
        RowError,
        "row 0: the prompt_id is an object or a list",
    ),
    "lists as scores": (pd.DataFrame([{**RECORD, "judge_score": ["p"]}]), RowError, "row 0: judge_score"),
    "dates as scores": (pd.DataFrame([{**RECORD, "judge_score": pd.Timestamp("2020-01-01")}]), RowError, "row 0"),
    "missing id": (pd.DataFrame([RECORD, {**RECORD, "prompt_id": pd.NA}]), RowError, "row 1: no prompt_id"),
    "missing float id": (pd.DataFrame([{**RECORD, "prompt_id": np.nan}]), RowError, "row 0: no prompt_id"),
    "complex": (pd.DataFrame([{**RECORD, "judge_score": 1j}]), RowError, "row 0"),
    "infinite": (pd.DataFrame([{**RECORD, "judge_score": -np.inf}]), RowError, "infinite"),
    "masked infinite": (pd.DataFrame([{**RECORD, "judge_score": np.inf}]).convert_dtypes(), RowError, "infinite"),
}


@pytest.mark.parametrize(("frame", "kind", "says"), FRAMES.values(), ids=FRAMES)
def test_a_spoilt_frame_is_refused_in_one_line(frame, kind, says):
    """A DataFrame is refused like a file; its rows count from 0 whatever its index."""
    refused(lambda: ScoreTable.from_frame(frame.set_axis(frame.index + 100)), "table", kind, says)


def test_a_frame_with_half_a_surrogate_is_refused():
    """An identifier that Python holds but nothing could store is refused with its row."""
    frame = pd.DataFrame([RECORD, {**RECORD, "prompt_id": "\ud800"}], dtype=object)
    refused(lambda: ScoreTable.from_frame(frame), "table", RowError, "row 1: a prompt_id that is not text")


SCALES = {
    "score above": ({"judge_scale": Scale(0, 0.7)}, "row 5: judge_score 0.75 lies off the declared scale 0:0.7"),
    "score below": ({"judge_scale": Scale(0.3, 1)}, "row 3: judge_score 0.25"),
    "label above": ({"label_scale": Scale(0, 0.5)}, "row 2: oracle_label 1 lies off the declared scale 0:0.5"),
}


@pytest.mark.parametrize(("scales", "says"), SCALES.values(), ids=SCALES)
def test_a_value_off_its_declared_scale_is_refused(tmp_path, scales, says):
    """A value off the declared scale is an error with its row, not a number outside [0, 1]."""
    path = tmp_path / "s.csv"
    path.write_text(GOOD)
    refused(lambda: ScoreTable.read(path, **scales), path, RowError, says)


def test_a_scale_for_a_stranger_is_refused(tmp_path):
    """A scale declared for a judge that the table lacks is a typing error, and the judges are listed."""
    path = tmp_path / "s.csv"
    path.write_text(GOOD)
    scales = {"gpt\x1b": Scale(0, 1)}
    refused(lambda: ScoreTable.read(path, judge_scale=scales), path, UsageError, "'gpt\\x1b'", "the judges are judge")


@pytest.mark.parametrize(("scores", "labels", "row"), [([0.1, 0.9], [1, 5], 3), ([20, 90], [0.25, 1], 2)])
def test_undeclared_scales_that_differ_are_refused(tmp_path, scores, labels, row):
    """Scores and labels on scales that look different are refused with the flags that settle it."""
    path = tmp_path / "s.csv"
    path.write_text(HEADER + f"p,a,{scores[0]},{labels[0]}\np,b,{scores[1]},{labels[1]}\n")
    table = ScoreTable.read(path)
    refused(table.check_scales, path, RowError, f"row {row}", "--judge-scale", "--label-scale")
    both = {"judge_scale": Scale(0, 100), "label_scale": Scale(0, 5)}
    ScoreTable.read(path, **both).check_scales()
