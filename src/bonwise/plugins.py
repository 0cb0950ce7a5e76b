"""Plug-ins by entry points: judges, strategies, providers and importers from other packages."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from bonwise.errors import BonwiseError, UsageError
from bonwise.printable import printable

LOADING_SECONDS = 30.0
"""How long the import of a plug-in may take."""

_REFUSED: dict[str, str] = {}
"""What a second import of the same module would not show: it is in `sys.modules` by then, or still hangs."""


def is_built_in(entry: EntryPoint) -> bool:
    """Tell whether bonwise itself brings what is behind an entry point."""
    return entry.dist is not None and entry.dist.name == "bonwise"


def load_plugin(entry: EntryPoint) -> Any:
    """Return what is behind an entry point; a TimeoutError if it hangs, a RuntimeError if it exits or prints."""
    if is_built_in(entry):
        return entry.load()
    if entry.value in _REFUSED:
        raise RuntimeError(_REFUSED[entry.value])
    loading = _Loading(entry.load)
    thread = threading.Thread(target=loading.run, name=f"bonwise-plugin-{entry.name}", daemon=True)
    heard, sys.stdout = sys.stdout, loading.overheard(sys.stdout)
    try:
        thread.start()
        thread.join(LOADING_SECONDS)
    finally:
        sys.stdout = heard
    if thread.is_alive():
        _REFUSED[entry.value] = f"its import did not end within {LOADING_SECONDS:g} s"
        raise TimeoutError(_REFUSED[entry.value])
    if loading.error is not None:
        raise loading.error
    if loading.printed:
        words = printable(" ".join("".join(loading.printed).split()), longest=80)
        _REFUSED[entry.value] = f"its import printed to standard output: {words}"
        raise RuntimeError(_REFUSED[entry.value])
    return loading.found


def what_failed(error: BaseException) -> str:
    """Return the kind of an error and its words, the kind alone where its words fail."""
    kind = type(error).__name__
    try:
        return f"{kind}: {'it ended the program: ' if isinstance(error, SystemExit) else ''}{error}"
    except Exception:  # noqa: BLE001 - the words of an error are somebody else's code too
        return kind


class _Loading:
    """One import: what it found or raised, and what it printed meanwhile."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load
        self.found: Any = None
        self.error: BaseException | None = None
        self.printed: list[str] = []
        self.thread = 0

    def run(self) -> None:
        """Import, and keep whatever comes of it."""
        self.thread = threading.get_ident()
        try:
            self.found = self.load()
        except BaseException as error:  # noqa: BLE001 - raised again where the plug-in is asked for
            self.error = error

    def overheard(self, stream: Any) -> Any:
        """Return standard output as it is for every other thread."""
        return _OverheardOutput(stream, self)


class _OverheardOutput:
    """Standard output, but for what one thread writes to it."""

    def __init__(self, stream: Any, loading: _Loading) -> None:
        self._stream = stream
        self._loading = loading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Keep the text of the import; pass any other on."""
        if threading.get_ident() == self._loading.thread:
            self._loading.printed.append(text)
            return len(text)
        written: int = self._stream.write(text)
        return written


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
        """Call it; whatever fails inside is a UsageError of one line."""
        with self.guarded():
            return self.function(*arguments, **options)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Raise a UsageError of one line for whatever the code behind it raises, or for its end of the program."""
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
        """Load what makes a kind, refusing one that two plug-ins share or that cannot be loaded."""
        return _factory(self._entry(kind))

    def kinds(self, options: Callable[[Factory], Iterable[str]]) -> list[Kind]:
        """Return every installed kind by name, a broken one with the reason: also a `BonwiseError` of `options`."""
        return sorted((self._kind(entry, options) for entry in self.entries), key=lambda kind: kind.name)

    def _entry(self, kind: str) -> EntryPoint:
        """Return the entry point behind a kind; no package takes the name of a built-in one."""
        named = [entry for entry in self.entries if entry.name == kind]
        entries = [entry for entry in named if is_built_in(entry)] or named
        if not entries:
            known = sorted({entry.name for entry in self.entries})
            raise UsageError(f"no kind of {self.noun} {kind!r}", hint=f"the kinds are {', '.join(known)}")
        if len(entries) > 1:
            factories = " and ".join(entry.value for entry in entries)
            raise UsageError(f"two plug-ins are called {kind!r}: {factories}", hint="uninstall one of them")
        return entries[0]

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
    """Read the options that stand behind the name of a kind: words, numbers, ``none``, ``true`` and ``false``."""
    for name in stated:
        if name not in known:
            raise UsageError(f"{kind} has no option {name!r}", hint=f"its options are {', '.join(known) or 'none'}")
    return {name: _value(text) for name, text in stated.items()}


def with_options(
    kind: str, stated: Mapping[str, Any], given: Mapping[str, Any], known: Sequence[str]
) -> dict[str, Any]:
    """Return the options of a text, and those that are given beside it as they stand; none may be in both."""
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
    required = tuple(name for name, parameter in parameters.items() if parameter.default is parameter.empty)
    return Factory(entry, function, tuple(parameters), required)


def _failed(entry: EntryPoint, error: BaseException) -> UsageError:
    why = printable(what_failed(error), longest=200)
    return UsageError(f"the plug-in behind {entry.name!r} failed: {why}", hint=f"mend or uninstall {entry.value}")
