"""The page of JSON documents: below what is written of each by hand, the keys of its schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bonwise.declared import words
from bonwise.loading import json_schema

__all__ = ["with_keys"]

_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}
_LARGEST = 2**53
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def with_keys(text: str) -> str:
    """Return the page with the keys of every schema under its heading, which is added at the end where it lacks."""
    schemas = {word: json_schema(word) for word in words()}
    named = Counter(name for schema in schemas.values() for name in schema.get("$defs", {}))
    shared = {name for name, times in named.items() if times > 1}
    for word, schema in schemas.items():
        parts = {name: part for name, part in schema.get("$defs", {}).items() if name not in shared}
        lines = [schema["description"], "", *_choice(schema), *_table(schema), *_parts(parts)]
        text = _placed(text, f"## `bonwise.{word}/1`", "\n".join(lines))
    every = {name: part for schema in schemas.values() for name, part in schema.get("$defs", {}).items()}
    parts = {name: every[name] for name in sorted(shared)}
    return _placed(text, "## Parts of several documents", "\n".join(_parts(parts)).strip("\n"))


def _placed(text: str, heading: str, made: str) -> str:
    section = re.compile(rf"^{re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if place := section.search(text):
        return f"{text[: place.end()].rstrip()}\n\n{made}\n\n{text[place.end() :]}".rstrip() + "\n"
    return f"{text.rstrip()}\n\n{heading}\n\n{made}\n"


def _parts(parts: dict[str, Any]) -> Iterator[str]:
    for name, part in parts.items():
        if "description" not in part:  # any value of JSON
            continue
        yield from ("", f"**{name}**: {_line(part['description'])}", "")
        yield from _table(part)


def _choice(schema: dict[str, Any]) -> Iterator[str]:
    """Say which documents share a schema."""
    if classes := schema.get("oneOf"):
        yield from (f"One of {', '.join(map(_kind, classes))}; all of them have:", "")


def _table(part: dict[str, Any]) -> Iterator[str]:
    if not part.get("properties"):
        return
    yield from ("| key | type | always | meaning |", "|---|---|---|---|")
    required = part.get("required", ())
    for key, one in part.get("properties", {}).items():
        always, kind = "yes", _kind(one)
        if key not in required:  # it is absent, never null
            always, kind = "no", kind.removesuffix(" or null")
        yield f"| `{key}` | {kind} | {always} | {_line(one.get('description', ''))} |"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _kind(one: dict[str, Any]) -> str:
    """Return a type in words."""
    if "$ref" in one:
        return one["$ref"].rpartition("/")[2]
    if words := [f"`{value}`" for value in one.get("enum", [one["const"]] if "const" in one else [])]:
        return ", ".join(words)
    if inner := one.get("anyOf", one.get("oneOf")):
        return " or ".join(dict.fromkeys(map(_kind, inner)))
    if one.get("type") == "array":
        return f"list of {_kind(one.get('items', {}))}"
    if one.get("type") == "object":
        held = one.get("additionalProperties")
        return f"object, by name: {_kind(held)}" if isinstance(held, dict) and held else "object"
    return ", ".join([_TYPES.get(one.get("type", ""), one.get("type", "any")), *_limits(one)])


def _limits(one: dict[str, Any]) -> Iterator[str]:
    if "minimum" in one and one.get("maximum", _LARGEST) != _LARGEST:
        yield f"from {one['minimum']:g} to {one['maximum']:g}"
        return
    for name, form in _BOUNDS.items():
        if one.get(name, _LARGEST) != _LARGEST:
            yield form.format(f"{one[name]:g}")
