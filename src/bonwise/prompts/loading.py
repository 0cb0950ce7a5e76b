"""Prompt files by name or path: read, checked, and either used or refused with every reason."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bonwise.data.bytes_check import check_text, file_errors
from bonwise.data.wording import quoted
from bonwise.errors import InputError, RowError, UsageError
from bonwise.prompts.answer import answer_problems
from bonwise.prompts.folder import builtin_names, prompts_folder
from bonwise.prompts.front_matter import front_matter, front_matter_problems
from bonwise.prompts.modes import MODES
from bonwise.prompts.prompt_file import VARIABLE, PromptFile
from bonwise.prompts.sections import Section, Sections, problem, taken_apart

__all__ = ["load", "problems", "prompt_path"]

_SUFFIX = ".md"


def load(name_or_path: str | Path) -> PromptFile:
    """Read a prompt file.

    Parameters
    ----------
    name_or_path : str or pathlib.Path
        A plain word is the name of a built-in prompt and never a file of the current folder. A
        `pathlib.Path`, or a text that ends in ``.md`` or holds a path separator, is a path.

    Raises
    ------
    bonwise.errors.UsageError
        Neither a built-in name nor a path.
    bonwise.errors.FileError
        The file cannot be read.
    bonwise.errors.RowError
        The first thing in it that is not in order, with its line.

    Examples
    --------
    >>> prompt = load("pairwise")
    >>> prompt.mode, list(prompt.schema["properties"])
    ('pairwise', ['choice', 'confidence'])
    """
    path = prompt_path(name_or_path)
    data = _bytes(path)
    sections = taken_apart(_text(data, path), str(path))
    front = front_matter(sections.front, str(path))
    for error in _found(front, sections, str(path)):
        raise error
    return PromptFile(
        name=front["name"],
        version=front["version"],
        mode=front["mode"],
        variables=tuple(front["variables"]),
        system=sections.system.text,
        user=sections.user.text,
        answer=front.get("answer"),
        source=str(path),
        digest=hashlib.sha256(data).hexdigest()[:12],
        description=front.get("description", ""),
    )


def problems(path: Path) -> tuple[InputError, ...]:
    """Return everything in a prompt file that is not in order, empty where it can be used."""
    try:
        sections = taken_apart(_text(_bytes(path), path), str(path))
        front = front_matter(sections.front, str(path))
    except InputError as error:
        return (error,)
    return tuple(_found(front, sections, str(path)))


def prompt_path(name_or_path: str | Path) -> Path:
    """Return the path of a built-in prompt, or the path that was given.

    Raises
    ------
    bonwise.errors.UsageError
        Neither.

    Examples
    --------
    >>> prompt_path("pairwise").name, str(prompt_path("pairwise.md"))
    ('pairwise.md', 'pairwise.md')
    """
    if isinstance(name_or_path, Path):
        return name_or_path
    if name_or_path.endswith(_SUFFIX) or any(one in name_or_path for one in ("/", os.sep)):
        return Path(name_or_path)
    if name_or_path not in builtin_names():
        hint = f"name one of {', '.join(builtin_names())}, or give the path of a {_SUFFIX} file"
        raise UsageError(f"no built-in prompt is called {name_or_path!r}", hint=hint)
    return prompts_folder() / f"{name_or_path}{_SUFFIX}"


def _bytes(path: Path) -> bytes:
    check_text(path)
    with file_errors(path):
        return path.read_bytes()


def _text(data: bytes, path: Path) -> str:
    with file_errors(path):
        return data.decode("utf-8-sig").replace("\r\n", "\n")


def _found(front: Mapping[str, Any], sections: Sections, source: str) -> Iterator[RowError]:
    yield from front_matter_problems(front, sections.front, source)
    mode, declared, answer = front.get("mode"), front.get("variables"), front.get("answer")
    # What a mode demands can be told even where another key is wrong.
    if isinstance(mode, str) and mode in MODES and (answer is None or isinstance(answer, dict)):
        yield from answer_problems(answer, mode, sections, source)
    if isinstance(declared, list) and all(isinstance(name, str) for name in declared):
        yield from _template_problems(sections, declared, source)


def _template_problems(sections: Sections, declared: Sequence[str], source: str) -> Iterator[RowError]:
    """Yield what is wrong with the variables in the text."""
    for found in VARIABLE.finditer(sections.system.text):
        line = sections.system.line_at(found.start())
        hint = "keep the system part the same for every call, and put variables under [user]"
        yield problem(source, line, f"{quoted(found[0])} in the system part", hint)
    yield from _misused(sections.user, declared, source)
    used = [found["name"] for found in VARIABLE.finditer(sections.user.text)]
    for name in declared:
        if name not in used:
            hint = f"put {{{{{name}}}}} on a line of its own, or take it out of variables"
            yield problem(source, sections.user.line, f"{{{{{name}}}}} is declared and not used", hint)


def _misused(user: Section, declared: Sequence[str], source: str) -> Iterator[RowError]:
    seen: set[str] = set()
    lines = user.text.split("\n")
    for found in VARIABLE.finditer(user.text):
        name, line = found["name"], user.line_at(found.start())
        if name is None:
            yield problem(source, line, "{{ begins no variable", "write {{name}}, or put a space between the braces")
        elif name not in declared:
            hint = f"the declared variables are {', '.join(declared)}" if declared else "declare it in variables"
            yield problem(source, line, f"unknown variable {quoted(found[0])}", hint)
        elif name in seen:
            yield problem(source, line, f"{found[0]} is used twice", "use each variable once")
        elif lines[line - user.line] != found[0]:
            yield problem(source, line, f"{found[0]} shares its line", "put it on a line of its own, no spaces")
        seen.add(name)
