"""The answer that a prompt file asks for: the fragments of its JSON schema, checked against the mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bonwise.data.wording import listed, quoted
from bonwise.errors import RowError
from bonwise.prompts.modes import MODES, Field
from bonwise.prompts.sections import Sections, problem

__all__ = ["answer_problems", "answer_schema"]

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
_KEYWORDS = ("type", "enum", "description")


def answer_schema(answer: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties, all required, in this order.

    Examples
    --------
    >>> answer_schema({"score": {"type": "integer"}})["required"]
    ['score']
    """
    return {
        "type": "object",
        "properties": {name: dict(fragment) for name, fragment in answer.items()},
        "required": list(answer),
        "additionalProperties": False,
    }


def answer_problems(
    answer: Mapping[str, Any] | None, mode: str, sections: Sections, source: str
) -> Iterator[RowError]:
    """Yield what is wrong with the table ``[answer]``."""
    front, wanted = sections.front, MODES[mode].fields
    if not wanted:
        if answer is not None:
            line = front.line_of("answer")
            yield problem(source, line, f"mode {mode} is answered in plain text", "leave [answer] out")
        return
    for name in wanted:
        if name not in (answer or {}):
            hint = f"mode {mode} needs {', '.join(wanted)} in the table [answer]"
            yield problem(source, front.line_of("answer"), f"[answer] lacks {name}", hint)
    for name, fragment in (answer or {}).items():
        line = front.line_of(name, "answer")
        yield from _fragment_problems(name, fragment, line, source)
        if name in wanted and isinstance(fragment, dict):
            yield from _misfits(name, fragment, wanted[name], line, source)
        if f'"{name}"' not in sections.system.text + sections.user.text:
            # A server without schema support gets the text alone.
            hint = f'say in the text that the answer is a JSON object with the key "{name}"'
            yield problem(source, line, f"the text does not ask for {quoted(name)}", hint)


def _fragment_problems(name: str, fragment: object, line: int, source: str) -> Iterator[RowError]:
    """Yield what no schema of ours may hold: not every server knows every keyword."""
    if not isinstance(fragment, dict):
        hint = f'write {name} = {{ type = "integer" }}'
        yield problem(source, line, f"the schema of {quoted(name)} is {quoted(fragment)}, not a table", hint)
        return
    unknown = [key for key in fragment if key not in _KEYWORDS]
    if unknown:
        hint = f"use {', '.join(_KEYWORDS)}; state limits in words"
        yield problem(source, line, f"the schema of {quoted(name)} uses {listed(unknown)}", hint)
    kind, values = fragment.get("type"), fragment.get("enum")
    if not isinstance(kind, str) or kind not in _TYPES:
        hint = f"type is one of {', '.join(_TYPES)}"
        yield problem(source, line, f"the type of {quoted(name)} is {quoted(kind)}", hint)
    elif values is not None and not _are_values(values, kind):
        yield problem(source, line, f"the enum of {quoted(name)} is not a list of {kind} values", "mend the list")
    if not isinstance(fragment.get("description", ""), str):
        yield problem(source, line, f"the description of {quoted(name)} is not text", "write it in quotes")


def _are_values(values: object, kind: str) -> bool:
    if not isinstance(values, list) or not values:
        return False
    # To Python True is a whole number, to JSON it is none.
    return all(isinstance(one, _TYPES[kind]) and isinstance(one, bool) == (kind == "boolean") for one in values)


def _misfits(name: str, fragment: Mapping[str, Any], wanted: Field, line: int, source: str) -> Iterator[RowError]:
    """Yield where a property that the mode reads is not what the mode reads."""
    if isinstance(fragment.get("type"), str) and fragment["type"] in _TYPES and fragment["type"] not in wanted.types:
        hint = f'write type = "{wanted.types[0]}"'
        yield problem(source, line, f"the type of {quoted(name)} is {quoted(fragment['type'])}", hint)
    values = fragment.get("enum")
    if wanted.values and {repr(one) for one in values or ()} != {repr(one) for one in wanted.values}:
        hint = f"write enum = {list(wanted.values)}".replace("'", '"')
        yield problem(source, line, f"the enum of {quoted(name)} does not list its values", hint)
