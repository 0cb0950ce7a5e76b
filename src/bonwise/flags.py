"""How a public function is typed: flags are declared on its parameters, and a command is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["NO_FLAG", "Command", "Flag", "NoFlag", "comma_separated"]


@dataclass(frozen=True)
class Flag:
    """The flag of a parameter: ``folds: Annotated[int, Flag("Parts of the prompts.")] = 5``.

    A sequence becomes a flag that may be repeated. ``confidence`` and ``seed`` have their flags already. A parameter
    that may be given by its position is an argument of the command, not a flag.
    """

    help: str
    name: str = ""
    """Such as ``--covariate``; made from the parameter where empty."""
    kind: Any = None
    """What is typed, such as ``Path`` or ``list[str]``, where it is not the first type of the parameter."""
    read: Callable[[Any, str], Any] | None = None
    """Makes the value of the parameter from what was typed and the name of the flag; else it is taken as it is."""


@dataclass(frozen=True)
class NoFlag:
    """Says that a parameter has no flag."""


NO_FLAG = NoFlag()


def comma_separated(text: str, _: str) -> tuple[str, ...]:
    """Read a flag of several values that is given once: ``a,b``."""
    return tuple(text.split(",")) if text else ()


def _done(_: Any) -> int:
    return 0


@dataclass(frozen=True)
class Command:
    """A command that calls a public function, and writes its result where ``--json`` and ``--html`` say."""

    function: Callable[..., Any]
    """Its parameters are the arguments and flags."""
    help: str
    """One sentence, and below an empty line more for the help of the command itself."""
    without: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Flags of columns that it has no use for, such as ``--propensity-col``, and why."""
    before: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What stands elsewhere in the help: a parameter, and the one before which it stands.

    ``reading`` stands for the flags that open a table, ``output`` for those of where results go. By default the
    arguments come first, then ``reading``, the parameters as they are declared, and ``output``.
    """
    page: bool = True
    """Whether the result has a page, which ``--html`` writes."""
    inputs: Callable[[Mapping[str, Any]], Iterable[Any]] | None = None
    """Returns the files that are read, which no result may replace, from what was typed by parameter; else those
    that are paths."""
    code: Callable[[Any], int] = _done
    """Returns the exit code from the result."""
