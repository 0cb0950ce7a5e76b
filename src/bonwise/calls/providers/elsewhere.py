"""Answers that stand in another place of a reply than its words: in a tool call, or among the thinking."""

from __future__ import annotations

import json
from collections.abc import Sequence

__all__ = ["answer_elsewhere"]


def answer_elsewhere(calls: Sequence[object], thinking: str, field: str) -> tuple[str, str]:
    """Return the answer of a reply without words, or else in which `field` words stand and what to set.

    It is read where its shape leaves no doubt: the one tool call there is, with the JSON object of its arguments;
    thinking that is one JSON object as a whole; or what stands after the end of the thinking.

    Examples
    --------
    >>> answer_elsewhere(['{"score": 85}'], "", "")
    ('{"score": 85}', '')
    >>> answer_elsewhere([], "First a look.</think>85", "reasoning_content")
    ('85', '')
    >>> answer_elsewhere([], "About 85?", "reasoning_content")[1]
    'its words stand in reasoning_content; turn thinking off for this model, or raise max_tokens'
    """
    if calls:
        answer = _object(calls[0]) if len(calls) == 1 else ""
        what = "a tool call" if len(calls) == 1 else f"{len(calls)} tool calls"
        return (answer, "") if answer else ("", f"it is {what}; serve the model without tools")
    if not thinking.strip():
        return "", ""
    after = thinking.rpartition("</think>")[2] if "</think>" in thinking else ""
    if answer := after.strip() or _object(thinking):
        return answer, ""
    return "", f"its words stand in {field}; turn thinking off for this model, or raise max_tokens"


def _object(value: object) -> str:
    """Return a JSON object as text, empty where it is none."""
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return ""
        return value.strip() if isinstance(found, dict) and found else ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value else ""
