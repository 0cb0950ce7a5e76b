"""The base of every document: its schema, its JSON, its table, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bonwise.documents.record import Record

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.report.blocks import Drawing, FigureData

__all__ = ["Document", "FrameRow"]

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
        from bonwise.data.writing import write_whole  # noqa: PLC0415 - loaded only to be shown
        from bonwise.report.show import page  # noqa: PLC0415 - drawing loads matplotlib

        write_whole(Path(path), page(self))

    @property
    def drawings(self) -> list[Drawing[FigureData]]:
        """The drawings of the page; each has ``plot(ax=)`` and ``to_frame()``."""
        from bonwise.report.show import drawings  # noqa: PLC0415 - loaded only to be shown

        return drawings(self)

    def _repr_html_(self) -> str | None:
        from bonwise.report.show import notebook  # noqa: PLC0415 - loaded only to be shown

        return notebook(self)
