"""A prompt file taken apart: its sections, what each kind of judge is given, and the answer that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from bonwise.errors import RowError
from bonwise.printable import listed, quoted

FieldType = Literal["string", "integer", "number", "boolean", "array"]


@dataclass(frozen=True, slots=True)
class Field:
    """What a mode demands of one property of the answer."""

    types: tuple[FieldType, ...]
    """JSON types, any of which will do."""
    values: tuple[str | int, ...] = ()
    """The values that the property must list as its ``enum``; empty where it need not list any."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One kind of judge prompt.

    Attributes
    ----------
    variables : tuple of str
        The variables of a template, each of which it must use.
    """

    candidates: Literal[0, 1, 2]
    """How many candidates one call shows; 0 for all of them."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    """Properties that the answer must have; a prompt file may add others. Empty: the answer is plain text."""
    items: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the entries of a property that is a list."""
    names: tuple[str, ...] | None = None
    """What is shown beside the prompt, where it is not candidates alone."""
    variables: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        shown = (("candidates",), ("candidate",), ("candidate_a", "candidate_b"))[self.candidates]
        object.__setattr__(self, "variables", ("prompt", *(shown if self.names is None else self.names)))


_SCORE = Field(("integer", "number"))

MODES: Mapping[str, Mode] = {
    "pointwise": Mode(1, {"score": _SCORE}),
    "pairwise": Mode(
        2, {"choice": Field(("string",), ("A", "B", "TIE")), "confidence": Field(("integer",), (1, 2, 3, 4, 5))}
    ),
    "probability": Mode(2, {"probability": Field(("number",))}),
    "interval": Mode(1, {"score": _SCORE, "low": _SCORE, "high": _SCORE}),
    "logprob": Mode(1),
    "logprob-pairwise": Mode(2),
    "decision": Mode(1),
    "decision-pairwise": Mode(2),
    "listwise": Mode(
        0,
        {"scores": Field(("array",))},
        {
            "type": "object",
            "properties": {"candidate": {"type": "integer"}, "score": {"type": "integer"}},
            "required": ["candidate", "score"],
            "additionalProperties": False,
        },
    ),
    "checklist-draft": Mode(0, {"items": Field(("array",))}, {"type": "string"}, ()),
    "checklist": Mode(
        2,
        {"marks": Field(("array",))},
        {
            "type": "object",
            "properties": {"number": {"type": "integer"}, "score": {"type": "integer", "enum": [0, 1]}},
            "required": ["number", "score"],
            "additionalProperties": False,
        },
        ("checklist", "candidate"),
    ),
    "listwise-ranking": Mode(0, {"ranking": Field(("array",))}, {"type": "integer"}),
    "rubric": Mode(1),
}


FORMS = ("json", "tag", "last line", "number")
REPLIES = ("json", "plain")


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form in which a prompt file asks for the answer."""

    form: str = "json"
    """One of `FORMS`, or ``lines`` of a file whose reply is plain; only ``json`` binds the model to a schema."""
    field: str = ""
    """What the prompt calls the answer: a key of JSON, a tag, or the label of a line."""
    scale: tuple[int, int] = (0, 100)
    """The ends of the scale of scores."""
    tie: str = ""
    """What else the prompt calls a tie."""
    reasons: bool = False
    """Whether the prompt asks for a key ``why`` of its own, so that it does not mean that nothing can be judged."""


JSON = AnswerForm()


def fields_of(mode: str, field: str = "") -> dict[str, Field]:
    """Return what a mode demands of the answer; `field` is another name of the first property."""
    return {field if field and not at else name: kind for at, (name, kind) in enumerate(MODES[mode].fields.items())}


_FENCE = "+++"
_HEADINGS = ("[system]", "[user]")
_SHAPE = "a prompt file is front matter between two +++ lines, then [system] and [user] on lines of their own"


def problem(source: str, line: int, what: str, hint: str) -> RowError:
    """Return the error for one line of a prompt file."""
    return RowError(f"{source}, line {line}: {what}", hint=hint)


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive lines of a file."""

    text: str
    line: int
    """Number of its first line in the file, counted from 1."""

    def line_at(self, position: int) -> int:
        """Return the number of the line that holds a position of the text."""
        return self.line + self.text.count("\n", 0, position)

    def line_of(self, key: str, table: str = "") -> int:
        """Return the number of the line where TOML sets a key, the first line where it is not found."""
        heading = re.search(rf"^\s*\[{re.escape(table)}\]", self.text, re.MULTILINE) if table else None
        start = heading.start() if heading else 0
        quoted = rf"""["']?{re.escape(key)}["']?"""
        match = re.compile(rf"^\s*(?:\[{quoted}[\].]|{quoted}\s*[.=])", re.MULTILINE).search(self.text, start)
        # White space before the key may begin on an earlier line.
        return self.line_at(match.end() - 1) if match else self.line_of(table) if table else self.line


@dataclass(frozen=True, slots=True)
class Sections:
    """The three parts of a prompt file."""

    front: Section
    system: Section
    user: Section


def taken_apart(text: str, source: str) -> Sections:
    """Split the text of a prompt file; a part that is missing, empty, repeated or out of place raises `RowError`."""
    lines = text.split("\n")
    close = _front_matter_end(lines, source)
    system, user = _headings(lines, close, source)
    for at in range(close + 1, system):
        if lines[at].strip():
            raise problem(source, at + 1, "text before [system]", _SHAPE)
    return Sections(
        Section("\n".join(lines[1:close]), 2),
        _part(lines, system, user, source),
        _part(lines, user, len(lines), source),
    )


def _front_matter_end(lines: Sequence[str], source: str) -> int:
    if lines[0].rstrip() != _FENCE:
        raise problem(source, 1, "no front matter: the first line is not +++", _SHAPE)
    for at in range(1, len(lines)):
        if lines[at].rstrip() == _FENCE:
            return at
    raise problem(source, 1, "the front matter has no end", "close it with a line +++")


def _headings(lines: Sequence[str], close: int, source: str) -> tuple[int, int]:
    where = {heading: [at for at in range(close + 1, len(lines)) if lines[at] == heading] for heading in _HEADINGS}
    for heading, places in where.items():
        if not places:
            raise problem(source, len(lines), f"no line {heading}", _SHAPE)
        if len(places) > 1:
            raise problem(source, places[1] + 1, f"{heading} stands here again", f"keep one {heading}")
    system, user = (places[0] for places in where.values())
    if user < system:
        raise problem(source, user + 1, "[user] before [system]", "put [system] first")
    return system, user


def _part(lines: Sequence[str], heading: int, end: int, source: str) -> Section:
    """Return the lines after a heading, without blank ones at either end."""
    filled = [at for at in range(heading + 1, end) if lines[at].strip()]
    if not filled:
        raise problem(source, heading + 1, f"nothing under {lines[heading]}", _SHAPE)
    return Section("\n".join(lines[filled[0] : filled[-1] + 1]), filled[0] + 1)


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
}
_KEYWORDS = ("type", "enum", "description")


_WHY = {"type": ["null", "string"], "description": "Null beside an answer; else why none can be given."}


def answer_schema(
    answer: Mapping[str, Mapping[str, Any]], wanted: Iterable[str] = (), items: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties, all required, in this order.

    Those `wanted` may be null, and ``why`` follows, where nothing can be judged: a model that must give a number
    would make one up. A list has such `items`.
    """
    properties = {name: dict(fragment) for name, fragment in answer.items()}
    for fragment in properties.values():
        if fragment["type"] == "array":
            fragment["items"] = deepcopy(items)
    for name in wanted:
        properties[name]["type"] = [properties[name]["type"], "null"]
        if "enum" in properties[name]:
            properties[name]["enum"] = [*properties[name]["enum"], None]
        properties.setdefault("why", deepcopy(_WHY))
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def form_problems(front: Mapping[str, Any], mode: str, sections: Sections, source: str) -> Iterator[RowError]:
    """Yield where what a file says of the form of the answer does not fit its mode."""
    unfit = {
        "reply": front.get("reply") == "plain"
        and ("form" in front or not MODES[mode].fields or not MODES[mode].candidates),
        "form": front.get("form", "json") != "json"
        and (not MODES[mode].fields or mode == "interval" or not MODES[mode].candidates),
        "field": "field" in front and (front["field"] in [*MODES[mode].fields][1:] or not MODES[mode].fields),
        "scale": "scale" in front and mode not in ("pointwise", "interval", "listwise"),
        "tie": "tie" in front and mode != "pairwise",
        "levels": "levels" in front and mode != "decision",
        "criteria": "criteria" in front and mode != "rubric",
        "answer": "answer" in front and mode == "rubric",
    }
    for key, wrong in unfit.items():
        if wrong:
            line = sections.front.line_of(key)
            beside = " beside form" if key == "reply" and "form" in front else ""
            yield problem(source, line, f"{key} does not fit mode {mode}{beside}", f"leave {key} out")


def answer_problems(front: Mapping[str, Any], mode: str, sections: Sections, source: str) -> Iterator[RowError]:
    """Yield what is wrong with the table ``[answer]``."""
    answer, wanted = front.get("answer"), fields_of(mode, front.get("field", ""))
    form = front.get("form", "json")
    if not wanted or form != "json":
        if answer is not None:
            line, asked = sections.front.line_of("answer"), f"mode {mode}" if not wanted else f"the form {form}"
            yield problem(source, line, f"{asked} is answered in plain text", "leave [answer] out")
        return
    for name in wanted:
        if name not in (answer or {}):
            hint = f"mode {mode} needs {', '.join(wanted)} in the table [answer]"
            yield problem(source, sections.front.line_of("answer"), f"[answer] lacks {name}", hint)
    for name, fragment in (answer or {}).items():
        line = sections.front.line_of(name, "answer")
        yield from _fragment_problems(name, fragment, line, source)
        if name in wanted and isinstance(fragment, dict):
            yield from _misfits(name, fragment, wanted[name], line, source)
        if front.get("reply") != "plain" and f'"{name}"' not in sections.system.text + sections.user.text:
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
    return all(isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean") for value in values)


def _misfits(name: str, fragment: Mapping[str, Any], wanted: Field, line: int, source: str) -> Iterator[RowError]:
    """Yield where a property that the mode reads is not what the mode reads."""
    if isinstance(fragment.get("type"), str) and fragment["type"] in _TYPES and fragment["type"] not in wanted.types:
        hint = f'write type = "{wanted.types[0]}"'
        yield problem(source, line, f"the type of {quoted(name)} is {quoted(fragment['type'])}", hint)
    values = fragment.get("enum")
    if wanted.values and {repr(given) for given in values or ()} != {repr(value) for value in wanted.values}:
        hint = f"write enum = {list(wanted.values)}".replace("'", '"')
        yield problem(source, line, f"the enum of {quoted(name)} does not list its values", hint)
