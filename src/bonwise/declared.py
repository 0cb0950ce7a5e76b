"""What the packages of bonwise declare of themselves in their ``__init__``, so that no list names them.

``PUBLIC``, the names that ``bonwise`` exports, by module; ``RESULTS``, classes of what functions return, which the
package itself exports; ``DOCUMENTS``, what `bonwise.load` reads, by word; and ``COMMANDS``, what is typed after
``bonwise``, by name. A package whose folders are features too says ``HOLDS_FEATURES = True``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal, NamedTuple


@cache
def _packages() -> tuple[ModuleType, ...]:
    whole = import_module("bonwise")
    return (whole, *_below(whole))


def _below(package: ModuleType) -> Iterator[ModuleType]:
    for entry in iter_modules(package.__path__):
        if entry.ispkg:
            inner = import_module(f"{package.__name__}.{entry.name}")
            yield inner
            if getattr(inner, "HOLDS_FEATURES", False):
                yield from _below(inner)


def declared(what: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the package, the key and the value of all that packages declare under one name."""
    for package in _packages():
        for key, value in vars(package).get(what, {}).items():
            yield package.__name__, key, value


def attribute_at(package: str, place: str) -> Any:
    """Return what a package declares by module and name, with a colon between."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)


@cache
def public_homes() -> Mapping[str, str]:
    """Return the module of every public name: ``PUBLIC = {"front": ("watch",), "result": ("Watch",)}``."""
    return {name: f"{package}.{module}" for package, module, names in declared("PUBLIC") for name in names}


@cache
def result_homes() -> Mapping[str, str]:
    """Return the package of every class of results: ``RESULTS = {"result": ("Watch",)}``."""
    return {name: package for package, _, names in declared("RESULTS") for name in names}


def lazy(package: str, homes: Mapping[str, tuple[str, ...]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose names, listed by module, load on first use."""
    modules = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(modules)


class DocumentPlace(NamedTuple):
    """Where a package of bonwise says that a document is."""

    package: str
    model: str
    """Module and class, with a colon between."""
    view: str
    """Module and function that describes it to people; empty where it is read by programs alone."""
    answer: str = ""
    """Those of what it answers; empty where it asks nothing."""
    short: str = ""
    """Those of what a terminal shows unless all of it is asked for; empty where that is the whole description."""


@cache
def places() -> Mapping[str, DocumentPlace]:
    """Return where each document is, by its word: ``DOCUMENTS = {"watch": ("result:Watch", "view:describe")}``."""
    return {word: DocumentPlace(package, *place) for package, word, place in declared("DOCUMENTS")}


def words() -> tuple[str, ...]:
    """Return the words between ``bonwise.`` and ``/1`` of every schema, sorted."""
    return tuple(sorted(places()))


def view_of(schema: str, what: Literal["view", "answer", "short"] = "view") -> Callable[[Any], Any] | None:
    """Return what describes documents of a schema, or answers what they ask; None where nothing does."""
    place = places()[schema.removeprefix("bonwise.").partition("/")[0]]
    named = getattr(place, what) or (place.view if what == "short" else "")
    return attribute_at(place.package, named) if named else None
