"""The user part as a template: ``{{name}}`` on lines of its own, filled in one pass over the template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bonwise.data.wording import quoted
from bonwise.errors import RowError
from bonwise.prompts.sections import Section, Sections, problem

__all__ = ["filled", "template_problems"]

_VARIABLE = re.compile(r"\{\{(?:(?P<name>[a-z][a-z0-9_]*)\}\})?")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Put values where their variables stand; nothing inside a value is looked at.

    Examples
    --------
    >>> filled("{{prompt}} | {{candidate}}", {"prompt": "{{candidate}}", "candidate": "{{x}}"})
    '{{candidate}} | {{x}}'
    """
    return _VARIABLE.sub(lambda found: values[found["name"]], template)


def template_problems(sections: Sections, declared: Sequence[str], source: str) -> Iterator[RowError]:
    """Yield what is wrong with the variables in the text."""
    for found in _VARIABLE.finditer(sections.system.text):
        line = sections.system.line_at(found.start())
        hint = "keep the system part the same for every call, and put variables under [user]"
        yield problem(source, line, f"{quoted(found[0])} in the system part", hint)
    yield from _misused(sections.user, declared, source)
    used = [found["name"] for found in _VARIABLE.finditer(sections.user.text)]
    for name in declared:
        if name not in used:
            hint = f"put {{{{{name}}}}} on a line of its own, or take it out of variables"
            yield problem(source, sections.user.line, f"{{{{{name}}}}} is declared and not used", hint)


def _misused(user: Section, declared: Sequence[str], source: str) -> Iterator[RowError]:
    seen: set[str] = set()
    lines = user.text.split("\n")
    for found in _VARIABLE.finditer(user.text):
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
