"""The studies: what the command line and the page of an audit need to know of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.flags import Command, Flag
from bonwise.studies.result import StudyDocument, study_class, study_names
from bonwise.table.reading_options import NO_PROPENSITY

if TYPE_CHECKING:
    from bonwise.auditing.settings import Settings
    from bonwise.studies.labelled_panels import LabelledPanels


SOURCE = Flag("Scores (CSV, JSONL, Parquet, a folder of responses).", "FILE", Path)
"""What is typed for the table of a study."""


def _always(_: Settings) -> bool:
    return True


@dataclass(frozen=True)
class WithAudit:
    """Has every page of an audit show a study that its table has the data for."""

    title: str
    """Of the note in its place, where the data are too poor for it."""
    study: Callable[[LabelledPanels], StudyDocument]
    """Makes it on the judges of the audit."""
    when: Callable[[Settings], bool] = _always
    """Tells by the settings of the audit whether it is shown; always, if not given."""


@dataclass(frozen=True)
class Study:
    """A study, as the ``front.py`` of its folder registers it under the name ``STUDY``; see `StudyDocument`."""

    function: Callable[..., StudyDocument]
    """Takes a table and keywords and returns the result; the flags of the command are made from its signature."""
    document: type[StudyDocument]
    """Of its documents."""
    with_audit: WithAudit | None = None
    without: Mapping[str, str] = field(default_factory=lambda: NO_PROPENSITY)
    """Flags of columns that the command has no use for, and why."""

    @property
    def command(self) -> Command:
        """What is typed for it."""
        return Command(self.function, self.document.about, without=self.without)


def study_of(name: str) -> Study:
    """Return a study by its name; imports no other study."""
    study: Study = import_module(f"bonwise.studies.{name.replace('-', '_')}.front").STUDY
    return study


def studies() -> list[Study]:
    """Return every study, in the order of the help."""
    places = {name: study_class(name).place for name in study_names()}
    return [study_of(name) for name in sorted(places, key=lambda name: (places[name], name))]
