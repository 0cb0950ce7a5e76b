from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, Usage
from openai.types.chat import ChatCompletionMessage

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.selection.pools import as_candidates

LONG, SHORT = "a long answer", "short"


def openai_message(text):
    """Make what the OpenAI SDK returns as a message."""
    return ChatCompletionMessage(role="assistant", content=text)


def anthropic_message(*blocks):
    """Make what the Anthropic SDK returns."""
    return Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="m",
        content=list(blocks),
        usage=Usage(input_tokens=1, output_tokens=1),
    )


def anthropic_text(text):
    """Make a message of the Anthropic SDK with thoughts and words."""
    return anthropic_message(
        ThinkingBlock(type="thinking", thinking="hm", signature="s"),
        TextBlock(type="text", text=text),
    )


@dataclass(frozen=True)
class Draft:
    """A caller's own object."""

    body: str


FORMS = {
    "string": (str, None),
    "mapping with text": (lambda text: {"text": text}, None),
    "Candidate": (lambda text: bw.Candidate(f"id {len(text)}", text), None),
    "chat message": (lambda text: {"role": "assistant", "content": text}, None),
    "message with an id": (lambda text: {"id": "msg", "role": "assistant", "content": text}, None),
    "content parts": (lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, None),
    "choice with a message": (lambda text: {"index": 0, "message": {"role": "assistant", "content": text}}, None),
    "document": (lambda text: SimpleNamespace(page_content=text, metadata={}), None),
    "node": (lambda text: SimpleNamespace(get_content=lambda: text, text=None), None),
    "OpenAI message": (openai_message, None),
    "Anthropic message": (anthropic_text, None),
    "object with text": (lambda text: SimpleNamespace(text=text), None),
    "any object": (Draft, lambda draft: draft.body),
    "number": (len, lambda number: "x" * number),
}


@pytest.mark.parametrize("form", FORMS)
def test_answers_of_any_form(form):
    """Whatever holds an answer, the judge sees its words and the very object comes back."""
    make, text = FORMS[form]
    pool = [make(SHORT), make(LONG)]
    found = bw.select("p", pool, judge=lambda _, words: len(words), text=text)
    assert found.best is pool[1]
    assert (found.index, len(found.text)) == (1, len(LONG))
    assert found.scores == (float(len(SHORT)), float(len(LONG)))


def test_forms_may_be_mixed():
    """Each candidate is read for itself."""
    pool = [make("x" * at) for at, (make, text) in enumerate(FORMS.values(), 1) if text is None]
    pool = [one for one in pool if not isinstance(one, bw.Candidate)]
    found = bw.select("p", pool, judge=lambda _, words: len(words))
    assert found.best is pool[-1]
    assert found.ids == tuple(f"c{at}" for at in range(len(pool)))


def test_parts_of_a_message_are_lines():
    """Several parts with words are one text, a part a line."""
    message = anthropic_message(TextBlock(type="text", text="one"), TextBlock(type="text", text="two"))
    assert as_candidates([message], None)[0].text == "one\ntwo"


@pytest.mark.parametrize(
    "one",
    [
        {"content": b"bytes"},
        {"message": "no message"},
        TimeoutError("no answer came"),
        {"text": b"bytes"},
        SimpleNamespace(text=lambda: "a method"),
        object(),
        b"bytes",
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_no_answer_is_named_by_its_position(one):
    """What has no field in which an answer stands is refused, never taken for an answer."""
    with pytest.raises(UsageError, match="candidate 1 has no text") as caught:
        bw.select("p", ["a", one], judge=lambda *_: 1)
    assert "text=function" in caught.value.hint


def test_the_ids_of_messages_are_no_names():
    """Messages of one conversation may carry the same id; candidates are then named by their position."""
    assert [one.id for one in as_candidates([anthropic_text("a"), anthropic_text("b")], None)] == ["c0", "c1"]
    messages = [{"id": "msg", "content": "a"}, {"id": "msg", "content": "b"}]
    assert [one.id for one in as_candidates(messages, None)] == ["c0", "c1"]


@pytest.mark.parametrize(("given", "name"), [(4, "4"), (4.0, "4"), ("x", "x"), (None, "c0")])
def test_the_ids_of_mappings_are_names(given, name):
    """A mapping with a text may have an id, text or number."""
    assert as_candidates([{"id": given, "text": "a"}], None)[0].id == name


@pytest.mark.parametrize("given", [" ", [], True], ids=repr)
def test_an_id_that_is_none_is_refused(given):
    """An id that names nothing is a usage error."""
    with pytest.raises(UsageError, match="candidate 0 has an id"):
        as_candidates([{"id": given, "text": "a"}], None)


def test_a_function_of_the_caller_fails_in_its_own_words():
    """What `text=` raises comes through; what it returns must be text."""
    with pytest.raises(KeyError):
        bw.select("p", [{"a": "x"}, {"b": "y"}], judge=lambda *_: 1, text=lambda one: one["a"])
    with pytest.raises(UsageError, match="candidate 0 has no text"):
        bw.select("p", ["a", "b"], judge=lambda *_: 1, text=len)


@pytest.mark.parametrize(
    "pool", [iter(["a"]), {"a", "b"}, "ab", {"text": "a"}, 3, None], ids=lambda one: type(one).__name__
)
def test_candidates_stand_in_an_order(pool):
    """A pool is a sequence: neither a stream nor a set, a text or a mapping."""
    with pytest.raises(UsageError, match="sequence"):
        as_candidates(pool, None)


EMPTY = [
    None,
    {"id": "x", "text": None},
    {"role": "assistant", "content": None},
    {"role": "assistant", "content": []},
    {"role": "assistant"},
    openai_message(None),
    anthropic_message(),
    anthropic_message(ThinkingBlock(type="thinking", thinking="hm", signature="s")),
    SimpleNamespace(page_content=None),
]


@pytest.mark.parametrize("one", EMPTY, ids=lambda one: type(one).__name__)
def test_an_answer_without_text_cannot_win(one):
    """It is unscored with its reason, whatever the judge makes of an empty text; the others compete."""
    found = bw.select("p", ["aaa", one, "a"], judge=lambda _, text: -len(text))
    assert (found.best, found.scores) == ("a", (-3.0, None, -1.0))
    assert found.unscored == {found.ids[1]: "no text"}
    assert found.verdicts[1] == bw.Unscored("no text")


@pytest.mark.parametrize("pool", [[None], [None, {"content": None}]], ids=["alone", "all"])
def test_answers_without_text_are_no_pick(pool):
    """Where no candidate has a text nothing is picked, of one as of many."""
    found = bw.select("p", pool, judge=lambda *_: 1)
    assert (found.best_id, found.index, found.decided_by, found.ranking) == (None, None, "nothing scored", ())
    assert set(found.unscored.values()) == {"no text"}


def test_an_empty_text_is_still_for_the_judge():
    """A text of no characters is an answer: a judge that asks no model may score it."""
    assert bw.select("p", ["aa", ""], judge=lambda _, text: -len(text)).scores == (-2.0, 0.0)


def test_one_text_beside_one_without_is_the_only_candidate():
    """Nothing is asked where one candidate alone has a text."""
    found = bw.select("p", [None, "a"], judge=lambda *_: 1 / 0)
    assert (found.best, found.decided_by, found.verdicts) == ("a", "only candidate", (bw.Unscored("no text"), None))
