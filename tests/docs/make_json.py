"""Write the tables of docs/json.md anew from the models, or say that they are current.

::

    python tests/docs/make_json.py           # writes the page
    python tests/docs/make_json.py --check   # writes nothing; exit 1 where the page is not current

What stands between ``<!-- keys of WORD -->`` and ``<!-- end -->`` is made here; the rest is written by hand. A schema
without a section gets one at the end.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bonwise.loading import json_schema, words

__all__ = ["PAGE", "main", "page"]

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
SHARED = "shared"
"""Stands for a word where the parts of several documents are."""

_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}
_LARGEST = 2**53
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    schemas = {word: json_schema(word) for word in words()}
    named = Counter(name for schema in schemas.values() for name in schema.get("$defs", {}))
    shared = {name for name, times in named.items() if times > 1}
    for word, schema in schemas.items():
        parts = {name: part for name, part in schema.get("$defs", {}).items() if name not in shared}
        lines = [schema["description"], "", *_choice(schema), *_table(schema), *_parts(parts)]
        text = _placed(text, word, f"## `bonwise.{word}/1`", "\n".join(lines))
    every = {name: part for schema in schemas.values() for name, part in schema.get("$defs", {}).items()}
    parts = {name: every[name] for name in sorted(shared)}
    return _placed(text, SHARED, "## Parts of several documents", "\n".join(_parts(parts)).strip("\n"))


def _placed(text: str, word: str, heading: str, made: str) -> str:
    """Put what was made between the marks of a word; where there are none, under its heading or at the end."""
    block = f"<!-- keys of {word} -->\n\n{made}\n\n<!-- end -->"
    marked = re.compile(rf"<!-- keys of {word} -->.*?<!-- end -->", re.DOTALL)
    if marked.search(text):
        return marked.sub(lambda _: block, text)
    section = re.compile(rf"^{re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if found := section.search(text):
        return f"{text[: found.end()].rstrip()}\n\n{block}\n\n{text[found.end() :]}".rstrip() + "\n"
    return f"{text.rstrip()}\n\n{heading}\n\n{block}\n"


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


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page and return the exit code."""
    asked = sys.argv[1:] if arguments is None else arguments
    before = PAGE.read_text(encoding="utf-8")
    made = page(before)
    if made == before:
        return 0
    if "--check" in asked:
        sys.stdout.write(f"{PAGE.name} is not current: python tests/docs/make_json.py\n")
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
