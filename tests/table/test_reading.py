"""Files read and written, to the byte."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, FileError
from bonwise.table import reading
from bonwise.table.reading import read_raw
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import Texts, objects
from bonwise.table.text_files import json_lines
from bonwise.table.writing import csv_cell, csv_text, plain_cell, refuse_unwritable, write_whole
from bonwise.testing import simulate

ROWS = [
    {"prompt_id": "001", "candidate": 'a, "b"', "judge_score": 0.5, "oracle_label": 1.0, "note": "x\ny"},
    {"prompt_id": "001", "candidate": "ü\u202e🙂", "judge_score": -0.25, "oracle_label": None, "note": "'tis"},
    {"prompt_id": "1", "candidate": "=1+1", "judge_score": 1e-7, "oracle_label": 0.0, "note": ""},
    {"prompt_id": "1", "candidate": "-x", "judge_score": None, "oracle_label": None, "note": " "},
]
FRAME = pd.DataFrame(ROWS)


def as_csv(separator=","):
    """Return the rows as CSV or TSV."""
    return FRAME.to_csv(index=False, sep=separator).encode()


def as_jsonl(rows=ROWS):
    """Return rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def nested(top, below):
    """Return the rows with some fields at the top and some under ``metadata``."""
    return [
        {**{k: row[k] for k in top}, "metadata": {k: row[k] for k in below if row[k] is not None}} for row in ROWS
    ]


FORMATS = {
    "s.csv": as_csv,
    "mark.csv": lambda: b"\xef\xbb\xbf" + as_csv(),
    "crlf.csv": lambda: FRAME.to_csv(index=False, lineterminator="\r\n").encode(),
    "quoted.CSV": lambda: FRAME.to_csv(index=False, quoting=1).encode(),
    "own.csv": lambda: csv_text(list(FRAME), FRAME.astype(object).where(FRAME.notna(), None).to_numpy()).encode(),
    "s.tsv": lambda: as_csv("\t"),
    "s.jsonl": as_jsonl,
    "mark.ndjson": lambda: b"\xef\xbb\xbf" + as_jsonl(),
    "crlf.jsonl": lambda: as_jsonl().replace(b"\n", b"\r\n"),
    "nested.jsonl": lambda: as_jsonl(nested(["prompt_id", "candidate"], ["judge_score", "oracle_label", "note"])),
    "half.jsonl": lambda: as_jsonl([{**row, "oracle_label": None, "metadata": row} for row in ROWS]),
    "s.parquet": FRAME.to_parquet,
    "indexed.parquet": FRAME.set_index("prompt_id").to_parquet,
    "shuffled.pq": lambda: FRAME.set_axis([3, 1, 0, 2]).to_parquet(),
    "dictionary.parquet": FRAME.astype({"prompt_id": "category"}).to_parquet,
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_same_data_is_the_same_table(tmp_path, name, packed):
    """Each format, plain or gzipped, gives the table of the DataFrame, whatever it does to numbers and blanks."""
    content = FORMATS[name]()
    path = tmp_path / (name + (".GZ" if packed else ""))
    path.write_bytes(gzip.compress(content) if packed else content)
    found, expected = ScoreTable.read(path).frame, ScoreTable.from_frame(FRAME).frame
    roles = ["prompt_id", "candidate", "judge", "judge_score", "oracle_label"]
    pd.testing.assert_frame_equal(found[roles].reset_index(drop=True), expected[roles])
    assert list(found["note"].fillna("")) == list(expected["note"])
    assert "metadata" not in found


@pytest.mark.parametrize("blank", ["", "NaN", "nan", "None", "null", "NULL", " ", "n/a", "<NA>"])
def test_every_word_for_nothing_is_no_label(tmp_path, blank):
    """A blank label, or a word for nothing, is not a label in text as in JSON, and so is an absent field."""
    (tmp_path / "s.csv").write_text(f"prompt_id,candidate,judge_score,oracle_label\np,a,1,{blank}\np,b,1,1\n")
    rows = [{"prompt_id": "p", "candidate": c, "judge_score": 1} for c in "abcd"]
    rows[0]["oracle_label"], rows[1]["oracle_label"], rows[2]["oracle_label"] = blank, 1, None
    text = as_jsonl(rows) + b'{"prompt_id": "p", "candidate": "e", "judge_score": 1, "oracle_label": NaN}\n'
    (tmp_path / "s.jsonl").write_bytes(text)
    assert ScoreTable.read(tmp_path / "s.csv").frame["oracle_label"].isna().tolist() == [True, False]
    assert ScoreTable.read(tmp_path / "s.jsonl").frame["oracle_label"].isna().tolist() == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_booleans_are_one_and_zero_in_every_format(tmp_path):
    """A verdict of true or false is 1 or 0, as a word or as a boolean, beside a blank or not."""
    frame = pd.DataFrame({"prompt_id": ["p"] * 3, "candidate": list("abc"), "verdict": [True, False, None]})
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_json(tmp_path / "s.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "s.parquet")
    tables = [ScoreTable.read(tmp_path / name) for name in ("s.csv", "s.jsonl", "s.parquet")]
    for table in [*tables, ScoreTable.from_frame(frame)]:
        np.testing.assert_array_equal(table.frame["judge_score"], [1, 0, np.nan])
        assert table.columns["judge_score"] == "verdict"


def test_one_identifier_in_every_format(tmp_path):
    """The ids 1, 1.0 and "1" are one identifier across files; "001" is another."""
    (tmp_path / "s.csv").write_text("prompt_id,candidate,judge_score\n1.0,1,1\n001,1,1\n")
    (tmp_path / "s.jsonl").write_text('{"prompt_id": 1, "candidate": 1.0, "judge_score": 1}\n')
    assert list(ScoreTable.read(tmp_path / "s.csv").prompts) == ["001", "1"]
    assert list(ScoreTable.read(tmp_path / "s.jsonl").prompts) == ["1"]
    assert list(ScoreTable.read(tmp_path / "s.jsonl").candidates) == ["1"]


def test_rows_are_counted_as_a_spreadsheet_counts_them(tmp_path):
    """In CSV the header is row 1; a quoted line break opens no row, and a blank line is one."""
    path = tmp_path / "s.csv"
    path.write_text('a,b\n1,"x\ny"\n\n  \n,\n2,z\r\n"3\r\n",w\n\n4,v')
    rows = read_raw(path)
    assert rows.index.tolist() == [2, 6, 7, 9]
    assert rows.columns["b"].to_numpy().tolist() == ["x\ny", "z", "w", "v"]


def test_a_header_may_stand_below_blank_lines(tmp_path):
    """Blank lines before the header change the row numbers, not the columns."""
    (tmp_path / "s.csv").write_text("\n,\na,b\n1,2\n")
    assert read_raw(tmp_path / "s.csv").to_frame().to_dict("index") == {4: {"a": "1", "b": "2"}}


def test_jsonl_rows_are_lines(tmp_path):
    """In JSONL the first line is row 1, and blank lines count."""
    (tmp_path / "s.jsonl").write_text('{"a": 1}\n\n{"a": 2}')
    assert read_raw(tmp_path / "s.jsonl").index.tolist() == [1, 3]
    assert list(json_lines(tmp_path / "s.jsonl")) == [(1, {"a": 1}), (3, {"a": 2})]


def test_parquet_rows_count_from_zero(tmp_path):
    """In Parquet rows count from 0 whatever index was written."""
    FRAME.set_axis([9, 8, 7, 6]).to_parquet(tmp_path / "s.parquet")
    rows = read_raw(tmp_path / "s.parquet")
    assert rows.index.tolist() == [0, 1, 2, 3]
    assert list(rows.columns) == list(FRAME)


def test_cells_are_read_as_they_stand(tmp_path):
    """Nothing in a CSV is interpreted while it is read: zeros, blanks and words for nothing stay."""
    (tmp_path / "s.csv").write_text('a,b,c\n001,NA,\n1e5," x",null\n')
    assert read_raw(tmp_path / "s.csv").to_frame().to_numpy().tolist() == [["001", "NA", ""], ["1e5", " x", "null"]]


def test_a_column_without_a_name_is_named_by_its_position(tmp_path):
    """The nameless column that a written index leaves is kept under a name of its own."""
    (tmp_path / "s.csv").write_text(",a,\n0,x,y\n")
    assert list(read_raw(tmp_path / "s.csv").columns) == ["column 1", "a", "column 3"]


def test_the_separator_is_told_by_the_ending(tmp_path):
    """Only the last ending counts: a file named .tsv.csv is comma-separated."""
    (tmp_path / "s.tsv.csv").write_text("a\tb,c\n1,2\n")
    assert list(read_raw(tmp_path / "s.tsv.csv").columns) == ["a\tb", "c"]


def test_long_cells_are_read(tmp_path):
    """A cell of ten megabytes of text, with line breaks, is a cell."""
    long = "word \n" * 1_600_000
    (tmp_path / "s.csv").write_text(f'a,text\n1,"{long}"\n2,x\n')
    assert [*map(len, read_raw(tmp_path / "s.csv").columns["text"].to_numpy())] == [len(long), 1]


def response(prompt, score, label=None, **more):
    """Return one line of a response file."""
    return {"prompt_id": prompt, "prompt": "?", "response": "!", "judge_score": score, "oracle_label": label, **more}


def test_a_folder_of_responses_is_one_table(tmp_path):
    """Each response file is a candidate named by the file, its fields at the top or under metadata."""
    (tmp_path / "base_responses.jsonl").write_bytes(as_jsonl([response(1, 0.5, 1), response(2, 0.25)]))
    below = [{"prompt_id": 1, "metadata": {"judge_score": 0.75, "oracle_label": 0.5, "policy": "x"}}]
    (tmp_path / "clone_responses.jsonl.gz").write_bytes(gzip.compress(as_jsonl(below)))
    (tmp_path / "notes.txt").write_text("not read")
    table = ScoreTable.read(tmp_path)
    assert table.frame["candidate"].tolist() == ["base", "base", "clone"]
    assert table.frame["judge_score"].tolist() == [0.5, 0.25, 0.75]
    np.testing.assert_array_equal(table.frame["oracle_label"], [1, np.nan, 0.5])
    assert table.frame.index.tolist()[2] == "1 of clone_responses.jsonl.gz"
    assert table.strata == ("policy",)


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
FORMULA = st.sampled_from(
    ["=1+1", "+1", "-x", "@x", "\tx", "\rx", "\nx", "'=x", "''-", "'", "''", "' =", "'tis", "-0.5"]
)


@given(st.lists(st.tuples(CELL | FORMULA, CELL | FORMULA), min_size=1))
@example([("=1+1", "@x")])
def test_written_cells_come_back(tmp_path_factory, rows):
    """What csv_text writes, read_raw reads: formulas, quotes, line breaks and all, the header too."""
    path = tmp_path_factory.mktemp("cells") / "s.csv"
    header = ["=a", "'b"]
    path.write_text(csv_text(header, rows), encoding="utf-8", newline="")
    rows = [row for row in rows if "".join(row).strip()]
    if rows:
        found = read_raw(path)
        assert list(found.columns) == header
        assert list(zip(*(column.to_numpy() for column in found.columns.values()), strict=True)) == rows


ENDINGS = st.sampled_from(["s.csv", "s.tsv", "s.jsonl", "s.parquet", "s.csv.gz", "s.jsonl.gz", "s.parquet.gz"])
PIECES = (
    *(b'{"prompt_id": 1, "candidate": "a", "judge_score": 1}', b"prompt_id,candidate,judge_score", b"p,a,1", b"\n"),
    *(b'"', b",", b"\t", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", b"PAR1", b"{", b"[", b"\\ud800", b"NaN", b"1e999"),
)
SNIPPETS = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
CONTENT = st.binary(max_size=64) | SNIPPETS | SNIPPETS.map(gzip.compress)


def read_or_refuse(path):
    """Read a file, or be told in one line why not."""
    try:
        ScoreTable.read(path)
    except BonwiseError as error:
        return str(error)
    return ""


@given(ENDINGS, CONTENT)
def test_random_bytes_are_a_table_or_one_line(tmp_path_factory, name, content):
    """No bytes under any ending bring anything but a table or one printable line."""
    path = tmp_path_factory.mktemp("fuzz") / name
    path.write_bytes(content)
    said = read_or_refuse(path)
    assert said.isprintable()
    assert not said or str(path) in said


PARQUET = pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [0.5, 1.0]}).to_parquet()
PACKED = gzip.compress(b"prompt_id,candidate,judge_score\np,a,1\n" * 3)


def test_parquet_text_that_is_not_utf8_is_refused(tmp_path):
    """A cell of damaged text stops the reading in one line."""
    path = tmp_path / "s.parquet"
    path.write_bytes(
        pd.DataFrame({"prompt_id": ["pqr", "xyz"]}).to_parquet(compression=None).replace(b"pqr", b"p\x80r")
    )
    with pytest.raises(FileError, match="'prompt_id' is not UTF-8"):
        read_raw(path)


@given(st.sampled_from([("s.parquet", PARQUET), ("s.csv.gz", PACKED)]), st.data())
def test_damaged_files_are_a_table_or_one_line(tmp_path_factory, whole, data):
    """A Parquet or gzip file with any one byte changed, or cut anywhere, is read or refused in one line."""
    name, content = whole
    at = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255) | st.none())
    path = tmp_path_factory.mktemp("damage") / name
    path.write_bytes(content[:at] if byte is None else content[:at] + bytes([byte]) + content[at + 1 :])
    assert read_or_refuse(path).isprintable()


SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\t\r\n"


@given(st.text(f"{SIGNS}'ab1", max_size=5) | st.text())
def test_no_text_cell_is_a_formula(text):
    """No text leaves as something a spreadsheet would run, and each comes back as it was."""
    assert str(csv_cell(text))[:1] not in set(SIGNS) or not text or float(text) is not None
    assert plain_cell(csv_cell(text)) == text


@pytest.mark.parametrize("value", [-0.5, np.float64(-0.1), -3, None, True, "", "-0.5", "+3", "-1e-07", "-2E5"])
def test_numbers_are_written_as_they_are(value):
    """A negative number is a number, not a formula, also where it is text of a file."""
    assert csv_cell(value) is value


@pytest.mark.parametrize(
    "text", ["-1+2", "+", "-a", "-1\n", "-.5", "--1", "-1 ", "-\u0661", "-inf", "+nan", "@1", "=1"]
)
def test_what_is_nearly_a_number_is_defused(text):
    """Only digits with a sign, a point and an exponent are left alone."""
    assert csv_cell(text) == f"'{text}"
    assert plain_cell(f"'{text}") == text


def test_a_number_that_was_defused_is_restored():
    """Files that were written before hold such cells."""
    assert plain_cell("'-0.5") == "-0.5"


@given(st.lists(st.tuples(st.text("a,\"\r\n\t' "), st.floats(allow_nan=False)), max_size=5))
def test_csv_text_is_regular_csv(rows):
    """Every row has the cells it was given, line breaks of each kind inside quotes, floats to the bit."""
    text = csv_text(["a", "b"], rows)
    assert text.endswith("\n")
    found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert found[0] == ["a", "b"]
    assert [(plain_cell(a), float(b)) for a, b in found[1:]] == rows


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@given(st.text("a=;\t,' ", min_size=1, max_size=6))
def test_no_separator_of_elsewhere_ends_the_first_cell(separator, text):
    """A spreadsheet that splits rows at semicolons or tabs finds the first cell whole, not a formula behind it."""
    cell, _, rest = csv_text(["id", "score"], [[text, 1]]).split("\n", 1)[1].rpartition(",")
    assert rest == "1\n"
    assert list(map(plain_cell, next(csv.reader([cell], delimiter=separator, strict=True)))) == [text]


def test_a_file_is_replaced_whole(tmp_path):
    """A new file stands where the old one was, with the rights it had, and nothing is left beside it."""
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, "new\r\nü")
    assert path.read_bytes() == "new\r\nü".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["os.open", "os.fdopen", "os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.ESTALE, errno.EDQUOT, errno.EROFS])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, step, number):
    """A disk that fills up or fails costs the new file, not the old one, and leaves no half of either."""
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(step, fail)
    with pytest.raises(FileError, match=rf"out\.csv: {re.escape(os.strerror(number))}"):
        write_whole(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path):
    """Writing to a link writes what it leads to; the link stays one."""
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


SAYS = """
import os, sys
from pathlib import Path
from bonwise.table.writing import refuse_unwritable, write_whole

print("before")
refuse_unwritable(sys.argv[1])
write_whole(Path(sys.argv[1]), ["new ", "\u00fc\\n"])
print("after")
print("error", file=sys.stderr)
"""
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
SAID = "before\nnew \u00fc\nafter\n"


def say(path, **streams):
    """Write to a path between two prints, in a process of its own; return what comes out."""
    command = [sys.executable, "-c", SAYS, path]
    return subprocess.run(command, check=True, timeout=120, encoding="utf-8", env=BUFFERED, **streams).stdout


def test_standard_output_by_its_name_is_a_pipe():
    """What goes to standard output by name goes into the pipe behind it, in its turn."""
    assert say("/dev/stdout", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) == SAID


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "out.txt"])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_standard_output_by_its_name_is_a_file(tmp_path, name, mode):
    """Where standard output goes to a file, nothing that was or will be printed there is lost."""
    path = tmp_path / "out.txt"
    path.write_text("old\n")
    with path.open(mode) as stream:
        say(str(path) if name == "out.txt" else name, stdout=stream, stderr=subprocess.DEVNULL)
    assert path.read_text("utf-8") == ("old\n" if mode == "a" else "") + SAID


def test_standard_error_by_its_name_is_a_file(tmp_path):
    """The same holds for standard error."""
    path = tmp_path / "errors.txt"
    with path.open("w") as stream:
        assert say("/dev/stderr", stdout=subprocess.PIPE, stderr=stream) == "before\nafter\n"
    assert path.read_text("utf-8") == "new \u00fc\nerror\n"


def test_both_streams_may_be_closed(tmp_path):
    """A process without standard output writes its files all the same."""
    path = tmp_path / "out.txt"
    path.write_text("old")
    quoted = [shlex.quote(word) for word in (sys.executable, "-c", SAYS, str(path))]
    subprocess.run(["/bin/sh", "-c", f"exec {' '.join(quoted)} >&- 2>&-"], check=True, timeout=120)
    assert path.read_text("utf-8") == "new \u00fc\n"


@pytest.mark.parametrize("reads", [True, False])
def test_a_pipe_by_its_number_is_written(reads):
    """The pipe to another command has a name with a number; a reader who has left is not an error."""
    reader, writer = os.pipe()
    try:
        if not reads:
            os.close(reader)
        write_whole(Path(f"/dev/fd/{writer}"), ["new ", "\u00fc\n"])
        assert not reads or os.read(reader, 100).decode() == "new \u00fc\n"
    finally:
        os.close(writer)
        if reads:
            os.close(reader)


def test_text_that_is_none_is_refused(tmp_path):
    """Half a surrogate pair cannot be written; the old file stays."""
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(FileError, match="not UTF-8"):
        write_whole(path, "\ud800")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


@contextmanager
def as_nobody():
    """Lend root, who may write anywhere, the rights of a user for whom access is checked."""
    if os.getuid() != 0:
        yield
        return
    os.setreuid(65534, 0)
    try:
        yield
    finally:
        os.setreuid(0, 0)


def test_a_folder_without_rights_is_refused_beforehand(tmp_path):
    """What cannot be written is known before anything is done; a file where one may write is not an error."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    tmp_path.chmod(0o777)
    with as_nobody():
        with pytest.raises(FileError, match=r"closed/page\.html: nothing can be written in its folder"):
            refuse_unwritable(closed / "page.html")
        refuse_unwritable(os.devnull)
    refuse_unwritable(tmp_path / "page.html")


def test_a_place_that_is_none_is_refused(tmp_path):
    """A folder that is not there, or a folder in place of a file, is one line of error."""
    with pytest.raises(FileError, match="no such folder"):
        write_whole(tmp_path / "no" / "out.csv", "")
    with pytest.raises(FileError, match="is a folder"):
        write_whole(tmp_path, "")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="no such folder"):
        write_whole(tmp_path / "file" / "out.csv", "")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match="loop: Too many levels"):
        refuse_unwritable(tmp_path / "loop")


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    """The temporary file beside it needs no longer name than the file has."""
    write_whole(tmp_path / ("x" * 255), "new")
    assert (tmp_path / ("x" * 255)).read_text() == "new"


NAMES = st.sampled_from(["p1", "p2", "p10", "q", "2.0", "2", " r", "ü", "'s", "=t", "0.0", "x.0", "a b", "P"])


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["0.5", "-0.0", "0.0", ""])), min_size=1, max_size=30),
    st.booleans(),
    st.booleans(),
)
def test_text_without_objects_reads_as_text_with_them(tmp_path_factory, rows, is_sorted, has_blank_row):
    """Ids that Arrow holds, coded by runs or looked up, give the names, codes and row numbers of objects."""
    path = tmp_path_factory.mktemp("texts") / "scores.csv"
    rows = sorted(rows) if is_sorted else rows
    lines = [f"{name},c{at},{score},1" for at, (name, score) in enumerate(rows)]
    lines = [*lines[:3], ",,,", *lines[3:]] if has_blank_row else lines
    path.write_text("\n".join(["prompt_id,candidate,judge_score,oracle_label", *lines]) + "\n", encoding="utf-8")
    read = []
    for many, large, few in ((50_000, 2**30, 10), (0, 2**30, 10), (0, 0, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "_MANY_TEXTS", many)
            patch.setattr(reading, "_LARGE", large)
            patch.setattr(reading, "_FEW_RUNS", few)
            patch.setattr(reading, "_LOOKED_AT", 3)  # what stands together in the first rows may come again
            table = ScoreTable.read(path)
        columns = {name: table.rows.columns[name] for name in ("prompt_id", "candidate")}
        read.append(
            (
                {name: (column.codes.tolist(), column.categories.tolist()) for name, column in columns.items()},
                table.rows.index.tolist(),
                [str(score) for score in table.rows.columns["judge_score"].tolist()],
            )
        )
    assert read[1] == read[0]
    assert read[2] == read[0]


def test_an_audit_of_a_large_file_makes_no_object_per_id(tmp_path, monkeypatch):
    """Neither sorted ids, nor ids in another order, are made into objects one by one."""
    monkeypatch.setattr(reading, "_MANY_TEXTS", 150)
    monkeypatch.setattr(reading, "_LARGE", 0)
    made = []
    monkeypatch.setattr(Texts, "objects", property(lambda texts: made.append(len(texts)) or objects([])))
    frame = simulate("arena", n=300, seed=0).frame()
    for order in (frame, frame.iloc[::-1]):
        order.to_csv(tmp_path / "scores.csv", index=False)
        bw.audit(tmp_path / "scores.csv")
    assert not any(made)
