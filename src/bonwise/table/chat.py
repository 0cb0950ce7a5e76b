"""The text of chat messages: what a judge reads of a prompt and of a candidate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bonwise.errors import UsageError

NO_TEXT = "no text"
"""Why a candidate without text and tool calls has no score."""

_FIELDS = ("text", "page_content", "content", "tool_calls", "function_call", "refusal", "role")
"""Fields of which an answer has at least one."""

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
"""Message types of LangChain that are roles elsewhere."""

_CALLS = frozenset({"tool_use", "server_tool_use", "function_call", "tool_call", "custom_tool_call"})
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_PARTS = frozenset({"text", "image_url"})
"""Of the content of a prompt that is given without its message."""
_MEDIA = {"image": "image", "audio": "audio", "video": "video", "file": "file", "document": "file"}


Image = Callable[[Any], str] | None
"""What is written for a part that is an image; None writes ``[image]``."""


class NotAnAnswerError(Exception):
    """A value in which no text, message or tool call is found."""


def prompt_text(prompt: Any, image: Image = None) -> str:
    """Return a prompt as the judge reads it, messages in blocks ``role: text``; thoughts are left out."""
    if isinstance(prompt, str):
        return prompt
    messages = _messages(prompt)
    if not messages:
        raise UsageError("the prompt has no messages", hint="pass a string, or at least one message")
    turns = [_message(message, position, image) for position, message in enumerate(messages)]
    if len(turns) == 1 and turns[0][0] == "user":
        return turns[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in turns)


def answer_text(answer: Any, image: Image = None) -> str | None:
    """Return an answer as the judge reads it, None without text or tool calls; NotAnAnswerError for another type."""
    if answer is None or isinstance(answer, str):
        return answer
    message = _field(answer, "message")
    if not (message is None or isinstance(message, str)) and all(_field(answer, name) is None for name in _FIELDS):
        return answer_text(message, image)
    words, with_calls = _words(answer, image)
    calls = [] if with_calls else [_call(tool_call) for tool_call in _tool_calls(answer)]
    if words is None and not calls:
        refusal = _field(answer, "refusal")
        if isinstance(refusal, str):
            return refusal
        if not _is_empty_answer(answer):
            raise NotAnAnswerError(type(answer).__name__)
    lines = [*([words] if words else []), *calls]
    return "\n".join(lines) if lines else words


def _messages(prompt: Any) -> Sequence[Any]:
    if isinstance(prompt, Mapping) and "messages" in prompt:
        prompt = prompt["messages"]
    if isinstance(prompt, Mapping) or (not isinstance(prompt, Sequence) and _role(prompt) is not None):
        return [prompt]
    if isinstance(prompt, Sequence) and not isinstance(prompt, str | bytes | bytearray):
        are_parts = prompt and all(isinstance(part, Mapping) and _kind(part) in _PARTS for part in prompt)
        return [{"role": "user", "content": prompt}] if are_parts else prompt
    raise UsageError(
        f"the prompt must be text or chat messages, not {type(prompt).__name__}",
        hint='pass a string, or messages such as [{"role": "user", "content": "..."}]',
    )


def _message(message: Any, position: int, image: Image) -> tuple[str, str]:
    role = None if isinstance(message, str) else _role(message)
    try:
        text = None if role is None else answer_text(message, image)
    except NotAnAnswerError:
        role = None
    if role is None or (text is None and not _has_field(message, "content")):
        raise UsageError(
            f"message {position} of the prompt is a {type(message).__name__} without role and content",
            hint='a message is {"role": "user", "content": "..."}',
        )
    return role, f"({NO_TEXT})" if text is None else text


def _role(message: Any) -> str | None:
    role = _field(message, "role")
    role = getattr(role, "value", role)
    if isinstance(role, str) and role.strip():
        return role
    kind = _field(message, "type")
    return _ROLES.get(kind, kind) if isinstance(kind, str) and _field(message, "content") is not None else None


def _words(answer: Any, image: Image) -> tuple[str | None, bool]:
    """Return the words of an answer, and whether its tool calls are among them."""
    if not isinstance(answer, Mapping):
        # Before `text`: on some nodes of LlamaIndex reading `text` fails.
        ask = getattr(answer, "get_content", None)
        content = ask() if callable(ask) else None
        if isinstance(content, str):
            return content, False
    for name in ("text", "page_content"):
        words = _field(answer, name)
        if isinstance(words, str):
            return str(words), False
    content = _field(answer, "content")
    if isinstance(content, str):
        return content, False
    if content is None and isinstance(answer, Mapping) and isinstance(answer.get("text"), list):
        content = answer["text"]
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        lines = list(_lines(content, image))
        calls = any(_kind(part) in _CALLS for part in content)
        return ("\n".join(lines) if lines else None), calls
    return None, False


def _lines(parts: Sequence[Any], image: Image) -> Iterator[str]:
    for part in parts:
        kind = _kind(part)
        text = part if isinstance(part, str) else _field(part, "text")
        if isinstance(text, str):
            yield text
        elif kind in _CALLS:
            yield _call(part)
        elif kind == "refusal":
            yield str(_field(part, "refusal"))
        elif kind == "tool_result":
            yield _words(part, image)[0] or f"({NO_TEXT})"
        elif image is not None and kind is not None and _medium(kind) == "image":
            yield image(part)
        elif kind not in _THOUGHTS:
            yield f"[{_medium(kind)}]"


def _kind(part: Any) -> str | None:
    kind = None if isinstance(part, str) else _field(part, "type")
    return kind if isinstance(kind, str) else None


def _medium(kind: str | None) -> str:
    if kind is None:
        return "part without text"
    return next((name for word, name in _MEDIA.items() if word in kind), kind)


def _tool_calls(answer: Any) -> list[Any]:
    calls = _field(answer, "tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str | bytes) and calls:
        return list(calls)
    legacy = _field(answer, "function_call")
    return [] if legacy is None or callable(legacy) else [legacy]


def _call(call: Any) -> str:
    """Return a tool call as one line; equal arguments are written alike whatever the order of their keys."""
    inner = next((held for name in ("function", "custom") if (held := _field(call, name)) is not None), call)
    # Inspect AI names the function where others have a mapping of its name and its arguments.
    inner, called = (call, inner) if isinstance(inner, str) else (inner, _field(inner, "name"))
    given = (_field(inner, name) for name in ("arguments", "args", "input"))
    arguments: Any = next((argument for argument in given if argument is not None), {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return f"tool call: {called}({arguments})"
    written = json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)
    return f"tool call: {called}({written})"


def _is_empty_answer(answer: Any) -> bool:
    """Tell whether something is an answer in which there is nothing: one of the fields is known, none is filled."""
    values = [_field(answer, name) for name in _FIELDS if _has_field(answer, name)]
    return bool(values) and all(value is None or isinstance(value, str | list | tuple) for value in values)


def _has_field(holder: Any, name: str) -> bool:
    return name in holder if isinstance(holder, Mapping) else hasattr(holder, name)


def _field(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
