"""Tables larger than memory: files, folders, globs, object stores and frames as batches of whole prompts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import glob, has_magic
from hashlib import shake_256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import ColumnError, FileError, InputError, RowError
from bonwise.extras import REMOTE, SORTING
from bonwise.printable import listed, quoted
from bonwise.table import numbers
from bonwise.table.reading import IN_BATCHES, MOST_ELEMENTS, REMOTE_ADDRESS
from bonwise.table.text_files import file_errors, open_plain

_Hashes = npt.NDArray[np.uint64]

_ROWS = 1 << 17  # that are read at a time
_FIRST = 2_000  # rows by which columns are told apart
MOST_JUDGES = 64
_MEMORY = "2GB"  # that sorting may take before it goes to disk


class NotTogetherError(InputError):
    """The rows of a prompt stand apart, so that the table has to be sorted first."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The cells of some prompts, each with all its rows; a cell is one candidate of one prompt."""

    prompts: Any  # their ids, an array of Arrow
    clusters: Any  # names of their clusters, an array of Arrow; None without a column of clusters
    sizes: Ints
    names: _Hashes  # of the candidates' names, by cell
    scores: Floats  # by judge and cell, NaN where there is none
    asked: Mask  # by judge and prompt, whether there is a row
    labels: Floats  # by cell, NaN where there is none
    words: Sequence[str]  # the names of the candidates of this batch, each once
    emptied: int  # prompts of which no candidate is left

    @property
    def starts(self) -> Ints:
        """Where the cells of each prompt begin."""
        return np.cumsum(self.sizes) - self.sizes

    def rows(self, prompts: Sequence[int], judges: Sequence[str]) -> Iterator[list[dict[str, str | float | None]]]:
        """Yield the rows of some prompts, by role."""
        spoken = hashes(self.words)
        order, starts = np.argsort(spoken), self.starts
        for prompt in prompts:
            cells = slice(starts[prompt], starts[prompt] + self.sizes[prompt])
            known = {"prompt_id": self.prompts[prompt].as_py()}
            if self.clusters is not None:
                known["cluster"] = self.clusters[prompt].as_py()
            at = order[np.searchsorted(spoken, self.names[cells], sorter=order)]
            words, labels = [self.words[place] for place in at.tolist()], _or_none(self.labels[cells])
            yield [
                {**known, "candidate": word, "judge": judges[judge], "judge_score": score, "oracle_label": label}
                for judge in np.flatnonzero(self.asked[:, prompt]).tolist()
                for word, score, label in zip(words, _or_none(self.scores[judge, cells]), labels, strict=True)
            ]


def _or_none(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124 - NaN


@dataclass
class Batches:
    """A table that is passed over, as often as it takes."""

    source: Any
    exclude: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # by role
    judges: list[str] = field(default_factory=list)  # in the order in which they came
    name: str = "table"
    left_out: set[str] = field(default_factory=set)  # the names of `exclude` that are there
    _sorted: str | None = None

    def first_rows(self) -> Any:
        """Return some rows as a frame, by which the columns are told apart."""
        first = next(self._tables(None), None)
        if first is None or not first.num_rows:
            raise FileError(f"{self.name}: no rows", hint="check that whatever wrote it has finished")
        return first.slice(0, _FIRST).to_pandas()

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches of whole prompts; prompts whose rows stand apart come more than once."""
        rest, row = None, 0
        for table in self._tables(list(dict.fromkeys(self.columns.values()))):
            whole = table if rest is None else pa.concat_tables([rest, table])
            starts = _starts(whole[self.columns["prompt_id"]].combine_chunks())
            last = int(starts[-1])
            if last:
                yield self._batch(whole.slice(0, last), starts[:-1], row)
            rest, row = whole.slice(last), row + last
        if rest is not None and rest.num_rows:
            yield self._batch(rest, np.zeros(1, dtype=np.int64), row)

    @contextmanager
    def sorted(self) -> Iterator[None]:
        """Sort the rows by prompt on disk, and pass over these from here on."""
        SORTING.require("a table in which rows of a prompt stand apart")
        import duckdb  # noqa: PLC0415 - few tables are out of order

        wanted = list(dict.fromkeys(self.columns.values()))
        tables = self._tables(wanted)
        first = next(tables).combine_chunks()
        batches = (batch for table in (first, *tables) for batch in table.combine_chunks().to_batches())
        with spill_folder() as folder, duckdb.connect(str(folder / "sorting")) as store:
            store.execute(f"SET memory_limit='{_MEMORY}'; SET threads=2; SET preserve_insertion_order=false")
            # Its progress bar would stand among what is printed, JSON too.
            store.execute("SET enable_progress_bar=false")
            store.execute("SET temp_directory=?", [str(folder / "spill")])
            store.register("rows_of_table", pa.RecordBatchReader.from_batches(first.schema, batches))
            key, target = self.columns["prompt_id"].replace('"', '""'), str(folder / "sorted.parquet")
            store.execute(f"COPY (SELECT * FROM rows_of_table ORDER BY \"{key}\") TO '{target}' (FORMAT parquet)")  # noqa: S608
            self._sorted = target
            try:
                yield
            finally:
                self._sorted = None

    def files(self) -> list[str]:
        """Return the files of the source, in the order of their names."""
        text = REMOTE_ADDRESS.sub(r"\1://", str(self.source))
        if REMOTE_ADDRESS.match(text):
            REMOTE.require(f"reading {text}")
            import fsspec  # noqa: PLC0415 - few tables are remote

            system, inner = fsspec.core.url_to_fs(text)
            names = system.glob(inner) if has_magic(inner) else system.find(inner) if system.isdir(inner) else [inner]
            return [system.unstrip_protocol(name) for name in sorted(names)]
        path = Path(self.source)
        if has_magic(text) and not path.exists():
            names = sorted(glob(text))  # noqa: PTH207 - a pattern may be absolute
        else:
            inner = sorted(path.iterdir()) if path.is_dir() else [path]
            names = [str(file) for file in inner if not file.name.startswith((".", "_")) or file == path]
        if not names:
            raise FileError(f"{text}: no file of this name", hint="quote a pattern, such as 'parts/*.parquet'")
        return names

    def _tables(self, wanted: Sequence[str] | None) -> Iterator[Any]:
        """Yield the rows of all files, or of what was sorted, a table of Arrow at a time."""
        if self._sorted is None and not isinstance(self.source, str | Path):
            table = pa.table(self.source)
            table = table if wanted is None else table.select(wanted)
            yield from (pa.Table.from_batches([batch]) for batch in table.to_batches(max_chunksize=_ROWS))
            return
        for file in self.files() if self._sorted is None else [self._sorted]:
            with file_errors(Path(file)), _opened(file) as stream:
                try:
                    for batch in _record_batches(file, stream, wanted):
                        yield pa.Table.from_batches([batch])
                except pa.ArrowException as error:
                    raise FileError(
                        f"{file}: cannot be read: {error}", hint="check the ending of its name"
                    ) from error

    def _batch(self, table: Any, starts: Ints, row: int) -> Batch:
        owner = np.repeat(np.arange(len(starts)), np.diff(starts, append=table.num_rows))
        codes, words = self._names(table, "candidate", row)
        prompts = _text(table[self.columns["prompt_id"]].combine_chunks().take(starts))
        self._refuse_blank(prompts, "prompt_id", row)
        judge = self._judge_of_rows(table, row)
        values = [self._values(table, role, row) for role in ("judge_score", "oracle_label")]
        clusters = self._clusters(table, starts, owner, row)
        spoken = hashes(words)
        kept = ~np.isin(spoken, hashes(self.exclude))[codes]
        self.left_out |= {*self.exclude}.intersection(words) if self.exclude else set()
        names, (scores, labels), emptied = spoken[codes], values, 0
        if not kept.all():
            names, owner, judge = names[kept], owner[kept], judge[kept]
            scores, labels = scores[kept], labels[kept]
            left = np.unique(owner)
            prompts, clusters = prompts.take(left), None if clusters is None else clusters.take(left)
            owner, emptied = np.searchsorted(left, owner), len(starts) - len(left)
        return self._cells(Batch(prompts, clusters, owner, names, scores, judge, labels, words, emptied), row)

    def _cells(self, rows: Batch, row: int) -> Batch:
        """Return cells of rows, of which `sizes` holds the prompt and `asked` the judge."""
        owner, judge, judges, prompts = rows.sizes, rows.asked, len(self.judges), len(rows.prompts)
        order = np.lexsort((rows.names, owner))
        owner, names, judge = owner[order], rows.names[order], judge[order].astype(np.int64)
        new = np.ones(len(order), dtype=bool)
        new[1:] = (owner[1:] != owner[:-1]) | (names[1:] != names[:-1])
        cell = np.cumsum(new) - 1
        if np.bincount(cell * judges + judge).max(initial=0) > 1:
            raise self._bad(row, "a candidate has two scores of one judge", "keep one row per candidate and judge")
        scores = np.full((judges, int(new.sum())), np.nan)
        scores[judge, cell] = rows.scores[order]
        least, most = (of.reduceat(rows.labels[order], np.flatnonzero(new)) for of in (np.fmin, np.fmax))
        if (least < most).any():
            raise self._bad(row, "a candidate carries two different oracle labels", "give each candidate one label")
        asked = np.bincount(judge * prompts + owner, minlength=judges * prompts).reshape(judges, prompts) > 0
        sizes = np.bincount(owner[new], minlength=prompts)
        return Batch(rows.prompts, rows.clusters, sizes, names[new], scores, asked, least, rows.words, rows.emptied)

    def _bad(self, row: int, what: str, hint: str) -> RowError:
        return RowError(f"{self.name}, rows from {row}: {what}", hint=hint)

    def _names(self, table: Any, role: str, row: int) -> tuple[Ints, list[str]]:
        """Return a code of each row, and the names by code."""
        column = table[self.columns[role]].combine_chunks()
        column = column if _is_dictionary(column) else column.dictionary_encode()
        self._refuse_blank(column, role, row)
        names = _text(column.dictionary)
        codes: Ints = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        few = len(names) <= len(codes)
        used = np.flatnonzero(np.bincount(codes, minlength=len(names))) if few else np.unique(codes)
        self._refuse_blank(names.take(used), role, row)
        return codes if len(used) == len(names) else np.searchsorted(used, codes), names.take(used).to_pylist()

    def _judge_of_rows(self, table: Any, row: int) -> npt.NDArray[Any]:
        if "judge" not in self.columns:
            self.judges = ["judge"]
            return np.zeros(table.num_rows, dtype=np.int64)
        codes, names = self._names(table, "judge", row)
        self.judges += [name for name in names if name not in self.judges]
        if len(self.judges) > MOST_JUDGES:
            raise self._bad(row, f"more than {MOST_JUDGES} judges", "name the column of judges with --judge-col")
        return np.array([self.judges.index(name) for name in names])[codes]

    def _clusters(self, table: Any, starts: Ints, owner: Ints, row: int) -> Any:
        if "cluster" not in self.columns:
            return None
        codes, names = self._names(table, "cluster", row)
        if (codes != codes[starts][owner]).any():
            raise self._bad(row, "a prompt is in two clusters", "put every prompt in exactly one cluster")
        return pa.array(names).take(pa.array(codes[starts]))

    def _refuse_blank(self, column: Any, role: str, row: int) -> None:
        text = not _is_dictionary(column)
        if column.null_count or (text and pc.any(pc.equal(pc.utf8_trim_whitespace(column), "")).as_py()):
            raise self._bad(row, f"no {role}", f"give every row a {role}")

    def _values(self, table: Any, role: str, row: int) -> Floats:
        """Return the numbers of a column, NaN where there is none."""
        if role not in self.columns:
            return np.full(table.num_rows, np.nan)
        column = table[self.columns[role]].combine_chunks()
        column = column.dictionary_decode() if _is_dictionary(column) else column
        try:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                column = pc.utf8_lower(pc.utf8_trim_whitespace(column))
                column = pc.if_else(pc.is_in(column, pa.array(sorted(numbers.BLANK))), None, column)
            elif pa.types.is_boolean(column.type):
                column = column.cast(pa.int8())
            values: Floats = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowException as error:
            hint = "in passes numbers are written plainly; leave the cell blank for none"
            raise self._bad(row, f"{role} holds what is not a plain number: {error}", hint) from error
        with np.errstate(invalid="ignore"):
            if (np.abs(values) > numbers.LARGEST).any():
                raise self._bad(row, f"{role} is infinite", "write a finite number")
        return values


def _is_dictionary(column: Any) -> bool:
    return hasattr(column, "dictionary")


def _text(values: Any) -> Any:
    """Return identifiers as text, whole numbers without a point."""
    values = values.dictionary_decode() if _is_dictionary(values) else values
    return pc.replace_substring_regex(values.cast(pa.string()), r"^(0|-?[1-9][0-9]*)\.0$", r"\1")


def _starts(column: Any) -> Ints:
    """Return the rows at which another prompt begins."""
    column = column if _is_dictionary(column) else column.dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))


def _opened(file: str) -> Any:
    if REMOTE_ADDRESS.match(file):
        import fsspec  # noqa: PLC0415 - few tables are remote

        return fsspec.open(file, "rb")
    return open_plain(Path(file))


def _record_batches(file: str, stream: Any, wanted: Sequence[str] | None) -> Iterator[Any]:
    ending = Path(file).suffix.lower()
    if ending in (".parquet", ".pq"):
        schema = parquet.ParquetFile(stream, thrift_container_size_limit=MOST_ELEMENTS).schema_arrow
        stream.seek(0)
        _refuse_lacking(file, schema.names, wanted)
        texts = [name for name in schema.names if pa.types.is_string(schema.field(name).type)]
        whole = parquet.ParquetFile(stream, read_dictionary=texts, pre_buffer=False)
        yield from whole.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False)
        return
    if ending not in (".csv", ".tsv"):
        raise FileError(
            f"{file}: not Parquet or CSV, which is what is read in passes", hint=f"end it in {IN_BATCHES[0]}"
        )
    parsing = csv.ParseOptions(delimiter="\t" if ending == ".tsv" else ",", newlines_in_values=True)
    names = csv.open_csv(stream, parse_options=parsing).schema.names
    stream.seek(0)
    _refuse_lacking(file, names, wanted)
    texts = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=wanted)
    yield from csv.open_csv(stream, csv.ReadOptions(use_threads=False, block_size=1 << 22), parsing, texts)


def _refuse_lacking(file: str, names: Sequence[str], wanted: Sequence[str] | None) -> None:
    lacking = [name for name in wanted or () if name not in names]
    if lacking:
        raise ColumnError(
            f"{file}: no column named {quoted(lacking[0])}; the columns are {listed(names)}",
            hint="give all files the same columns",
        )


_WIDTH = 256
_TABLE = np.frombuffer(shake_256(b"bonwise").digest(_WIDTH * 256 * 8), dtype="<u8").reshape(_WIDTH, 256)


def hashes(words: Any) -> _Hashes:
    """Return a hash of 64 bits of each text, the same in every run (tabulation hashing)."""
    column = words if isinstance(words, pa.Array) else pa.array(list(words), pa.string())
    if not len(column):
        return np.zeros(0, dtype=np.uint64)
    _, offsets, data = column.cast(pa.binary()).buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[column.offset :][: len(column) + 1].astype(np.int64)
    lengths = np.diff(ends)
    letters = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    places = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)
    mixed = _TABLE[places % _WIDTH, letters] * (2 * (places // _WIDTH).astype(np.uint64) + np.uint64(1))
    hashed: _Hashes = lengths.astype(np.uint64) * _TABLE[0, 0]
    filled = lengths > 0
    if filled.any():
        hashed[filled] ^= np.bitwise_xor.reduceat(mixed, (ends[:-1] - ends[0])[filled])
    return hashed


_REMOVER = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


@contextmanager
def spill_folder() -> Iterator[Path]:
    """Make a folder that is gone afterwards, also where this process is killed: another one waits for its end."""
    folder = Path(tempfile.mkdtemp(prefix="bonwise-spill-"))
    command = [sys.executable, "-I", "-S", "-c", _REMOVER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):  # noqa: S603 - only its own folder
        yield folder
