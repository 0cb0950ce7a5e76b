"""What the packages of bonwise declare of themselves in their ``__init__``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bonwise.report.blocks import Part

__all__ = ["DocumentPlace", "places", "view_of", "words"]


class DocumentPlace(NamedTuple):
    """Where a package of bonwise says that a document is."""

    package: str
    model: str
    """Module and class, with a colon between."""
    view: str
    """Module and function that describes it to people; empty where it is read by programs alone."""


@cache
def places() -> Mapping[str, DocumentPlace]:
    """Return where each document is, by its word.

    A package declares its own in ``__init__``: ``DOCUMENTS = {"watch": ("result:Watch", "view:describe")}``.
    """
    packages = [f"bonwise.{found.name}" for found in iter_modules(import_module("bonwise").__path__) if found.ispkg]
    return {
        word: DocumentPlace(package, model, view)
        for package in packages
        for word, (model, view) in getattr(import_module(package), "DOCUMENTS", {}).items()
    }


def words() -> tuple[str, ...]:
    """Return the words between ``bonwise.`` and ``/1`` of every schema, sorted.

    Examples
    --------
    >>> "watch" in words()
    True
    """
    return tuple(sorted(places()))


def view_of(schema: str) -> Callable[[Any], Part] | None:
    """Return what describes the documents of a schema to people; None where they are read by programs alone."""
    place = places()[schema.removeprefix("bonwise.").partition("/")[0]]
    if not place.view:
        return None
    module, name = place.view.split(":")
    view: Callable[[Any], Part] = getattr(import_module(f"{place.package}.{module}"), name)
    return view
