"""Several problems of one file in one message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bonwise.errors import RowError

__all__ = ["Problems"]

_MOST = 5
"""Problems that one message names; more are counted."""


@dataclass
class Problems:
    """Rows that cannot be read, gathered before any of them is refused.

    Examples
    --------
    >>> problems = Problems()
    >>> with problems.noted():
    ...     raise RowError("s.csv, row 2: no candidate", hint="name it")
    >>> with problems.noted():
    ...     raise RowError("s.csv, row 3: 'x' is not a number", hint="write a number")
    >>> problems.refuse()
    Traceback (most recent call last):
    bonwise.errors.RowError: s.csv, row 2: no candidate; s.csv, row 3: 'x' is not a number (name it; write a number)
    """

    found: list[RowError] = field(default_factory=list)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is wrong with a row and go on."""
        try:
            yield
        except RowError as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Refuse what was noted.

        Raises
        ------
        bonwise.errors.RowError
            All of it in one line.
        """
        if not self.found:
            return
        if len(self.found) == 1:
            raise self.found[0]
        said = [error.message for error in self.found[:_MOST]]
        if len(self.found) > _MOST:
            said.append(f"{len(self.found) - _MOST} more columns have such rows")
        hints = dict.fromkeys(error.hint for error in self.found[:_MOST])
        raise RowError("; ".join(said), hint="; ".join(hints)) from self.found[0]
