"""What a study says, its facts, counts and parts, before it is laid out on a page or beside an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import printable
from bonwise.report.answers import StatedVerdict
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.numbers import count, counted, percent, unit_of_difference, with_any_interval
from bonwise.report.table_facts import table_facts
from bonwise.table.facts import StudyCounts, StudySettings

Counts = Mapping[str, Mapping[str, int]]
"""By judge and by key."""

Losses = Mapping[str, Mapping[str, Mapping[str, int]]]
"""By judge, by key and by reason."""

_LEFT_OUT = "_left_out"
"""Ends the keys of what was left out: before it stands what is counted, as in ``pairs_left_out``."""


def data_blocks(counts: Counts, losses: Losses) -> Iterator[Block]:
    """Yield a table of counts and one of what was left out, each only where it has rows."""
    if any(counts.values()):
        yield counts_table(counts)
    if any(losses.values()):
        yield losses_table(losses)


def left_out(data: StudyCounts) -> Iterator[Said]:
    """Yield what was left out of a judge's figures, and for which reasons."""
    for what, reasons in data.lost().items():
        for why, many in reasons.items():
            if many:
                yield Said("caveat", f"{_lost(what, many)}: {printable(why, longest=120)}")


def counts_table(counts: Counts) -> Table:
    """Return one row per count of the only judge, or one row per judge."""
    if len(counts) == 1:
        (some,) = counts.values()
        columns = (Column("what", "name"), Column("how many"))
        return Table.of(columns, [(_words(what), count(many)) for what, many in some.items()], "Counts")
    keys = list(dict.fromkeys(key for some in counts.values() for key in some))
    rows = [(printable(name), *(count(some.get(key)) for key in keys)) for name, some in counts.items()]
    return Table.of((Column("judge", "name"), *(Column(_words(key)) for key in keys)), rows, "Counts")


def losses_table(losses: Losses) -> Table:
    """Return one row per reason; the judge is named where there are several."""
    several = len(losses) > 1
    whose: Sequence[Column] = (Column("judge", "name"),) if several else ()
    rows = [
        (*((printable(name),) if several else ()), _words(what), why, count(many))
        for name, some in losses.items()
        for what, reasons in some.items()
        for why, many in reasons.items()
        if many
    ]
    return Table.of((*whose, Column("what", "words"), Column("why", "words"), Column("how many")), rows, "Left out")


def _lost(key: str, many: int) -> str:
    """Write how many of what are lost: the key names what it counts, and prompts where it names nothing."""
    noun = _words(key.removesuffix(_LEFT_OUT))
    if key == "unscored":
        return f"{counted(many, 'candidate')} without a score"
    return (
        f"dropped {counted(many, 'prompt')}" if noun == key else f"left out {counted(many, noun.removesuffix('s'))}"
    )


def _words(key: str) -> str:
    return key.replace("_", " ")


@dataclass(frozen=True, slots=True)
class DescribedStudy:
    """What a study says of its judges, beside what is said of every study in one way."""

    title: str
    """Of the study alone."""
    heading: str
    """Of its part beside an audit."""
    anchor: str
    """Address of that part."""
    limits: Sequence[str] = ()
    """What it does not establish, on its own page."""
    judges: Mapping[str, Part] = field(default_factory=dict)
    """Of each judge; the title says who it is, and how many prompts there are."""
    notes: Sequence[Block] = ()
    """Below the title: how to read all the figures."""
    together: Sequence[Block] = ()
    """What is no single judge's own, after the judges."""
    instead: Part | None = None
    """All judges in one part, in the place of their own beside an audit of many."""
    answers: Mapping[str, StatedVerdict] = field(default_factory=dict)
    """Of each judge, where the study asks a question that has an answer."""
    question: str = ""
    """What it asks, in plain words."""
    then: Sequence[Said] = ()
    """What to do after an answer."""
    facts: Sequence[tuple[str, str]] = ()
    """Names and values for the head of the page, where the settings are not `StudySettings`."""


def study_facts(settings: StudySettings, judges: int) -> Iterator[tuple[str, str]]:
    """Yield names and values; what says nothing is left out."""
    yield "scores", settings.source
    yield "judges", count(judges)
    reference = settings.reference
    yield "against", "oracle labels" if reference is None else f"agreement with {reference}, which is not an oracle"
    if settings.control:
        yield "control", ", ".join(settings.control)
    if settings.draws is not None:
        yield "scores are", f"means of up to {settings.draws} draws"
    yield from table_facts(
        settings.shape, settings.exclude, settings.columns, settings.label_scale, settings.judge_scale
    )
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt"
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def undrawn(part: Part) -> Part:
    """Return a part, and the parts inside it, without drawings."""
    kept = [
        undrawn(block) if isinstance(block, Part) else block
        for block in part.blocks
        if not isinstance(block, Drawing)
    ]
    return replace(part, blocks=kept)


def change_words(change: EstimateRecord, metric: str) -> str:
    """Write by how much a metric changed, with its interval."""
    if change.estimate is None:
        return "undefined"
    return with_any_interval(change, unit_of_difference(unit_of(metric)), sign=True)
