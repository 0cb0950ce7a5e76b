from __future__ import annotations

import csv
import io
import os
import shlex
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import FileError
from bonwise.table.writing import csv_cell, csv_text, plain_cell, refuse_unwritable, write_whole

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


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """A disk that fills up costs the new file, not the old one, and leaves no half of either."""
    path = tmp_path / "out.csv"
    path.write_text("old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(FileError, match=r"out\.csv: No space left on device"):
        write_whole(path, "new")
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
