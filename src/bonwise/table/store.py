"""Columns without pandas: cells as a source holds them, each distinct one once; sorted names; and rows of columns."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Mask

if TYPE_CHECKING:
    import pandas as pd

_Array = npt.NDArray[Any]
_Objects = npt.NDArray[np.object_]

DECIMAL_COMMA = "decimal comma"
"""Key of a DataFrame's ``attrs`` that says that its file separates cells by semicolons."""

CUT_OFF = "cut off"
"""Key of a DataFrame's ``attrs`` that says what of its file was left out."""

_ASCII = 127

_EXACT = 2**53
"""Whole numbers below it are floats of the same value."""


class StructuredText(str):
    """Text like any other, except where an identifier is wanted."""

    __slots__ = ()


def objects(cells: Collection[Any]) -> _Objects:
    """Return an array of objects, lists among them as one object each."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells if isinstance(cells, list) else list(cells)
    return array


@dataclass(frozen=True, eq=False)
class Texts:
    """Many distinct texts in an array of Arrow, of which objects are made when somebody asks for these."""

    array: Any

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, at: Any) -> Any:
        """Return the text at a position, or those at several, marked or in a slice."""
        if isinstance(at, slice):
            return Texts(self.array[at])
        if np.ndim(at) == 0:
            return self.array[int(at)].as_py()
        return self.at(np.flatnonzero(at) if np.asarray(at).dtype == bool else np.asarray(at))

    def at(self, places: _Array) -> Texts:
        """Return the texts at some places."""
        import pyarrow as pa  # noqa: PLC0415 - who has texts of Arrow has loaded it

        # By its buffer: an array of numpy as it is loads pandas.
        held = pa.py_buffer(np.ascontiguousarray(places, dtype=np.int64))
        return Texts(self.array.take(pa.Array.from_buffers(pa.int64(), len(places), [None, held])))

    @cached_property
    def objects(self) -> _Objects:
        """The texts as an array of objects."""
        return objects(self.array.to_pylist())

    @cached_property
    def _letters(self) -> tuple[_Array, _Array]:
        """The bytes of all texts, and where each text begins, with the end of the last."""
        _, ends, content = self.array.buffers()
        at = np.frombuffer(ends, dtype=np.int32)[self.array.offset :][: len(self) + 1]
        return np.frombuffer(content or b"", dtype=np.uint8)[: at[-1]], at

    def begin_with(self, letter: str) -> bool:
        """Tell whether some text begins with an ASCII letter."""
        letters, at = self._letters
        return bool((letters[at[:-1][at[:-1] < at[1:]]] == ord(letter)).any())

    @property
    def are_plain_names(self) -> bool:
        """Whether each is ASCII that neither begins with a blank nor ends as a float does: a name as it stands."""
        letters, at = self._letters
        if not len(self) or (at[1:] - at[:-1]).min() < 1 or letters[at[0] :].max() > _ASCII:
            return False
        last = at[1:] - 1
        zero = last[(letters[last] == ord("0")) & (last > at[:-1])]
        return bool((letters[at[:-1]] > ord(" ")).all() and (letters[zero - 1] != ord(".")).all())

    def sorted(self) -> tuple[Texts, _Array | None]:
        """Return the texts in their order, and the new place of each; None where all stay."""
        from pyarrow import compute  # noqa: PLC0415 - who has texts of Arrow has loaded it

        if compute.all(compute.less(self.array[:-1], self.array[1:])).as_py() is not False:
            return self, None
        order = np.frombuffer(compute.array_sort_indices(self.array).buffers()[1], dtype=np.uint64)[: len(self)]
        places = np.empty(len(self), dtype=np.int32)
        places[order] = np.arange(len(self), dtype=np.int32)
        return self.at(order), places


class Names:
    """Distinct names in an order, mostly sorted."""

    def __init__(self, names: _Objects | Texts) -> None:
        self._held = names

    def __len__(self) -> int:
        return len(self._held)

    @property
    def _names(self) -> _Objects:
        return self._held.objects if isinstance(self._held, Texts) else self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Array:
        return self._names if dtype in (None, object) and not copy else self._names.astype(dtype or object)

    @overload
    def __getitem__(self, at: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, at: _Array | slice | list[int]) -> Names: ...
    def __getitem__(self, at: Any) -> Any:
        """Return the name at a position, or those at several."""
        names = self._held[at]
        return Names(names) if isinstance(names, np.ndarray | Texts) else names

    def __repr__(self) -> str:
        return f"Names({self.tolist()!r})"

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self._names.tolist(), range(len(self._names)), strict=True))

    def get_indexer(self, names: Iterable[Any]) -> npt.NDArray[np.intp]:
        """Return where each of some names is, -1 where it is not."""
        if isinstance(names, Names) and self.equals(names):
            return np.arange(len(self))
        return np.array([self._places.get(name, -1) for name in names], dtype=np.intp)

    def get_loc(self, name: str) -> int:
        """Return where a name is; KeyError where it is not."""
        return self._places[name]

    def isin(self, names: Names | Collection[Any]) -> Mask:
        """Tell which names are among others."""
        others = names if isinstance(names, Names) else Names(objects(names))
        return others.get_indexer(self) >= 0

    def equals(self, other: Names) -> bool:
        """Tell whether others are the same names in the same order."""
        return self._held is other._held or np.array_equal(self._names, other._names)

    def to_numpy(self) -> _Objects:
        """Return the names as an array of objects."""
        return self._names

    def tolist(self) -> list[str]:
        """Return the names as a list."""
        return list(self._names)


@dataclass(frozen=True, eq=False)
class Categories:
    """A name per row, by its position among all names."""

    codes: npt.NDArray[Any]
    categories: Names

    @classmethod
    def alike(cls, rows: int, name: str) -> Categories:
        """Give all rows one name."""
        return cls(np.zeros(rows, dtype=np.int8), Names(objects([name])))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_numpy())

    def __getitem__(self, at: Any) -> Any:
        """Return the name of a row, or the rows of an array."""
        codes = self.codes[at]
        return self.categories[codes] if np.ndim(codes) == 0 else Categories(codes, self.categories)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Array:
        return self.to_numpy() if dtype in (None, object) else self.to_numpy().astype(dtype)

    def to_numpy(self) -> _Objects:
        """Return the name of each row."""
        return np.asarray(self.categories.to_numpy()[self.codes])

    def are(self, name: str) -> Mask:
        """Tell which rows have a name."""
        return np.asarray(self.codes == (self.categories.get_loc(name) if name in self.categories else -1))

    def used(self) -> Categories:
        """Return the same rows without the names that none has."""
        kept, codes = np.unique(self.codes, return_inverse=True)
        return Categories(codes, self.categories[kept])


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of a source: an array of numbers or truth values, or each distinct cell once and a code per row."""

    index: _Array
    """Row numbers, as a user counts them."""
    numbers: _Array | None = None
    """Numbers or truth values; None where cells are coded."""
    dictionary: tuple[_Array, _Objects | Texts] | None = None
    decimal_comma: bool = False
    """Whether the file separates cells by semicolons."""

    @classmethod
    def of(cls, column: CodedColumn | pd.Series) -> CodedColumn:
        """Return a Series of pandas as a column, and a column as it is."""
        return column if isinstance(column, CodedColumn) else _of_series(column)

    @classmethod
    def of_cells(cls, cells: Sequence[Any], index: _Array | None = None) -> CodedColumn:
        """Take in cells of any kind; numbers, or truth values, alone become an array."""
        index = np.arange(len(cells)) if index is None else index
        values = _numbers(cells)
        return cls(index, dictionary=coded(cells)) if values is None else cls(index, values)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def kind(self) -> str:
        """The letter of numpy for the kind of the values, ``O`` where cells are coded."""
        return "O" if self.numbers is None else self.numbers.dtype.kind

    @property
    def codes(self) -> _Array:
        """A code per row, -1 where there is nothing."""
        return self._dictionary[0]

    @property
    def cells(self) -> _Objects:
        """The distinct cells, in the order in which they appear."""
        held = self.held_cells
        return held.objects if isinstance(held, Texts) else held

    @property
    def held_cells(self) -> _Objects | Texts:
        """The same, as they are held: what is of text may not be objects yet."""
        return self._dictionary[1]

    @cached_property
    def _dictionary(self) -> tuple[_Array, _Objects | Texts]:
        return self.dictionary if self.numbers is None and self.dictionary else _coded_numbers(self.numbers)

    @cached_property
    def words(self) -> list[str]:
        """The distinct cells as words in lower case."""
        return [str(cell).strip().lower() for cell in self.cells]

    def cell(self, at: int) -> Any:
        """Return the cell of a row by its position, None where there is nothing."""
        if self.numbers is not None:
            return self.numbers[at]
        code = self.codes[at]
        return None if code < 0 else self.held_cells[code]

    def is_missing(self) -> Mask:
        """Tell which rows hold nothing, not even a blank."""
        if self.numbers is None:
            return np.asarray(self.codes < 0)
        return np.isnan(self.numbers) if self.kind == "f" else np.zeros(len(self), dtype=bool)

    def where(self, by_cell: Sequence[Any] | _Array, missing: Any, dtype: Any) -> _Array:
        """Return, row by row, what is given for its distinct cell, or for none."""
        every = objects([*by_cell, missing]) if dtype is object else np.append(np.asarray(by_cell, dtype), missing)
        return np.asarray(every[self.codes])

    def marked(self, by_cell: Sequence[bool] | _Array, *, missing: bool = False) -> Mask:
        """Mark the rows whose distinct cell is marked, and those that hold nothing where `missing`."""
        return self.where(by_cell, missing, bool)

    def take(self, rows: _Array | slice, index: _Array | None = None) -> CodedColumn:
        """Return some rows, by position or marked."""
        index = self.index[rows] if index is None else index
        if self.numbers is not None:
            return replace(self, index=index, numbers=self.numbers[rows])
        if isinstance(rows, slice) and rows == slice(1, None) and self.codes[1:].min(initial=1) > 0:
            # All cells but that of the first row stay, in their order.
            return replace(self, index=index, dictionary=(self.codes[1:] - np.int32(1), self.held_cells[1:]))
        return replace(self, index=index, dictionary=_of_use(self.codes[rows], self.held_cells))

    def masked(self, rows: Mask) -> CodedColumn:
        """Return the column without the cells of the marked rows."""
        return replace(self, numbers=None, dictionary=_of_use(np.where(rows, -1, self.codes), self.held_cells))

    def with_cells(self, cells: Collection[Any]) -> CodedColumn:
        """Return the column with other cells in place of the distinct ones, of which some may be equal."""
        codes, distinct = coded(cells)
        return replace(self, numbers=None, dictionary=(np.append(codes, -1)[self.codes], distinct))

    def to_numpy(self) -> _Array:
        """Return the cell of each row."""
        return self.where(self.cells, None, object) if self.numbers is None else self.numbers


def coded(cells: Collection[Any]) -> tuple[_Array, _Objects]:
    """Return a code for each cell, -1 for None and NaN, and the distinct cells in the order in which they appear."""
    places: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(cells), dtype=np.int32)
    for at, cell in enumerate(cells):
        key = cell if type(cell) is str else _key(cell)
        code = -1 if key is None else places.get(key)
        if code is None:
            code = places[key] = len(distinct)
            distinct.append(cell)
        codes[at] = code
    return codes, objects(distinct)


def _key(cell: Any) -> Hashable:
    """Return what is equal where cells are; None for a missing one. What cannot be looked up goes by its words."""
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    try:
        hash(cell)
    except TypeError:
        try:
            return StructuredText(cell)
        except RecursionError:  # a list that is nested too deep for words is like no other
            return id(cell), StructuredText
    return None if is_missing(cell) else cell


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is None, NaN, or what pandas has for a missing one."""
    # Those of pandas are told by their names, which does not load it.
    is_pandas = type(cell).__name__ in ("NAType", "NaTType")
    return cell is None or is_pandas or (isinstance(cell, float | np.floating) and bool(np.isnan(cell)))


def _numbers(cells: Sequence[Any]) -> _Array | None:
    """Return cells that are all numbers, NaN for None, or all truth values; None for others."""
    kinds = set(map(type, cells))
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return np.array(cells, dtype=bool)
    given = kinds - {type(None)}
    if not given or not all(
        issubclass(kind, int | float | np.integer | np.floating) and kind is not bool for kind in given
    ):
        return None
    whole = all(issubclass(kind, int | np.integer) for kind in given)
    try:
        if whole and given == kinds:
            return np.array(cells, dtype=np.int64)
        values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except OverflowError:
        return None
    is_inexact = (np.abs(values) >= _EXACT).any() and any(issubclass(kind, int | np.integer) for kind in given)
    return None if is_inexact else values


def _coded_numbers(values: _Array | None) -> tuple[_Array, _Objects]:
    if values is None:
        return np.zeros(0, dtype=np.int32), objects([])
    known = values if values.dtype.kind != "f" else values[~np.isnan(values)]
    distinct, first, inverse = np.unique(known, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[slice(None) if len(known) == len(values) else ~np.isnan(values)] = place[inverse]
    return codes, objects(list(distinct[order]))


def _of_use(codes: _Array, cells: _Objects | Texts) -> tuple[_Array, _Objects | Texts]:
    """Leave out the cells that no row has, and bring the others to the order in which they appear."""
    first = np.full(len(cells) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    used = np.flatnonzero(first[:-1] < len(codes))
    order = used if (np.diff(first[used]) > 0).all() else used[np.argsort(first[used])]
    if len(order) == len(cells) and order is used:
        return codes, cells
    place = np.full(len(cells) + 1, -1, dtype=np.int32)
    place[order] = np.arange(len(order))
    return place[codes], cells[order]


def _of_series(column: pd.Series) -> CodedColumn:
    import pandas as pd  # noqa: PLC0415 - who has a Series has loaded it

    index, comma = column.index.to_numpy(), bool(column.attrs.get(DECIMAL_COMMA))
    kind = column.dtype.kind
    if kind in "iufb" and (kind == "f" or isinstance(column.dtype, np.dtype) or not column.hasnans):
        plain = column.dtype if isinstance(column.dtype, np.dtype) else np.dtype(f"{kind}{1 if kind == 'b' else 8}")
        blank = {"na_value": np.nan} if kind == "f" else {}
        # A copy: a frame may be changed after it was given.
        return CodedColumn(index, column.to_numpy(dtype=plain, copy=True, **blank))
    try:
        if isinstance(column.array, pd.arrays.NumpyExtensionArray) and kind == "O":
            # pandas 2 compares cells up to the first NUL where all are text, which a missing one beside them is not.
            codes, cells = pd.factorize(np.append(column.to_numpy(dtype=object), np.array([None])))
            dictionary = codes[:-1], objects(list(cells))
        else:
            codes, uniques = pd.factorize(column)
            dictionary = codes, objects(list(uniques))
    except TypeError:  # lists and the like cannot be looked up
        dictionary = coded(list(column))
    return CodedColumn(index, dictionary=dictionary, decimal_comma=comma)


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns of the same rows: `CodedColumn`s of a source; of a checked table arrays and `Categories` too."""

    columns: dict[Any, Any]
    index: _Array
    """Row numbers, as a user counts them."""
    note: str = ""
    """How the file was read, where that is not plain."""
    cut_off: str = ""
    """What of the source was left out because it ends within a record; empty where nothing was."""

    @classmethod
    def of(cls, frame: Rows | pd.DataFrame) -> Rows:
        """Return a DataFrame as rows, its index as their numbers, and rows as they are."""
        if isinstance(frame, Rows):
            return frame
        columns = {name: CodedColumn.of(frame[name]) for name in frame.columns}
        return cls(columns, frame.index.to_numpy(), cut_off=frame.attrs.get(CUT_OFF, ""))

    @classmethod
    def of_records(cls, records: Sequence[Mapping[Any, Any]], index: Sequence[Any] | None = None) -> Rows:
        """Take in one mapping per row; what a mapping lacks is missing."""
        names = dict.fromkeys(name for record in records for name in record)
        numbers = np.arange(len(records)) if index is None else np.asarray(index)
        return cls(
            {name: CodedColumn.of_cells([record.get(name) for record in records], numbers) for name in names}, numbers
        )

    def __len__(self) -> int:
        return len(self.index)

    def column(self, name: Hashable) -> CodedColumn:
        """Return a column, of a validated table too, as one of a source."""
        held = self.columns[name]
        if isinstance(held, Categories):
            return CodedColumn(self.index, dictionary=(held.codes, held.categories.to_numpy()))
        return held if isinstance(held, CodedColumn) else CodedColumn(self.index, held)

    def take(self, rows: _Array | slice) -> Self:
        """Return some rows, by position or marked."""
        index = self.index[rows]
        return replace(
            self,
            index=index,
            columns={
                name: column.take(rows, index) if isinstance(column, CodedColumn) else column[rows]
                for name, column in self.columns.items()
            },
        )

    def assign(self, columns: Mapping[Any, Any]) -> Self:
        """Return the rows with further columns, or others of the same names."""
        return replace(self, columns={**self.columns, **columns})

    def only(self, names: Iterable[Any]) -> Self:
        """Return some of the columns."""
        return replace(self, columns={name: self.columns[name] for name in names})

    def without(self, *names: Hashable) -> Self:
        """Return the rows without some columns."""
        return self.only([name for name in self.columns if name not in names])

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame, by their numbers: names are categories, text is text."""
        import pandas as pd  # noqa: PLC0415 - loaded only for a DataFrame

        index = pd.Index(self.index)
        made = {name: _for_pandas(column, index) for name, column in self.columns.items()}
        frame = pd.DataFrame(made, index=index, copy=False)
        if any(isinstance(column, CodedColumn) and column.decimal_comma for column in self.columns.values()):
            # Before any column is looked at: older pandas keeps a column as it was when it was first looked at.
            frame.attrs[DECIMAL_COMMA] = True
        frame.attrs |= {CUT_OFF: self.cut_off} if self.cut_off else {}
        return frame


def _for_pandas(column: Any, index: pd.Index) -> Any:
    import pandas as pd  # noqa: PLC0415 - loaded only for a DataFrame

    if isinstance(column, Categories):
        return pd.Categorical.from_codes(column.codes, pd.Index(column.categories.to_numpy(), dtype=object))
    if not isinstance(column, CodedColumn) or column.numbers is not None:
        return column.to_numpy() if isinstance(column, CodedColumn) else column
    # Text becomes what the version of pandas makes of text.
    is_text = set(map(type, column.cells)) <= {str} and len(column.cells)
    cells = column.to_numpy()
    if is_text:
        return pd.Series(cells).astype(pd.Series(["text"]).dtype).array
    # A column of text would make plain text of structured one.
    return pd.Series(cells, index=index, dtype=object) if cells.dtype == object else cells
