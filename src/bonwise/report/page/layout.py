"""What a page holds: facts about what it shows, parts of sections, and the prompts to look into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bonwise.report.page.section import Section, Table

__all__ = ["Findings", "GroupedTable", "Headline", "Page", "Part", "Prompts", "Verdict"]


@dataclass(frozen=True, slots=True)
class GroupedTable(Table):
    """A table whose rows stand in groups and whose first cells are explained.

    Parameters
    ----------
    groups : mapping of int to str
        What stands above a row.
    meanings : sequence of str
        Of each row.
    """

    groups: Mapping[int, str] = field(default_factory=dict)
    meanings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Findings(Section):
    """A section whose sentences are findings, the most important first: what is beyond the first few is folded.

    Parameters
    ----------
    lead : int
        Sentences that stand out.
    """

    lead: int = 0


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure to read first.

    Parameters
    ----------
    name, meaning, figure, interval : str
    beside : str
        The same with the control, or of the labelled prompts alone; empty without one.
    """

    name: str
    meaning: str
    figure: str
    interval: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the figures mean.

    Parameters
    ----------
    level : str
        One word.
    state : {"good", "bad", "open"}
    lead : sequence of str
        The sentences that decide.
    sentences : sequence of str
        The others.
    headlines : sequence of Headline
    """

    level: str
    state: str
    lead: Sequence[str]
    sentences: Sequence[str] = ()
    headlines: Sequence[Headline] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Sections that belong together.

    Parameters
    ----------
    sections : sequence of Section
    title, anchor : str
        Empty for what belongs to the whole page.
    verdict : Verdict or None
    """

    sections: Sequence[Section] = ()
    title: str = ""
    anchor: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts where the judge lost most.

    Parameters
    ----------
    rows : sequence of mapping
        As in ``exhibits["prompts"]["rows"]``, the worst first.
    of : int
        All there are.
    more : str or None
        File beside the page that holds a row for each prompt.
    judges : bool
        Whether rows of several judges stand together.
    label : str
        What a label is called.
    """

    rows: Sequence[Mapping[str, object]]
    of: int
    more: str | None = None
    judges: bool = False
    label: str = "label"


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page.

    Parameters
    ----------
    title : str
    facts : sequence of tuple of str
        What was done to what: a name and its value.
    parts : sequence of Part
    prompts : Prompts or None
    """

    title: str
    facts: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    prompts: Prompts | None = None
