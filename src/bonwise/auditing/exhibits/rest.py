"""Where the prompts go that a page cannot show."""

from __future__ import annotations

from pathlib import Path

__all__ = ["rest_of_prompts"]


def rest_of_prompts(path: str | Path) -> Path:
    """Name the file beside a page that holds a row for every prompt, where the page cannot show them all.

    Examples
    --------
    >>> rest_of_prompts("runs/audit.html").as_posix()
    'runs/audit-prompts.csv'
    """
    return Path(path).with_name(f"{Path(path).stem}-prompts.csv")
