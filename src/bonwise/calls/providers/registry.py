"""Providers by name, from the entry points that built-ins and plug-ins share."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from bonwise.calls.providers.protocol import Provider
from bonwise.calls.providers.redaction import one_line
from bonwise.errors import UsageError
from bonwise.plugin_loading import load_plugin, what_failed

__all__ = ["known", "provider"]

GROUP = "bonwise.providers"

_MEMBERS = ("name", "capabilities", "request", "account", "client", "reply", "problem", "rate_limits")


@cache
def provider(name: str) -> Provider:
    """Return the provider of that name, made once.

    Raises
    ------
    bonwise.errors.UsageError
        No such provider, two of that name, or a plug-in that cannot be loaded.

    Examples
    --------
    >>> provider("openai").name
    'openai'
    """
    installed = _installed()
    if name not in installed:
        raise UsageError(f"no provider {name!r}", hint=f"the providers are {', '.join(installed)}")
    return _make(name, installed[name])


def known() -> dict[str, str]:
    """Return every installed provider's name and what is wrong with it, empty where nothing is.

    Examples
    --------
    >>> known()["openai"]
    ''
    """
    return {name: _fault(name) for name in _installed()}


def _installed() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        same = found.setdefault(entry.name, [])
        if all(entry.value != other.value for other in same):
            same.append(entry)
    return found


def _make(name: str, entries: list[EntryPoint]) -> Provider:
    if len(entries) > 1:
        places = " and ".join(entry.value for entry in entries)
        raise UsageError(f"two plug-ins call themselves {name!r}: {places}", hint="uninstall one of them")
    hint = f"mend or uninstall {entries[0].value}"
    try:
        made: Provider = load_plugin(entries[0])()
        absent = [member for member in _MEMBERS if not hasattr(made, member)]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may raise anything
        fault = one_line(what_failed(error))
    else:
        if not absent:
            return made
        fault = f"it lacks {', '.join(absent)}"
    # Raised outside the handler: one line, no traceback of somebody else's code.
    raise UsageError(f"the plug-in behind provider {name!r} failed: {fault}", hint=hint)


def _fault(name: str) -> str:
    try:
        provider(name)
    except UsageError as error:
        return str(error)
    return ""
