"""Docstrings in numpy's style, taken apart: what a class is, and what each of its parameters means."""

from __future__ import annotations

import inspect
import re

__all__ = ["meanings", "prose"]

_SECTION = re.compile(r"^(\S[^\n]*)\n-{3,}$", re.MULTILINE)

_NONE = re.compile(r"\bNone\b")
"""What Python says for the null of JSON."""


def prose(docstring: str) -> str:
    r"""Return what stands before the first section, one line per paragraph, as it is said of JSON.

    Code is in single backticks, and None is null.

    Examples
    --------
    >>> prose("One figure.\n\nWith its ``low`` end\nand more.\n\nParameters\n----------\nlow : int")
    'One figure.\n\nWith its `low` end and more.'
    """
    text = inspect.cleandoc(docstring)
    start = _SECTION.search(text)
    paragraphs = (text if start is None else text[: start.start()]).split("\n\n")
    return "\n\n".join(_joined(one) for one in paragraphs if one.strip())


def meanings(docstring: str) -> dict[str, str]:
    r"""Return what the section ``Parameters`` says of each name; names without a text are left out.

    Examples
    --------
    >>> meanings("A.\n\nParameters\n----------\nlow, high : float\n    Ends of\n    it.\nn : int")
    {'low': 'Ends of it.', 'high': 'Ends of it.'}
    """
    text = inspect.cleandoc(docstring)
    sections = list(_SECTION.finditer(text))
    found: dict[str, str] = {}
    for at, one in enumerate(sections):
        if one[1] == "Parameters":
            end = sections[at + 1].start() if at + 1 < len(sections) else len(text)
            found.update(_parameters(text[one.end() : end]))
    return found


def _parameters(section: str) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                found[name] = _joined(f"{found.get(name, '')} {line}")
    return found


def _joined(text: str) -> str:
    return _NONE.sub("null", " ".join(text.split()).replace("``", "`"))
