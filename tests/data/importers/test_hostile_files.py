"""Bombs, climbing paths, huge claims and hostile strings: one sentence each, and nothing is written or run."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import BonwiseError
from bonwise.table import archives
from bonwise.table import text_files as bytes_check
from bonwise.table.sources import convert
from cli.commands import typed

FILES = Path(__file__).parent / "files"
HOSTILE = "\x1b]0;x\x07<script>alert(1)</script>\u202e=HYPERLINK(1)"


def refused(capsys, path):
    """Return the line with which an audit, the doctor and convert refuse a file."""
    lines = set()
    for words in (("audit", path), ("doctor", path), ("convert", path, "--out", path.parent / "out.csv")):
        done = typed(capsys, *words)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
        assert done.err.rstrip("\n").isprintable()
        lines.add(done.err)
    assert not (path.parent / "out.csv").exists()
    return " ".join(lines)


@pytest.fixture
def small(monkeypatch):
    """Lower the limits, so that a bomb of a megabyte does."""
    monkeypatch.setattr(archives, "MOST_BYTES", 2**20)
    monkeypatch.setattr(bytes_check, "_SMALL", 2**20)


def zipped(path, parts, method=zipfile.ZIP_DEFLATED):
    """Write an archive."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["s.csv.gz", "s.jsonl.gz", "s.json.gz", "s.parquet.gz"])
def test_a_gzip_bomb_is_one_sentence(capsys, tmp_path, small, name):
    """What grows a thousandfold is not decompressed to its end."""
    (tmp_path / name).write_bytes(gzip.compress(b"prompt_id,candidate,judge_score\n" + b"p,a,1\n" * 10_000_000, 9))
    assert "MiB" in refused(capsys, tmp_path / name)


def test_a_zip_bomb_is_one_sentence(capsys, tmp_path, small):
    """A part that grows beyond the limit, or many that do together, are not read to their end."""
    zeros = b'{"a": "' + b"0" * 8_000_000 + b'"}'
    zipped(tmp_path / "one.eval", {"header.json": zeros})
    zipped(tmp_path / "many.eval", {f"samples/{n}.json": zeros[:400_000] + b'"}' for n in range(9)})
    assert "holds more than 1 MiB" in refused(capsys, tmp_path / "one.eval")
    assert "MiB" in refused(capsys, tmp_path / "many.eval")


def test_a_zstd_bomb_is_one_sentence(capsys, tmp_path, small):
    """A part in zstd is bounded too, whatever size it claims."""
    packed = pa.Codec("zstd").compress(b"[" + b" " * 20_000_000 + b"]", asbytes=True)
    whole = zipped(tmp_path / "s.eval", {"header.json": packed}, zipfile.ZIP_STORED)
    content = bytearray(whole.read_bytes())
    content[8:10] = (93).to_bytes(2, "little")
    at = content.index(b"PK\x01\x02")
    content[at + 10 : at + 12] = (93).to_bytes(2, "little")
    whole.write_bytes(content)
    assert "holds more than 1 MiB" in refused(capsys, whole)


@pytest.mark.parametrize("name", ["../out.json", "/etc/x.json", "a/../../x.json", "..\\x.json", "C:\\x.json"])
def test_a_path_that_climbs_out_is_one_sentence(capsys, tmp_path, name):
    """A part whose name leads out of its archive is refused, though nothing would be written."""
    zipped(tmp_path / "s.eval", {name: b"{}", "header.json": b'{"eval": {"task": "t"}}'})
    assert "leads out of the archive" in refused(capsys, tmp_path / "s.eval")


def test_a_link_out_of_a_folder_is_one_sentence(capsys, tmp_path):
    """A folder whose file is a link to elsewhere is refused."""
    (tmp_path / "secret.json").write_text('[{"traceId": "t"}]')
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "scores.json").symlink_to(tmp_path / "secret.json")
    assert "leads out of its folder" in refused(capsys, tmp_path / "export")


def test_a_huge_claim_of_parquet_is_one_sentence(capsys, tmp_path, monkeypatch):
    """A small file that claims more cells than memory holds is refused before they are made."""
    monkeypatch.setattr("bonwise.table.reading._MOST_CELLS", 1_000_000)
    table = pa.table({"prompt_id": pa.array(["p"] * 2_000_000).dictionary_encode()})
    pq.write_table(table, tmp_path / "s.parquet")
    assert (tmp_path / "s.parquet").stat().st_size < 10_000
    assert "claims 2,000,000 rows of 1 columns" in refused(capsys, tmp_path / "s.parquet")


def test_a_claim_of_ten_gigabytes_in_an_archive_is_one_sentence(capsys, tmp_path):
    """An archive that says that a part has 10 GB is read no further than the part goes."""
    content = bytearray(zipped(tmp_path / "s.eval", {"header.json": b"{}"}, zipfile.ZIP_STORED).read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 20 : at + 28] = (2**32 - 2).to_bytes(4, "little") * 2
    (tmp_path / "s.eval").write_bytes(content)
    assert "holds more than" in refused(capsys, tmp_path / "s.eval")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"PK", b"PK\x03\x04" + b"\0" * 40, b"{}", b"[" * 100_000),
        *(
            json.dumps({"eval": {"task": "t"}, "samples": None}).encode(),
            b'{"eval": {"task": 1}, "samples": [1, {}]}',
        ),
    ],
)
@pytest.mark.parametrize("name", ["s.eval", "s.json"])
def test_damaged_documents_are_one_sentence(capsys, tmp_path, name, content):
    """What is no document of any format is refused in one line."""
    (tmp_path / name).write_bytes(content)
    refused(capsys, tmp_path / name)


def hostile(value):
    """Return a document with every text replaced by a hostile one of the same place."""
    if isinstance(value, dict):
        return {key: hostile(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hostile(one) for one in value]
    return value + HOSTILE if isinstance(value, str) and " " in value else value


@pytest.mark.usefixtures("small")
def test_a_folder_of_gzipped_files_is_bounded_after_decompression(tmp_path):
    """Each may be within its limit, and all of them together beyond that of a folder."""
    for at in range(4):
        rows = b'{"prompt_id": "p", "response": "a"}\n' * 10_000
        (tmp_path / f"part{at}.jsonl.gz").write_bytes(gzip.compress(rows))
    with pytest.raises(BonwiseError, match="holds more than 1 MiB"):
        archives.parts_of_folder(tmp_path)
    (tmp_path / "part3.jsonl.gz").unlink()
    (tmp_path / "part2.jsonl.gz").unlink()
    assert {len(rows) for rows in archives.parts_of_folder(tmp_path).values()} == {10_000}


@pytest.mark.parametrize("name", ["promptfoo.json.gz", "inspect.json.gz", "deepeval.json", "mlflow_traces.json.gz"])
def test_hostile_strings_stay_text(capsys, tmp_path, name):
    """Escapes, markup and formulas in a file reach neither the terminal nor a cell that a spreadsheet runs."""
    content = (FILES / name).read_bytes()
    document = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    (tmp_path / "s.json").write_text(json.dumps(hostile(document)))
    for words in (("doctor", tmp_path / "s.json"), ("convert", tmp_path / "s.json", "--out", tmp_path / "o.csv")):
        done = typed(capsys, *words)
        assert done.code == 0
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err
    assert typed(capsys, "audit", tmp_path / "o.csv", "--html", tmp_path / "o.html").code in (0, 3)
    assert "<script>alert" not in (tmp_path / "o.html").read_text()


NAMES = [*sorted(path.name for path in FILES.glob("*.json")), "lists.jsonl", "rb.jsonl", "lm_eval.jsonl"]


@given(st.sampled_from(NAMES), st.data())
def test_a_changed_document_is_a_table_or_one_line(tmp_path_factory, name, data):
    """Whatever value stands in the place of another, a file is read or refused in one printable line."""
    text = (FILES / name).read_text()
    lines = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
    target, key = lines, data.draw(st.sampled_from(range(len(lines)) if isinstance(lines, list) else list(lines)))
    while target[key] and isinstance(target[key], dict | list) and data.draw(st.integers(0, 4)):
        target = target[key]
        key = data.draw(st.sampled_from(range(len(target)) if isinstance(target, list) else list(target)))
    target[key] = data.draw(st.sampled_from([None, 0, -1, "", "x", [], {}, [None], {"a": []}, 1e300, True]))
    path = tmp_path_factory.mktemp("changed") / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) if name.endswith("l") else json.dumps(lines))
    said, cause = read_or_refused(path)
    assert said.isprintable()
    # What fails inside an importer would be one line too, but no sentence about the file.
    assert not isinstance(cause, AttributeError | TypeError | KeyError | ValueError), said


def test_votes_without_the_name_of_a_model(tmp_path):
    """A side that nobody named is no reason to fail."""
    content = json.loads((FILES / "alpaca_annotations.json").read_text("utf-8"))
    content[0]["generator_1"] = None
    (tmp_path / "votes.json").write_text(json.dumps(content), "utf-8")
    read_or_refused(tmp_path / "votes.json")


def read_or_refused(path):
    """Convert a file, or return in one line why not, and what was behind it."""
    try:
        convert(path)
    except BonwiseError as error:
        return str(error), error.__cause__
    return "", None


def test_a_stream_is_bounded_piece_by_piece(tmp_path, small):
    """Whether it is read whole, in pieces or by lines, a gzipped file ends at its limit."""
    path = tmp_path / "s.gz"
    path.write_bytes(gzip.compress(b"x\n" * 4_000_000))
    for read in (
        lambda s: s.read(),
        lambda s: [s.read(1000) for _ in range(9000)],
        lambda s: list(io.BufferedReader(s)),
    ):
        with pytest.raises(BonwiseError, match="grows to more than"), bytes_check.open_bytes(path) as stream:
            read(stream)
