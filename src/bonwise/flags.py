"""What a user may say of a function is declared once, and shown at every door.

Flags are declared on the parameters of a public function, and a command is made from it. Options that several
functions take are keys of a ``TypedDict``, which say their type, their default, what they may be and their flag; the
text under one is what it means::

    class CallSettings(TypedDict, total=False):
        attempts: Annotated[int, Option(12, at_least_one, Flag("Most attempts at one call."))]
        \"\"\"The most attempts at one call.\"\"\"

A function takes all of them as ``**settings: Unpack[CallSettings]``, and `completed` gives each its value.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, lru_cache, wraps
from inspect import Parameter, cleandoc, iscoroutinefunction, isfunction, signature
from itertools import pairwise
from math import ceil, inf, isfinite, log10
from numbers import Integral, Real
from textwrap import indent
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, ForwardRef, Literal, TypeVar, cast, get_args, get_origin

from bonwise.errors import UsageError
from bonwise.printable import quoted

K = TypeVar("K")
Value = TypeVar("Value", str, float)
Shown = TypeVar("Shown", bound=Callable[..., Any])


@dataclass(frozen=True)
class Flag:
    """The flag of a parameter: ``folds: Annotated[int, Flag("Parts of the prompts.")] = 5``.

    A sequence may be repeated; ``confidence`` and ``seed`` have their flags already. A positional parameter is an
    argument of the command, unless it is named as a flag.
    """

    help: str
    name: str = ""
    """Such as ``--covariate``; made from the parameter where empty."""
    kind: Any = None
    """What is typed, such as ``Path`` or ``list[str]``, where it is not the first type of the parameter."""
    read: Callable[[Any, str], Any] | None = None
    """Makes the value of the parameter from what was typed and the name of the flag; else it is taken as it is."""
    least: int | None = None
    """The least value that can be typed."""
    parse: Callable[[str], Any] | None = None
    """Makes each value from its text, such as `as_share`, where the type alone does not say how."""
    required: bool = False
    """Whether it has to be typed although the function has a default."""
    rare: bool = False
    """Whether ``--help`` of a command with many flags leaves it to ``--help-all``."""


POOLS = Flag("Pools (JSONL) with the texts of candidates: the words for --html.")
"""Of a function whose result has a page with prompts and answers."""


@dataclass(frozen=True)
class NoFlag:
    """Says that a parameter has no flag."""


NO_FLAG = NoFlag()


def comma_separated(text: str, _: str) -> tuple[str, ...]:
    """Read a flag of several values that is given once: ``a,b``."""
    return tuple(text.split(",")) if text else ()


def numbers(pairs: Iterable[str] | None, flag: str) -> dict[str, float]:
    """Read ``NAME=NUMBER`` pairs."""
    # The name of a judge may hold the sign too, as that of pairwise,orders=1:openai/m does.
    return _by_name(pairs, flag, str.rpartition, _finite, "NUMBER", "recovery=0.2")


def shares(pairs: Iterable[str] | None, flag: str) -> dict[str, float]:
    """Read ``NAME=NUMBER`` pairs whose number may be a percentage: ``recovery=50%``."""
    return _by_name(pairs, flag, str.rpartition, _share, "NUMBER", "recovery=0.2")


def as_share(text: str | float) -> float:
    """Read ``0.25`` or ``25%``, or a default; anything else is a UsageError."""
    value = _share(str(text))
    if value is None:
        raise UsageError(f"{quoted(text)} is not a share", hint="write 0.25 or 25%")
    return value


def _share(text: str) -> float | None:
    part = _finite(text.removesuffix("%"))
    return part / 100 if part is not None and text.endswith("%") else part


def texts(
    pairs: Iterable[str] | None, flag: str, such: str = "gpt=pointwise:openai/m", *, hide: bool = False
) -> dict[str, str]:
    """Read ``NAME=TEXT`` pairs, with an example; what may be a key is not repeated where it is none (`hide`)."""
    return _by_name(pairs, flag, str.partition, lambda text: text or None, "TEXT", such, hide=hide)


def _by_name(
    pairs: Iterable[str] | None,
    flag: str,
    split: Callable[[str, str], tuple[str, str, str]],
    read: Callable[[str], Value | None],
    what: str,
    such: str,
    *,
    hide: bool = False,
) -> dict[str, Value]:
    """Read pairs that a sign of equality splits; `read` returns None for what is no value."""
    values: dict[str, Value] = {}
    for pair in pairs or ():
        name, _, text = split(pair, "=")
        value = read(text)
        if not name or value is None:
            given = "a value without its name" if hide else repr(pair)
            raise UsageError(f"{flag} takes NAME={what}, not {given}", hint=f"such as {flag} {such}")
        if name in values:
            raise UsageError(f"{flag} names {name!r} twice", hint="give each name once")
        values[name] = value
    return values


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def judge_families(texts: Iterable[str] | None, flag: str) -> Mapping[str, str]:
    """Read ``NAME``, whose key is empty, and ``JUDGE=NAME``, each judge once."""
    families: dict[str, str] = {}
    for text in texts or ():
        judge, _, family = text.rpartition("=")
        if judge in families or not family.strip():
            wrong = f"is given twice for {judge or 'all judges'}" if judge in families else f"{text!r} holds no name"
            raise UsageError(f"{flag} {wrong}", hint="give NAME, or JUDGE=NAME, once for each judge")
        families[judge] = family.strip()
    return families


def _done(_: Any) -> int:
    return 0


@dataclass(frozen=True)
class Command:
    """A command that calls a public function, and writes its result where ``--json``, ``--html`` and the like say."""

    function: Callable[..., Any]
    """Its parameters are the arguments and flags."""
    help: str
    """One sentence, and below an empty line more for the help of the command itself."""
    without: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Flags of columns that it has no use for, such as ``--propensity-col``, and why."""
    inputs: Callable[[Mapping[str, Any]], Iterable[Any]] | None = None
    """Returns the files that are read, which no result may replace, from what was typed by parameter; else those
    that are paths."""
    code: Callable[[Any], int] = _done
    """Returns the exit code from the result."""


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
    """Return each option's value: what was given, checked, else the default; an undeclared one is a TypeError."""
    declared = options_of(keywords)
    for name, value in given.items():
        option = declared.get(name)
        if option is None:
            raise unexpected(caller, name, declared)
        if option.check is not None and value is not option.default:
            option.check(name, value)
    return cast("K", {**{name: option.default for name, option in declared.items()}, **given})


def unexpected(caller: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error of a keyword that a function does not take; it names the nearest one that it does take."""
    from difflib import get_close_matches  # noqa: PLC0415 - few mistype

    nearest = "".join(f"; did you mean {known_name!r}?" for known_name in get_close_matches(name, list(known), n=1))
    return TypeError(f"{caller}() got an unexpected keyword argument {name!r}{nearest}")


def part_of(values: Mapping[str, Any], keywords: type[K]) -> K:
    """Return those of some values that a shorter list of options declares."""
    return cast("K", {name: values[name] for name in options_of(keywords) if name in values})


def shows(keywords: type) -> Callable[[Shown], Shown]:
    """Show the options of ``**settings`` in a function's or class's signature and documentation, for `help`."""

    def decorate(shown: Shown) -> Shown:
        kinds = {name: get_args(kind)[0] for name, kind in keywords.__annotations__.items()}
        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=_written(kinds[name]))
            for name, option in options_of(keywords).items()
        ]
        show_keywords(shown, "settings", parameters, field_texts(keywords), vars(sys.modules[keywords.__module__]))
        shown.__settings__ = keywords  # type: ignore[attr-defined]
        return takes_numbers(shown)

    return decorate


_LARGEST = 2**53
"""The largest whole number of a document: no reader of JSON rounds it."""


def takes_numbers(taking: Shown) -> Shown:  # noqa: C901 - three functions around another
    """Make a function, or a class's methods, take numbers of any kind; an unknown keyword names the nearest."""
    if isinstance(taking, type):
        for name, method in list(vars(taking).items()):
            if isinstance(method, classmethod):
                setattr(taking, name, classmethod(takes_numbers(method.__func__)))
            elif isfunction(method) and (name == "__init__" or not name.startswith("_")):
                setattr(taking, name, takes_numbers(method))
        return taking
    whole, positions = _numeric(taking)
    if not whole and "." in taking.__qualname__ and taking.__name__ != "__init__":
        return taking  # a method, of which some are called for every candidate
    parameters = signature(taking).parameters
    known = (
        None
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        else parameters.keys()
    )

    def plain(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        if known is not None and not named.keys() <= known:
            raise unexpected(taking.__qualname__, next(name for name in named if name not in known), known)
        by_name = {**dict(zip(positions, given, strict=False)), **named}
        values = {name: plain_numbers(name, by_name[name], whole=whole[name]) for name in whole if name in by_name}
        first = [values.get(name, value) for name, value in zip(positions, given, strict=False)]
        return [*first, *given[len(first) :]], {name: values.get(name, value) for name, value in named.items()}

    def are_plain(given: tuple[Any, ...]) -> bool:
        counts = [value for name, value in zip(positions, given, strict=False) if name in whole]
        return not [value for value in counts if type(value) is not int or abs(value) > _LARGEST]

    @wraps(taking)
    def call(*given: Any, **named: Any) -> Any:
        if not named and are_plain(given):
            return taking(*given)
        values, by_name = plain(given, named)
        return taking(*values, **by_name)

    @wraps(taking)
    async def wait(*given: Any, **named: Any) -> Any:
        return await call(*given, **named)

    return cast("Shown", wait if iscoroutinefunction(taking) else call)


def _numeric(taking: Callable[..., Any]) -> tuple[dict[str, bool], list[str]]:
    """Return whether each numeric parameter is whole, and the names of those that may be given by position."""
    parameters = signature(taking).parameters.values()
    written = {parameter.name: str(_without_flag(parameter).annotation) for parameter in parameters}
    kinds = {name: set(re.findall(r"\w+", text)) for name, text in written.items() if "Callable" not in text}
    whole = {name: "int" in words for name, words in kinds.items() if words & {"int", "float", "MaxCost"}}
    return whole, [parameter.name for parameter in parameters if parameter.kind == parameter.POSITIONAL_OR_KEYWORD]


TIE_DECIMALS = 9
"""Decimals by which numbers from 0 to 1 are compared, so that 0.1 + 0.2 ties 0.3."""

_DIGITS, _MOST_DECIMALS = 15, 300


@lru_cache(maxsize=4096)  # an audit asks of a few columns again and again
def compared_decimals(spread: float, largest: float) -> int:
    """Return to how many decimals numbers are rounded before they are compared: 9 significant digits of their spread.

    Of the `largest` absolute number at most 15 digits count: what differs beyond them is rounding. A pool alone
    does not show the spread of its column: its own spread counts, and at least its largest number, up to 1.
    """
    if not 0 < largest < inf:
        return TIE_DECIMALS
    digits = _DIGITS - ceil(log10(largest))
    if 0 < spread < inf:
        digits = min(digits, TIE_DECIMALS - ceil(log10(spread)))
    return min(digits, _MOST_DECIMALS)


@lru_cache(maxsize=4096)  # as above
def decimals_of_pool(low: float, high: float) -> int:
    """Return to how many decimals the numbers of one pool are rounded, from the lowest to the highest."""
    largest = max(abs(low), abs(high))
    return compared_decimals(max(high - low, min(largest, 1.0)), largest)


def plain_numbers(name: str, value: Any, *, whole: bool = False) -> Any:
    """Return a number as Python's own, also inside; no bool, nothing infinite, `whole` up to 2**53."""
    if isinstance(value, dict):
        return {key: plain_numbers(name, number, whole=whole) for key, number in value.items()}
    if type(value) in (list, tuple):
        return type(value)(plain_numbers(name, number, whole=whole) for number in value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a single number of numpy's, or of torch's
    if not isinstance(value, Real | Decimal):
        return value
    plain = None if value is True or value is False else _plain(value, whole=whole)
    if plain is None:
        wanted = "a whole number" if whole else "a finite number"
        raise UsageError(f"{name} must be {wanted}, not {quoted(value)}", hint=f"such as {3 if whole else 0.5}")
    return plain


def _plain(value: Any, *, whole: bool) -> int | float | None:
    try:
        if isinstance(value, Integral) or (whole and value == int(value)):
            return int(value) if abs(int(value)) <= (_LARGEST if whole else sys.float_info.max) else None
        return float(value) if not whole and isfinite(value) else None
    except (OverflowError, ValueError):  # an infinity, NaN, or what no float holds
        return None


def show_keywords(
    shown: Callable[..., Any],
    variadic: str,
    parameters: list[Parameter],
    meanings: Mapping[str, str],
    names: Mapping[str, Any],
) -> None:
    """Put parameters with meanings in place of ``**variadic`` in signature and documentation; what is there stays."""
    function: Any = shown.__init__ if isinstance(shown, type) else shown  # type: ignore[misc] # its signature is the class's
    own = {name: _without_flag(parameter) for name, parameter in signature(function).parameters.items()}
    del own[variadic]
    whole = signature(function).replace(parameters=[*own.values(), *parameters])
    function.__signature__ = whole
    if shown.__doc__ is None:  # python -OO leaves documentation out
        return
    text = cleandoc(shown.__doc__)
    described = set(re.findall(r"\w+", " ".join(re.findall(r"^([\w, ]+) : ", text, re.MULTILINE))))
    entries = "".join(
        f"{parameter.name} : {_in_words(parameter, names)}\n{indent(meanings.get(parameter.name, ''), '    ')}\n"
        for parameter in parameters
        if parameter.name not in described
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


def _in_words(parameter: Parameter, names: Mapping[str, Any]) -> str:
    """Say the type of a parameter as the documentation of a function does."""
    kinds = [part for part in _alternatives(_written(parameter.annotation)) if part != "None"]
    words = " or ".join(_kind_in_words(kind, names) for kind in kinds)
    return f"{words}, optional" if parameter.default is None else words


def _kind_in_words(kind: str, names: Mapping[str, Any]) -> str:
    named = names.get(kind)
    if isinstance(named, str):
        return named
    if get_origin(named) is Literal:
        kind = inspect.formatannotation(named)
    words = re.sub(r"^Callable\[.*\]$", "callable", kind)
    words = re.sub(r"\bSequence\[(\w+)\]", r"sequence of \1", words)
    words = re.sub(r"\bMapping\[(\w+), ([\w ]+)\]", r"mapping of \1 to \2", words)
    words = re.sub(r"\bPath\b", "pathlib.Path", words)
    return re.sub(r"(?:typing\.)?Literal\[(.*?)\]", r"{\1}", words).replace("'", '"')


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


_SHARED = re.compile(r"(Both|All three|All four|All five|All six): (.)")
_HOW_MANY = {"Both": 2, "All three": 3, "All four": 4, "All five": 5, "All six": 6}


def field_texts(kind: type) -> Mapping[str, str]:
    """Return the text under each field of a class and of those it extends, by field; Python does not keep it.

    A text that begins with ``Both:`` or ``All three:`` is that of the fields before it too.
    """
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
    names: list[str] = []
    for stated, below in pairwise([*body, ast.Pass()]):
        if not (isinstance(stated, ast.AnnAssign) and isinstance(stated.target, ast.Name)):
            continue
        names.append(stated.target.id)
        match below:
            case ast.Expr(value=ast.Constant(value=str(text))):
                shared = _SHARED.match(text)
                of, text = (names[-1:], text) if shared is None else _of_several(names, shared, text)
                yield from ((name, cleandoc(text)) for name in of)


def _of_several(names: list[str], shared: re.Match[str], text: str) -> tuple[list[str], str]:
    return names[-_HOW_MANY[shared[1]] :], shared[2].upper() + text[shared.end() :]
