"""One sentence that several reports say: labels that were there and not used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

__all__ = ["labels_left_out"]


def labels_left_out(settings: Mapping[str, Any]) -> Iterator[Text]:
    """Yield what to print of labels whose prompts are not in the file; nothing where there are none."""
    count = settings.get("labels_left_out")
    if count:
        yield Text(
            f"labels of {count['prompts']:,} prompts that are not in the file left out ({count['rows']:,} rows)",
            style="yellow",
        )
