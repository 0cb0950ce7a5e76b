"""Words of prompts and candidates: cells that are no text, messages of a chat, and text that is safe to print."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from pyarrow import parquet

import bonwise as bw
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.printable import listed, printable, quoted
from bonwise.table.chat import NotAnAnswerError, answer_text, prompt_text
from bonwise.table.score_table import ScoreTable
from bonwise.table.words import PromptWords, Words
from cli.commands import pool_file


def table(**columns):
    """Return a table of two prompts with two candidates each, and further columns."""
    frame = pd.DataFrame(
        {"prompt_id": ["p", "p", "q", "q"], "candidate": ["a", "b"] * 2, "judge_score": [0.1, 0.2, 0.3, 0.4]}
    )
    return ScoreTable.from_frame(frame.assign(**columns))


def test_words_come_from_the_columns_of_the_table():
    """Prompt, text and raw are found by prompt, candidate and judge; `response` is another name of the text."""
    held = table(prompt=["P", "P", "Q", "Q"], response=["pa", "pb", "qa", "qb"], raw=["1", "2", "3", "4"])
    assert Words(held).of(["q"]) == {
        "q": PromptWords("Q", {"a": "qa", "b": "qb"}, {("judge", "a"): "3", ("judge", "b"): "4"})
    }


def test_an_empty_answer_is_an_answer_and_a_blank_cell_is_none():
    """A text of no characters is shown as it is; where the cell is missing nothing is known."""
    assert Words(table(text=["", None, "NA", "x"])).of(["p", "q"]) == {
        "p": PromptWords(None, {"a": ""}),
        "q": PromptWords(None, {"a": "NA", "b": "x"}),
    }


def test_words_are_never_strata():
    """Columns of words are kept apart from the columns that the audit reads."""
    held = table(text=["x"] * 4, topic=["s"] * 4)
    assert held.strata == ("topic",)
    assert list(held.words.columns) == ["text"]


def test_pools_go_before_columns(tmp_path):
    """Where a file of pools holds a prompt its words are taken; what only the table holds stays."""
    pools = pool_file(tmp_path / "pools.jsonl", {"p": [{"id": "a", "text": "new"}], "other": ["x"]})
    found = Words(table(text=["old", "kept", "q", "q"], raw=["r"] * 4), pools).of(["p", "q"])
    assert found["p"].prompt == "The prompt p"
    assert found["p"].texts == {"a": "new", "b": "kept"}
    assert found["p"].raw[("judge", "a")] == "r"
    assert found["q"].prompt is None


def test_pools_of_other_prompts_are_refused(tmp_path):
    """A file that shares no prompt with the table is a mistake, and named."""
    pools = pool_file(tmp_path / "pools.jsonl", {"x": ["one"]})
    with pytest.raises(InputError, match=r"pools.jsonl: no prompt of table is in it"):
        Words(table(), pools).of(["p"])


def test_pools_of_prompts_that_are_not_shown_are_no_mistake(tmp_path):
    """A file that holds prompts of the table, though none of those that are asked for, is not refused."""
    pools = pool_file(tmp_path / "pools.jsonl", {"q": ["one"]})
    assert Words(table(), pools).of(["p"]) == {}


def test_the_draws_of_a_judge_stand_one_below_the_other():
    """Several rows of one judge and candidate give one text, in their order."""
    frame = pd.DataFrame(
        {
            "prompt_id": ["p"] * 4,
            "candidate": ["a", "a", "b", "b"],
            "judge_score": [1, 2, 3, 4],
            "draw": [0, 1, 0, 1],
            "raw": ["first", "second", None, "only"],
        }
    )
    raw = Words(ScoreTable.from_frame(frame)).of(["p"])["p"].raw
    assert raw == {("judge", "a"): "first\n\nsecond", ("judge", "b"): "only"}


def test_a_reference_judge_takes_its_words_along():
    """Words are found by row, so a table that lost the rows of its reference still finds those of the others."""
    frame = pd.DataFrame(
        {
            "prompt_id": ["p"] * 4,
            "candidate": ["a", "b"] * 2,
            "judge": ["strong", "strong", "weak", "weak"],
            "judge_score": [1, 0, 0.5, 0.4],
            "raw": ["s1", "s2", "w1", "w2"],
        }
    )
    held = ScoreTable.from_frame(frame).with_reference("strong")
    assert Words(held).of(["p"])["p"].raw == {("weak", "a"): "w1", ("weak", "b"): "w2"}


# Cells of words that are no text: lists of messages, mappings, arrays, and what is missing.


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "caf\u00e9?"}]


def rows(**columns):
    """Return the rows of twelve pools of two, labelled, and further columns of one value each."""
    made = [
        {"prompt_id": f"p{x}", "candidate": name, "judge_score": score, "oracle_label": float((x + at) % 2)}
        for x in range(12)
        for at, (name, score) in enumerate((("a", 0.5 + x / 100), ("b", 0.4)))
    ]
    return [row | columns for row in made]


def spoken(cell):
    """Return the words of one cell."""
    frame = pd.DataFrame(rows())
    frame["text"] = pd.Series([cell] * len(frame), dtype=object)
    found = Words(ScoreTable.from_frame(frame)).of(["p0"])
    return found["p0"].texts["a"] if found else None


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("role", ["prompt", "text", "raw", "response"])
def test_messages_of_a_chat_are_words_in_every_kind_of_file(tmp_path, suffix, role):
    """A list of messages in Parquet reads as the same list in JSON Lines, and the page shows it."""
    path = tmp_path / f"scores.{suffix}"
    if suffix == "parquet":
        # Older versions of pyarrow sort the fields of a mapping whose type nobody states.
        messages = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
        table = pa.Table.from_pylist(rows())
        parquet.write_table(table.append_column(role, pa.array([CHAT] * len(table), messages)), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(**{role: CHAT})), encoding="utf-8")
    found = Words(ScoreTable.read(path)).of(["p0"])["p0"]
    words = {"prompt": found.prompt, "raw": found.raw.get(("judge", "a"))}.get(role, found.texts.get("a"))
    assert words == json.dumps(CHAT)
    bw.audit(path).to_html(tmp_path / "page.html")
    assert "Be brief." in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ([1, "b"], '[1, "b"]'),
        ((1, None), "[1, null]"),
        ([], "[]"),
        ({}, "{}"),
        (np.array([{"n": np.int64(3), "of": np.array(["a", "b"])}], dtype=object), '[{"n": 3, "of": ["a", "b"]}]'),
        (np.array([None]), "[null]"),
        ({"at": pd.Timestamp("2020-01-01")}, '{"at": "2020-01-01 00:00:00"}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        ("", ""),
        (1.5, "1.5"),
        (None, None),
        (float("nan"), None),
        (pd.NA, None),
    ],
    ids=repr,
)
def test_a_cell_is_missing_only_where_it_is_one_value_that_is_missing(cell, words):
    """Lists and mappings are words, empty ones too; None and NaN are none."""
    assert spoken(cell) == words


def test_a_list_that_holds_itself_is_shortened():
    """What JSON cannot hold is shown as far as it goes."""
    loop = []
    loop.append(loop)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert "..." in spoken(loop)
    assert "..." in spoken(deep)


BROKEN = ["caf\u00e9", None, "x", "half \ud83d"] * 6

COLUMNS = {
    "objects": pd.Series(BROKEN, dtype=object),
    "strings": pd.array(BROKEN, dtype=pd.StringDtype("python")),
    "categories": pd.Categorical.from_codes(
        [0, -1, 1, 2] * 6, pd.Index(["caf\u00e9", "x", "half \ud83d"], dtype=object)
    ),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_stratum_that_is_no_text_is_refused_with_its_row(column):
    """Half a surrogate pair in any kept column is one line with row, column and remedy."""
    frame = pd.DataFrame(rows()).assign(topic=column)
    with pytest.raises(RowError, match=r"^table, row 3: 'topic' holds what is not text \(write valid Unicode\)$"):
        ScoreTable.from_frame(frame)


def test_the_name_of_a_stratum_that_is_no_text_is_refused():
    """A column whose name is half a surrogate pair is one line, the name written out in it."""
    frame = pd.DataFrame(rows(topic="x"))
    frame.columns = pd.Index([*frame.columns[:-1], "t\ud800"], dtype=object)
    with pytest.raises(ColumnError, match=r"column 't\\ud800' is not text"):
        ScoreTable.from_frame(frame)


@given(st.text())
def test_words_stay_on_their_line(text):
    """Whatever a file holds, its words in a message are printable and can be encoded."""
    for words in (printable(text), quoted(text), listed([text])):
        assert words.isprintable()
        words.encode()


@given(st.text(st.characters(categories=["L", "N", "P"])))
def test_printable_text_is_left_alone(text):
    """Text that can be printed is quoted as it is, in any script."""
    assert printable(text) == text


class Loud:
    """An object whose repr spans lines."""

    def __repr__(self):
        return "a\n\x1b[31mb" * 100


@pytest.mark.parametrize("value", ["x" * 10**6, ["x"] * 10**5, Loud(), b"x" * 10**6])
def test_a_quoted_cell_is_short(value):
    """A cell is quoted in forty characters at most, whatever it holds."""
    assert len(quoted(value)) <= 40
    assert quoted(value).isprintable()
    assert quoted(value).endswith("...")


def test_a_number_of_thousands_of_digits_is_not_written_out():
    """Python itself refuses to write some of them."""
    assert quoted(10**4000) == quoted(-(10**5000)) == "a whole number that is too large"
    assert quoted(2**1000) == f"{str(2**1000)[:37]}..."


def test_short_cells_are_quoted_whole():
    """A cell that fits is quoted whole, text with its quotes."""
    assert (quoted("a'b"), quoted(0.5), quoted("")) == ('"a\'b"', "0.5", "''")


def test_long_lists_are_cut():
    """A dozen names are listed and the others counted; each name is cut at sixty characters."""
    assert listed("ab") == "a, b"
    assert listed(range(14)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"
    assert listed(["x" * 100]) == "x" * 60


GIVEN = {"b": 1, "a": "é"}
CALL = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"b": 1, "a": "é"}'}}
LINE = 'tool call: find({"a": "é", "b": 1})'

ANSWERS = {
    "OpenAI mapping": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "OpenAI object": ChatCompletionMessage.model_validate({"role": "assistant", "tool_calls": [CALL]}),
    "OpenAI legacy": {"content": None, "function_call": CALL["function"]},
    "OpenAI custom": {"content": "", "tool_calls": [{"type": "custom", "custom": {"name": "find", "input": GIVEN}}]},
    "LangChain": SimpleNamespace(content="", text="", tool_calls=[{"name": "find", "args": GIVEN, "id": "1"}]),
    "Inspect AI": SimpleNamespace(content="", tool_calls=[SimpleNamespace(function="find", arguments=GIVEN)]),
    "Anthropic part": {"content": [{"type": "tool_use", "id": "1", "name": "find", "input": GIVEN}]},
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_tool_call_is_one_line_in_every_form(answer):
    """The same call is the same text whoever made the message, and whatever the order of its arguments."""
    assert answer_text(answer) == LINE


def test_text_stands_above_tool_calls():
    """An answer with both is read with both: two answers that differ in a call differ in text."""
    assert answer_text({"content": "Let me see.", "tool_calls": [CALL, CALL]}) == f"Let me see.\n{LINE}\n{LINE}"
    message = Message(
        id="m",
        type="message",
        role="assistant",
        model="m",
        content=[TextBlock(type="text", text="x"), ToolUseBlock(type="tool_use", id="t", name="n", input={})],
        usage=Usage(input_tokens=1, output_tokens=1),
    )
    assert answer_text(message) == "x\ntool call: n({})"


def test_calls_that_stand_in_the_parts_are_written_once():
    """Where a framework repeats the calls of the parts under tool_calls, they are not doubled."""
    part = {"type": "tool_use", "id": "1", "name": "find", "input": GIVEN}
    assert answer_text({"content": [part], "tool_calls": [{"name": "find", "args": GIVEN}]}) == LINE


@pytest.mark.parametrize("arguments", ['{"cut', "plain words", ""])
def test_arguments_that_are_no_json_stand_as_they_are(arguments):
    """What a model wrote wrongly is for the judge to see."""
    call = {"function": {"name": "find", "arguments": arguments}}
    assert answer_text({"content": None, "tool_calls": [call]}) == f"tool call: find({arguments})"


PARTS = [
    ({"type": "image_url", "image_url": {"url": "data:..."}}, "[image]"),
    ({"type": "input_image"}, "[image]"),
    ({"type": "input_audio"}, "[audio]"),
    ({"type": "document", "source": {}}, "[file]"),
    ({"type": "web_search_tool_result"}, "[web_search_tool_result]"),
    ({"inline": 1}, "[part without text]"),
    ({"type": "refusal", "refusal": "I cannot."}, "I cannot."),
    ({"type": "tool_result", "content": [{"type": "text", "text": "42"}]}, "42"),
    ({"type": "tool_result", "content": []}, "(no text)"),
    ("words", "words"),
]


@pytest.mark.parametrize(("part", "line"), PARTS, ids=[line for _, line in PARTS])
def test_parts_are_named_in_their_place(part, line):
    """A part that is no text is named where it stands, and none is dropped in silence."""
    content = [{"type": "text", "text": "above"}, part, {"type": "text", "text": "below"}]
    assert answer_text({"role": "user", "content": content}) == f"above\n{line}\nbelow"


def test_a_refusal_is_what_the_model_says():
    """A message that refuses has its refusal as text."""
    refused = ChatCompletionMessage(role="assistant", content=None, refusal="I cannot help with that.")
    assert answer_text(refused) == "I cannot help with that."


def test_a_node_whose_text_fails_is_asked_for_its_content():
    """Nodes of LlamaIndex raise where their `text` is read and they hold none."""

    class Node:
        @property
        def text(self):
            raise ValueError("Node must be a TextNode to get text.")

        def get_content(self):
            return "words"

    assert answer_text(Node()) == "words"


@pytest.mark.parametrize(
    "one", [3, b"bytes", object(), {"id": "x"}, {"text": 5}, ValueError("x")], ids=lambda one: type(one).__name__
)
def test_what_is_no_answer_is_refused(one):
    """Whatever has none of the known fields is no answer."""
    with pytest.raises(NotAnAnswerError):
        answer_text(one)


SYSTEM, USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}

PROMPTS = {
    "text": ("Hi", "Hi"),
    "one message of the user": ([USER], "Hi"),
    "a message alone": (USER, "Hi"),
    "a request's body": ({"model": "m", "messages": [USER]}, "Hi"),
    "another role alone": ([SYSTEM], "system: Be brief."),
    "a conversation": ((SYSTEM, USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}),
                       f"system: Be brief.\n\nuser: Hi\n\nassistant: {LINE}"),
    "an answer without text": ([USER, {"role": "assistant", "content": None}], "user: Hi\n\nassistant: (no text)"),
    "LangChain objects": ([SimpleNamespace(type="human", content="Hi"), SimpleNamespace(type="ai", content="Yes")],
                          "user: Hi\n\nassistant: Yes"),
    "an image": ([{"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "What is it?"}]}],
                 "[image]\nWhat is it?"),
}  # fmt: skip


@pytest.mark.parametrize(("prompt", "text"), PROMPTS.values(), ids=PROMPTS)
def test_prompts_are_read_by_one_rule(prompt, text):
    """A prompt of messages is the text that the rule makes of it."""
    assert prompt_text(prompt) == text


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        (3, "not int"),
        (None, "not NoneType"),
        (b"bytes", "not bytes"),
        ([], "no messages"),
        ({"messages": []}, "no messages"),
        ([USER, "Hi"], "message 1"),
        ([{"role": "user"}], "message 0"),
        ([{"content": "Hi"}], "message 0"),
        ([{"role": "user", "content": 5}], "message 0"),
    ],
    ids=repr,
)
def test_what_is_no_prompt_is_refused(prompt, says):
    """What is neither text nor messages is one clear error."""
    with pytest.raises(UsageError, match=says) as caught:
        prompt_text(prompt)
    assert caught.value.hint
