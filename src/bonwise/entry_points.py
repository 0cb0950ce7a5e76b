"""What is installed under an entry-point group: one door for what bonwise brings and for plug-ins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from bonwise.errors import BonwiseError, UsageError
from bonwise.plugin_loading import is_built_in, load_plugin, what_failed
from bonwise.printable import printable

__all__ = ["Factory", "Group", "Kind", "option_values", "with_options"]

_WORDS: dict[str, object] = {"none": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind that is installed."""

    name: str
    factory: str
    """Module and name of its factory."""
    package: str
    """The distribution that brings it."""
    options: tuple[str, ...] = ()
    """What may be stated behind its name."""
    problem: str = ""
    """Why it cannot be used, in one line; empty where it can."""


@dataclass(frozen=True, slots=True)
class Factory:
    """What makes the things of one kind."""

    entry: EntryPoint
    function: Callable[..., object]
    parameters: tuple[str, ...]
    """Its own, in order."""
    required: tuple[str, ...]
    """Those among them without a default."""

    def make(self, *arguments: object, **options: object) -> object:
        """Call it; whatever fails inside is named in one line.

        Raises
        ------
        bonwise.errors.UsageError
            It failed.
        """
        with self.guarded():
            return self.function(*arguments, **options)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Name whatever the code behind it raises, or its end of the program, in one line.

        Raises
        ------
        bonwise.errors.UsageError
            It failed.
        """
        try:
            yield
        except BonwiseError:
            raise
        except (Exception, SystemExit) as error:
            raise self.failed(error) from error

    def failed(self, error: BaseException) -> UsageError:
        """Return what to raise where the code behind it failed."""
        return _failed(self.entry, error)


@dataclass(frozen=True, slots=True)
class Group:
    """The entry points of one group."""

    noun: str
    """What its factories make, in one word."""
    entries: Sequence[EntryPoint]

    def factory(self, kind: str) -> Factory:
        """Load what makes a kind.

        Raises
        ------
        bonwise.errors.UsageError
            No such kind, two plug-ins of that name, or a plug-in that cannot be loaded.
        """
        return _factory(self._entry(kind))

    def kinds(self, options: Callable[[Factory], Iterable[str]]) -> list[Kind]:
        """Return every kind that is installed, by name; a broken one with the reason.

        Parameters
        ----------
        options : callable
            From a factory to the names of its options; a `BonwiseError` that it raises is the reason.
        """
        return sorted((self._kind(entry, options) for entry in self.entries), key=lambda kind: kind.name)

    def _entry(self, kind: str) -> EntryPoint:
        """Return the entry point behind a kind; no package takes the name of a built-in one."""
        named = [entry for entry in self.entries if entry.name == kind]
        found = [entry for entry in named if is_built_in(entry)] or named
        if not found:
            known = sorted({entry.name for entry in self.entries})
            raise UsageError(f"no kind of {self.noun} {kind!r}", hint=f"the kinds are {', '.join(known)}")
        if len(found) > 1:
            factories = " and ".join(entry.value for entry in found)
            raise UsageError(f"two plug-ins are called {kind!r}: {factories}", hint="uninstall one of them")
        return found[0]

    def _kind(self, entry: EntryPoint, options: Callable[[Factory], Iterable[str]]) -> Kind:
        package = entry.dist.name if entry.dist is not None else "?"
        try:
            if self._entry(entry.name) != entry:
                raise UsageError(f"a built-in {self.noun} has this name")
            known = tuple(options(_factory(entry)))
        except BonwiseError as error:
            return Kind(entry.name, entry.value, package, problem=str(error))
        return Kind(entry.name, entry.value, package, known)


def option_values(kind: str, stated: Mapping[str, str], known: Sequence[str]) -> dict[str, Any]:
    """Read the options that stand behind the name of a kind: words, numbers, ``none``, ``true`` and ``false``.

    Raises
    ------
    bonwise.errors.UsageError
        One that is not among the known ones.

    Examples
    --------
    >>> option_values("adaptive", {"margin": "0.2", "repick": "false"}, ["margin", "repick"])
    {'margin': 0.2, 'repick': False}
    """
    for name in stated:
        if name not in known:
            raise UsageError(f"{kind} has no option {name!r}", hint=f"its options are {', '.join(known) or 'none'}")
    return {name: _value(text) for name, text in stated.items()}


def with_options(
    kind: str, stated: Mapping[str, Any], given: Mapping[str, Any], known: Sequence[str]
) -> dict[str, Any]:
    """Return the options of a text, and those that are given beside it as they stand.

    Raises
    ------
    bonwise.errors.UsageError
        One that is not among the known ones, or that the text states too.

    Examples
    --------
    >>> with_options("adaptive", {"margin": 0.2}, {"max_draws": 5}, ["margin", "max_draws"])
    {'margin': 0.2, 'max_draws': 5}
    """
    for name in given:
        if name not in known:
            raise UsageError(f"{kind} has no option {name!r}", hint=f"its options are {', '.join(known) or 'none'}")
        if name in stated:
            raise UsageError(
                f"{kind} is given the option {name!r} twice", hint=f"state {name} in the text or beside it"
            )
    return {**stated, **given}


def _value(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _factory(entry: EntryPoint) -> Factory:
    try:
        function: object = load_plugin(entry)
        parameters = inspect.signature(function).parameters if callable(function) else None
    except (Exception, SystemExit) as error:
        raise _failed(entry, error) from error
    if parameters is None or not callable(function):
        raise _failed(entry, TypeError("no callable"))
    required = tuple(name for name, one in parameters.items() if one.default is one.empty)
    return Factory(entry, function, tuple(parameters), required)


def _failed(entry: EntryPoint, error: BaseException) -> UsageError:
    why = printable(what_failed(error), longest=200)
    return UsageError(f"the plug-in behind {entry.name!r} failed: {why}", hint=f"mend or uninstall {entry.value}")
