"""The study of shortlists: how often they hold a best candidate."""

from __future__ import annotations

from bonwise.printable import printable
from bonwise.report.blocks import Column, Part, Said, Table
from bonwise.report.numbers import counted, estimate, interval, interval_title
from bonwise.studies.description import DescribedStudy
from bonwise.studies.shortlist.result import ShortlistJudge, ShortlistStudy

__all__ = ["described"]


def described(document: ShortlistStudy) -> DescribedStudy:
    """Describe what shortlists hold: one part per judge."""
    settings = document.settings
    columns = (Column("places", "name"), Column("held"), Column(interval_title(settings.confidence)))

    def part(name: str, judge: ShortlistJudge) -> Part:
        cells = (str(settings.keep), estimate(judge.held, "share"), interval(judge.held, "share"))
        said = [Said("finding", sentence) for sentence in judge.sentences]
        title = f"{printable(name, longest=60)}: {counted(judge.data.prompts, 'prompt')}"
        return Part(title, [*said, Table.of(columns, [cells])])

    return DescribedStudy(
        title=f"Shortlists of {settings.keep} on {printable(settings.source)}",
        heading="Shortlists",
        anchor="shortlist",
        judges={name: part(name, judge) for name, judge in document.judges.items()},
    )
