from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import ColumnError, FileError, RowError
from bonwise.table import pools as pool_files
from bonwise.table.pools import Candidate, Pool, is_csv_of_pools, read_pools

GOOD = {"prompt_id": "p1", "prompt": "Say hi", "candidates": ["hi", {"id": "b", "text": "hello"}]}


def written(tmp_path, *records, name="pools.jsonl"):
    """Write records as JSONL and return the path."""
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_pool_is_read_as_documented(tmp_path):
    """Candidates keep their order, their ids and their words; one without an id is named by its position."""
    (pool,) = read_pools(written(tmp_path, GOOD))
    assert pool == Pool("p1", "Say hi", (Candidate("c0", "hi"), Candidate("b", "hello")))


def test_names_count_positions_not_nameless_candidates(tmp_path):
    """A nameless candidate after a named one is c1: its number is its position."""
    pool = {**GOOD, "candidates": [{"id": "b", "text": "x"}, "y", {"text": "z"}, {"id": None, "text": "w"}]}
    (found,) = read_pools(written(tmp_path, pool))
    assert [candidate.id for candidate in found.candidates] == ["b", "c1", "c2", "c3"]


def test_numbers_as_ids_are_their_text(tmp_path):
    """An id that is a number is taken as its text, 1.0 as 1."""
    pools = [
        {**GOOD, "prompt_id": 1, "candidates": [{"id": 7, "text": ""}, {"id": 2.0, "text": ""}]},
        {**GOOD, "prompt_id": 2.0},
        {**GOOD, "prompt_id": 0.5},
    ]
    found = list(read_pools(written(tmp_path, *pools)))
    assert [pool.prompt_id for pool in found] == ["1", "2", "0.5"]
    assert [candidate.id for candidate in found[0].candidates] == ["7", "2"]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_blank_text_is_a_candidate(tmp_path, text):
    """A blank answer is kept as it is: the judge will say why it has no score."""
    (found,) = read_pools(written(tmp_path, {**GOOD, "prompt": text, "candidates": [text]}))
    assert found == Pool("p1", text, (Candidate("c0", text),))


def test_gzip_blank_lines_and_a_byte_order_mark_change_nothing(tmp_path):
    """The same lines compressed, spaced out, or after a byte order mark are the same pools."""
    plain = written(tmp_path, GOOD, {**GOOD, "prompt_id": "p2"})
    lines = plain.read_bytes().replace(b"\n", b"\r\n\r\n")
    (tmp_path / "pools.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines))
    assert list(read_pools(str(tmp_path / "pools.jsonl.gz"))) == list(read_pools(plain))


def without(field):
    """Return the good pool without one field."""
    return {key: value for key, value in GOOD.items() if key != field}


BAD = {
    "no prompt_id": (without("prompt_id"), "no prompt_id"),
    "null prompt_id": ({**GOOD, "prompt_id": None}, "no prompt_id"),
    "blank prompt_id": ({**GOOD, "prompt_id": "  "}, "no prompt_id"),
    "boolean prompt_id": ({**GOOD, "prompt_id": True}, "no prompt_id"),
    "list as prompt_id": ({**GOOD, "prompt_id": ["p"]}, "prompt_id is ['p'], neither text nor a number"),
    "no prompt": (without("prompt"), "no prompt"),
    "a number as prompt": ({**GOOD, "prompt": 5}, "prompt is 5, which is not text"),
    "null prompt": ({**GOOD, "prompt": None}, "prompt is None, which is not text"),
    "messages as prompt": (
        {**GOOD, "prompt": [{"role": "user"}]},
        "message 0 of the prompt is a dict without role and content",
    ),
    "no messages as prompt": ({**GOOD, "prompt": []}, "the prompt has no messages"),
    "texts as prompt": ({**GOOD, "prompt": ["hi"]}, "message 0 of the prompt is a str without role and content"),
    "no candidates": (without("candidates"), "no list of candidates"),
    "candidates as text": ({**GOOD, "candidates": "abc"}, "no list of candidates"),
    "candidates as object": ({**GOOD, "candidates": {"a": "x"}}, "no list of candidates"),
    "empty list": ({**GOOD, "candidates": []}, "the list of candidates is empty"),
    "number as candidate": ({**GOOD, "candidates": ["a", 5]}, "candidate 1 is 5, neither text nor an object"),
    "null candidate": ({**GOOD, "candidates": [None]}, "candidate 0 is None"),
    "no text": ({**GOOD, "candidates": [{"id": "a"}]}, "the text of candidate 0 is None"),
    "number as text": ({**GOOD, "candidates": [{"id": "a", "text": 5}]}, "the text of candidate 0 is 5"),
    "a message of bytes": ({**GOOD, "candidates": [{"content": 5}]}, "candidate 0 is a chat message without text"),
    "blank id": ({**GOOD, "candidates": [{"id": " ", "text": "x"}]}, "the id of candidate 0"),
    "boolean id": ({**GOOD, "candidates": [{"id": False, "text": "x"}]}, "the id of candidate 0 is False"),
    "repeated id": ({**GOOD, "candidates": [{"id": 1, "text": ""}, {"id": "1", "text": ""}]}, "0 and 1"),
    "generated id taken": ({**GOOD, "candidates": [{"id": "c1", "text": "x"}, "y"]}, "both named 'c1'"),
    "repeated prompt_id": ({**GOOD, "prompt_id": 0.0}, "prompt_id '0' is in row 1 already"),
    "line breaks in an id": ({**GOOD, "candidates": [{"id": "a\n\x1b[31m", "text": ""}] * 2}, "both named"),
    "a huge id": ({**GOOD, "candidates": [{"id": "a" * 10**6, "text": ""}] * 2}, "both named"),
}


@pytest.mark.parametrize(("record", "says"), BAD.values(), ids=BAD)
def test_a_line_that_is_no_pool_is_refused(tmp_path, record, says):
    """What is no pool is refused in one short printable line that names file, row and remedy."""
    path = written(tmp_path, {**GOOD, "prompt_id": 0}, record)
    with pytest.raises(RowError) as caught:
        list(read_pools(path))
    assert f"{path}, row 2: " in str(caught.value)
    assert says in str(caught.value)
    assert str(caught.value).isprintable()
    assert caught.value.hint
    assert len(str(caught.value)) < 400 + len(str(path))


def test_pools_are_streamed(tmp_path):
    """The pools before a bad line are there before the bad line is met."""
    path = written(tmp_path, GOOD, {**GOOD, "prompt_id": "p2"}, {"prompt_id": "p3"})
    pools = read_pools(path)
    assert [next(pools).prompt_id, next(pools).prompt_id] == ["p1", "p2"]
    with pytest.raises(RowError, match="row 3"):
        next(pools)


def test_an_id_that_comes_again_far_below_is_refused_with_both_rows(tmp_path, monkeypatch):
    """Of many prompt ids only the latest are held with their rows; the row of an earlier one is looked up."""
    monkeypatch.setattr(pool_files, "_HELD", 3)
    lines = [{"prompt_id": f"p{at}", "prompt": "?", "candidates": ["a"]} for at in range(10)]
    file = tmp_path / "pools.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert [pool.prompt_id for pool in read_pools(file)] == [f"p{at}" for at in range(10)]
    for again in (0, 4, 9):
        file.write_text("\n".join(map(json.dumps, [*lines, lines[again]])), encoding="utf-8")
        coming = read_pools(file)
        assert [next(coming).prompt_id for _ in lines] == [f"p{at}" for at in range(10)]
        with pytest.raises(RowError, match=f"row 11: prompt_id 'p{again}' is in row {again + 1} already"):
            next(coming)


def test_an_absent_file_is_named(tmp_path):
    """A file that is not there is an error of the file."""
    with pytest.raises(FileError, match="no such file"):
        list(read_pools(tmp_path / "absent.jsonl"))


def test_a_half_surrogate_is_refused(tmp_path):
    """JSON can spell text that nothing can store; its row is named rather than a later step broken."""
    path = written(tmp_path, {**GOOD, "prompt": "\ud800"})
    with pytest.raises(RowError, match="row 1: half a surrogate pair"):
        list(read_pools(path))
    (pool,) = read_pools(written(tmp_path, {**GOOD, "prompt": "\U0001f600"}))
    assert pool.prompt == "\U0001f600"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "x"]), inner),
    max_leaves=6,
)
RECORD = st.fixed_dictionaries({}, optional={"prompt_id": JSON, "prompt": st.text() | JSON, "candidates": JSON})


@given(st.lists(RECORD, max_size=4))
def test_any_json_is_pools_or_one_line_of_error(tmp_path_factory, records):
    """No JSON brings forth anything but pools of distinct ids or an error of the row."""
    path = written(tmp_path_factory.mktemp("pools"), *records)
    pools = []
    with suppress(RowError, FileError):
        pools.extend(read_pools(path))
    ids = [pool.prompt_id for pool in pools]
    assert len(set(ids)) == len(ids) <= len(records)


def test_reading_pools_loads_no_pandas():
    """A command that only selects does not wait for the libraries of the audit."""
    code = "import sys, bonwise.table.pools; sys.exit('pandas' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_file_without_pools_is_refused(tmp_path):
    """Blank lines alone are no pools, and picking from nothing is not done in silence."""
    path = tmp_path / "pools.jsonl"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(FileError, match="no pools"):
        list(read_pools(path))


def test_a_pipe_is_refused(tmp_path):
    """A pipe can be read once only, and is refused before it is: it would look empty."""
    path = tmp_path / "pools.jsonl"
    os.mkfifo(path)
    with pytest.raises(FileError, match="only once"):
        list(read_pools(path))


def test_prompts_and_candidates_may_be_chat_messages(tmp_path):
    """A conversation is read as one text; a candidate may call a tool, or have no text and say so."""
    call = {"function": {"name": "paint", "arguments": '{"colour": "red"}'}}
    pool = {
        "prompt_id": "p",
        "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "candidates": [
            {"role": "assistant", "content": "Hello"},
            {"id": "msg_1", "role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "assistant", "content": None},
            {"id": "named", "text": "text goes first", "content": "x"},
        ],
    }
    (found,) = read_pools(written(tmp_path, pool))
    assert found.prompt == "system: Be brief.\n\nuser: Hi"
    assert found.candidates == (
        Candidate("c0", "Hello"),
        Candidate("c1", 'tool call: paint({"colour": "red"})'),
        Candidate("c2", "", missing="no text"),
        Candidate("named", "text goes first"),
    )


CSV = """prompt_id,prompt,candidate,text,context
p1,"Say, hi",a,"hi
there",one
p2,Say no,,no,two
p1,"Say, hi",b,,three
"""


def test_columns_of_a_csv_are_no_chat_messages(tmp_path):
    """A column called content, or id, is not taken for the candidate."""
    path = tmp_path / "pools.csv"
    path.write_text("prompt_id,prompt,text,content,tool_calls,id\np1,p,hi,other,x,y\n", encoding="utf-8")
    assert list(read_pools(path)) == [Pool("p1", "p", (Candidate("c0", "hi"),))]


@pytest.mark.parametrize("name", ["pools.csv", "pools.csv.gz"])
def test_pools_of_a_csv_have_one_candidate_per_row(tmp_path, name):
    """Rows of a prompt need not stand together; what the judge needs is read from further columns, by candidate."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(CSV.encode()) if name.endswith("gz") else CSV.encode())
    expected = [
        Pool("p1", "Say, hi", (Candidate("a", "hi\nthere"), Candidate("b", ""))),
        Pool("p2", "Say no", (Candidate("c0", "no"),)),
    ]
    assert list(read_pools(path)) == expected
    found = list(read_pools(path, ["context"]))
    assert [pool.variables for pool in found] == [
        {"context": {"hi\nthere": "one", "": "three"}},
        {"context": {"no": "two"}},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prompt_id,text\np1,hi\n", "no column, or several, named prompt"),
        ("prompt_id,prompt,text,text\np1,p,hi,ho\n", "no column, or several, named text"),
        (f"{CSV}p1,Say ho,c,hi,x\n", "row 5: another prompt than in row 2"),
        (f"{CSV}p3,p,c,hi\n", "row 5: 4 cells under 5 columns"),
        (f"{CSV},p,c,hi,x\n", "row 5: no prompt_id"),
        (f"{CSV}p2,Say no,c0,hi,x\n", "both named"),
        (f'{CSV}p3,p,c,"hi', "line 6: not CSV"),
        ("prompt_id,prompt,text\n", "no pools"),
        ("", "empty"),
        (CSV.replace("three", ""), "row 4: 'context' is empty"),
        (CSV.replace("context", "other"), "row 2: no 'context', which the judge needs"),
        (f"{CSV}p2,Say no,c9,no,x\n", "row 5: candidates of the same text differ in 'context'"),
    ],
)
def test_a_csv_that_is_no_pools_is_refused(tmp_path, text, said):
    """In one sentence with the row, counted as a spreadsheet does."""
    path = tmp_path / "pools.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises((FileError, RowError, ColumnError)) as refused:
        list(read_pools(path, ["context"]))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (GOOD, "row 1: no 'context', which the judge needs"),
        ({**GOOD, "context": " "}, "'context' is empty"),
        ({**GOOD, "context": None}, "'context' is empty"),
        ({**GOOD, "context": ["a"]}, "which is not text"),
        ({**GOOD, "context": True}, "which is not text"),
        ({**GOOD, "context": "a", "candidates": [{"text": "x", "context": "b"}]}, "of the pool and of a candidate"),
        ({**GOOD, "candidates": [{"text": "x", "context": "b"}, "y"]}, "'context' of candidate 1 (counted from 0)"),
    ],
)
def test_a_pool_that_lacks_what_the_judge_needs_is_refused(tmp_path, record, said):
    """Whether it is a key of the pool or of its candidates, with row and key; other judges do not mind."""
    path = written(tmp_path, record)
    assert [pool.variables for pool in read_pools(path)] == [None]
    with pytest.raises(RowError, match="row 1: ") as refused:
        list(read_pools(path, ["context"]))
    assert said in str(refused.value)


def test_a_number_is_a_text_of_a_pool(tmp_path):
    """As answers of arithmetic are written."""
    (pool,) = read_pools(written(tmp_path, {**GOOD, "reference": 4.5}), ["reference"])
    assert pool.variables == {"reference": "4.5"}


def test_a_csv_is_told_by_its_header(tmp_path):
    """Whether a CSV is of pools is seen without reading its rows, which would be read twice."""
    path = tmp_path / "pools.csv"
    path.write_text('text,prompt_id,prompt\n"never closed', "utf-8")
    assert is_csv_of_pools(path)
    path.write_text("prompt_id,candidate,judge_score\n", "utf-8")
    assert not is_csv_of_pools(path)
    path.write_text("", "utf-8")
    assert not is_csv_of_pools(path)
