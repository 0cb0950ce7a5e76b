"""The flags that commands share: how a table is opened, and where results go.

A parameter of type `Reading` stands for the flags of its keywords, which `bonwise.table.reading_options` declares.
One whose type is a dataclass, such as `JsonOutput`, stands for those of its fields. `shared_flags` puts them into the
signature that Typer reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

import typer

from bonwise.cli import arguments as given
from bonwise.printable import shell_path, shell_word
from bonwise.table.reading_options import ReadingFlag, ReadingOptions
from bonwise.table.roles import COLUMN_FLAGS, OF_LABELS

if TYPE_CHECKING:
    from bonwise.report.blocks import Part, Said
    from bonwise.results import Document

__all__ = [
    "NOT_OF_LABELS",
    "NO_PROPENSITY",
    "JsonOutput",
    "Output",
    "Reading",
    "flags_of",
    "shared_flags",
    "with_parameters",
]

K = TypeVar("K")

NO_PROPENSITY: Mapping[str, str] = MappingProxyType({"--propensity-col": "no figure is weighted by propensities"})

NOT_OF_LABELS: Mapping[str, str] = MappingProxyType(
    {flag.name: "a file of labels has no such column" for role, flag in COLUMN_FLAGS.items() if role not in OF_LABELS}
)
"""Flags without which a command does, and why; see `shared_flags`."""

_FIRST = ("labels", "oracle", "exclude")
"""Options whose flags stand where the parameter stands; the others, of how a file is written, stand last."""


@dataclass(frozen=True)
class Reading(Generic[K]):
    """What was said on the command line about opening a table."""

    values: Mapping[str, Any]
    """By flag, such as ``--exclude``: those that were given."""

    def keywords(self) -> K:
        """Return the keywords of the function that opens the table; one that was not given is absent.

        Raises
        ------
        bonwise.errors.UsageError
            A value that cannot be read.
        """
        found = {name: self._read(name, flags) for name, flags in _flags_by_option().items()}
        return cast("K", {name: value for name, value in found.items() if value})

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
    """Write flags as they are typed, quoted for a shell; one that was not given is left out.

    Parameters
    ----------
    values : mapping of str to object
        By flag: None or False where it was not given, True where it takes no value, a list where it is repeated.

    Examples
    --------
    >>> flags_of({"--exclude": ["the base", "b"], "--ragged": True, "--labels": None, "--seed": 3})
    ["--exclude 'the base'", '--exclude b', '--ragged', '--seed 3']
    """
    written: list[str] = []
    for flag, value in values.items():
        if value is True:
            written.append(flag)
        elif value is not None and value is not False:
            several = value if isinstance(value, list | tuple) else [value]
            written += [
                f"{flag} {shell_path(one) if isinstance(one, Path) else shell_word(str(one))}" for one in several
            ]
    return written


def _quoted(value: object) -> str:
    return shell_path(value) if isinstance(value, Path) else shell_word(str(value))


def _as_it_is(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _columns(*names: str | list[str] | None) -> dict[str, str]:
    given_names = {role: name for role, name in zip(COLUMN_FLAGS, names, strict=True) if name is not None}
    return {role: name if isinstance(name, str) else ",".join(name) for role, name in given_names.items()}


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
class JsonOutput:
    """Where results go."""

    json: str | None = field(default=None, metadata={"flag": given.JsonTarget})
    """A file for the JSON document, ``-`` for standard output."""
    force: bool = field(default=False, metadata={"flag": given.Force})
    """Whether to replace files that bonwise did not write."""

    @property
    def targets(self) -> dict[str, Any]:
        """Where the result goes, by the form it has there."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "force"}

    def refuse_overwriting(
        self,
        *inputs: str | Path | None,
        also: Iterable[str | Path | None] = (),
        headers: Iterable[Sequence[str]] = (),
    ) -> None:
        """Refuse a result that would replace an input, another result (`also`), or a file that bonwise did not write.

        See `bonwise.cli.arguments.refuse_overwriting`.
        """
        given.refuse_overwriting(inputs, (*self.targets.values(), *also), headers=headers, force=self.force)

    def deliver(
        self, document: Document, *, aside: bool = False, described: Part | None = None, then: Sequence[Said] = ()
    ) -> None:
        """Write and print a document, see `bonwise.cli.arguments.deliver`."""
        targets = {name: target for name, target in self.targets.items() if name != "json"}
        given.deliver(document, self.json, **targets, aside=aside, described=described, then=then)


@dataclass(frozen=True, kw_only=True)
class Output(JsonOutput):
    """Where results go that can be shown as a page."""

    html: Path | None = field(default=None, metadata={"flag": given.HtmlTarget})
    """A file for the page."""


@dataclass(frozen=True)
class _FlagGroup:
    """The flags in the place of a parameter."""

    first: Mapping[str, tuple[Any, Any]]
    """Annotation and default by name: those where the parameter stands, and those after all others."""
    last: Mapping[str, tuple[Any, Any]]
    """Annotation and default by name: those where the parameter stands, and those after all others."""
    read: Callable[[Mapping[str, Any]], object]
    """Makes the value of the parameter from theirs."""


def shared_flags(
    without: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace the parameters of a command that stand for shared flags by these flags.

    Parameters
    ----------
    without : mapping of str to str
        Flags of columns that the command has no use for, such as ``--propensity-col``, and why.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(command, include_extras=True)
        given_parameters = signature(command).parameters
        groups = {name: group for name in given_parameters if (group := _group(hints[name], without)) is not None}
        flags: dict[str, tuple[Any, Any]] = {}
        for name, parameter in given_parameters.items():
            flags |= groups[name].first if name in groups else {name: (hints[name], parameter.default)}
        for group in groups.values():
            flags |= group.last

        @wraps(command)
        def run(**values: Any) -> int:
            own = {name: value for name, value in values.items() if name in given_parameters}
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


def _group(hint: Any, without: Mapping[str, str]) -> _FlagGroup | None:
    if get_origin(hint) is Reading:
        return _reading(get_args(hint)[0], without)
    if isinstance(hint, type) and is_dataclass(hint):
        flags = {one.name: (one.metadata["flag"], one.default) for one in fields(hint)}
        return _FlagGroup(flags, {}, lambda values: hint(**{name: values[name] for name in flags}))
    return None


def _reading(keywords: type, without: Mapping[str, str]) -> _FlagGroup:
    asked = {option: flags for option, flags in _flags_by_option().items() if option in keywords.__annotations__}
    taken = {option: [flag for flag in flags if flag.name not in without] for option, flags in asked.items()}
    first, last = (
        {
            flag.parameter: _parameter(flag)
            for option, flags in taken.items()
            if (option in _FIRST) is early
            for flag in flags
        }
        for early in (True, False)
    )

    def read(values: Mapping[str, Any]) -> object:
        found = {flag.name: values[flag.parameter] for flags in taken.values() for flag in flags}
        return Reading({name: value for name, value in found.items() if value not in (None, [], False)})

    return _FlagGroup(first, last, read)


def _parameter(flag: ReadingFlag) -> tuple[Any, Any]:
    """Return the annotation and the default from which Typer makes the flag."""
    option = typer.Option(flag.name, help=flag.help)
    if flag.kind is bool:
        return Annotated[bool, option], False
    kind: Any = list[flag.kind] if flag.repeatable else flag.kind  # type: ignore[name-defined]
    return Annotated[kind | None, option], None
