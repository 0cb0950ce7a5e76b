"""Runs and relevance labels of retrieval, as TREC and BEIR write them: topics are prompts, documents candidates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats
from bonwise.errors import FileError, RowError
from bonwise.table.roles import key_of
from bonwise.table.store import CodedColumn, Rows
from bonwise.table.text_files import check_text, file_errors, open_text

__all__ = ["QRELS", "Unretrieved", "as_qrels", "is_ranking", "read_ranking"]

RUN = "TREC run: scores decide, its column of ranks does not"
QRELS = "labels of retrieval (qrels)"

_SOME = 1 << 16  # characters in which the first line ends
_BEIR = {"queryid": "prompt_id", "corpusid": "candidate", "score": "oracle_label"}


class _Ranking(NamedTuple):
    """A file of TREC."""

    written: str
    columns: tuple[str, ...]
    """By field; an empty name leaves it out."""
    numbers: tuple[int, ...]
    note: str


_KINDS = {
    6: _Ranking(
        "topic Q0 document rank score tag", ("prompt_id", "", "candidate", "rank", "score", "judge"), (3, 4), RUN
    ),
    4: _Ranking("topic 0 document label", ("prompt_id", "", "candidate", "oracle_label"), (3,), QRELS),
}
"""By the number of fields of a line."""


@dataclass(frozen=True, eq=False)
class Unretrieved:
    """The documents that qrels label and the table does not hold."""

    prompts: npt.NDArray[np.object_]
    """The topic of each, some of which the table lacks."""
    names: npt.NDArray[np.object_]
    labels: Floats
    """In the unit of the table's labels."""


def is_ranking(path: Path) -> bool:
    """Tell by the first line whether a file is a run or qrels of TREC; one of blanks alone is read as if it were."""
    try:
        with file_errors(path), open_text(path) as lines:
            text = lines.read(_SOME)
        first = next((line.split() for line in text.split("\n") if line.strip()), [])
        kind = _KINDS.get(len(first))
        # A number that is not finite is refused with its row.
        numbers = [float(first[at]) for at in (kind.numbers if kind else ())]
        return bool(numbers) or (not first and len(text) < _SOME)
    except (FileError, ValueError):
        return False


def read_ranking(path: Path) -> Rows:
    """Return the rows of a run or of qrels of TREC, by line; a line with another number of fields is a RowError."""
    check_text(path)
    rows, cells = list[int](), list[list[str]]()
    with file_errors(path), open_text(path) as lines:
        for row, line in enumerate(lines, start=1):
            fields = line.split()
            if fields and cells and len(fields) != len(cells[0]):
                raise RowError(
                    f"{path}, row {row}: {len(fields)} fields, and the lines before have {len(cells[0])}",
                    hint=f"write {_KINDS[len(cells[0])].written}, and no blank within a name",
                )
            if fields:
                rows.append(row)
                cells.append(fields)
    if not cells:
        raise FileError(f"{path}: no rows", hint="check that whatever wrote it has finished")
    kind, index = _KINDS[len(cells[0])], np.array(rows)
    names = {name: at for at, name in enumerate(kind.columns) if name}
    columns = {name: CodedColumn.of_cells([line[at] for line in cells], index) for name, at in names.items()}
    return Rows(columns, index, kind.note)


def as_qrels(rows: Rows) -> Rows:
    """Return labels with the columns of BEIR's qrels under their roles; all others as they are."""
    keys = {name: key_of(name) for name in rows.columns}
    if set(keys.values()) != set(_BEIR):
        return rows
    return Rows({_BEIR[key]: rows.columns[name] for name, key in keys.items()}, rows.index, QRELS)
