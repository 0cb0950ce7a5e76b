"""How a public function is typed: flags are declared on its parameters, and a command is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bonwise.errors import UsageError

__all__ = ["NO_FLAG", "Command", "Flag", "NoFlag", "comma_separated", "judge_families", "numbers", "texts"]


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
    least: int | None = None
    """The least value that can be typed."""


@dataclass(frozen=True)
class NoFlag:
    """Says that a parameter has no flag."""


NO_FLAG = NoFlag()


def comma_separated(text: str, _: str) -> tuple[str, ...]:
    """Read a flag of several values that is given once: ``a,b``."""
    return tuple(text.split(",")) if text else ()


def numbers(pairs: Iterable[str] | None, flag: str) -> dict[str, float]:
    """Read ``NAME=NUMBER`` pairs.

    Raises
    ------
    bonwise.errors.UsageError
        A pair that is none.

    Examples
    --------
    >>> numbers(["recovery=0.2"], "--fail-under")
    {'recovery': 0.2}
    """
    found: dict[str, float] = {}
    for pair in pairs or ():
        # The name of a judge may hold the sign too, as that of pairwise,orders=1:openai/m does.
        name, _, text = pair.rpartition("=")
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not name or value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
            raise UsageError(f"{flag} takes NAME=NUMBER, not {pair!r}", hint=f"such as {flag} recovery=0.2")
        if name in found:
            raise UsageError(f"{flag} names {name!r} twice", hint="give each name once")
        found[name] = value
    return found


def texts(pairs: Iterable[str] | None, flag: str) -> dict[str, str]:
    """Read ``NAME=TEXT`` pairs.

    Raises
    ------
    bonwise.errors.UsageError
        A pair that is none.

    Examples
    --------
    >>> texts(["gpt=pairwise,orders=1:openai/m"], "--spec")
    {'gpt': 'pairwise,orders=1:openai/m'}
    """
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        if not name or not text:
            raise UsageError(f"{flag} takes NAME=TEXT, not {pair!r}", hint=f"such as {flag} gpt=pointwise:openai/m")
        if name in found:
            raise UsageError(f"{flag} names {name!r} twice", hint="give each name once")
        found[name] = text
    return found


def judge_families(texts: Iterable[str] | None, flag: str) -> Mapping[str, str]:
    """Read ``NAME`` and ``JUDGE=NAME``; the key of the former is empty.

    Raises
    ------
    bonwise.errors.UsageError
        A judge that is named twice, or no name.

    Examples
    --------
    >>> judge_families(["gpt", "strict=claude"], "--judge-family")
    {'': 'gpt', 'strict': 'claude'}
    """
    found: dict[str, str] = {}
    for text in texts or ():
        judge, _, family = text.rpartition("=")
        if judge in found or not family.strip():
            wrong = f"is given twice for {judge or 'all judges'}" if judge in found else f"{text!r} holds no name"
            raise UsageError(f"{flag} {wrong}", hint="give NAME, or JUDGE=NAME, once for each judge")
        found[judge] = family.strip()
    return found


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
