"""What a frozen case is: commands typed one after another in an empty folder, and the files that they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """Commands whose output, files and exit codes are kept.

    Parameters
    ----------
    name : str
        Of the folder of its golden files.
    commands : str
        One a line, as typed after ``bonwise``; a line that ends in a backslash goes on in the next one. ``> FILE`` at
        the end takes standard output to a file, ``< FILE`` reads one.
    inputs : tuple of str
        Names of files of ``inputs/``.
    shared : mapping of str to str
        Files of the shared data folder, by the name that they get; without the folder the case is skipped.
    service : mapping or None
        Settings of the scripted service that answers; without any, no model can be asked.
    audit : bool
        Whether it needs the packages of the extra ``audit``.
    unkept : tuple of str
        Files of a command that are not frozen here: another case holds them, or they hold words of the shared data.
    """

    name: str
    commands: str
    inputs: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    service: Mapping[str, Any] | None = None
    audit: bool = True
    unkept: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the command lines."""
        whole = (" ".join(line.split()) for line in self.commands.replace("\\\n", " ").splitlines())
        return tuple(line for line in whole if line)
