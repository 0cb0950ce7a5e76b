"""Take signature and documentation of public functions as Python shows them.

Some functions complete both when they are imported: the options that open a table are declared once, in one file.
"""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from importlib import import_module
from typing import Any

import griffe

from bonwise.errors import MissingExtraError

__all__ = ["RuntimeDocs"]

_SECTION = re.compile(r"(?<=^Parameters\n----------\n).*?(?=^\S[^\n]*\n-{3,}$|\Z)", re.DOTALL | re.MULTILINE)
_SHARED = re.compile(r"^(\w+(?:, \w+)+)( : [^\n]*\n(?:[ ]+[^\n]*(?:\n|\Z)|\n)*)", re.MULTILINE)
_CHOICE = re.compile(r"(?<= : )\{([^}\n]+)\}")
_PAGE = re.compile(r"`?docs/([a-z_/]+)\.md`?")


class RuntimeDocs(griffe.Extension):
    """Replace what was read from the source by what the imported function says."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through a package once it is read."""
        self._module(pkg)

    def _module(self, module: griffe.Module) -> None:
        for member in module.members.values():
            if member.is_alias:
                continue
            if member.is_module:
                self._module(member)  # type: ignore[arg-type]
            else:
                self._object(member)

    def _object(self, found: Any) -> None:
        if found.is_class:
            made = found.members.get("__init__")
            unpacked = made is not None and made.is_function and any(_is_unpacked(one) for one in made.parameters)
            if unpacked or (found.docstring is not None and "**asking\n" in found.docstring.value):
                with suppress(
                    MissingExtraError
                ):  # an adapter of a framework that is not here is shown as it is written
                    _take_text(found, _owner(found))
            for member in found.members.values():
                if not member.is_alias:
                    self._object(member)
        if found.is_function and any(_is_unpacked(one) for one in found.parameters):
            with suppress(MissingExtraError):  # as above
                _take_over(found)
        if found.docstring is not None:
            value = _SECTION.sub(lambda section: _one_by_one(section[0]), inspect.cleandoc(found.docstring.value))
            found.docstring.value = _PAGE.sub(r"[\1](../\1.md)", value)


def _one_by_one(section: str) -> str:
    """Give each parameter an entry of its own, and write choices as words.

    Griffe takes the first of several choices, and the default of the first of several names, for the default of each.
    """
    text = _SHARED.sub(lambda entry: "".join(f"{name}{entry[2]}" for name in entry[1].split(", ")), section)
    return _CHOICE.sub(lambda choice: " or ".join(one.strip() for one in choice[1].split(",")), text)


def _is_unpacked(parameter: griffe.Parameter) -> bool:
    """Tell whether a parameter stands for the keywords of a TypedDict."""
    return "Unpack[" in str(parameter.annotation)


def _take_over(found: Any) -> None:
    owner = _owner(found)
    _take_text(found, owner)
    # The parameters of a class are described in its own documentation.
    text = (
        found.parent.docstring.value if found.name == "__init__" and found.parent.docstring else owner.__doc__ or ""
    )
    given = inspect.signature(owner).parameters.values()
    parameters = [keyword for parameter in given for keyword in _keywords(parameter, owner, text)]
    found.parameters = griffe.Parameters(*map(_parameter, parameters))


def _owner(found: Any) -> Any:
    """Return what was read from the source as it is at run time."""
    owner: Any = import_module(found.module.path)
    for name in found.path.removeprefix(f"{found.module.path}.").split("."):
        owner = getattr(owner, name)
    return owner


def _take_text(found: Any, owner: Any) -> None:
    if found.docstring is not None and owner.__doc__:
        found.docstring.value = inspect.cleandoc(owner.__doc__)


def _keywords(one: inspect.Parameter, owner: Any, text: str) -> list[inspect.Parameter]:
    """Return the keywords that a parameter stands for, unless the documentation describes it by its own name."""
    unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
    if unpacked is None or f"**{one.name}" in text:
        return [one]
    keywords = owner.__globals__[unpacked[1]].__annotations__
    return [
        inspect.Parameter(name, one.KEYWORD_ONLY, default=..., annotation=getattr(kind, "__forward_arg__", kind))
        for name, kind in keywords.items()
    ]


def _parameter(one: inspect.Parameter) -> griffe.Parameter:
    kinds = {
        one.POSITIONAL_ONLY: griffe.ParameterKind.positional_only,
        one.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
        one.VAR_POSITIONAL: griffe.ParameterKind.var_positional,
        one.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
        one.VAR_KEYWORD: griffe.ParameterKind.var_keyword,
    }
    annotation = None if one.annotation is one.empty else inspect.formatannotation(one.annotation).strip("'")
    default = None if one.default is one.empty else "..." if one.default is ... else repr(one.default)
    return griffe.Parameter(one.name, annotation=annotation, kind=kinds[one.kind], default=default)
