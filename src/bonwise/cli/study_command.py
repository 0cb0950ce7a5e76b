"""The command of a study, made from the signature of its function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from sys import modules
from types import MappingProxyType, NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, Output, Reading, shared_flags, with_parameters
from bonwise.studies.registration import Flag, NoFlag, Study
from bonwise.table.reading_options import keywords_of

__all__ = ["command_of"]


@dataclass(frozen=True)
class _Option:
    """A flag of a study, and what becomes of its value."""

    annotation: Any
    """From which Typer makes the flag."""
    default: Any
    """From which Typer makes the flag."""
    read: Callable[[Any], Mapping[str, Any]]
    """Makes the keywords of the study from the value; a keyword that is not made keeps its default."""


def command_of(study: Study) -> Callable[..., int]:
    """Return the command: it reads the flags, makes the study, and writes what was asked for."""
    options = dict(_options(study))

    def command(*, file: Path, reading: Reading[Any], output: Output, **values: Any) -> int:
        keywords = {name: value for flag, one in options.items() for name, value in one.read(values[flag]).items()}
        own = [value for value in values.values() if isinstance(value, Path)]
        output.refuse_overwriting(file, *reading.paths(), *own)
        document = study.function(file, **keywords, **reading.keywords()).document()
        output.deliver(document)
        return 0

    shown = {
        "file": (Annotated[Path, typer.Argument(help=study.source, show_default=False)], Parameter.empty),
        "reading": (Reading[keywords_of(study.function)], Parameter.empty),  # type: ignore[misc]
        **{name: (one.annotation, one.default) for name, one in options.items()},
        "output": (Output, Parameter.empty),
    }
    return shared_flags(NO_PROPENSITY)(with_parameters(command, shown))


def _options(study: Study) -> Iterator[tuple[str, _Option]]:
    """Yield the study's own flags and those of its draws by parameter, in the order of the parameters."""
    shared = keywords_of(study.function).__annotations__
    for name, parameter in list(signature(study.function).parameters.items())[1:]:
        kind, flag = _annotated(name, parameter, study.function)
        if isinstance(flag, Flag):
            yield name, _own(name, kind, flag, parameter.default)
        elif flag is None and name in _SHARED:
            yield name, _plain(name, _SHARED[name], parameter.default)
        elif flag is None and name not in shared:
            raise TypeError(f"the parameter {name} of {study.function.__name__} has no Flag")


def _annotated(name: str, parameter: Parameter, function: Callable[..., object]) -> tuple[Any, Flag | NoFlag | None]:
    """Return the type of a parameter and its flag; without an own flag neither is looked at."""
    # Others cannot be evaluated: they name what is imported for type checkers alone.
    if "Annotated[" not in str(parameter.annotation):
        return None, None
    holder = SimpleNamespace(__annotations__={name: parameter.annotation})
    hint = get_type_hints(holder, vars(modules[function.__module__]), include_extras=True)[name]
    kind, *said = get_args(hint)
    return kind, next((one for one in said if isinstance(one, Flag | NoFlag)), None)


def _own(name: str, hint: Any, flag: Flag, default: Any) -> _Option:
    """Return the flag of a parameter that is the study's own."""
    names, required = ((flag.name,) if flag.name else ()), default is Parameter.empty
    kinds = [one for one in _members(hint) if one is not NoneType]
    inner = next((get_args(one)[0] for one in kinds if get_origin(one) is not None), None)
    if inner is not None:
        option = typer.Option(*names, help=flag.help, show_default=False)
        repeated: Any = Annotated[list[inner] | None, option]  # type: ignore[valid-type]
        return _Option(repeated, None, lambda found: _sequence(name, found, required=required))
    kind: Any = Path if Path in kinds else kinds[0]
    option = typer.Option(*names, help=flag.help)
    single: Any = Annotated[kind | None if default is None else kind, option]
    return _plain(name, single, default)


def _sequence(name: str, values: Sequence[Any] | None, *, required: bool) -> dict[str, Any]:
    return {name: tuple(values or ())} if values or required else {}


def _members(hint: Any) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _plain(name: str, annotation: Any, default: Any) -> _Option:
    return _Option(annotation, default, lambda found: {name: found})


_SHARED: Mapping[str, Any] = MappingProxyType({"confidence": given.Confidence, "seed": given.Seed})
"""Flags of parameters that several studies share, by the parameter; those that open a table aside."""
