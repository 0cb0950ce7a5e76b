from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys

import pytest

import bonwise as bw
from bonwise import strict_json
from bonwise.cli.entry import run
from bonwise.confidence.result import ConfidenceAudit
from bonwise.declared import words
from bonwise.errors import FileError
from bonwise.loading import read_document
from bonwise.routing.saved import SavedRouter
from documents.samples import samples_of
from processes import PATIENCE

GOOD = samples_of({"confidence"})[0].document
HINT = "give a file that bonwise wrote with --json or saved"


def load(tmp_path, content):
    """Write bytes, text or a document to a file, and load it."""
    path = tmp_path / "document.json"
    if not isinstance(content, bytes | str):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return bw.load(path)


def refused(tmp_path, content):
    """Return the one clear error of a file that is refused."""
    with pytest.raises(FileError) as caught:
        load(tmp_path, content)
    assert caught.value.hint
    assert str(caught.value).isprintable()
    assert "document.json" in caught.value.message
    return caught.value.message.partition("document.json")[2]


def test_a_document_is_of_the_class_of_its_schema(tmp_path):
    """What is loaded is the document, whatever the name of the file."""
    found = load(tmp_path, GOOD)
    assert type(found) is ConfidenceAudit
    assert found.to_dict() == GOOD
    assert read_document(str(tmp_path / "document.json"), ConfidenceAudit) == found
    assert repr(found) == "ConfidenceAudit(kind='intervals')"


def test_a_byte_order_mark_is_passed_over(tmp_path):
    """As in tables: editors on Windows write one."""
    assert load(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD).encode()).to_dict() == GOOD


TEXT = json.dumps(GOOD)
DEEP = '{"schema": "bonwise.confidence/1", "x": ' + "[" * 65 + "]" * 65 + "}"
BROKEN = {
    "empty": (b"", ": the file is empty"),
    "blank": (b" \r\n\t", ": the file is empty"),
    "mark alone": (b"\xef\xbb\xbf", ": the file is empty"),
    "not UTF-8": (TEXT.encode()[:-1] + b', "x": "\xff"}', ": not UTF-8"),
    "UTF-16": (TEXT.encode("utf-16"), ": not UTF-8"),
    "gzip": (gzip.compress(TEXT.encode()), ": compressed with gzip"),
    "NUL": (b"\x00" * 100, ", line 1: not JSON: Expecting value"),
    "text": ("hello", ", line 1: not JSON: Expecting value"),
    "cut off": (json.dumps(GOOD, indent=1)[:-20], ", line "),
    "lines": (f"{TEXT}\n{TEXT}\n", ", line 2: not JSON: Extra data"),
    "list": (f"[{TEXT}]", ": not a JSON object"),
    "number": ("3", ": not a JSON object"),
    "null": ("null", ": not a JSON object"),
    "deep": (DEEP, ": nested deeper than 64 levels"),
    "very deep": ('{"x": ' + "[" * 200_000 + "]" * 200_000 + "}", ": nested deeper than 64 levels"),
    "deep objects": ('{"x": ' * 100_000 + "1" + "}" * 100_000, ": nested deeper than 64 levels"),
    "NaN": ('{"schema": "x", "a": {"b": [1, NaN]}}', ": a.b[1] should be a finite number"),
    "Infinity": ('{"schema": -Infinity}', ": schema should be a finite number"),
    "twice": (
        '{"schema": "bonwise.confidence/1", "schema": "bonwise.confidence/1"}',
        ": the key 'schema' occurs twice",
    ),
    "twice inside": ('{"schema": "x", "a": [{"b": 1, "c": 2, "b": 1}]}', ": the key 'b' occurs twice in one object"),
    "half a pair": ('{"schema": "\\ud800"}', ": a text that is not valid Unicode"),
    "half a key": ('{"\\uDFFF": 1}', ": a text that is not valid Unicode"),
    "no schema": ("{}", ": it names no schema, which this version of bonwise does not read"),
    "schema of another": ('{"schema": "other/1"}', ": its schema is 'other/1', which this version"),
    "later schema": ('{"schema": "bonwise.confidence/2"}', ": its schema is 'bonwise.confidence/2', which"),
    "schema no text": (
        '{"schema": ["bonwise.confidence/1"]}',
        r": its schema is \"['bonwise.confidence/1']\", which",
    ),
    "schema number": ('{"schema": 1}', ": its schema is '1', which"),
    "long schema": (json.dumps({"schema": "bonwise." + "a" * 10**6 + "/1"}), ": its schema is 'bonwise.aaa"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_document_is_one_clear_error(tmp_path, name):
    """The error says what is wrong in one short line, and the hint how to get a good file."""
    content, words = BROKEN[name]
    message = refused(tmp_path, content)
    assert message.startswith(words.replace("\\", ""))
    assert len(message) < 200


def test_the_schemas_that_are_read_are_named(tmp_path):
    """The hint of an unknown schema lists the words."""
    with pytest.raises(FileError) as caught:
        load(tmp_path, '{"schema": "bonwise.nothing/1"}')
    assert all(word in caught.value.hint for word in words())


def test_pairs_of_surrogates_are_a_character(tmp_path):
    """An escaped character beyond 16 bits is fine."""
    document = json.loads(json.dumps(GOOD).replace('"source": "', '"source": "\\ud83d\\ude00'))
    assert load(tmp_path, json.dumps(document)).settings.source.startswith("\N{GRINNING FACE}")


def test_a_file_of_many_bytes_is_refused(tmp_path, monkeypatch):
    """The limit is 256 MB, and the file beyond it is not read on."""
    assert strict_json.MOST_BYTES == 256 * 2**20
    monkeypatch.setattr(strict_json, "MOST_BYTES", 2**20)
    assert load(tmp_path, TEXT + " " * (2**20 - len(TEXT))).to_dict() == GOOD
    assert refused(tmp_path, TEXT + " " * (2**20 - len(TEXT) + 1)) == ": larger than 1 MB"


def test_what_is_no_file_is_refused_without_waiting(tmp_path):
    """A folder, no file, a pipe that nobody writes to, an endless device."""
    os.mkfifo(tmp_path / "pipe.json")
    places = {
        tmp_path: "is a folder",
        tmp_path / "absent.json": "no such file",
        tmp_path / "pipe.json": "a pipe or device can be read only once",
        "/dev/zero": "a pipe or device can be read only once",
        tmp_path / "nul\0.json": "no such file",
        tmp_path / ("long" * 100): "File name too long",
    }
    for path, reason in places.items():
        with pytest.raises(FileError, match=reason):
            bw.load(path)


def test_a_pipe_is_no_saved_router(tmp_path, capsys):
    """Nor does the command that reads routers wait for one."""
    os.mkfifo(tmp_path / "pipe.json")
    pools = tmp_path / "pools.jsonl"
    pools.write_text('{"prompt_id": "p", "prompt": "p", "candidates": ["a", "b"]}\n')
    words = ["--judge", "local:length", "--strong", "local:length", "--route", str(tmp_path / "pipe.json")]
    assert run(["select", str(pools), *words]) == 2
    assert "a pipe or device" in capsys.readouterr().err


def damaged(**settings):
    """Return the good document with other settings."""
    return {**GOOD, "settings": {**GOOD["settings"], **settings}}


LONG = "a\x1b[31m\n" * 1000
WRONG = {
    "type": (damaged(confidence="0.9"), ': settings.confidence should be a number, not "0.9"'),
    "bool": (damaged(confidence=True), ": settings.confidence should be a number, not true"),
    "null": (damaged(source=None), ": settings.source should be a text, not null"),
    "list": (damaged(source=[1, 2]), ": settings.source should be a text, not a list of 2"),
    "object": (damaged(source={}), ": settings.source should be a text, not an object"),
    "no object": ({**GOOD, "settings": 3}, ": settings should be an object, not 3"),
    "below": (damaged(confidence=0.4), ": settings.confidence should be at least 0.5, not 0.4"),
    "above": (damaged(confidence=1), ": settings.confidence should be below 1, not 1"),
    "word": ({**GOOD, "kind": "all"}, ": kind should be 'statements', 'pairs' or 'intervals', not \"all\""),
    "missing": ({key: GOOD[key] for key in GOOD if key != "kind"}, ": kind is missing"),
    "extra": ({**GOOD, "more": 1}, ": more is not a key of this document"),
    "two": ({**GOOD, "kind": 1, "judges": 2}, ": kind should be"),
    "huge float": (
        TEXT.replace('"confidence": 0.95', '"confidence": 1e999'),
        ": settings.confidence should be a finite",
    ),
    "huge whole": (
        TEXT.replace('"confidence": 0.95', '"confidence": ' + "9" * 10_000),
        ": settings.confidence should",
    ),
    "long key": ({**GOOD, LONG: 1}, ": a\\x1b[31m\\na\\x1b"),
    "long value": (damaged(labels_left_out=LONG), ': settings.labels_left_out should be an object, not "a\\u001b'),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_by_its_key(tmp_path, name):
    """The message says the key, what should stand there, and briefly what does, in words that people use."""
    content, words = WRONG[name]
    message = refused(tmp_path, content)
    assert message.startswith(words)
    assert len(message) < 400
    assert not re.search(r"Input should|valid (string|integer|number)|_type|pydantic|Value error", message)


def test_other_wrong_keys_are_counted(tmp_path):
    """One key is named, and how many more there are."""
    assert refused(tmp_path, {**GOOD, "kind": 1, "judges": 2}).endswith("; 1 more key is wrong")
    assert refused(tmp_path, {**GOOD, "kind": 1, "judges": 2, "x": 1}).endswith("; 2 more keys are wrong")


def test_a_document_of_another_schema_is_not_what_was_asked_for(tmp_path):
    """Who needs one schema refuses the others."""
    path = tmp_path / "document.json"
    path.write_text(TEXT)
    with pytest.raises(FileError, match=r"its schema is 'bonwise.confidence/1', not 'bonwise.router/1'"):
        read_document(path, SavedRouter)


WATCHED = """
import json, sys
import bonwise as bw

good, hostile, folder = sys.argv[1:]
def use(path):
    document = bw.load(path)
    told = str(document), document.to_markdown(), document.to_frame(), document._repr_html_(), document.drawings
    document.to_html(folder + "/page.html")
    return document

use(good)  # whatever is imported for the purpose is imported now
seen = []
watched = ("open", "import", "exec", "compile", "socket.", "subprocess.", "os.", "urllib.", "ctypes.", "pickle.")
sys.addaudithook(lambda event, args: seen.append((event, repr(args))) if event.startswith(watched) else None)
document = use(hostile)
print(json.dumps([document.to_dict(), seen]))
"""


def test_nothing_that_a_file_names_is_used(tmp_path):
    """Modules, paths, addresses and code in a document are text: nothing is imported, opened, called or sent."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    names = [
        *("antigravity", "bonwise.cli.entry:main", "os.system('true')", "__import__('antigravity')", str(secret)),
        *(f"file://{secret}", "http://127.0.0.1:9/x", "{{ 7 * 7 }}", "{0.__class__}", "%(x)s", "$(touch x)"),
        *("!!python/object/apply:os.system", "cos\nsystem\n(S'true'\ntR.", "<script>alert(1)</script>"),
    ]
    judge = next(iter(GOOD["judges"].values()))
    document = damaged(source=str(secret), version="antigravity") | {"judges": dict.fromkeys(names, judge)}
    good, hostile = tmp_path / "good.json", tmp_path / "hostile.json"
    good.write_text(TEXT)
    hostile.write_text(json.dumps(document))
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(good), str(hostile), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
        cwd=tmp_path,
    )
    found, seen = json.loads(done.stdout)
    assert found == document
    opened = [args for event, args in seen if event == "open"]
    assert any(str(hostile) in args for args in opened), "the hook sees nothing"
    # The page is written to a file beside it first.
    here = [args for args in opened if str(tmp_path) in args]
    assert all("hostile.json" in args or "/.bonwise." in args for args in here), here
    assert [pair for pair in seen if pair[0] == "import" and "antigravity" in pair[1]] == []
    assert {
        event for event, _ in seen if event.startswith(("socket.", "subprocess.", "os.system", "urllib."))
    } == set()
    assert not (tmp_path / "x").exists()
    assert [args for event, args in seen if "secret" in args] == []
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "{{ 7 * 7 }}" in page
