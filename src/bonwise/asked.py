"""How a result was asked for, and the command that asks something further of the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast

from bonwise.printable import shell_flag, shell_path

F = TypeVar("F", bound=Callable[..., Any])
_Flags = Mapping[str, Sequence[str] | None]


@dataclass(frozen=True)
class AskedFor:
    """The arguments of a function that were not left as they are."""

    values: Mapping[str, Any]
    """By parameter: files, names and numbers; None for what no command line holds, such as a table in memory."""
    reading: _Flags
    """The flags of each option that opens the table; None of an option that no flag can state."""

    def files(self, parameter: str) -> str | None:
        """Return the files of a parameter, quoted for a shell; None where it holds none."""
        given = self.values.get(parameter)
        return None if given is None else " ".join(map(shell_path, given if isinstance(given, tuple) else (given,)))

    def command(
        self,
        words: str,
        *flags: str,
        of: Sequence[str] = ("source",),
        takes: type | None = None,
        keep: Mapping[str, str] | None = None,
    ) -> str | None:
        """Return ``bonwise``, words, files and flags, None where one is unknown; `keep` has further flags."""
        files, reading = [self.files(parameter) for parameter in of], {} if takes is None else self.reading
        kept = {flag: self.values[name] for name, flag in (keep or {}).items() if name in self.values}
        repeated = [flag for stated in reading.values() for flag in stated or ()]
        weighted = words != "audit" and any(flag.startswith("--propensity-col") for flag in repeated)
        unknown = takes is not None and not reading.keys() <= takes.__annotations__.keys()
        if unknown or weighted or None in (*files, *reading.values(), *kept.values()):
            return None
        own = [shell_flag(flag, text) for flag, value in kept.items() for text in _texts(value)]
        return " ".join(["bonwise", words, *(file for file in files if file), *repeated, *own, *flags])


def _texts(value: Any) -> Iterator[str]:
    """Yield what is typed for a value, once for each of several."""
    if isinstance(value, dict):
        value = [f"{name}={held}" for name, held in value.items()]
    yield from map(str, value if isinstance(value, list | tuple) else [value])


def remembers(function: F, flags: Callable[[Mapping[str, Any]], _Flags] = lambda _: {}) -> F:
    """Make a function keep beside its result how it was asked for; `flags` makes those of how tables are opened."""
    parameters = signature(function).parameters

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        made = function(*given, **named)
        if not hasattr(made, "asked_by"):  # no document
            return made
        asked = {**dict(zip(parameters, given, strict=False)), **named}
        usual = {name: parameter.default for name, parameter in parameters.items()}
        values = {name: _plain(value) for name, value in asked.items() if value is not usual.get(name)}
        unusual = {name: value for name, value in values.items() if value is None or value != usual.get(name)}
        return made.asked_by(AskedFor(unusual, flags(named)))

    return cast("F", call)


def _plain(value: Any) -> Any:
    """Return what a command line can hold of an argument; None where it can hold nothing."""
    if isinstance(value, str | Path | int | float):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str | Path) for part in value):
        return tuple(value)
    if isinstance(value, dict) and all(isinstance(part, str | int | float) for part in value.values()):
        return value
    asked = getattr(value, "asked", None)  # a document is known by the file that it was read from
    return asked.values.get("path") if isinstance(asked, AskedFor) else None
