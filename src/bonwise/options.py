"""Options that are declared once, as a key of a ``TypedDict`` or a field of a dataclass, and shown at every door.

A key says its type, its default, what it may be and its flag; the text under it is what it means::

    class CallSettings(TypedDict, total=False):
        attempts: Annotated[int, Option(12, at_least(1), Flag("Most attempts at one call."))]
        \"\"\"The most attempts at one call.\"\"\"

A function takes all of them as ``**settings: Unpack[CallSettings]`` and `completed` gives each its value.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, cleandoc, signature
from itertools import pairwise
from textwrap import indent
from types import ModuleType
from typing import Annotated, Any, ForwardRef, TypeVar, cast, get_args, get_origin

from bonwise.flags import Flag

__all__ = ["Option", "completed", "field_texts", "options_of", "part_of", "show_keywords", "shows"]

K = TypeVar("K")
Shown = TypeVar("Shown", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Option:
    """What is declared of an option beside its type and its meaning."""

    default: Any = None
    check: Callable[[str, Any], None] | None = None
    """Raises `bonwise.errors.UsageError` for a value that means nothing; takes the option's name and the value."""
    flag: Flag | None = None
    """None of what no command takes."""


_DECLARED: dict[type, Mapping[str, Option]] = {}


def options_of(keywords: type) -> Mapping[str, Option]:
    """Return the options that a ``TypedDict`` declares, by name."""
    declared = _DECLARED.get(keywords)
    if declared is None:
        declared = _DECLARED[keywords] = {
            name: next(part for part in get_args(kind) if isinstance(part, Option))
            for name, kind in keywords.__annotations__.items()
        }
    return declared


def completed(keywords: type[K], given: Mapping[str, Any], caller: str) -> K:
    """Return the value of every option: what was given, checked, else its default.

    Raises
    ------
    TypeError
        An option that is not declared, as Python itself says it of the caller.
    bonwise.errors.UsageError
        A value that means nothing.
    """
    declared = options_of(keywords)
    for name, value in given.items():
        option = declared.get(name)
        if option is None:
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")
        if option.check is not None:
            option.check(name, value)
    return cast("K", {**{name: option.default for name, option in declared.items()}, **given})


def part_of(values: Mapping[str, Any], keywords: type[K]) -> K:
    """Return those of some values that a shorter list of options declares."""
    return cast("K", {name: values[name] for name in options_of(keywords) if name in values})


def shows(keywords: type) -> Callable[[Shown], Shown]:
    """Show the options that a function or a class takes as ``**settings`` in its signature and its documentation.

    Type checkers and editors know them by the annotation, ``Unpack[...]``; `help` and notebooks by this.
    """

    def decorate(shown: Shown) -> Shown:
        kinds = {name: get_args(kind)[0] for name, kind in keywords.__annotations__.items()}
        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=_written(kinds[name]))
            for name, option in options_of(keywords).items()
        ]
        show_keywords(shown, "settings", parameters, field_texts(keywords))
        return shown

    return decorate


def show_keywords(
    shown: Callable[..., Any], variadic: str, parameters: list[Parameter], meanings: Mapping[str, str]
) -> None:
    """Put parameters in the place of ``**variadic`` in a signature and, with their meaning, in the documentation.

    What the documentation describes already stays as it is.
    """
    function: Any = shown.__init__ if isinstance(shown, type) else shown  # type: ignore[misc] # its signature is the class's
    own = {name: _without_flag(one) for name, one in signature(function).parameters.items()}
    del own[variadic]
    whole = signature(function).replace(parameters=[*own.values(), *parameters])
    function.__signature__ = whole
    if shown.__doc__ is None:  # python -OO leaves documentation out
        return
    text = cleandoc(shown.__doc__)
    described = set(re.findall(r"\w+", " ".join(re.findall(r"^([\w, ]+) : ", text, re.MULTILINE))))
    entries = "".join(
        f"{one.name} : {_in_words(one)}\n{indent(meanings.get(one.name, ''), '    ')}\n"
        for one in parameters
        if one.name not in described
    )
    text = re.sub(rf"^\*\*{variadic}\n(?: +.*\n)*", lambda _: entries, f"{text}\n", flags=re.MULTILINE)
    first, _, rest = text.rstrip("\n").partition("\n")
    shown.__doc__ = f"{first}\n{indent(rest, '    ')}\n    "


def _without_flag(parameter: Parameter) -> Parameter:
    """Show the type of a parameter alone, not what is said of its flag."""
    text = str(parameter.annotation)
    if not text.startswith("Annotated["):
        return parameter
    kind = cast("ast.Tuple", cast("ast.Subscript", ast.parse(text, mode="eval").body).slice).elts[0]
    return parameter.replace(annotation=ast.unparse(kind))


def _in_words(parameter: Parameter) -> str:
    """Say the type of a parameter as the documentation of a function does.

    Examples
    --------
    >>> _in_words(Parameter("run", Parameter.KEYWORD_ONLY, default=None, annotation="str | Path | None"))
    'str or pathlib.Path, optional'
    """
    kinds = [part for part in _alternatives(_written(parameter.annotation)) if part != "None"]
    words = " or ".join(re.sub(r"^Callable\[.*\]$", "callable", kind) for kind in kinds)
    words = re.sub(r"\bPath\b", "pathlib.Path", words)
    words = re.sub(r"Literal\[(.*?)\]", r"{\1}", words).replace("'", '"')
    return f"{words}, optional" if parameter.default is None else words


def _written(annotation: Any) -> str:
    """Write a type as it stands in code."""
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    if get_origin(annotation) is Annotated:
        return _written(get_args(annotation)[0])
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _alternatives(written: str) -> Iterator[str]:
    """Yield the members of a union; what stands in brackets stays together."""
    depth, begun = 0, 0
    for at, sign in enumerate(written):
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and not depth:
            yield written[begun:at].strip()
            begun = at + 1
    yield written[begun:].strip()


def field_texts(kind: type) -> Mapping[str, str]:
    """Return the text under each field of a class and of those it extends, by field; Python does not keep it."""
    module = sys.modules.get(kind.__module__)
    node = None if module is None else _classes_of(module).get(kind.__qualname__)
    if module is None or node is None:
        return {}
    texts: dict[str, str] = {}
    for base in node.bases:
        # The bases of a TypedDict are known to its source alone.
        extended = getattr(module, base.id, None) if isinstance(base, ast.Name) else None
        if isinstance(extended, type) and extended.__module__.startswith("bonwise."):
            texts |= field_texts(extended)
    return texts | dict(_texts_in(node.body))


@cache
def _classes_of(module: ModuleType) -> Mapping[str, ast.ClassDef]:
    try:
        source = inspect.getsource(module)
    except OSError:  # as in a package without sources
        return {}
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}


def _texts_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            match below.value:
                case ast.Constant(value=str(text)):
                    yield field.target.id, cleandoc(text)
