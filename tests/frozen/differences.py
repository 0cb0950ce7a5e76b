"""What differs between what was kept and what was found: to the byte, or keys exactly and numbers nearly."""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from frozen.masks import masked

__all__ = ["CLOSE", "byte_differences", "value_differences"]

CLOSE = 1e-9
"""Relative or absolute difference up to which two numbers pass for equal outside the pinned environment."""

_STYLES = (
    {"indent": 2},
    {"indent": 1},
    {},
    {"ensure_ascii": False},
    {"indent": 2, "ensure_ascii": False},
    {"separators": (",", ":")},
)
_DATA = (".json", ".jsonl", ".csv", ".xml", ".html")
"""What holds numbers in full: of pages, the data behind their figures."""
_FLOAT = re.compile(r"(-?\d+\.\d+(?:e-?\d+)?)")
_CLIPPED = re.compile(r"(-p)[0-9a-f]{10}\b")
"""The name of what a figure is clipped to: matplotlib makes it of all digits of its corners."""
_FLAG = re.compile(r"^  (--[a-z][a-z-]*)", re.MULTILINE)
"""A flag where it is explained: what else a help text says of flags is words."""


def byte_differences(kept: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Yield what differs to the byte; of JSON, but for the words that people read.

    The last digits of a number in data depend on the processor, which adds in another order, and may differ. So may
    names in a page that are made of them.
    """
    yield from _other_files(kept, found)
    for name in kept.keys() & found.keys():
        before, after = (_masked_text(name, one[name]) for one in (kept, found))
        if before != after and not (name.endswith(_DATA) and _alike(before, after)):
            yield f"{name}:\n{_diff(before, after)}"


def value_differences(kept: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Yield what differs in keys, their order, text or numbers of JSON and CSV, and in the flags of ``--help``."""
    yield from _other_files(kept, found)
    for name in sorted(kept.keys() & found.keys()):
        read = _reader(name)
        if read is not None:
            yield from (f"{name}{where}" for where in _apart(read(kept[name]), read(found[name]), ""))


def _other_files(kept: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{name} is no longer written" for name in sorted(kept.keys() - found.keys()))
    yield from (f"{name} was not written before" for name in sorted(found.keys() - kept.keys()))


def _alike(before: str, after: str) -> bool:
    """Tell whether two texts are the same but for the last digits of numbers written in full."""
    sides = [_FLOAT.split(text) for text in (before, after)]
    return len(sides[0]) == len(sides[1]) and all(map(_alike_part, *sides))


def _alike_part(before: str, after: str) -> bool:
    if before == after:
        return True
    in_full = all(_FLOAT.fullmatch(one) and repr(float(one)) == one for one in (before, after))
    return in_full and math.isclose(float(before), float(after), rel_tol=CLOSE, abs_tol=CLOSE)


def _masked_text(name: str, text: str) -> str:
    """Return JSON with its words masked, in the layout that it had; pages without names made of last digits."""
    if name.endswith(".html"):
        return _CLIPPED.sub(r"\1", text)
    if name.endswith(".json"):
        return _in_layout(text)
    if name.endswith(".jsonl"):
        return "".join(_in_layout(f"{line}\n") for line in text.splitlines())
    return text


def _in_layout(text: str) -> str:
    value = json.loads(text)
    for style in _STYLES:
        if json.dumps(value, **style) + "\n" == text:
            return json.dumps(masked(value), **style) + "\n"
    return text


def _reader(name: str) -> Any:
    kinds = {".json": _json, ".jsonl": _json_lines, ".csv": _csv, ".help": _flags}
    return next((read for ending, read in kinds.items() if name.endswith(ending)), None)


def _json(text: str) -> Any:
    return masked(json.loads(text))


def _json_lines(text: str) -> Any:
    return [_json(line) for line in text.splitlines()]


def _csv(text: str) -> list[list[Any]]:
    return [[_number(cell) for cell in row] for row in csv.reader(io.StringIO(text))]


def _flags(text: str) -> list[str]:
    return sorted(set(_FLAG.findall(text)))


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def _apart(before: Any, after: Any, where: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            yield f"{where}: keys {list(before)} are now {list(after)}"
        for key in before.keys() & after.keys():
            yield from _apart(before[key], after[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{where}: {len(before)} entries are now {len(after)}"
        for at, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _apart(one, other, f"{where}[{at}]")
    elif not _same(before, after):
        yield f"{where}: {before!r} is now {after!r}"


def _same(before: Any, after: Any) -> bool:
    if type(before) is not type(after):
        return False
    if isinstance(before, float | int) and not isinstance(before, bool):
        return math.isclose(before, after, rel_tol=CLOSE, abs_tol=CLOSE)
    return before == after


def _diff(before: str, after: str, most: int = 30) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "kept", "found", lineterm="", n=1)
    shown = [line[:300] for _, line in zip(range(most), lines, strict=False)]
    return "\n".join(shown)
