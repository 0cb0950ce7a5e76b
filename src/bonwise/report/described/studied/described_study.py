"""What a study says, before it is laid out on a page of its own or beside an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bonwise.report.blocks import Block, Part

__all__ = ["DescribedStudy"]


@dataclass(frozen=True, slots=True)
class DescribedStudy:
    """What a study says of its judges.

    Facts, counts, labels that were left out, and judges that were not studied are said of every study in one way and
    are not here.
    """

    title: str
    """Of the study alone."""
    heading: str
    """Of its part beside an audit."""
    anchor: str
    """Address of that part."""
    judges: Mapping[str, Part] = field(default_factory=dict)
    """Of each judge; the title says who it is, and how many prompts there are."""
    notes: Sequence[Block] = ()
    """Below the title: how to read all the figures."""
    together: Sequence[Block] = ()
    """What is no single judge's own, after the judges."""
    instead: Part | None = None
    """All judges in one part, in the place of their own beside an audit of many."""
    facts: Sequence[tuple[str, str]] = ()
    """Names and values for the head of the page, where the settings are not `StudySettings`."""
