"""Documents read back: as they were written, or refused with one clear error."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise import strict_json
from bonwise.auditing.logged_picks import read_picks
from bonwise.cli.entry import run
from bonwise.confidence.result import ConfidenceAudit
from bonwise.declared import words as words_of_loaded_documents
from bonwise.declared import words as words_of_reading
from bonwise.errors import FileError, RowError, UsageError
from bonwise.loading import read_document
from bonwise.report.blocks import Drawing
from bonwise.report.show import is_described
from bonwise.routing.saved import SavedRouter
from bonwise.selection.draw_model import load_model
from processes import PATIENCE
from results.mutations import mutations
from results.samples import samples_of, shapes_of

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
    assert all(word in caught.value.hint for word in words_of_reading())


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
        tmp_path / "pipe.json": "is a pipe, which can be read only once",
        "/dev/zero": "is a device, which can be read only once",
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
    assert "is a pipe" in capsys.readouterr().err


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
    told = document.to_text(full=True), document.to_markdown(), document.to_frame()
    shown = document._repr_html_(), document.drawings
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


EVERY = samples_of(set(words_of_loaded_documents()))
KINDS = shapes_of(set(words_of_loaded_documents()))
NAMED = {"ids": lambda sample: sample.name}


@pytest.mark.parametrize("sample", EVERY, **NAMED)
def test_a_document_comes_back_as_it_was_written(sample, tmp_path):
    """Loaded and written again, a document of a command is the same, keys in their order; so is its JSON."""
    found = bw.load(sample.write(tmp_path))
    written = json.dumps(sample.document, indent=2) + "\n"
    assert json.dumps(found.to_dict(), indent=2) + "\n" == found.to_json() == written
    assert found.schema_ == found["schema"] == f"bonwise.{sample.word}/1"


@pytest.mark.parametrize("sample", EVERY, **NAMED)
def test_a_loaded_document_is_read_like_a_result(sample, tmp_path):
    """It prints itself, as Markdown too, and has a table; one that no person reads prints as JSON."""
    found = bw.load(sample.write(tmp_path))
    assert isinstance(found.to_frame(), pd.DataFrame)
    text = str(found)
    assert text.strip()
    if is_described(found):
        assert found.to_markdown().strip()
        assert '"schema":' not in text
    else:
        assert found.to_text() == found.to_json()
        assert found._repr_html_() is None
        with pytest.raises(UsageError, match="read by programs alone"):
            found.to_markdown()


@pytest.mark.parametrize("sample", KINDS, **NAMED)
def test_a_loaded_document_is_shown_like_a_result(sample, tmp_path):
    """Each kind of document has its page, a part for notebooks, and drawings with their numbers."""
    found = bw.load(sample.write(tmp_path))
    if not is_described(found):
        pytest.skip("read by programs alone")
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert found._repr_html_()
    assert all(isinstance(one, Drawing) for one in found.drawings)
    assert [one.key for one in found.drawings if one.to_frame().empty] == []


# Files that come back in, damaged in every way: refused with one clear error, or right as they are.


KEPT = Path(__file__).parent / "kept"
ROUTERS = ("width", "disagreement", "margin", "learnt")
FILES = dict.fromkeys(ROUTERS, ("json", SavedRouter.load)) | {
    "model": ("json", load_model),
    "tie": ("jsonl", read_picks),
    "routed": ("jsonl", read_picks),
}

UNREAD = (
    *("comparisons", "cost", "calls", "draws", "expected_regret", "failure", "index", "latency", "p_best", "ranking"),
    *("routed", "scores", "standard_errors", "stopped", "text", "tied", "unscored"),
)
NUMBERS = "zero|negative|negative fraction|fraction|huge"

RIGHT = {
    "routers": {
        r"judge: (text|digits|control|long)": "a judge may have any name; what cannot be printed is written out",
        r"version: (text|digits|control|long)": "says who wrote the file; nothing is computed from it",
        r"scale: empty": "no scale was declared",
        r"captured: object": "nothing is known of what was captured, as of a router made in Python",
        r"captured\.low: (zero|negative|negative fraction)": "an interval may be as wide below",
        r"model\.fit\.\w+\.low: (zero|negative|negative fraction)": "an interval may be as wide below",
        r"model\.fit\.r2\.estimate: zero": "between the ends of its interval",
        r"(captured|model\.fit\.\w+)\.se: (fraction|huge)": "an interval need not be symmetric about its estimate",
        r"model\.(means|scales|coefficients): backwards": "any mean, scale above 0 and coefficient is possible",
        rf"model\.(means|coefficients)\.0: ({NUMBERS})": "scores may have any unit",
        r"model\.scales\.0: (fraction|huge)": "scores may have any unit",
        rf"model\.intercept: ({NUMBERS})": "labels may have any unit",
        r"model\.penalty: (fraction|huge)": "any penalty above 0 is one",
        r"model\.fit: null": "a model of a part of the prompts is not cross-fitted",
        r"model\.fit\.weighted: true": "weights may all be equal",
        r"calibration: one (more|less)": "any number of prompts may have been looked at, up to 2,000",
        r"calibration\.0: (zero|negative|negative fraction)": "still in order, and a value that the signal can have",
        r"threshold: zero": "a value between the ends of the calibration",
    },
    "model": {
        r"version: (text|digits|control|long)": "says who wrote the file; nothing is computed from it",
        rf"prior\.beta: ({NUMBERS})": "first scores may foretell later ones to any degree, or the wrong way round",
        r"prior\.cuts\.0: (zero|negative|negative fraction)": "below the other cut, and a score between low and high",
        r"prior\.(sigma2|tau2): backwards": "any class of prompts may scatter most",
        r"prior\.(sigma2|tau2)\.0: (fraction|huge)": "a variance above 0; sigma2 within the range of the scores",
        r"prior\.nu0: huge": "all prompts may scatter alike",
        r"(call_sd|candidate_sd): fraction": "within the range of the scores",
        r"candidate_sd: zero": "chance alone may explain the differences",
        r"low: (zero|negative fraction)": "a range that still holds the cuts and standard deviations",
        r"high: (fraction|huge)": "a range that still holds the cuts and standard deviations",
        r"prices\.0: (fraction|huge)": "above the second price; a call may be worth anything",
    },
    "picks": {
        rf"({'|'.join(UNREAD)})\b.*": "no audit reads it, and what else picks may use the name otherwise",
        r": unknown key": "what else picks may say more",
        rf"prompt_id: (text|digits|control|long|zero|{NUMBERS})": "an identifier may be any text or number",
        r"decided_by: (text|digits|control|long|empty|blank|null|removed|renamed)": "in the words of whoever picked",
        r"best: null": "nothing was picked",
        r"level: (list|null|removed|renamed)": "no seed decided: the pick alone was kept",
        r"level: (backwards|one less)": "these are among the ids, and the pick is among them",
        r"ids: (backwards|one less)": "the pick is still among them",
        r"ids\.0: .*": "a candidate may have any name; the pick is still among them",
        r"(answers|from_ledger|\w+_tokens): (null|removed|renamed)": "the line does not say",
        r"(answers|from_ledger|\w+_tokens): zero": "none",
        r"settings: (null|object|removed|renamed)": "the line does not say who picked",
        r"settings\.(judge|strategy): (null|text|digits|control|long|empty|blank|removed|renamed)": "names the picks",
        r"settings: unknown key inside": "strategies have settings of their own",
        r"settings\.(judge_version|seed|on_failure|version|parameters|strong)\b.*": "compared between lines alone",
    },
}
"""What is accepted, by key and change, and why that is right."""


def reasons_of(name):
    """Return the patterns of what is right in a file."""
    return RIGHT["routers" if name in ROUTERS else "model" if name == "model" else "picks"]


def document(name):
    """Return a kept file; of picks one line, and one among equals."""
    if FILES[name][0] == "json":
        return json.loads((KEPT / f"{name}.json").read_text("utf-8"))
    lines = [json.loads(line) for path in KEPT.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    lines = [line for line in lines if "best" in line]
    return next(line for line in lines if (len(line["level"]) > 1 if name == "tie" else line["routed"] is not None))


def outcomes(name, folder):
    """Yield every mutation of a file with the error that refuses it, None where it is accepted."""
    ending, read = FILES[name]
    path = folder / f"file.{ending}"
    for mutation in mutations(document(name)):
        path.write_text(mutation.text + "\n", encoding="utf-8")
        try:
            read(path)
        except (FileError, RowError) as error:
            yield mutation, error
        else:
            yield mutation, None


@pytest.mark.parametrize("name", FILES)
def test_damage_is_refused_or_right(name, tmp_path):
    """Each change of a file is refused with one short line that names the key, or listed above with a reason."""
    refused = accepted = 0
    used = set()
    for mutation, error in outcomes(name, tmp_path):
        if error is None:
            matching = [one for one in reasons_of(name) if re.fullmatch(one, mutation.name)]
            assert matching, f"accepted without a reason: {mutation.name}"
            used.update(matching)
            accepted += 1
            continue
        refused += 1
        assert error.message.isprintable(), mutation.name
        assert len(error.message) < 600, mutation.name
        assert error.hint, mutation.name
        assert _names(mutation, error.message.partition("file.json")[2]), f"{mutation.name}: {error.message}"
    assert refused >= 110
    assert accepted + refused >= 380


def _names(mutation, message):
    """Tell whether a message names the key that was changed, or what is wrong with the file as a whole."""
    whole = ("not a JSON object", "nested deeper", "nested too", "too many digits", "no schema")
    keys = {key for key in re.split(r"\W+", mutation.key) if key and not key.isdigit()} | {"unknown"}
    return any(key in message for key in keys) or any(words in message for words in whole)


def test_every_reason_is_needed(tmp_path):
    """No reason is in the list for a change that is refused anyway."""
    for kind, reasons in RIGHT.items():
        names = [name for name in FILES if reasons_of(name) is reasons]
        accepted = {mutation.name for name in names for mutation, error in outcomes(name, tmp_path) if error is None}
        idle = [one for one in reasons if not any(re.fullmatch(one, name) for name in accepted)]
        assert idle == [], kind


def test_a_command_ends_with_one_line(tmp_path, capsys):
    """Whoever names a damaged file on the command line is told so: exit code 2, one line, nothing picked."""
    pools = tmp_path / "pools.jsonl"
    pools.write_text('{"prompt_id": "p", "prompt": "p", "candidates": ["a", "b"]}\n')
    routed = ["--judge", "local:length", "--strong", "local:length", "--route", str(tmp_path / "file.json")]
    valued = ["--judge", "local:length", "--strategy", f"value_of_information:model={tmp_path / 'file.json'}"]
    audited = ["audit", str(tmp_path / "file.jsonl"), "--labels", str(tmp_path / "labels.csv")]
    (tmp_path / "labels.csv").write_text("prompt_id,candidate,oracle_label\np,c0,1\n")
    commands = {
        "learnt": ["select", str(pools), *routed],
        "model": ["select", str(pools), *valued],
        "routed": audited,
    }
    for name, words in commands.items():
        refusals = (mutation for mutation, error in outcomes(name, tmp_path) if error is not None)
        for at, mutation in enumerate(refusals):
            if at % 20:
                continue
            if name == "routed" and mutation.key in {"ids", "best"} and mutation.change in {"removed", "renamed"}:
                continue  # a first line without them holds no picks, and is read as a table
            assert run(words) == 2, mutation.name
            printed = capsys.readouterr()
            assert printed.out == ""
            assert printed.err.count("\n") == 1, printed.err
            assert "Traceback" not in printed.err
