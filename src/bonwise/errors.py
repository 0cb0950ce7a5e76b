"""Every exception that bonwise raises on purpose.

::

    BonwiseError
    ├── InputError          a file, table, pool or argument that cannot be used as it is
    │   ├── FileError       the file itself: absent, unreadable, binary, not UTF-8, gone
    │   ├── ColumnError     a column: absent, ambiguous, of the wrong kind
    │   │   └── OtherFileError  columns of another kind of file, such as votes
    │   ├── RowError        a value in a row: text in a score, infinite, duplicate, off scale
    │   └── UsageError      an argument or flag that means nothing
    ├── JudgeError          a judge that does not keep the contract of judges
    ├── CallError           calls that no retry will answer: no key, wrong key, unknown model, no credit
    ├── LedgerError         a ledger that cannot be opened, read or written
    └── MissingExtraError   something that needs an extra of the package, which is not installed

Each message is one line that says what is wrong and where; ``hint`` says how to mend it.
"""

from __future__ import annotations

from typing import ClassVar

from bonwise.printable import printable

__all__ = [
    "BonwiseError",
    "CallError",
    "ColumnError",
    "FileError",
    "InputError",
    "JudgeError",
    "LedgerError",
    "MissingExtraError",
    "OtherFileError",
    "RowError",
    "UsageError",
]


class BonwiseError(Exception):
    """Base of every error that bonwise raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong and where, in one line.
    hint : str, optional
        How to mend it, in one line.

    Examples
    --------
    >>> error = BonwiseError("no such judge: x", hint="choose one of length, lexical, format")
    >>> print(error)
    no such judge: x (choose one of length, lexical, format)
    """

    retryable: ClassVar[bool] = False
    """Whether the same call may succeed later without anything being mended."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        # File and candidate names are in messages: whatever they hold, a message stays one printable line.
        self.message = printable(message)
        self.hint = printable(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(BonwiseError):
    """A file, table, pool or argument that cannot be used as it is."""


class FileError(InputError):
    """A file that is absent, unreadable, binary, not UTF-8, or gone."""


class ColumnError(InputError):
    """A column that is absent, ambiguous, or of the wrong kind."""


class OtherFileError(ColumnError):
    """A file that can be read and is no table of scores, such as votes; the hint says what to do with it."""

    def __init__(self, message: str, *, hint: str = "", command: str = "") -> None:
        super().__init__(message, hint=hint)
        self.command = command
        """To type instead, as it stands; empty where there is none."""


class RowError(InputError):
    """A value that cannot be used: text in a score, infinite, duplicate, off scale."""


class UsageError(InputError):
    """An argument or flag that means nothing: an unknown name, a value out of range, a contradiction."""


class JudgeError(BonwiseError):
    """A judge that does not keep the contract of judges."""


class CallError(BonwiseError):
    """Calls that no retry will answer: no key, a wrong key, an unknown model, no credit left."""


class LedgerError(BonwiseError):
    """A ledger that cannot be opened, read or written. Nothing more is sent: an answer would be lost."""


class MissingExtraError(BonwiseError):
    """Something that needs an extra of the package, which is not installed. The hint is the line to type."""
