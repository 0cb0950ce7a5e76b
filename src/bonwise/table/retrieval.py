"""Runs and relevance labels of retrieval, as TREC and BEIR write them: topics are prompts, documents candidates."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats
from bonwise.errors import FileError, RowError, UsageError
from bonwise.printable import listed
from bonwise.table.numbers import parse_numbers
from bonwise.table.pools import Candidate, Pool
from bonwise.table.roles import claims, key_of, score_of
from bonwise.table.store import CodedColumn, Rows
from bonwise.table.text_files import check_text, file_errors, json_lines, open_text

RUN = "TREC run: scores decide, its column of ranks does not"
JSON_RUN = "run of retrieval: a score by prompt and candidate"
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
    if kind.note == RUN:
        scores = [line[4] for line in cells]
        columns |= _unscored(scores, [score.lower().strip("+-") == "nan" for score in scores], index)
    return Rows(columns, index, kind.note)


def _unscored(scores: Sequence[Any], lost: Sequence[bool], index: npt.NDArray[Any]) -> dict[str, CodedColumn]:
    """Return a run's scores without those that are lost, and why these are unscored; nothing where none is."""
    if not any(lost):
        return {}
    kept = [None if no else score for score, no in zip(scores, lost, strict=True)]
    words = [f"the run's score is {'null' if score is None else score}" for score in scores]
    reasons = [why if no else None for why, no in zip(words, lost, strict=True)]
    return {"score": CodedColumn.of_cells(kept, index), "unscored": CodedColumn.of_cells(reasons, index)}


def rows_of_run(document: object) -> Rows | None:
    """Return a run or qrels in JSON, a number by prompt and candidate, as rows; None where keys name columns."""
    topics = list(document.items()) if isinstance(document, Mapping) else []
    if not topics or not all(isinstance(inner, Mapping) for _, inner in topics):
        return None
    cells = [(topic, *cell) for topic, inner in topics for cell in inner.items()]
    if not cells or not all(score is None or type(score) in (int, float) for *_, score in cells):
        return None
    names = {key_of(name): [name] for name in topics[0][1]}
    if any(map(score_of, topics[0][1])) or any(any(claims(role, names)) for role in ("judge_score", "oracle_label")):
        return None
    index = np.arange(1, len(cells) + 1)
    names_of_topics, documents, scores = (list(held) for held in zip(*cells, strict=True))
    columns = {"prompt_id": names_of_topics, "candidate": documents, "score": scores}
    made = {name: CodedColumn.of_cells(held, index) for name, held in columns.items()}
    lost = [score is None or math.isnan(score) for score in scores]
    return Rows({**made, **_unscored(scores, lost, index)}, index, JSON_RUN)


def to_depth(rows: Rows, taken: Mapping[str, str], depth: int, source: str) -> tuple[Rows, str]:
    """Return the first candidates of each prompt by rank, equal ranks together, and say what was cut."""
    if rows.note != JSON_RUN and "rank" not in rows.columns:
        raise UsageError(
            f"{source}: no column rank, by which --depth keeps the first candidates of a prompt",
            hint="leave --depth out, or give a run of TREC",
        )
    by, sign = ("score", -1) if rows.note == JSON_RUN else ("rank", 1)
    places = parse_numbers(rows.columns[by], role=by, source=source) * sign
    places = np.where(np.isnan(places), np.inf, places)
    codes = [rows.columns[taken[role]].codes for role in ("prompt_id", "judge", "draw") if role in taken]
    topics = np.unique(np.array(codes), axis=1, return_inverse=True)[1].ravel()
    ends = np.bincount(topics).cumsum()
    lowest_kept = np.minimum(np.append(0, ends[:-1]) + depth, ends) - 1
    kept = places <= places[np.lexsort((places, topics))][lowest_kept][topics]
    more = int((np.bincount(topics[kept]) > depth).sum())
    note = f"a pool is the first {depth:,} by {by}, which cuts {(~kept).sum():,} of {len(kept):,} rows"
    equal = f"; {more:,} prompt{'s keep' if more > 1 else ' keeps'} more, because candidates share the last {by}"
    return rows.take(kept), note + (equal if more else "")


def file_of_qrels(source: Any) -> Any:
    """Return the labels within a folder of BEIR, of its test split or the only ones; all else as it is."""
    if not isinstance(source, str | Path) or not (folder := Path(source) / "qrels").is_dir():
        return source
    files = sorted(folder.glob("*.tsv*"))
    splits = [file for file in files if file.name.removesuffix(".gz") == "test.tsv"] or files
    if len(splits) != 1:
        raise FileError(
            f"{source}: no qrels/test.tsv; its folder qrels holds {listed(file.name for file in files) or 'no .tsv'}",
            hint=f"name a file of labels: --labels {folder}/NAME.tsv",
        )
    return splits[0]


def pools_of_beir(folder: Path, wanted: Mapping[str, Iterable[str]]) -> Iterator[Pool]:
    """Yield the queries of a folder of BEIR with the texts of wanted candidates, a title before its text."""
    texts = dict(_texts_of(folder / "corpus.jsonl", {name for names in wanted.values() for name in names}))
    for topic, query in _texts_of(folder / "queries.jsonl", wanted):
        yield Pool(topic, query, tuple(Candidate(name, texts[name]) for name in wanted[topic] if name in texts))


def _texts_of(path: Path, wanted: Container[str]) -> Iterator[tuple[str, str]]:
    for row, record in json_lines(path):
        words = [record.get(key, "") for key in ("_id", "title", "text")]
        if not all(isinstance(word, str) for word in words) or not words[0]:
            raise RowError(f"{path}, row {row}: no _id and text", hint='such as {"_id": "d1", "text": "..."}')
        if words[0] in wanted:
            yield words[0], " ".join(filter(None, words[1:]))


def as_qrels(rows: Rows) -> Rows:
    """Return labels with the columns of BEIR's qrels, or of those in JSON, under their roles; others as they are."""
    if rows.note == JSON_RUN:
        columns = {"prompt_id": "prompt_id", "candidate": "candidate", "oracle_label": "score"}
        return Rows({role: rows.columns[name] for role, name in columns.items()}, rows.index, QRELS)
    keys = {name: key_of(name) for name in rows.columns}
    if set(keys.values()) != set(_BEIR):
        return rows
    return Rows({_BEIR[key]: rows.columns[name] for name, key in keys.items()}, rows.index, QRELS)
