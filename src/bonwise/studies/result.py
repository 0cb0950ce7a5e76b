"""Every study of a judge: ``bonwise.study/1``, a class per study, told apart by the key ``study``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, ClassVar, Literal, Self

from pydantic import Field
from pydantic.json_schema import models_json_schema

import bonwise.studies as room
from bonwise.errors import InputError
from bonwise.printable import printable
from bonwise.results import Document, Record, prose
from bonwise.table.facts import StudyCounts


class StudyJudge(Record):
    """What a study found of one judge; a study adds its own."""

    data: StudyCounts
    """The counts behind its figures; mostly `JudgeCounts`."""


class StudyDocument(Document):
    """A study of judges: what it found of each of them.

    A study is a folder of ``bonwise/studies``, whose ``result.py`` holds its class as ``MODEL``; its name is that of
    the folder, with hyphens. A study of several kinds holds their classes as ``MODELS``.
    """

    schema_: Literal["bonwise.study/1"] = Field(default="bonwise.study/1", alias="schema")
    study: str
    """The name of the study."""
    settings: Record
    """What was asked for; `StudySettings`, and a study's own."""
    judges: Mapping[str, StudyJudge]
    """What was found of each judge."""
    not_studied: dict[str, str]
    """Judges left out, and why."""

    constants: ClassVar[Sequence[str]] = ("schema_", "study")

    about: ClassVar[str] = ""
    """What ``bonwise study --help`` says: one sentence, and below an empty line more for the help of the command."""

    place: ClassVar[int] = 100
    """Where ``bonwise study --help`` lists it; studies of one place stand by name."""

    @classmethod
    def study_name(cls) -> str:
        """Return the name of the study, as the command line has it."""
        return str(cls.model_fields["study"].default)

    @classmethod
    def class_for(cls, found: Mapping[str, Any]) -> type[StudyDocument]:
        """Return the class of the study that the key ``study`` names, and of its kind where it has several."""
        name = found.get("study")
        if cls is StudyDocument and name not in study_names():
            raise InputError(
                f"study: {printable(repr(name), longest=60)} is not a study of this version of bonwise",
                hint=f"one of {', '.join(study_names())}",
            )
        classes = study_classes(str(name)) if cls is StudyDocument else (cls,)
        for one in classes:
            if all(found.get(key) == value for key, value in one.told_apart_by().items()):
                return one
        told = " or ".join(", ".join(map(repr, one.told_apart_by().values())) for one in classes)
        keys = ", ".join(classes[0].told_apart_by())
        raise InputError(f"{keys}: this document is not one of {told}")

    @classmethod
    def told_apart_by(cls) -> dict[str, str]:
        """Return the constants that tell this class from those of the other studies."""
        return {name: str(cls.model_fields[name].default) for name in cls.constants if name != "schema_"}

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema; of all studies where it is called on this class."""
        if cls is not StudyDocument:
            return super().json_schema()
        classes = [one for name in study_names() for one in study_classes(name)]
        by_class, whole = models_json_schema([(one, "validation") for one in classes], by_alias=True)
        return {
            "title": cls.__name__,
            "description": prose(cls.__doc__ or ""),
            "type": "object",
            "required": ["schema", "study"],
            "properties": {
                "schema": {"const": cls.schema_name()},
                "study": {"enum": list(dict.fromkeys(one.study_name() for one in classes))},
            },
            "oneOf": [by_class[one, "validation"] for one in classes],
            **whole,
        }

    def of_one_judge(self, name: str) -> Self:
        """Return the document of one judge alone; who was not studied stays with the whole.

        Parameters
        ----------
        name : str
            A key of `judges`.
        """
        return self.model_copy(update={"judges": {name: self.judges[name]}, "not_studied": {}})


def study_names() -> tuple[str, ...]:
    """Return the names of the studies, without importing them."""
    return tuple(
        sorted(iter_module.name.replace("_", "-") for iter_module in iter_modules(room.__path__) if iter_module.ispkg)
    )


def study_class(name: str) -> type[StudyDocument]:
    """Return the class of the documents of a study; of a study with several kinds what they share."""
    model: type[StudyDocument] = _module(name).MODEL
    return model


def study_classes(name: str) -> Sequence[type[StudyDocument]]:
    """Return the classes that a document of a study may have: its ``MODELS``, or ``MODEL`` alone."""
    return getattr(_module(name), "MODELS", (study_class(name),))


def _module(name: str) -> ModuleType:
    return import_module(f"{room.__name__}.{name.replace('-', '_')}.result")
