"""The record of a draw beside a file of labels, where the labels are said to be a uniform sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.data.label_design import DESIGN_HEADER, LabelDesign
from bonwise.errors import InputError, UsageError
from bonwise.printable import shell_path

if TYPE_CHECKING:
    from bonwise.data.table import ScoreTable

__all__ = ["refuse_other_draw"]

_MOST_FILES = 1000
"""Files of a folder that are looked at: each by its first line."""


def refuse_other_draw(design: object, labels: object, table: ScoreTable) -> None:
    """Refuse a uniform draw that was stated of labels whose record says otherwise.

    Parameters
    ----------
    design : str, pathlib.Path, LabelDesign or None
        What is stated; only ``"uniform"`` and ``"cells"`` are looked into.
    labels : object
        What the labels come from: the path of a file, or anything else, beside which there is nothing.
    table : ScoreTable
        With the labels.

    Raises
    ------
    bonwise.errors.UsageError
        In the folder of the labels lies a record by which every labelled prompt was drawn with unequal chances, and
        none by which all were drawn uniformly.
    """
    if str(design) not in ("uniform", "cells") or not isinstance(labels, str | Path):
        return
    labelled = table.frame.loc[table.frame["oracle_label"].notna(), "prompt_id"].astype(object).unique()
    drew = [one for one in _records(Path(labels).parent) if set(labelled) <= set(one.prompt_ids[one.drawn])]
    if not len(labelled) or not drew or any(one.rule == "uniform" for one in drew):
        return
    first = min(drew, key=lambda one: (int(one.drawn.sum()), one.source))
    raise UsageError(
        f"{labels}: {first.source} beside it is the record of a draw by the rule {first.rule!r}, which drew these "
        "prompts with unequal chances, so they are no random sample",
        hint=f"give --design {shell_path(first.source)}",
    )


def _records(folder: Path) -> Iterator[LabelDesign]:
    """Yield the records of draws in a folder; what is none, or cannot be read, is passed over."""
    beginning = ",".join(DESIGN_HEADER).encode()
    try:
        files = sorted(folder.glob("*.csv"))[:_MOST_FILES]
    except OSError:
        return
    for path in files:
        try:
            with path.open("rb") as stream:
                is_record = stream.read(len(beginning)) == beginning
            if is_record:
                yield LabelDesign.read(path)
        except (OSError, InputError):
            continue
