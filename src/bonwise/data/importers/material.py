"""What an importer is given, and what it returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from bonwise.data.structured_text import StructuredText

__all__ = ["Imported", "Material", "mapping", "mappings"]

Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Material:
    """A file as an importer sees it.

    Examples
    --------
    >>> Material("t", frame=pd.DataFrame({"scores": [[1, 2]]})).records
    [{'scores': [1, 2]}]
    """

    source: str
    """How to name it in an error."""
    document: Any = None
    """What a ``.json`` file holds, or the parts of a folder or an archive by their path; None for a table."""
    frame: pd.DataFrame | None = None
    """The rows of CSV, JSON Lines or Parquet, or of a DataFrame, as they stand."""
    named: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Role to column or metric, as the user named them."""

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns of a table, or of the keys that the first records hold."""
        if self.frame is not None:
            return frozenset(map(str, self.frame.columns))
        return frozenset(key for record in self.records[:50] for key in record)

    @cached_property
    def records(self) -> Sequence[Record]:
        """The records of a table or of a list of objects, lists and objects as such; a missing cell is None."""
        if self.frame is None:
            found = self.document if isinstance(self.document, list) else []
            return [one for one in found if isinstance(one, Mapping)]
        return [
            {str(name): _plain(cell) for name, cell in zip(self.frame.columns, row, strict=True)}
            for row in self.frame.itertuples(index=False, name=None)
        ]

    @property
    def chosen_scores(self) -> tuple[str, ...]:
        """The columns or metrics of judges that the user named; none where nothing was said."""
        said = self.named.get("judge_score")
        if said is None:
            return ()
        whole = self.frame is not None and said in self.frame.columns
        return (said,) if whole else tuple(part.strip() for part in said.split(","))

    @property
    def chosen_label(self) -> str | None:
        """The column or metric of labels that the user named."""
        return self.named.get("oracle_label")


@dataclass(frozen=True, eq=False)
class Imported:
    """What an importer found."""

    format: str
    """Such as ``promptfoo results``."""
    frame: pd.DataFrame
    """Rows with ``prompt_id`` and ``candidate`` and, as far as they are known, ``judge``, ``judge_score``,
    ``oracle_label``, ``prompt`` and ``text``. The index holds what errors name rows by.
    """
    readings: Sequence[str] = ()
    """How it was read, a sentence each."""
    lacks: Sequence[str] = ()
    """What an audit would need and the file does not hold, a sentence each."""


def _plain(cell: object) -> object:
    """Return a cell with its lists and objects as such, and None where it is missing."""
    if type(cell) is StructuredText:
        with suppress(ValueError):
            return json.loads(cell)
    if isinstance(cell, np.ndarray | list | tuple):
        return [_plain(one) for one in cell]
    if isinstance(cell, dict):
        return {key: _plain(one) for key, one in cell.items()}
    if pd.api.types.is_scalar(cell) and bool(pd.isna(cell)):  # type: ignore[call-overload]
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def mapping(value: object) -> Record:
    """Return an object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Record]:
    """Return the objects of a list; nothing where it is none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, Iterable | list) else []
