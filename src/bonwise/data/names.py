"""Names as arguments: one, or several."""

from __future__ import annotations

from collections.abc import Sequence

from bonwise.data.wording import quoted
from bonwise.errors import UsageError

__all__ = ["names_of"]


def names_of(argument: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names that were given as one, as several, or not at all.

    Raises
    ------
    bonwise.errors.UsageError
        Something else than names was given.

    Examples
    --------
    >>> names_of("exclude", "base"), names_of("exclude", ["a", "b"]), names_of("exclude", None)
    (('base',), ('a', 'b'), ())
    """
    found = (given,) if isinstance(given, str) else given or ()
    if not isinstance(found, Sequence) or not all(isinstance(name, str) for name in found):
        raise UsageError(
            f"{argument} takes a name or several, not {quoted(given)}", hint=f"such as {argument}=['the name']"
        )
    return tuple(found)
