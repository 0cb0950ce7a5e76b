from __future__ import annotations

from types import SimpleNamespace

import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from openai.types.chat import ChatCompletionMessage

from bonwise.errors import UsageError
from bonwise.table.chat import NotAnAnswerError, answer_text, prompt_text

GIVEN = {"b": 1, "a": "é"}
CALL = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"b": 1, "a": "é"}'}}
LINE = 'tool call: find({"a": "é", "b": 1})'

ANSWERS = {
    "OpenAI mapping": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "OpenAI object": ChatCompletionMessage.model_validate({"role": "assistant", "tool_calls": [CALL]}),
    "OpenAI legacy": {"content": None, "function_call": CALL["function"]},
    "OpenAI custom": {
        "content": "",
        "tool_calls": [{"type": "custom", "custom": {"name": "find", "input": GIVEN}}],
    },
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
