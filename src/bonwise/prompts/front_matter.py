"""The front matter of a prompt file: TOML with few keys, each of them checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from bonwise.data.wording import listed, quoted
from bonwise.errors import RowError
from bonwise.prompts.modes import MODES
from bonwise.prompts.sections import Section, problem

__all__ = ["front_matter", "front_matter_problems"]

_REQUIRED = ("name", "version", "mode", "variables")
_OPTIONAL = ("description", "answer")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_EXAMPLES = {
    "name": 'write name = "my-prompt": small letters, digits and hyphens',
    "version": "write version = 1, a whole number from 1",
    "mode": f'write mode = "...", one of {", ".join(MODES)}',
    "variables": 'write variables = ["prompt", "candidate"]',
    "description": 'write description = "...", one line',
    "answer": "write a table [answer] with a line for each property, or leave it out for plain text",
}


def front_matter(section: Section, source: str) -> dict[str, Any]:
    """Read the TOML.

    Raises
    ------
    bonwise.errors.RowError
        With the line of the file where it is not TOML.
    """
    try:
        return tomllib.loads(section.text)
    except ValueError as error:  # includes integers with more digits than Python reads
        said = str(error)
        found = re.search(r"\(at line (\d+), column (\d+)\)", said)
        line = section.line + int(found[1]) - 1 if found else section.line
        what = said[: found.start()].strip() if found else said
        raise problem(source, line, f"not TOML: {what}", 'write key = value, text in "quotes"') from error
    except RecursionError as error:
        raise problem(source, section.line, "front matter nested too deeply", "keep it flat") from error


def front_matter_problems(found: Mapping[str, Any], section: Section, source: str) -> Iterator[RowError]:
    """Yield what is wrong with the keys and their values."""
    for key in found:
        if key not in _EXAMPLES:
            hint = f"the keys are {', '.join((*_REQUIRED, *_OPTIONAL))}"
            yield problem(source, section.line_of(key), f"unknown key {quoted(key)}", hint)
    for key in _REQUIRED:
        if key not in found:
            yield problem(source, section.line, f"the front matter has no {key}", _EXAMPLES[key])
    for key, value in found.items():
        if key in _EXAMPLES and not _fits(key, value):
            yield problem(source, section.line_of(key), f"{key} is {quoted(value)}", _EXAMPLES[key])
    yield from _variable_problems(found, section, source)


def _fits(key: str, value: object) -> bool:
    match key:
        case "version":
            return isinstance(value, int) and not isinstance(value, bool) and value >= 1
        case "variables":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case "answer":
            return isinstance(value, dict)
        case "name":
            return isinstance(value, str) and _NAME.fullmatch(value) is not None
        case "mode":
            return isinstance(value, str) and value in MODES
        case _:
            return isinstance(value, str) and "\n" not in value


def _variable_problems(found: Mapping[str, Any], section: Section, source: str) -> Iterator[RowError]:
    """Compare the declared variables with those of the mode, where both can be read."""
    mode, declared = found.get("mode"), found.get("variables")
    if not _fits("mode", mode) or not _fits("variables", declared):
        return
    wanted, line = MODES[str(mode)].variables, section.line_of("variables")
    hint = f"mode {mode} has the variables {', '.join(wanted)}"
    unknown = [name for name in declared or () if name not in wanted]
    absent = [name for name in wanted if name not in (declared or ())]
    if unknown:
        yield problem(source, line, f"variables names {listed(unknown)}, which mode {mode} has not", hint)
    if absent:
        yield problem(source, line, f"variables lacks {listed(absent)}", hint)
    if len(set(declared or ())) != len(declared or ()):
        yield problem(source, line, "variables names one twice", hint)
