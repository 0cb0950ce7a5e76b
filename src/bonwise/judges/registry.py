"""Judges by name: ``KIND[:rest]``, from the entry points that built-ins and plug-ins share."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.protocol import Judge

__all__ = ["judge_from_spec"]

GROUP = "bonwise.judges"


def judge_from_spec(spec: str) -> Judge:
    """Make the judge that a command line names.

    Parameters
    ----------
    spec : str
        ``KIND`` or ``KIND:rest``; the factory behind the kind reads the rest.

    Raises
    ------
    bonwise.errors.UsageError
        No such kind, or a plug-in that cannot be loaded.

    Examples
    --------
    >>> judge_from_spec("local:length").name
    'local:length'
    """
    kind, _, rest = spec.partition(":")
    known = {entry.name: entry for entry in entry_points(group=GROUP)}
    if kind not in known:
        raise UsageError(f"no kind of judge {kind!r}", hint=f"the kinds are {', '.join(sorted(known))}")
    judge = _make(known[kind], rest)
    if not isinstance(judge, Judge):
        raise UsageError(f"{spec!r} made no judge", hint="see the contract in bonwise.judges.protocol")
    return judge


def _make(entry: EntryPoint, rest: str) -> object:
    try:
        return entry.load()(rest)
    except BonwiseError:
        raise
    except Exception as error:
        raise UsageError(
            f"the plug-in behind {entry.name!r} failed: {type(error).__name__}: {error}",
            hint=f"mend or uninstall {entry.value}",
        ) from error
