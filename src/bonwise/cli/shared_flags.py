"""Commands made from functions, and the flags that commands share: how a table is opened, where results go.

`command_of` makes a command of a public function; others take its flags by a parameter of type `TypedCall`.
`shared_flags` puts into the signature that Typer reads the flags of a `Reading`, by its keywords, and of a dataclass,
such as `Output`, by its fields.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from keyword import iskeyword
from pathlib import Path
from sys import modules
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import typer

from bonwise.cli import arguments as given
from bonwise.cli.settings_file import settings_flag
from bonwise.declared import attribute_at
from bonwise.extras import limited_threads
from bonwise.flags import Command, Flag, NoFlag, options_of
from bonwise.printable import shell_path, shell_word
from bonwise.table.reading_options import ReadingFlag, ReadingOptions, keywords_of
from bonwise.table.roles import COLUMN_FLAGS

if TYPE_CHECKING:
    from bonwise.report.blocks import Part, Said
    from bonwise.results import Document

K = TypeVar("K")

_FIRST = ("labels", "oracle", "exclude")
"""Options whose flags are not rare; the others are of how a file is written."""


@dataclass(frozen=True)
class Reading(Generic[K]):
    """What was said on the command line about opening a table."""

    values: Mapping[str, Any]
    """By flag, such as ``--exclude``: those that were given."""

    def keywords(self) -> K:
        """Return the keywords of the function that opens the table; one that was not given is absent."""
        found = {name: self._read(name, flags) for name, flags in _flags_by_option().items()}
        return cast("K", {name: value for name, value in found.items() if value or type(value) in {int, float}})

    def _read(self, option: str, flags: Sequence[ReadingFlag]) -> object:
        values = [self.values.get(flag.name) for flag in flags]
        reader: Callable[..., object] = _READERS.get(option, _as_it_is)
        return reader(*values)

    def without(self, flag: str) -> Reading[K]:
        """Leave out what one flag said."""
        return Reading({name: value for name, value in self.values.items() if name != flag})

    def as_flags(self) -> list[str]:
        """Return the flags as they were given, quoted for a shell, for a command that reads the same table."""
        return flags_of(self.values)

    def paths(self) -> tuple[Path, ...]:
        """Return the files among the values."""
        return tuple(value for value in self.values.values() if isinstance(value, Path))


def flags_of(values: Mapping[str, object]) -> list[str]:
    """Write flags as they are typed, quoted for a shell: None and False not at all, True alone, a list repeated."""
    written: list[str] = []
    for flag, value in values.items():
        if value is True:
            written.append(flag)
        elif value is not None and value is not False:
            several = value if isinstance(value, list | tuple) else [value]
            written += [f"{flag} {_quoted(single)}" for single in several]
    return written


def _quoted(value: object) -> str:
    return shell_path(value) if isinstance(value, Path) else shell_word(str(value))


def _as_it_is(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _columns(*names: str | list[str] | None) -> dict[str, str | list[str]]:
    return {role: name for role, name in zip(COLUMN_FLAGS, names, strict=True) if name is not None}


def _label_scale(text: str | None) -> object:
    from bonwise.table.scales import parse_scale

    return None if text is None else parse_scale(text)


def _label_map(text: str | None) -> object:
    from bonwise.table.label_words import parse_word_values

    return None if text is None else parse_word_values(text)


_READERS: Mapping[str, Callable[..., object]] = MappingProxyType(
    {
        "shape": given.forced_shape,
        "columns": _columns,
        "judge_scale": given.scales,
        "label_scale": _label_scale,
        "label_map": _label_map,
    }
)
"""How an option is read whose flags do not hold it as it is, from their values, None where one was not given."""


def _flags_by_option() -> dict[str, Sequence[ReadingFlag]]:
    return {one.name: one.metadata["flags"] for one in fields(ReadingOptions)}


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go."""

    heading = "Results"
    """Of its flags in the help."""
    html: Path | None = field(default=None, metadata={"flag": given.HtmlTarget})
    """A file for the page."""
    markdown: str | None = field(default=None, metadata={"flag": given.MarkdownTarget})
    """A file for the result as Markdown, ``-`` for standard output."""
    json: str | None = field(default=None, metadata={"flag": given.JsonTarget})
    """A file for the JSON document, ``-`` for standard output."""
    force: bool = field(default=False, metadata={"flag": given.Force})
    """Whether to replace files that bonwise did not write."""
    full: bool = field(default=False, metadata={"flag": given.Full})
    """Whether all of the result is printed."""

    @property
    def targets(self) -> dict[str, Any]:
        """Where the result goes, by the form it has there."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in {"force", "full"}}

    def refuse_overwriting(
        self,
        *inputs: str | Path | None,
        also: Iterable[str | Path | None] = (),
        headers: Iterable[Sequence[str]] = (),
    ) -> None:
        """Refuse a result that would replace an input, another result (`also`), or a foreign file."""
        given.refuse_two_for_one({"--json": self.json, "--markdown": self.markdown})
        given.refuse_overwriting(inputs, (*self.targets.values(), *also), headers=headers, force=self.force)

    def deliver(
        self, document: Document, *, aside: bool = False, described: Part | None = None, then: Sequence[Said] = ()
    ) -> None:
        """Write and print a document, see `bonwise.cli.arguments.deliver`."""
        targets = {name: target for name, target in self.targets.items() if name != "json"}
        given.deliver(document, self.json, **targets, aside=aside, described=described, then=then, full=self.full)


@dataclass(frozen=True, kw_only=True)
class TableOutput(Output):
    """The same of a command whose ``--out`` is not taken by something else."""

    out: Path | None = field(default=None, metadata={"flag": given.TableTarget})
    """A file for the table of figures."""


@dataclass(frozen=True)
class TypedCall:
    """A public function, and what was said of its parameters on the command line."""

    function: Callable[..., Any]
    values: Mapping[str, Any]
    """By parameter, as it was typed; None or an empty list where it was not."""
    reading: Reading[Any]
    """What was said about opening a table."""
    _options: Mapping[str, _TypedOption]
    _threads: int = 1

    def paths(self) -> tuple[Path, ...]:
        """Return the files among the values."""
        return (*(value for value in self.values.values() if isinstance(value, Path)), *self.reading.paths())

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of the function; one that was not given is absent, and has its default there."""
        read = (option.read(self.values[name]) for name, option in self._options.items())
        own = {name: value for keyword in read for name, value in keyword.items()}
        return own | cast("dict[str, Any]", self.reading.keywords())

    def flag(self, name: str) -> str:
        """Return the flag of a parameter."""
        return f"--{self._options[name].name.rstrip('_').replace('_', '-')}"

    def unusual(self) -> dict[str, Any]:
        """Return the flags of the function's own that were typed with another value than their default."""
        return {
            self.flag(name): self.values[name]
            for name, option in self._options.items()
            if not option.positional and self.values[name] not in (option.shown[1], None, [], False)
        }

    def run(self, **changed: Any) -> Any:
        """Call the function, with some keywords in the place of what was typed; what it has to say is printed."""
        says = {"say": given.say} if "say" in signature(self.function).parameters else {}
        with limited_threads(self._threads):
            return self.function(**{**says, **self.keywords(), **changed})


@dataclass(frozen=True)
class _FlagGroup:
    """The flags in the place of a parameter."""

    flags: Mapping[str, tuple[Any, Any]]
    """Annotation and default by name."""
    read: Callable[[Mapping[str, Any]], object]
    """Makes the value of the parameter from theirs."""
    keywords: Mapping[str, str] = field(default_factory=dict)
    """Keyword of Python to the name of the flag's value, where it is another one."""


def command_of(declared: Command) -> Callable[..., int]:
    """Return the command: it reads the flags, calls the function, and writes and prints the result."""

    def command(*, call: TypedCall, output: TableOutput) -> int:
        read = call.paths() if declared.inputs is None else tuple(declared.inputs(call.values))
        output.refuse_overwriting(*dict.fromkeys(read))
        result = call.run()
        output.deliver(result)
        return declared.code(result)

    command.__doc__ = declared.help
    return shared_flags(declared.without, of=declared.function)(command)


def made_at(package: str, place: str) -> Any:
    """Return what a package declares as a command: the command itself, a group, or what makes one."""
    made = attribute_at(package, place)
    return command_of(made) if isinstance(made, Command) else made


def steps_next(steps: Sequence[Said]) -> Sequence[Said]:
    """Put the heading above what to type next, if anything."""
    from bonwise.report.blocks import Said

    return [Said("note", "Next:"), *steps] if steps else ()


def shared_flags(
    without: Mapping[str, str] = MappingProxyType({}),
    *,
    of: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace parameters that stand for shared flags by these, but `without`; `of` is the function behind."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(command, include_extras=True)
        given_parameters = signature(command).parameters
        groups = {
            name: group
            for name in given_parameters
            if (group := _group(hints[name], without, of.get(name) if isinstance(of, Mapping) else of)) is not None
        }
        flags: dict[str, tuple[Any, Any]] = {}
        for name, parameter in given_parameters.items():
            flags |= groups[name].flags if name in groups else {name: (hints[name], parameter.default)}
        if of is not None or groups.keys() & {"asking", "reading"}:
            keywords = {key: name for group in groups.values() for key, name in group.keywords.items()}
            flags |= _under(Output.heading, {"settings": settings_flag(flags, keywords)})

        @wraps(command)
        def run(**values: Any) -> int:
            own = {name: value for name, value in values.items() if name in given_parameters and name not in groups}
            return command(**own | {name: group.read(values) for name, group in groups.items()})

        del run.__wrapped__  # Typer would read the signature of the command itself
        run.__without__ = without  # type: ignore[attr-defined]
        return with_parameters(run, flags)

    return decorate


def with_parameters(command: Callable[..., int], shown: Mapping[str, tuple[Any, Any]]) -> Callable[..., int]:
    """Give a command the parameters from which Typer makes its flags, by name with annotation and default."""
    command.__annotations__ = {name: annotation for name, (annotation, _) in shown.items()} | {"return": int}
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in shown.items()
        ],
        return_annotation=int,
    )
    return command


def _group(hint: Any, without: Mapping[str, str], function: Callable[..., Any] | None) -> _FlagGroup | None:
    if get_origin(hint) is Reading:
        return _reading(get_args(hint)[0], without)
    if hint is TypedCall and function is not None:
        return _call(function, without)
    if isinstance(hint, type) and is_dataclass(hint):
        flags: dict[str, tuple[Any, Any]] = {}
        for one in fields(hint):
            options = one.metadata.get("options")
            own = {one.name: (one.metadata["flag"], one.default)} if options is None else option_flags(**one.metadata)
            flags |= own
        options = [one.metadata["options"] for one in fields(hint) if "options" in one.metadata]
        keywords = {option: parameter_of(option, flag) for taken in options for option, flag in _with_flag(taken)}
        return _FlagGroup(_under(cast("Any", hint).heading, flags), partial(_made_of, hint), keywords)
    return None


def _made_of(kind: type, values: Mapping[str, Any]) -> object:
    """Make a dataclass of the values of its flags; options become a mapping by name."""
    by_field = {one.name: one.metadata.get("options") for one in fields(kind)}
    return kind(
        **{
            name: values[name]
            if options is None
            else {option: values[parameter_of(option, flag)] for option, flag in _with_flag(options)}
            for name, options in by_field.items()
        }
    )


def _with_flag(options: type) -> Iterator[tuple[str, Flag]]:
    return ((name, option.flag) for name, option in options_of(options).items() if option.flag is not None)


def parameter_of(option: str, flag: Flag) -> str:
    """Return what the value of an option's flag is called in Python."""
    return flag.name.removeprefix("--").replace("-", "_") or option


def option_flags(options: type, words: Mapping[str, str] = MappingProxyType({})) -> dict[str, tuple[Any, Any]]:
    """Return annotation and default of the flag of each option of a ``TypedDict``; `words` replace its help."""
    made: dict[str, tuple[Any, Any]] = {}
    for name, flag in _with_flag(options):
        shown = typer.Option(
            flag.name or f"--{name.replace('_', '-')}",
            help=words.get(name, flag.help),
            min=flag.least,
            hidden=flag.rare,
        )
        made[parameter_of(name, flag)] = (
            Annotated[_kind_typed(options, name), shown],
            options_of(options)[name].default,
        )
    return made


def _kind_typed(options: type, name: str) -> Any:
    """Return what is typed for an option."""
    flag = options_of(options)[name].flag
    return get_args(options.__annotations__[name])[0] if flag is None or flag.kind is None else flag.kind


def _reading(keywords: type, without: Mapping[str, str]) -> _FlagGroup:
    asked = {option: flags for option, flags in _flags_by_option().items() if option in keywords.__annotations__}
    taken = {option: [flag for flag in flags if flag.name not in without] for option, flags in asked.items()}
    early, late = (
        {
            flag.parameter: _parameter(flag, rare=not first)
            for option, flags in taken.items()
            if (option in _FIRST) is first
            for flag in flags
        }
        for first in (True, False)
    )

    def read(values: Mapping[str, Any]) -> object:
        found = {flag.name: values[flag.parameter] for flags in taken.values() for flag in flags}
        return Reading(
            {name: value for name, value in found.items() if value not in (None, []) and value is not False}
        )

    return _FlagGroup(_under("Labels and candidates", early) | _under("Columns and scales", late), read)


def _under(heading: str, flags: Mapping[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """Have the help show flags under a heading."""
    headed = {}
    for name, (annotation, default) in flags.items():
        kind, info = get_args(annotation)
        headed[name] = (Annotated[kind, copy(info)], default)
        get_args(headed[name][0])[1].rich_help_panel = heading
    return headed


def _parameter(flag: ReadingFlag, *, rare: bool) -> tuple[Any, Any]:
    """Return the annotation and the default from which Typer makes the flag."""
    option = typer.Option(flag.name, help=flag.help, hidden=rare)
    if flag.kind is bool:
        return Annotated[bool, option], False
    kind: Any = list[flag.kind] if flag.repeatable else flag.kind  # type: ignore[name-defined]
    return Annotated[kind | None, option], None


@dataclass(frozen=True)
class _TypedOption:
    """The flag or the argument of a parameter of a function, and what becomes of its value."""

    name: str
    """Of the value, as Typer calls it."""
    shown: tuple[Any, Any]
    """Annotation and default, from which Typer makes it."""
    read: Callable[[Any], Mapping[str, Any]]
    """Makes the keyword of the function from the value; one that is not made keeps its default."""
    positional: bool = False


def _call(function: Callable[..., Any], without: Mapping[str, str]) -> _FlagGroup:
    """Return the arguments and flags of a function, with those that open its table."""
    options = dict(_options(function))
    table = _reading(function.__reading__, without) if hasattr(function, "__reading__") else _NO_TABLE
    flags = {option.name: option.shown for option in options.values()}

    def read(values: Mapping[str, Any]) -> object:
        typed = {name: values[option.name] for name, option in options.items()}
        reading = cast("Reading[Any]", table.read(values))
        return TypedCall(function, typed, reading, options, values.get("threads", 1))

    threads = {"threads": (_Threads, 1)} if hasattr(function, "__threads__") else {}
    keywords = {name: option.name for name, option in options.items() if not option.positional}
    return _FlagGroup({**flags, **table.flags, **threads}, read, keywords)


_Threads = Annotated[int, given.rare("--threads", min=1, help="Threads that linear algebra takes at most.")]


_NO_TABLE = _FlagGroup({}, lambda _: Reading({}))


def _options(function: Callable[..., Any]) -> Iterator[tuple[str, _TypedOption]]:
    """Yield what is typed for each parameter of a function; those that open its table aside."""
    opening = keywords_of(function).__annotations__ if hasattr(function, "__reading__") else {}
    settings: Any = getattr(function, "__settings__", None)
    declared = {} if settings is None else options_of(settings)
    for name, parameter in signature(function).parameters.items():
        if name in declared:
            flag: Flag | NoFlag | None = declared[name].flag
            kind = _kind_typed(settings, name)
        else:
            kind, flag = _flag_of(function, name)
        if isinstance(flag, Flag):
            yield name, _option(name, parameter, kind, flag)
        elif flag is None and name in _SHARED:
            yield name, _TypedOption(name, (_SHARED[name], parameter.default), _named(name))
        elif flag is None and name not in opening and name not in declared:
            raise TypeError(f"the parameter {name} of {function.__name__} has no Flag")


def _named(name: str) -> Callable[[Any], Mapping[str, Any]]:
    return lambda value: {name: value}


def _flag_of(function: Callable[..., Any], name: str) -> tuple[Any, Flag | NoFlag | None]:
    """Return what is typed, and its flag; no type that is not needed: some are imported for type checkers alone."""
    text = str(function.__annotations__.get(name, ""))
    if not text.startswith("Annotated["):
        return None, None
    names = vars(modules[function.__module__])
    hint, *said = cast("ast.Tuple", cast("ast.Subscript", ast.parse(text, mode="eval").body).slice).elts
    flag = next(one for one in (_evaluated(part, names) for part in said) if isinstance(one, Flag | NoFlag))
    kind = flag.kind if isinstance(flag, Flag) else None
    return kind or (_evaluated(hint, names) if isinstance(flag, Flag) else None), flag


def _evaluated(part: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(part), "<annotation>", "eval"), names)  # noqa: S307 - of a function of bonwise


def _option(name: str, parameter: Parameter, hint: Any, flag: Flag) -> _TypedOption:
    """Return what is typed for a parameter with a flag of its own."""
    positional = parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and not flag.name.startswith("--")
    default = Parameter.empty if flag.required else parameter.default
    kinds = [member for member in _members(hint) if member is not NoneType]
    inner = next((get_args(kind)[0] for kind in kinds if get_origin(kind) is not None), None)
    typed_as: Any = list[inner] if inner is not None else Path if Path in kinds else kinds[0]  # type: ignore[valid-type]
    # A flag that is repeated is never missing, and a default that cannot be typed is not shown.
    missing = Parameter.empty if default is Parameter.empty and (positional or inner is None) else None
    usual = default if inner is None and isinstance(default, str | int | float) else missing
    if flag.kind is not None and NoneType in _members(hint):
        usual = None  # what is not typed is left to the function, and told apart from its default
    if positional:
        key = (flag.name or name).lower()
        info: Any = typer.Argument(help=flag.help, show_default=False)
    else:
        option_name = flag.name or f"--{name.replace('_', '-')}"
        key = option_name.removeprefix("--").replace("-", "_")
        key += "_" if iskeyword(key) else ""
        info = typer.Option(
            option_name,
            help=flag.help,
            show_default=usual not in (None, Parameter.empty),
            hidden=flag.rare,
            parser=flag.parse,
        )
    annotation: Any = Annotated[typed_as | None if usual is None else typed_as, info]

    def read(value: Any) -> dict[str, Any]:
        if value is None or value == []:
            return {name: ()} if default is Parameter.empty else {}
        if flag.read is not None:
            return {name: flag.read(value, flag.name or f"--{name.replace('_', '-')}")}
        return {name: tuple(value) if isinstance(value, list) else value}

    return _TypedOption(key, (annotation, usual), read, positional)


def _members(hint: Any) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


_SHARED: Mapping[str, Any] = MappingProxyType({"confidence": given.Confidence, "seed": given.Seed})
"""Flags of parameters that several functions share, by the parameter; those that open a table aside."""
