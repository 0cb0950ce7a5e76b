"""Workbooks, databases, Arrow, saved data sets, and text in other encodings: read, or one clear error."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from contextlib import closing, suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import ColumnError, FileError, InputError, MissingExtraError
from bonwise.table import stored_tables
from bonwise.table.reading import read_raw
from bonwise.table.score_table import ScoreTable
from cli.commands import strict, typed

ROWS = [
    {"prompt_id": f"q{x}", "candidate": name, "judge_score": score, "oracle_label": label}
    for x in range(3)
    for name, score, label in (("é", 1.5, 1), ("b", 2.0, 0))
]
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def told(path):
    """Return the cells of a table of scores, however it is stored."""
    table = ScoreTable.read(path)
    roles = ("prompt_id", "candidate", "judge_score", "oracle_label")
    return list(zip(*(table.rows.columns[role] for role in roles), strict=True)), table


EXPECTED = [tuple(row.values()) for row in ROWS]


# Text in other encodings.


def text(separator=";", comma=","):
    """Write the rows as a European spreadsheet does."""
    lines = [separator.join(ROWS[0])]
    lines += [separator.join(str(cell).replace(".", comma) for cell in row.values()) for row in ROWS]
    return "\r\n".join(lines) + "\r\n"


@pytest.mark.parametrize(
    ("encoding", "note"),
    [("utf-8", None), ("utf-8-sig", None), ("utf-16", "text in UTF-16"), ("cp1252", "text in Windows-1252")],
)
def test_semicolons_and_decimal_commas_in_any_usual_encoding(tmp_path, encoding, note):
    """What is not UTF-8 is said."""
    path = tmp_path / "scores.csv"
    path.write_bytes(text().encode(encoding))
    cells, table = told(path)
    assert cells == EXPECTED
    assert table.readings.get("file") == note
    assert list(table.rows.index) == [2, 3, 4, 5, 6, 7]


def test_a_file_of_google_sheets_is_read(tmp_path):
    """Commas, quotes, CRLF, no last line end, and thousands."""
    path = tmp_path / "Sheet1.csv"
    path.write_bytes(b'Prompt ID,Candidate,Judge Score\r\n1,a,"1,234.5"\r\n1,b,"2,000"')
    assert ScoreTable.read(path).rows.columns["judge_score"].tolist() == [1234.5, 2000.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (text().encode("cp1252") + b"\x81", "not UTF-8"),
        ("prompt_id,candidate,judge_score\n日本,漢字,1\n".encode("shift-jis"), "not UTF-8"),
        (text().encode("utf-16-le"), "NUL byte"),
        (b"\xff\xfe\x00", "UTF-16 that ends within a letter"),
        (text().encode("utf-16")[:-1], "UTF-16 that ends within a letter"),
        ("a,b\n\0,1\n".encode("utf-16"), "UTF-16"),
        (("a,b\n" + "é" * 30 + "x" * 10**6 + ",1\n").encode("cp1252"), "not UTF-8"),
    ],
)
def test_what_may_be_another_encoding_is_refused(tmp_path, monkeypatch, content, message):
    """Windows-1252 is taken only for text that is nearly all ASCII, and within the limits of all text."""
    monkeypatch.setenv("BONWISE_LONGEST_LINE", "500000")
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        read_raw(path)


# Workbooks.


def sheet_xml(rows, first=3):
    """Write rows of cells as the XML of a sheet, from some row on and from column B."""

    def cell(at, row, value):
        place = f'r="{chr(66 + at)}{row}"'
        if isinstance(value, str):
            return f'<c {place} t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c {place}><v>{value}</v></c>" if value is not None else ""

    lines = (
        f'<row r="{row}">{"".join(cell(at, row, value) for at, value in enumerate(values))}</row>'
        for row, values in enumerate(rows, start=first)
    )
    return f'<worksheet xmlns="{SHEET}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def workbook(path, sheets):
    """Write a workbook of Excel with sheets of XML by name."""
    kinds = '<Default Extension="xml" ContentType="application/xml"/>'
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    names, links = "", ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types">{rels}{kinds}</Types>')
        target = f'<Relationship Id="r1" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{target}</Relationships>')
        for at, (name, xml) in enumerate(sheets.items(), start=1):
            names += f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>'
            links += f'<Relationship Id="r{at}" Type="{LINKS}/worksheet" Target="worksheets/s{at}.xml"/>'
            archive.writestr(f"xl/worksheets/s{at}.xml", xml)
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{SHEET}" xmlns:r="{LINKS}"><sheets>{names}</sheets></workbook>'
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>'
        )
    return path


GRID = [list(ROWS[0]), *([*row.values()] for row in ROWS)]


def test_a_sheet_is_read_by_its_row_numbers(tmp_path):
    """Blank rows above the header do not count as rows, and the numbers are those that Excel shows."""
    pytest.importorskip("python_calamine")
    cells, table = told(workbook(tmp_path / "scores.xlsx", {"Scores": sheet_xml(GRID), "Empty": sheet_xml([])}))
    assert cells == EXPECTED
    assert list(table.rows.index) == [4, 5, 6, 7, 8, 9]


def test_one_of_several_sheets_is_named(tmp_path, capsys):
    """The message lists the names, and a command takes one behind a colon."""
    pytest.importorskip("python_calamine")
    path = workbook(tmp_path / "s.xlsx", {"One": sheet_xml(GRID), "Other": sheet_xml([["a"], [1]])})
    with pytest.raises(FileError, match="2 sheets, and none is named") as caught:
        read_raw(path)
    assert caught.value.hint == f"write {path}:NAME; the names are One, Other"
    assert len(told(f"{path}:One")[0]) == len(ROWS)
    found = strict(typed(capsys, "audit", f"{path}:One", "--json", "-").out)
    assert found["data"]["prompts"] == 3


def test_cells_that_hold_errors_are_blank_and_counted(tmp_path):
    """The count is in what is said of the file."""
    pytest.importorskip("python_calamine")
    xml = sheet_xml([["prompt_id", "candidate", "judge_score"], ["q", "a", 1], ["q", "b"]])
    xml = xml.replace("</row></sheetData>", '<c r="D5" t="e"><v>#N/A</v></c></row></sheetData>')
    table = ScoreTable.read(workbook(tmp_path / "s.xlsx", {"S": xml}))
    assert np.isnan(table.rows.columns["judge_score"][1])
    assert table.readings["file"] == "1 cells that hold errors, such as #N/A, are blank"


ODS = (
    '<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    '<table:table table:name="S">{}</table:table></office:spreadsheet></office:body></office:document-content>'
)
TRAILING = (
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/>'
    "</table:table-row>"
)


def ods_row(values, repeated=1):
    """Write a row as LibreOffice does, with blanks to the last column."""
    cells = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        if isinstance(value, str)
        else f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        for value in values
    )
    blanks = '<table:table-cell table:number-columns-repeated="16000"/>'
    return f'<table:table-row table:number-rows-repeated="{repeated}">{cells}{blanks}</table:table-row>'


def ods(path, rows):
    """Write a workbook of LibreOffice."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", ODS.format(rows))
    return path


def test_a_sheet_of_libreoffice_ends_where_its_cells_do(tmp_path):
    """A million blank rows of sixteen thousand blank cells are what every such file ends in."""
    pytest.importorskip("python_calamine")
    path = ods(tmp_path / "scores.ods", "".join(map(ods_row, GRID)) + TRAILING)
    assert told(path)[0] == EXPECTED


FAR = f'<worksheet xmlns="{SHEET}"><sheetData>{{}}</sheetData></worksheet>'


@pytest.mark.parametrize(
    "xml",
    [
        FAR.format('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        FAR.format("<row r='1048576'><c><v>1</v></c><c r = 'XFD7'><v>1</v></c></row>"),
        FAR.format('<row r="1048576">' + "<c><v>1</v></c>" * 100 + "</row>"),
        FAR.format('<x:row r="1048576">' + "<x:c><x:v>1</x:v></x:c>" * 100 + "</x:row>"),
    ],
)
def test_a_sheet_with_a_cell_far_away_is_refused_before_it_is_laid_out(tmp_path, xml):
    """A file of some kilobytes may ask for 17 billion cells."""
    with pytest.raises(FileError, match=r"a sheet of more than 20,000,000 cells"):
        stored_tables._refuse_growth(workbook(tmp_path / "s.xlsx", {"S": xml}))


@pytest.mark.parametrize(
    "rows",
    [
        ods_row(["x"], repeated=10**9),
        TRAILING + ods_row(["x"] * 100),
        (
            '<table:table-row><table:table-cell table:number-columns-repeated="999999999"/>'
            '<table:table-cell office:value="1"/></table:table-row>'
        ),
    ],
)
def test_repeated_cells_are_counted_before_they_are_laid_out(tmp_path, rows):
    """Rows and cells of LibreOffice say how often they stand there."""
    with pytest.raises(FileError, match=r"a sheet of more than 20,000,000 cells"):
        stored_tables._refuse_growth(ods(tmp_path / "s.ods", rows))


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    """Whatever its directory says."""
    monkeypatch.setenv("BONWISE_MOST_BYTES", "1000000")
    with pytest.raises(FileError, match="holds more than"):
        stored_tables._refuse_growth(workbook(tmp_path / "s.xlsx", {"S": " " * 10**7}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no more", b"text", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 99])
def test_what_is_no_workbook_is_one_clear_error(tmp_path, content):
    """Damage never ends in a traceback."""
    pytest.importorskip("python_calamine")
    (tmp_path / "s.xlsx").write_bytes(content)
    with pytest.raises(FileError, match=r"s\.xlsx: not a whole workbook"):
        read_raw(tmp_path / "s.xlsx")


def test_the_absent_package_is_named_with_its_extra(tmp_path, monkeypatch):
    """The line to type is that of other extras."""
    monkeypatch.setattr("bonwise.extras.find_spec", lambda name: None if name == "python_calamine" else name)
    with pytest.raises(MissingExtraError, match=r"needs bonwise\[excel\]: python_calamine is not installed"):
        read_raw(workbook(tmp_path / "s.xlsx", {"S": sheet_xml(GRID)}))


# SQLite.


def database(path, *statements):
    """Run statements, and write the rows into a table ``scores``."""
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TABLE scores (prompt_id TEXT, candidate TEXT, judge_score REAL, oracle_label INTEGER)")
        store.executemany("INSERT INTO scores VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in ROWS])
        for statement in statements:
            store.execute(statement)
        store.commit()
    return path


@pytest.mark.parametrize("ending", ["db", "sqlite", "sqlite3"])
def test_the_only_table_of_a_database_is_read(tmp_path, ending):
    """Nothing is written: neither into the file nor beside it."""
    path = database(tmp_path / f"scores.{ending}")
    before = path.read_bytes()
    assert told(path)[0] == EXPECTED
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_names_of_tables_are_names_and_nothing_else(tmp_path):
    """A name may hold quotes and statements; only one that is there is read."""
    name = 'x"; DROP TABLE scores; --'
    quoted = name.replace('"', '""')
    path = database(tmp_path / "s.db", f'CREATE TABLE "{quoted}" AS SELECT * FROM scores')  # noqa: S608
    assert told(f"{path}:{name}")[0] == EXPECTED
    with pytest.raises(FileError, match="2 tables, and none is named"):
        read_raw(path)
    with pytest.raises(FileError, match="no table named 'scores; DROP TABLE scores'"):
        ScoreTable.read(f"{path}:scores; DROP TABLE scores")
    assert told(f"{path}:scores")[0] == EXPECTED


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE TABLE v (a INTEGER, b AS (zeroblob(1000000)))",
    ],
)
def test_what_a_database_would_run_is_refused(tmp_path, statement):
    """Views and computed columns run what the file says."""
    path = database(tmp_path / "s.db", statement)
    if "TABLE" in statement:
        with closing(sqlite3.connect(path)) as store:
            store.execute("INSERT INTO v (a) VALUES (1)")
            store.commit()
    with pytest.raises(FileError, match=r"'v' is a view|columns that are computed"):
        ScoreTable.read(f"{path}:v")


@pytest.mark.parametrize("content", [b"", b"text", b"SQLite format 3\0" + b"x" * 5000])
def test_what_is_no_database_is_one_clear_error(tmp_path, content):
    """Damage never ends in a traceback."""
    (tmp_path / "s.db").write_bytes(content)
    with pytest.raises(FileError, match=r"s\.db: (not a database|cannot be read as SQLite)"):
        read_raw(tmp_path / "s.db")


def test_changes_that_are_pending_are_refused(tmp_path):
    """What is only in the log of another program would be missing without a word."""
    path = database(tmp_path / "s.db")
    (tmp_path / "s.db-wal").write_bytes(b"x")
    with pytest.raises(FileError, match="changes of it are pending"):
        read_raw(path)


# Arrow, and data sets that were saved.


def arrow(path, table, compression=None, *, stream=False):
    """Write a table of Arrow as a file or a stream."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as sink, opened(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow_is_read_as_a_file_and_as_a_stream(tmp_path, compression, stream):
    """Compressed or not, under any of its endings."""
    table = pa.Table.from_pylist(ROWS)
    for ending in ("arrow", "feather", "ipc"):
        assert told(arrow(tmp_path / f"s.{ending}", table, compression, stream=stream))[0] == EXPECTED


@pytest.mark.parametrize("stream", [True, False])
def test_arrow_that_was_cut_off_is_said_or_refused(tmp_path, stream):
    """Between two batches it is read, and the end that is missing is said; within a batch it is refused."""
    path = tmp_path / "s.arrow"
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, pa.Table.from_pylist(ROWS).schema) as writer:
        for rows in (ROWS[:4], ROWS[4:]):
            writer.write_table(pa.Table.from_pylist(rows))
    content = path.read_bytes()
    cut = content[: content.index(b"\xff\xff\xff\xff", content.index(b"q1") + 1)]
    path.write_bytes(cut)
    cells, table = told(path)
    assert cells == EXPECTED[:4]
    assert table.readings["file"] == "Arrow without the mark of its end (s.arrow), so rows may be missing"
    with pytest.raises(FileError, match="without the mark of its end"):
        bw.audit([{**row, "oracle_label": None} for row in ROWS], labels=path)
    path.write_bytes(cut[:-8])
    with pytest.raises(FileError, match="the file is damaged or cut off"):
        read_raw(path)


def test_two_columns_of_one_name_in_arrow_are_one_clear_error(tmp_path):
    """The name is that of the table."""
    with pytest.raises(ColumnError, match="two columns are named 'a'"):
        read_raw(arrow(tmp_path / "s.arrow", pa.table([[1], [2], [3]], names=["b", "a", "a"])))


@given(st.binary(max_size=60), st.integers(0, 2000))
def test_damaged_arrow_is_one_clear_error(tmp_path_factory, noise, at):
    """Whatever is written over it, it is read or refused."""
    path = arrow(tmp_path_factory.mktemp("arrow") / "s.arrow", pa.Table.from_pylist(ROWS), "zstd")
    content = bytearray(path.read_bytes())
    content[at : at + len(noise)] = noise
    path.write_bytes(content)
    with suppress(InputError):
        read_raw(path)


def test_arrow_that_unpacks_to_too_much_is_refused_before(tmp_path, monkeypatch):
    """The sizes that it claims are summed first."""
    monkeypatch.setenv("BONWISE_MOST_BYTES", "10000000")
    path = arrow(tmp_path / "s.arrow", pa.table({"prompt_id": ["x" * 10**6] * 50}), "zstd")
    assert path.stat().st_size < 10**5
    monkeypatch.setattr(pa.ipc, "open_stream", lambda _: pytest.fail("it was unpacked"))
    with pytest.raises(FileError, match="holds more than"):
        read_raw(path)


@pytest.mark.parametrize(
    "column",
    [
        pa.RunEndEncodedArray.from_arrays(pa.array([10**6], pa.int32()), pa.array([1])),
        pa.ListArray.from_arrays(pa.array([0, 2**31 - 1], pa.int32()), pa.nulls(2**31 - 1)),
    ],
    ids=["run ends", "nulls"],
)
def test_columns_of_which_few_bytes_hold_much_are_refused(tmp_path, column):
    """A million equal values take a few bytes, and a list of nothing any length."""
    with pytest.raises(FileError, match="write plain values"):
        read_raw(arrow(tmp_path / "s.arrow", pa.table({"a": column})))


def dataset(folder, table=None, names=("data-00000-of-00002.arrow", "data-00001-of-00002.arrow"), **state):
    """Save a data set as ``datasets`` does, in two files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(ROWS) if table is None else table
    for at, name in enumerate(names):
        if "/" not in name:
            arrow(folder / name, table.slice(3 * at, 3), stream=True)
    files = {"_data_files": [{"filename": name} for name in names], "_indices_files": None, **state}
    (folder / "state.json").write_text(json.dumps(files), "utf-8")
    (folder / "dataset_info.json").write_text("{}", "utf-8")
    return folder


def test_a_saved_data_set_is_read_without_its_package(tmp_path):
    """All its files are one table; of several splits one is named, and a single one is taken."""
    assert told(dataset(tmp_path / "one"))[0] == EXPECTED
    both = tmp_path / "both"
    for split in ("test", "train"):
        dataset(both / split)
    (both / "dataset_dict.json").write_text('{"splits": ["test", "train"]}', "utf-8")
    with pytest.raises(FileError, match="2 splits") as caught:
        ScoreTable.read(both)
    assert caught.value.hint == f"name one, such as {both / 'test'}"
    assert told(both / "test")[0] == EXPECTED
    (both / "dataset_dict.json").write_text('{"splits": ["test"]}', "utf-8")
    assert told(both)[0] == EXPECTED
    assert bw.audit(both)["recovery"].n == 3


@pytest.mark.parametrize(
    ("names", "state", "message"),
    [
        (("../s.arrow",), {}, "names a file outside of it"),
        (("/etc/passwd",), {}, "names a file outside of it"),
        (("data.arrow",), {"_indices_files": [{"filename": "i.arrow"}]}, "its rows are chosen by indices"),
    ],
)
def test_a_data_set_that_leads_elsewhere_is_refused(tmp_path, names, state, message):
    """Only files of its own folder are read, and rows as they are stored."""
    folder = dataset(tmp_path / "set", names=names, **state)
    with pytest.raises(FileError, match=message):
        ScoreTable.read(folder)


def test_claims_are_read_from_any_message():
    """Of a stream without compression the claims are the bytes themselves."""
    sink = io.BytesIO()
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert 0 < stored_tables._claimed(pa.py_buffer(sink.getvalue())) < len(sink.getvalue())
