"""Where the prompts go that a page cannot show."""

from __future__ import annotations

from pathlib import Path

from bonwise.data.bytes_check import file_errors
from bonwise.errors import FileError

__all__ = ["refuse_another", "rest_of_prompts"]


def rest_of_prompts(path: str | Path) -> Path:
    """Name the file beside a page that holds a row for every prompt, where the page cannot show them all.

    Examples
    --------
    >>> rest_of_prompts("runs/audit.html").as_posix()
    'runs/audit-prompts.csv'
    """
    return Path(path).with_name(f"{Path(path).stem}-prompts.csv")


def refuse_another(rest: Path, header: str) -> None:
    """Refuse to write over a file that no page left there: nobody typed this name.

    Parameters
    ----------
    rest : pathlib.Path
    header : str
        First line of the file that a page leaves.

    Raises
    ------
    bonwise.errors.FileError
        A file that begins with another line.
    """
    if not rest.is_file():
        return
    line = f"{header}\n".encode()
    with file_errors(rest), rest.open("rb") as stream:
        found = stream.read(len(line) + 1).replace(b"\r\n", b"\n")
    if not found.startswith(line):
        raise FileError(
            f"{rest}: all prompts would go here, and the file that is there is not of this kind",
            hint="give the page another name, or move that file",
        )
