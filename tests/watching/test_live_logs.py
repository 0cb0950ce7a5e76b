"""Logs of picks as they lie on a disk: cut off, damaged by a crash, rotated, compressed, and written meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import bonwise as bw
from bonwise.errors import FileError, InputError, RowError
from bonwise.report.show import text
from bonwise.watching.pick_log import files_of, read_log
from watching.logs import line, write_log


def lines(count, start=0):
    """Return lines of picks in bytes; the text of each ends in a letter of several bytes."""
    chance = np.random.default_rng(7)
    made = (line(f"p{at}", chance)[0] | {"text": f"Grüße, 你好 {at} é"} for at in range(start, start + count))
    return [json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in made]


WHOLE = b"".join(lines(9))
LAST = lines(1, 9)[0]
LETTER = LAST.index("é".encode()) + 1
"""Bytes of the last line up to the middle of a letter."""

ENDS, ZEROS = "the file ends within it", "NUL bytes, as a crash leaves them"
DAMAGED = {
    "whole": (WHOLE + LAST, 10, []),
    "whole without the last end": (WHOLE + LAST[:-1], 10, []),
    "cut in a letter": (WHOLE + LAST[:LETTER], 9, [(10, ENDS)]),
    "cut in a key": (WHOLE + LAST[:5], 9, [(10, ENDS)]),
    "cut behind the first sign": (WHOLE + b"{", 9, [(10, ENDS)]),
    "cut before the last brace": (WHOLE + LAST[:-2], 9, [(10, ENDS)]),
    "ends in empty bytes": (WHOLE + b"\0" * 4096, 9, [(10, ZEROS)]),
    "cut, then empty bytes": (WHOLE + LAST[:40] + b"\0" * 4096, 9, [(10, ZEROS)]),
    "cut, empty bytes, then written again": (WHOLE + LAST[:40] + b"\0" * 512 + LAST, 9, [(10, ZEROS)]),
    "empty bytes before a whole line": (WHOLE + b"\0" * 512 + LAST, 10, [(10, ZEROS)]),
    "cut in place while it was written": (b"\0" * 70_000 + LAST + WHOLE, 10, [(1, ZEROS)]),
    "empty bytes within a text": (WHOLE + LAST[:60] + b"\0" * 9 + LAST[69:], 9, [(10, ZEROS)]),
    "two lines of empty bytes": (b"\0\0\n" + WHOLE + b"\0\n", 9, [(1, ZEROS), (11, ZEROS)]),
    "a mark of the byte order": (b"\xef\xbb\xbf" + WHOLE, 9, []),
    "ends of lines of Windows": (WHOLE.replace(b"\n", b"\r\n") + LAST[:9], 9, [(10, ENDS)]),
    "blank lines": (b"\n" + WHOLE + b"\n \n", 9, []),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("data", "count", "missing"), DAMAGED.values(), ids=DAMAGED)
def test_only_whole_lines_count(tmp_path, data, count, missing, packed):
    """Every whole line is a pick, no other is, and each of the others is named with the reason."""
    path = tmp_path / ("log.jsonl.gz" if packed else "log.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    picks, unread = read_log([path], None)
    assert len(picks) == count
    assert unread == tuple(f"{path}, row {row}: {why}" for row, why in missing)


def test_every_cut_of_a_log_counts_its_whole_lines(tmp_path):
    """Cut after any byte, a log has the picks whose lines are whole, and one line left out unless it ends there."""
    path, data = tmp_path / "log.jsonl", b"".join(lines(3))
    for at in range(1, len(data) + 1):
        path.write_bytes(data[:at])
        picks, unread = read_log([path], None)
        begun = not data[:at].endswith(b"\n")
        whole = begun and data[at : at + 1] in (b"\n", b"")
        assert (len(picks), len(unread)) == (data[:at].count(b"\n") + whole, begun and not whole)


@pytest.mark.parametrize(
    "data",
    [WHOLE + b"oops\n" + LAST, WHOLE + LAST[:LETTER] + b"\n" + LAST, WHOLE[:50] + b"\n" + LAST, b"\xff\xfe{\0"],
)
def test_a_line_that_somebody_wrote_wrong_is_refused(tmp_path, data):
    """A line that ends and is not JSON is no sign of a crash: it is named and nothing is counted."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(data + b"\n")
    with pytest.raises(InputError, match=r"row|line 1: UTF-16"):
        read_log([path], None)


def test_a_gzip_file_that_is_not_complete_is_refused(tmp_path):
    """It is still being written: nothing of it is counted."""
    path = tmp_path / "log.jsonl.gz"
    packed = gzip.compress(WHOLE)
    for at in (20, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:at])
        with pytest.raises(FileError, match="not a complete gzip file"):
            read_log([path], None)


def test_a_watch_says_what_it_left_out(tmp_path):
    """In its sentences, its document and its text; the figures are those without the line."""
    write_log(tmp_path / "p", 16, picks=10)
    whole = bw.watch(f"{tmp_path}/p/*.jsonl")
    path = max((tmp_path / "p").iterdir())
    with path.open("ab") as stream:
        stream.write(LAST[:LETTER])
    found = bw.watch(f"{tmp_path}/p/*.jsonl")
    assert found.data.picks == whole.data.picks
    assert {name: one.now for name, one in found.signals.items()} == {n: one.now for n, one in whole.signals.items()}
    said = f"1 line left out, not written whole: {path}, row 11: {ENDS}."
    assert said in found.sentences
    assert found.data.unread == [f"{path}, row 11: {ENDS}"]
    assert "1 line left out" in " ".join(text(found).split())
    assert whole.data.unread is None
    assert type(found).model_validate_json(found.to_json()) == found


def test_numbered_files_are_read_from_the_oldest(tmp_path):
    """A pattern takes log.jsonl.10 before log.jsonl.2, and the file without a number last; other names as before."""
    names = ["log.jsonl.10", "log.jsonl.2.gz", "log.jsonl.1", "log.jsonl", "other.jsonl"]
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in files_of(f"{tmp_path}/*")] == names


@pytest.mark.parametrize("copy", ["log.jsonl.1", "log.jsonl.gz", "log.jsonl-20261129", "log.jsonl.1.gz"])
def test_a_copy_of_a_log_is_not_counted_twice(tmp_path, copy):
    """While a log is copied or compressed both files are there; the same day in files of other names is no copy."""
    (tmp_path / "log.jsonl").write_bytes(WHOLE + LAST)
    (tmp_path / copy).write_bytes(gzip.compress(WHOLE) if copy.endswith(".gz") else WHOLE)
    with pytest.raises(FileError, match=r"begins as .*log\.jsonl does, so one is a copy"):
        read_log(files_of(f"{tmp_path}/*"), None)
    (tmp_path / copy).unlink()
    (tmp_path / "tuesday.jsonl").write_bytes(WHOLE)
    assert len(read_log(files_of(f"{tmp_path}/*"), None)[0]) == 19


ROTATIONS = {
    "renamed": lambda path: path.rename(f"{path}.1"),
    "renamed and begun anew": lambda path: (path.rename(f"{path}.1"), path.write_bytes(LAST)),
    "copied and cut": lambda path: path.write_bytes(b""),
    "compressed": lambda path: ((path.parent / "log.jsonl.1.gz").write_bytes(gzip.compress(WHOLE)), path.unlink()),
    "deleted": lambda path: path.unlink(),
}


@pytest.mark.parametrize("rotate", ROTATIONS.values(), ids=ROTATIONS)
@pytest.mark.parametrize("moment", ["before it", "after it"])
def test_a_log_that_is_rotated_while_it_is_read_is_refused(tmp_path, monkeypatch, rotate, moment):
    """Before or after its lines were read: no count is given, and the hint is to run again."""
    log, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    log.write_bytes(WHOLE)
    other.write_bytes(LAST)
    from bonwise.watching import pick_log  # noqa: PLC0415

    real = pick_log.log_lines

    def meanwhile(path):
        yield from real(path)
        if path == (other if moment == "before it" else log):
            rotate(log)

    monkeypatch.setattr(pick_log, "log_lines", meanwhile)
    files = (other, log) if moment == "before it" else (log, other)
    with pytest.raises(FileError, match=r"replaced or cut|no such file"):
        read_log(files, None)


def test_files_that_appear_while_a_pattern_is_read_are_noticed(tmp_path, monkeypatch):
    """All files of a pattern were shifted by one name: the watch gives no figure."""
    write_log(tmp_path / "p", 16, picks=5)
    from bonwise.watching import engine  # noqa: PLC0415

    real = engine.read_log

    def shifted(files, time):
        found = real(files, time)
        (tmp_path / "p" / "zz.jsonl").write_bytes(WHOLE)
        return found

    monkeypatch.setattr(engine, "read_log", shifted)
    with pytest.raises(FileError, match="renamed while they were read"):
        bw.watch(f"{tmp_path}/p/*.jsonl")


WRITER = """
import gzip, os, sys, time
path, how, data = sys.argv[1], sys.argv[2], open(sys.argv[3], "rb").read().splitlines(keepends=True)
log, numbers = open(path, "ab", buffering=0), 0
print("begun", flush=True)
for at, line in enumerate(data):
    for part in range(0, len(line), 97):  # as a buffer is flushed: anywhere, also within a letter
        log.write(line[part : part + 97])
        time.sleep(0.0005)
    if how != "grows" and at % 40 == 39:
        numbers += 1
        old = f"{path}.{numbers:03}"
        if how == "copied":
            open(old, "wb").write(open(path, "rb").read())
            os.truncate(path, 0)
        else:
            os.rename(path, old)
            log.close()
            log = open(path, "ab", buffering=0)
            if how == "compressed":
                open(old + ".gz", "wb").write(gzip.compress(open(old, "rb").read()))
                os.unlink(old)
print("done", flush=True)
"""


@pytest.mark.parametrize("count", [240, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["grows", "renamed", "copied", "compressed"])
def test_a_process_that_writes_meanwhile_changes_no_count(tmp_path, how, count):
    """Each look counts a prefix of the log and at most one line is left out, or it is refused."""
    data = lines(count)
    (tmp_path / "data").write_bytes(b"".join(data))
    (tmp_path / "p").mkdir()
    path = tmp_path / "p" / "log.jsonl"
    names = [json.loads(one)["prompt_id"] for one in data]
    words = [sys.executable, "-c", WRITER, str(path), how, str(tmp_path / "data")]
    looks, counts = 0, [0]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "begun\n"
        while writer.poll() is None:
            found = looked(tmp_path / "p")
            looks += 1
            if found is None:
                continue
            picks, unread = found
            assert sorted(picks, key=names.index) == names[: len(picks)]
            assert len(unread) <= 1
            counts.append(len(picks))
    assert counts == sorted(counts)
    assert looks > 5
    assert len(set(counts)) > 3
    assert looked(tmp_path / "p") == (names, ()) or how != "grows"
    assert sorted(looked(tmp_path / "p")[0]) == sorted(names)


def looked(folder):
    """Return the prompts of a look and what it left out; None where it was refused."""
    try:
        files = files_of(f"{folder}/*")
        picks, unread = read_log(files, None)
        if files_of(f"{folder}/*") != files:
            return None
    except FileError:
        return None
    except RowError as wrong:
        raise AssertionError(str(wrong)) from wrong
    return [one.line.prompt_id for one in picks], unread


def test_a_pipe_and_an_empty_log(tmp_path):
    """A pipe is refused without waiting; a log that was begun anew has no picks."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(FileError, match="is a pipe"):
        read_log([tmp_path / "pipe.jsonl"], None)
    (tmp_path / "log.jsonl").touch()
    assert read_log([tmp_path / "log.jsonl"], None) == ([], ())
    with pytest.raises(FileError, match="no picks"):
        bw.watch(tmp_path / "log.jsonl")
