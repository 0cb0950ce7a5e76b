"""Where the prompts go that a page cannot show."""

from __future__ import annotations

from pathlib import Path

from bonwise.data.bytes_check import file_errors
from bonwise.errors import FileError

__all__ = ["all_prompts_file", "refuse_other_file"]


def all_prompts_file(path: str | Path) -> Path:
    """Name the file beside a page that holds a row for every prompt, where the page cannot show them all.

    Examples
    --------
    >>> all_prompts_file("runs/audit.html").as_posix()
    'runs/audit-prompts.csv'
    """
    return Path(path).with_name(f"{Path(path).stem}-prompts.csv")


def refuse_other_file(all_prompts: Path, header: str) -> None:
    """Refuse to write over a file that no page left there: nobody typed this name.

    Parameters
    ----------
    all_prompts : pathlib.Path
    header : str
        First line of the file that a page leaves.

    Raises
    ------
    bonwise.errors.FileError
        A file that begins with another line.
    """
    if not all_prompts.is_file():
        return
    line = f"{header}\n".encode()
    with file_errors(all_prompts), all_prompts.open("rb") as stream:
        found = stream.read(len(line) + 1).replace(b"\r\n", b"\n")
    if not found.startswith(line):
        raise FileError(
            f"{all_prompts}: all prompts would be written here, but the file that exists is of another kind",
            hint="give the page another name, or move that file",
        )
