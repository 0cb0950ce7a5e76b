"""What bonwise writes as JSON and reads back: records, documents, every schema by its word."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, ValidationError, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bonwise.errors import FileError, InputError, UsageError
from bonwise.printable import printable
from bonwise.strict_json import json_object, refusal

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.report.blocks import Drawing, FigureData, Part

__all__ = [
    "Confidence",
    "Count",
    "Document",
    "Ends",
    "FrameRow",
    "NonNegative",
    "NotBlank",
    "Number",
    "Positive",
    "PositiveShare",
    "Record",
    "Share",
    "document_class",
    "given",
    "json_schema",
    "load",
    "prose",
    "read_document",
    "view_of",
    "word_of",
    "words",
]

_SECTION = re.compile(r"^\S[^\n]*\n-{3,}$", re.MULTILINE)
"""The heading of a section of a docstring in numpy's style."""

_NONE = re.compile(r"\bNone\b")
"""What Python says for the null of JSON."""


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None: optional keys of a record, which are absent where they say nothing.

    Examples
    --------
    >>> given(reason=None, ess=12.5)
    {'ess': 12.5}
    """
    return {key: value for key, value in values.items() if value is not None}


class Record(BaseModel):
    """A part of a document.

    Values are checked when a record is made and when it is read. A key that was not given is not written. Keys can be
    read as attributes, and by name as in the JSON.

    Examples
    --------
    >>> class Pair(Record):
    ...     first: str
    ...     reason: str | None = None
    >>> pair = Pair(first="a")
    >>> pair.to_dict(), pair["first"], pair.reason
    ({'first': 'a'}, 'a', None)
    >>> dict(Pair(first="a"))
    {'first': 'a'}
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())

    def to_dict(self) -> dict[str, Any]:
        """Return the keys and values of the JSON, in the order of the schema."""
        return self.model_dump(mode="python", by_alias=True, exclude_unset=True)

    def __getitem__(self, key: str) -> Any:
        """Return a value by its JSON key; a key that was not given raises KeyError."""
        for name, field in type(self).model_fields.items():
            if (field.alias or name) == key and name in self.model_fields_set:
                return getattr(self, name)
        raise KeyError(key)

    def keys(self) -> Iterator[str]:
        """Yield the JSON keys that were given, so that ``dict(record)`` and ``**record`` hold them."""
        given = self.model_fields_set
        return ((field.alias or name) for name, field in type(self).model_fields.items() if name in given)

    def __contains__(self, key: object) -> bool:
        given = self.model_fields_set
        return any((field.alias or name) == key and name in given for name, field in type(self).model_fields.items())

    def given_values(self) -> dict[str, Any]:
        """Return the values that were given, by JSON key: records within stay records."""
        fields, given = type(self).model_fields, self.model_fields_set
        return {field.alias or name: getattr(self, name) for name, field in fields.items() if name in given}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        # What a key means is said once, under the field.
        made = handler(schema)
        described = handler.resolve_ref_schema(made)
        described["description"] = prose(cls.__doc__ or "")
        meanings = _meanings(cls)
        for key, value in described.get("properties", {}).items():
            value.pop("title", None)
            if value.get("default", ...) is None:
                del value["default"]
            if key in meanings:
                value["description"] = meanings[key]
        return made


def prose(docstring: str) -> str:
    r"""Return what stands before the first section, one line per paragraph, as it is said of JSON.

    Code is in single backticks, and None is null.

    Examples
    --------
    >>> prose("One figure.\n\nWith its ``low`` end\nand more.\n\nNotes\n-----\nNone.")
    'One figure.\n\nWith its `low` end and more.'
    """
    text = inspect.cleandoc(docstring)
    start = _SECTION.search(text)
    paragraphs = (text if start is None else text[: start.start()]).split("\n\n")
    return "\n\n".join(_joined(paragraph) for paragraph in paragraphs if paragraph.strip())


def _meanings(model: type[Record]) -> dict[str, str]:
    """Return what the text under each field says of its JSON key, also for the fields of its bases."""
    documented = [base for base in reversed(model.__mro__) if issubclass(base, Record) and base is not Record]
    by_name = {name: text for base in documented for name, text in _field_texts(base).items()}
    return {(field.alias or name): by_name[name] for name, field in model.model_fields.items() if name in by_name}


def _field_texts(model: type[Record]) -> Mapping[str, str]:
    module = inspect.getmodule(model)
    return {} if module is None else _texts_of(inspect.getsource(module)).get(model.__qualname__, {})


@cache
def _texts_of(source: str) -> Mapping[str, Mapping[str, str]]:
    """Return, by class and field, the text under the field. Python itself does not keep it."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_texts_in(node.body)) for node in classes}


def _texts_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            match below.value:
                case ast.Constant(value=str(text)):
                    yield field.target.id, _joined(text)


def _joined(text: str) -> str:
    return _NONE.sub("null", " ".join(text.split()).replace("``", "`"))


FrameRow = Mapping[str, object]
"""A row of a result's table: a value by column."""


class Document(Record):
    """What bonwise writes as one JSON object with a ``schema``.

    A subclass narrows `schema_` to its own constant. A document that a command prints has a module of its word in
    ``bonwise/report/described``; the words of the schema ``bonwise.audit/1`` are ``audit``.
    """

    schema_: str = Field(alias="schema")

    constants: ClassVar[Sequence[str]] = ("schema_",)
    """The fields that say what a document is: each is the same in all documents of a class, and always written."""

    frame_columns: ClassVar[Sequence[str]] = ()
    """Columns of `to_frame` where there is no row."""

    def model_post_init(self, _: object, /) -> None:
        """Count the constants among the keys that were given."""
        # A default counts as not given, but every document says what it is.
        self.model_fields_set.update(self.constants)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        made = super().__get_pydantic_json_schema__(schema, handler)
        whole = handler.resolve_ref_schema(made)
        constants = [cls.model_fields[name].alias or name for name in cls.constants]
        whole["required"] = [*constants, *(name for name in whole.get("required", ()) if name not in constants)]
        whole["properties"]["schema"]["description"] = "Names this schema."
        return made

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of the documents of this class."""
        return cls.model_json_schema(by_alias=True, mode="validation")

    @classmethod
    def class_for(cls, found: Mapping[str, Any]) -> type[Document]:
        """Return the class of a document that was read: this one, or of a schema with several classes one of them.

        Parameters
        ----------
        found : mapping
            A JSON object with the schema of this class.

        Raises
        ------
        bonwise.errors.InputError
            Its schema has several classes, and it says none of them.
        """
        del found
        return cls

    @classmethod
    def schema_name(cls) -> str:
        """Return the constant that the documents of this class hold as ``schema``."""
        return str(cls.model_fields["schema_"].default)

    def to_json(self) -> str:
        """Return the document as strict JSON, which holds no NaN."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield the rows of `to_frame`."""
        yield self.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return the figures of the document as a table."""
        import pandas as pd  # noqa: PLC0415 - a document is read without pandas

        return pd.DataFrame(list(self.frame_rows()), columns=list(self.frame_columns) or None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.schema_}>"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, full: bool = False) -> str:
        """Return the document as plain text, as a terminal shows it.

        Parameters
        ----------
        full : bool
            Whether to return everything where `str` gives a short form, as of an audit: all its metrics.
        """
        from bonwise.report.show import text  # noqa: PLC0415 - rendering loads rich

        return text(self, full=full)

    def to_markdown(self) -> str:
        """Return the document as Markdown of GitHub's kind: headings, paragraphs, tables."""
        from bonwise.report.show import markdown  # noqa: PLC0415 - loaded only to be shown

        return markdown(self)

    def to_html(self, path: str | Path) -> None:
        """Write the page: one file that a browser shows without loading anything else.

        Parameters
        ----------
        path : str or pathlib.Path

        Raises
        ------
        bonwise.errors.FileError
            It cannot be written.
        """
        from bonwise.report.show import page  # noqa: PLC0415 - drawing loads matplotlib
        from bonwise.table.writing import write_whole  # noqa: PLC0415 - loaded only to be shown

        write_whole(Path(path), page(self))

    @property
    def drawings(self) -> list[Drawing[FigureData]]:
        """The drawings of the page; each has ``plot(ax=)`` and ``to_frame()``."""
        from bonwise.report.show import drawings  # noqa: PLC0415 - loaded only to be shown

        return drawings(self)

    def _repr_html_(self) -> str | None:
        from bonwise.report.show import notebook  # noqa: PLC0415 - loaded only to be shown

        return notebook(self)


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCHEMA = re.compile(r"bonwise\.([a-z_]+)/1")


class _Place(NamedTuple):
    """Where a package of bonwise says that a document is."""

    package: str
    model: str
    """Module and class, with a colon between."""
    view: str
    """Module and function that describes it to people; empty where it is read by programs alone."""


@cache
def _places() -> Mapping[str, _Place]:
    """Return where each document is, by its word.

    A package declares its own in ``__init__``: ``DOCUMENTS = {"watch": ("result:Watch", "view:describe")}``.
    """
    packages = [f"bonwise.{found.name}" for found in iter_modules(import_module("bonwise").__path__) if found.ispkg]
    return {
        word: _Place(package, model, view)
        for package in packages
        for word, (model, view) in getattr(import_module(package), "DOCUMENTS", {}).items()
    }


def words() -> tuple[str, ...]:
    """Return the words between ``bonwise.`` and ``/1`` of every schema, sorted.

    Examples
    --------
    >>> "watch" in words()
    True
    """
    return tuple(sorted(_places()))


def view_of(document: Document) -> Callable[[Any], Part] | None:
    """Return what describes a document to people; None of one that is read by programs alone."""
    place = _places()[document.schema_.removeprefix("bonwise.").partition("/")[0]]
    if not place.view:
        return None
    module, name = place.view.split(":")
    view: Callable[[Any], Part] = getattr(import_module(f"{place.package}.{module}"), name)
    return view


def word_of(schema: str) -> str | None:
    """Return the word of a schema that this version knows, None for another one.

    Examples
    --------
    >>> word_of("bonwise.confidence/1"), word_of("confidence")
    ('confidence', None)
    """
    found = _SCHEMA.fullmatch(schema)
    return found[1] if found is not None and found[1] in _places() else None


def document_class(word: str) -> type[Document]:
    """Return the model of a schema; of a schema with several classes their base, whose `class_for` tells them apart.

    Raises
    ------
    bonwise.errors.UsageError
        No schema has this word.

    Examples
    --------
    >>> document_class("confidence").schema_name()
    'bonwise.confidence/1'
    """
    if word not in _places():
        raise UsageError(f"there is no schema {printable(word, longest=60)!r}", hint=f"one of {', '.join(words())}")
    place = _places()[word]
    module, name = place.model.split(":")
    model: type[Document] = getattr(import_module(f"{place.package}.{module}"), name)
    return model


def json_schema(word: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document.

    Examples
    --------
    >>> json_schema("confidence")["properties"]["schema"]["const"]
    'bonwise.confidence/1'
    """
    return {"$schema": _DIALECT, **document_class(word).json_schema()}


_HINT = "give a file that bonwise wrote with --json or saved"

D = TypeVar("D", bound=Document)


def load(path: str | Path) -> Document:
    """Read a document that bonwise wrote as JSON.

    Nothing that the file names is imported, opened or called.

    Parameters
    ----------
    path : str or pathlib.Path
        Not compressed, at most 256 MB.

    Returns
    -------
    Document
        Of the class of its schema: an audit is an ``AuditDocument``. It has the JSON keys as attributes, and
        ``str()``, ``to_html``, ``to_markdown`` and ``to_frame``. It holds no table of scores.

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read, it is not a document of a known schema, or a value in it cannot be; the message names
        the key.

    Examples
    --------
    >>> import json, tempfile
    >>> import bonwise as bw
    >>> from bonwise.testing import simulate
    >>> frame = simulate("arena", n=50, seed=1).frame().assign(probability=0.7, outcome=1)
    >>> found = bw.audit_confidence(frame)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "confidence.json")
    ...     _ = path.write_text(json.dumps(found.to_dict()))
    ...     bw.load(path).judges == found.judges
    True
    """
    file = Path(path)
    found = json_object(file, _HINT)
    schema = found.get("schema")
    word = word_of(schema) if isinstance(schema, str) else None
    if word is None:
        raise FileError(
            f"{file}: {_named(found)}, which this version of bonwise does not read",
            hint=f"it reads bonwise.WORD/1, where WORD is one of {', '.join(words())}",
        )
    return _validated(file, found, document_class(word), _HINT)


def read_document(path: str | Path, model: type[D], *, hint: str = _HINT) -> D:
    """Read a document of one class.

    Parameters
    ----------
    path : str or pathlib.Path
    model : type
    hint : str
        How to make such a file.

    Raises
    ------
    bonwise.errors.FileError
        As for `load`; also for a document of another schema.
    """
    file = Path(path)
    found = json_object(file, hint)
    if found.get("schema") != model.schema_name():
        raise FileError(f"{file}: {_named(found)}, not {model.schema_name()!r}", hint=hint)
    return _validated(file, found, model, hint)


def _named(found: dict[str, Any]) -> str:
    if "schema" not in found:
        return "it names no schema"
    return f"its schema is {printable(found['schema'], longest=60)!r}"


def _validated(file: Path, found: dict[str, Any], model: type[D], hint: str) -> D:
    try:
        chosen = model.class_for(found)
    except InputError as error:
        raise FileError(f"{file}: {error.message}", hint=error.hint or hint) from None
    try:
        return cast("D", chosen.model_validate(found))
    except ValidationError as error:
        raise FileError(f"{file}: {refusal(error, found)}", hint=hint) from None


Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A finite number that JSON may hold as an integer: it is written as it was given."""

Count = Annotated[int, Field(ge=0, le=2**53)]
"""How many; every reader of JSON holds so large a whole number exactly."""

NonNegative = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)],
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""A finite number that is not negative."""

Positive = Annotated[
    Annotated[int, Field(gt=0)] | Annotated[float, Field(gt=0)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A finite number above 0."""

Share = Annotated[
    Annotated[int, Field(ge=0, le=1)] | Annotated[float, Field(ge=0, le=1)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
"""A part of a whole, in [0, 1]."""

PositiveShare = Annotated[
    Annotated[int, Field(gt=0, le=1)] | Annotated[float, Field(gt=0, le=1)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
]
"""A part of a whole that is not nothing, in (0, 1]."""

Confidence = Annotated[float, Field(ge=0.5, lt=1)]
"""Confidence of two-sided intervals, in [0.5, 1)."""

NotBlank = Annotated[str, Field(pattern=r"\S")]
"""A text that says something."""

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""A lower and an upper end."""
