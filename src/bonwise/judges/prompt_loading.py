"""Prompt files by name or path: where built-in ones are; read, checked, and used or refused with every reason."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bonwise.errors import FileError, InputError, RowError, UsageError
from bonwise.judges import criteria, prompt_file, prompt_sections
from bonwise.printable import listed, quoted
from bonwise.table.text_files import check_text, file_errors, open_plain


def prompts_folder() -> Path:
    """Return the folder of the built-in prompt files; an installation that lacks them raises `FileError`."""
    here = Path(__file__).resolve()
    packaged, checkout = here.parent / "prompts", here.parents[3]
    if packaged.is_dir():
        return packaged
    # An editable install runs from the checkout, where nothing was copied. Any folder may be called prompts:
    # the project file beside it tells that this one is ours.
    if (checkout / "pyproject.toml").is_file() and (checkout / "prompts").is_dir():
        return checkout / "prompts"
    raise FileError(f"{packaged}: this installation lacks its prompt files", hint="install bonwise again")


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in prompts, sorted."""
    return tuple(sorted(path.stem for path in prompts_folder().glob("*.md")))


_REQUIRED = ("name", "version", "mode", "variables")
_OPTIONAL = ("description", "reply", "form", "field", "scale", "tie", "levels", "answer", "criteria")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FURTHER = re.compile("(?!prompt|candidate|(?:id|text|content|tool_calls)$)[a-z][a-z0-9_]*")
_EXAMPLES = {
    "name": 'write name = "my-prompt": small letters, digits and hyphens',
    "version": "write version = 1, a whole number from 1",
    "mode": f'write mode = "...", one of {", ".join(prompt_sections.MODES)}',
    "variables": 'write variables = ["prompt", "candidate"]',
    "description": 'write description = "...", one line',
    "reply": f'write reply = "...", one of {", ".join(prompt_sections.REPLIES)}',
    "form": f'write form = "...", one of {", ".join(prompt_sections.FORMS)}',
    "field": 'write field = "rating": what the text calls the answer, one line of at most 40 characters',
    "scale": "write scale = [1, 10], two whole numbers from 0, the lower one first",
    "tie": 'write tie = "C": what the text calls a tie, one word',
    "levels": 'write levels = ["poor", "fair", "good"]: 2 or more different words, the worst first',
    "answer": "write a table [answer] with a line for each property, or leave it out for plain text",
    "criteria": "write a table [criteria.NAME] for each criterion",
}

_SUFFIX = ".md"
_PERSONAS, _WORDINGS = "personas.toml", "wordings"


def personas() -> dict[str, str]:
    """Return who may judge by `with_persona`, by name: the words that a prompt begins with.

    Examples
    --------
    >>> list(personas())[:2]
    ['professional', 'pragmatist']
    """
    path = prompts_folder() / _PERSONAS
    return {name: " ".join(text.split()) for name, text in tomllib.loads(_text(_bytes(path), path)).items()}


def with_persona(file: prompt_file.PromptFile, persona: str) -> prompt_file.PromptFile:
    """Return a prompt whose instructions begin with those of a persona; as it is without one."""
    if not persona:
        return file
    words = personas().get(persona)
    if words is None:
        raise UsageError(f"no persona is called {persona!r}", hint=f"name one of {', '.join(personas())}")
    digest = hashlib.sha256(f"{file.digest} {words}".encode()).hexdigest()[:12]
    return replace(file, name=f"{file.name}+{persona}", system=f"{words}\n\n{file.system}", digest=digest)


def wordings(own: prompt_file.PromptFile, folder: str | Path, number: int) -> tuple[prompt_file.PromptFile, ...]:
    """Return so many wordings of a prompt, its own first: of a folder, or those that stand beside a built-in one.

    A `UsageError` refuses too few of them, two that are the same, and one for another kind of answer.
    """
    place = Path(folder) if folder else prompts_folder() / _WORDINGS / own.name
    is_other_text = not folder and Path(own.source).parent != prompts_folder()
    if is_other_text or not place.is_dir():
        what = f"{place} is not a folder" if folder else f"the prompt {own.name} has no wordings of its own"
        raise UsageError(what, hint=f"name a folder of prompt files of mode {own.mode}: wordings=FOLDER")
    files = [own, *map(load, sorted(place.glob(f"*{_SUFFIX}")))][:number]
    if len(files) < number:
        hint = f"state draws={len(files)}, or name a folder of more: wordings=FOLDER"
        raise UsageError(f"{number} draws by {len(files)} wordings of the prompt {own.name}", hint=hint)
    for at, file in enumerate(files):
        forms = [(its.mode, its.variables, its.levels, [each.name for each in its.criteria]) for its in (own, file)]
        if forms[0] != forms[1]:
            hint = f"mode, variables, levels and criteria are those of {own.source}"
            raise UsageError(f"{file.source} is no other wording of the prompt {own.name}", hint=hint)
        if any((file.system, file.user) == (other.system, other.user) for other in files[:at]):
            raise UsageError(f"{file.source} says the same as another wording", hint="keep one of them")
    return tuple(files)


def load(name_or_path: str | Path) -> prompt_file.PromptFile:
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
    ('pairwise', ['choice', 'confidence', 'why'])
    """
    path = prompt_path(name_or_path)
    data = _bytes(path)
    sections = prompt_sections.taken_apart(_text(data, path), str(path))
    front = front_matter(sections.front, str(path))
    for error in _found(front, sections, str(path)):
        raise error
    rubric = criteria.criteria_of(front.get("criteria", {}))
    return prompt_file.PromptFile(
        name=front["name"],
        version=front["version"],
        mode=front["mode"],
        variables=tuple(front["variables"]),
        system="\n\n".join([sections.system.text, *criteria.words_of(rubric)]),
        user=sections.user.text,
        answer={each.name: each.fragment for each in rubric} or front.get("answer"),
        source=str(path),
        digest=hashlib.sha256(data).hexdigest()[:12],
        description=front.get("description", ""),
        asked=prompt_sections.AnswerForm(
            "lines" if front.get("reply") == "plain" else front.get("form", "json"),
            front.get("field", ""),
            tuple(front.get("scale", (0, 100))),
            front.get("tie", ""),
            reasons="why" in front.get("answer", {}),
        ),
        criteria=rubric,
        levels=tuple(front.get("levels", ())),
    )


def problems(path: Path) -> tuple[InputError, ...]:
    """Return everything in a prompt file that is not in order, empty where it can be used."""
    try:
        sections = prompt_sections.taken_apart(_text(_bytes(path), path), str(path))
        front = front_matter(sections.front, str(path))
    except InputError as error:
        return (error,)
    return tuple(_found(front, sections, str(path)))


def prompt_path(name_or_path: str | Path) -> Path:
    """Return the path of a built-in prompt, or the path that was given; what is neither raises `UsageError`."""
    if isinstance(name_or_path, Path):
        return name_or_path
    if name_or_path.endswith(_SUFFIX) or any(separator in name_or_path for separator in ("/", os.sep)):
        return Path(name_or_path)
    if name_or_path not in builtin_names():
        hint = f"name one of {', '.join(builtin_names())}, or give the path of a {_SUFFIX} file"
        raise UsageError(f"no built-in prompt is called {name_or_path!r}", hint=hint)
    return prompts_folder() / f"{name_or_path}{_SUFFIX}"


def _bytes(path: Path) -> bytes:
    check_text(path)
    with file_errors(path), open_plain(path) as stream:
        return stream.read()


def _text(data: bytes, path: Path) -> str:
    with file_errors(path):
        return data.decode("utf-8-sig").replace("\r\n", "\n")


def _found(front: Mapping[str, Any], sections: prompt_sections.Sections, source: str) -> Iterator[RowError]:
    yield from front_matter_problems(front, sections.front, source)
    mode, declared = front.get("mode"), front.get("variables")
    # What a mode demands can be told even where another key is wrong.
    if isinstance(mode, str) and mode in prompt_sections.MODES:
        yield from prompt_sections.form_problems(front, mode, sections, source)
        if mode == "rubric":
            yield from criteria.criteria_problems(front, sections.front, source)
        elif all(_fits(key, front[key]) for key in ("form", "field", "answer") if key in front):
            yield from prompt_sections.answer_problems(front, mode, sections, source)
    if isinstance(declared, list) and all(isinstance(name, str) for name in declared):
        yield from _template_problems(sections, declared, source)


def _template_problems(
    sections: prompt_sections.Sections, declared: Sequence[str], source: str
) -> Iterator[RowError]:
    """Yield what is wrong with the variables in the text."""
    for match in prompt_file.VARIABLE.finditer(sections.system.text):
        line = sections.system.line_at(match.start())
        hint = "keep the system part the same for every call, and put variables under [user]"
        yield prompt_sections.problem(source, line, f"{quoted(match[0])} in the system part", hint)
    yield from _misused(sections.user, declared, source)
    used = [match["name"] for match in prompt_file.VARIABLE.finditer(sections.user.text)]
    for name in declared:
        if name not in used:
            hint = f"put {{{{{name}}}}} on a line of its own, or take it out of variables"
            yield prompt_sections.problem(
                source, sections.user.line, f"{{{{{name}}}}} is declared and not used", hint
            )


def _misused(user: prompt_sections.Section, declared: Sequence[str], source: str) -> Iterator[RowError]:
    seen: set[str] = set()
    lines = user.text.split("\n")
    for match in prompt_file.VARIABLE.finditer(user.text):
        name, line = match["name"], user.line_at(match.start())
        if name is None:
            yield prompt_sections.problem(
                source, line, "{{ begins no variable", "write {{name}}, or put a space between the braces"
            )
        elif name not in declared:
            hint = f"the declared variables are {', '.join(declared)}" if declared else "declare it in variables"
            yield prompt_sections.problem(source, line, f"unknown variable {quoted(match[0])}", hint)
        elif name in seen:
            yield prompt_sections.problem(source, line, f"{match[0]} is used twice", "use each variable once")
        elif lines[line - user.line] != match[0]:
            yield prompt_sections.problem(
                source, line, f"{match[0]} shares its line", "put it on a line of its own, no spaces"
            )
        seen.add(name)


def front_matter(section: prompt_sections.Section, source: str) -> dict[str, Any]:
    """Read the TOML; where it is none, raise `RowError` with the line of the file."""
    try:
        return tomllib.loads(section.text)
    except ValueError as error:  # includes integers with more digits than Python reads
        words = str(error)
        place = re.search(r"\(at line (\d+), column (\d+)\)", words)
        line = section.line + int(place[1]) - 1 if place else section.line
        what = words[: place.start()].strip() if place else words
        raise prompt_sections.problem(
            source, line, f"not TOML: {what}", 'write key = value, text in "quotes"'
        ) from error
    except RecursionError as error:
        raise prompt_sections.problem(
            source, section.line, "front matter nested too deeply", "keep it flat"
        ) from error


def front_matter_problems(
    fields: Mapping[str, Any], section: prompt_sections.Section, source: str
) -> Iterator[RowError]:
    """Yield what is wrong with the keys and their values."""
    for key in fields:
        if key not in _EXAMPLES:
            hint = f"the keys are {', '.join((*_REQUIRED, *_OPTIONAL))}"
            yield prompt_sections.problem(source, section.line_of(key), f"unknown key {quoted(key)}", hint)
    for key in _REQUIRED:
        if key not in fields:
            yield prompt_sections.problem(source, section.line, f"the front matter has no {key}", _EXAMPLES[key])
    if fields.get("mode") == "decision" and "levels" not in fields:
        yield prompt_sections.problem(source, section.line, "mode decision needs levels", _EXAMPLES["levels"])
    for key, value in fields.items():
        if key in _EXAMPLES and not _fits(key, value):
            yield prompt_sections.problem(source, section.line_of(key), f"{key} is {quoted(value)}", _EXAMPLES[key])
    yield from _variable_problems(fields, section, source)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and value.strip() == value and 0 < len(value) <= 40


_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "name": lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
    "version": lambda value: type(value) is int and value >= 1,
    "mode": lambda value: isinstance(value, str) and value in prompt_sections.MODES,
    "variables": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "description": lambda value: isinstance(value, str) and "\n" not in value,
    "reply": lambda value: value in prompt_sections.REPLIES,
    "form": lambda value: value in prompt_sections.FORMS,
    "field": _is_word,
    "scale": criteria.is_scale,
    "tie": lambda value: _is_word(value) and str(value).casefold() not in {"a", "b"},
    "levels": lambda its: isinstance(its, list) and 1 < len(its) == len({*map(str, its)}) and all(map(_is_word, its)),
    "answer": lambda value: isinstance(value, dict),
    "criteria": lambda value: isinstance(value, dict),
}


def _fits(key: str, value: object) -> bool:
    return _CHECKS[key](value)


def _variable_problems(
    fields: Mapping[str, Any], section: prompt_sections.Section, source: str
) -> Iterator[RowError]:
    """Compare the declared variables with those of the mode, where both can be read."""
    mode, declared = fields.get("mode"), fields.get("variables")
    if not _fits("mode", mode) or not _fits("variables", declared):
        return
    wanted, line = prompt_sections.MODES[str(mode)].variables, section.line_of("variables")
    hint = f"mode {mode} has the variables {', '.join(wanted)}"
    unknown = [name for name in declared or () if name not in wanted]
    if mode == "rubric":
        hint += ", and further ones of names as reference or context, which pools state"
        unknown = [name for name in unknown if not _FURTHER.fullmatch(name)]
    absent = [name for name in wanted if name not in (declared or ())]
    if unknown:
        yield prompt_sections.problem(
            source, line, f"variables names {listed(unknown)}, which mode {mode} has not", hint
        )
    if absent:
        yield prompt_sections.problem(source, line, f"variables lacks {listed(absent)}", hint)
    if len(set(declared or ())) != len(declared or ()):
        yield prompt_sections.problem(source, line, "variables names one twice", hint)
