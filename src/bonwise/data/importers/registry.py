"""The importers that are installed, those of bonwise and those of plug-ins alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from bonwise.data.importers.material import Imported, Material
from bonwise.entry_points import Factory, Group, Kind
from bonwise.errors import FileError
from bonwise.plugin_loading import is_built_in

__all__ = ["importers", "read_by_importer"]

GROUP = "bonwise.importers"


def importers() -> list[Kind]:
    """Return every importer that is installed; a broken one with the reason."""
    return _group().kinds(lambda _: ())


def read_by_importer(material: Material) -> Imported | None:
    """Return what the importer of a file's format found; None where no importer knows the format.

    A built-in importer goes before a plug-in.

    Raises
    ------
    bonwise.errors.InputError
        The file is of a known format and nothing in it can be used, or two plug-ins know it.
    """
    found: dict[str, Imported] = {}
    for name, factory, built_in in _factories():
        made = factory.make(material)
        if isinstance(made, Imported):
            if built_in:
                return made
            found[name] = made
    if len(found) > 1:
        raise FileError(
            f"{material.source}: {' and '.join(found)} both read it", hint="uninstall one of the two importers"
        )
    return next(iter(found.values()), None)


@cache
def _factories() -> tuple[tuple[str, Factory, bool], ...]:
    group = _group()
    entries = sorted(group.entries, key=lambda entry: (not is_built_in(entry), entry.name))
    names = dict.fromkeys(entry.name for entry in entries)
    return tuple((name, one := group.factory(name), is_built_in(one.entry)) for name in names)


@cache
def _group() -> Group:
    return Group("importer", tuple(entry_points(group=GROUP)))
