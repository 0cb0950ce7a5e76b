"""What a file was taken for, what is odd about it, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bonwise.doctoring.result import AnnotatorCounts, ColumnFacts, DoctorDocument, JudgeScores, LabelCoverage
from bonwise.printable import file_name, printable
from bonwise.report import answers, show, table_facts
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.numbers import NOTHING, count, counted, number, setting

_MOST_COLUMNS = 60
"""Columns that are shown of a file."""

_MOST_REASONS = 5
"""Reasons for dropping prompts that are told apart, the commonest first."""

_NOT_TAKEN = ("", "stratum")
"""What columns are taken for that no role has."""

_MOST_STRATA = 8
"""Columns of strata that are named."""

_LONGEST = 600
"""Characters of a suspicion."""


def describe(document: DoctorDocument) -> Part:
    """Describe a file before it is audited."""
    return Part(file_name(document.source), list(_blocks(document)))


def describe_in_short(document: DoctorDocument) -> Part:
    """Describe what an audit takes, leaves out or reads otherwise, with every suspicion."""
    whole = describe(document)
    short = show.cut_to_a_screen(whole)
    if document.shape is None or short is whole:
        return short
    taken = [fact for fact in document.column_facts or () if fact.taken not in _NOT_TAKEN]
    stated, counted_rows, *others = [block for block in whole.blocks if isinstance(block, Part | Said)]
    more = "More: all columns, and the scores of each judge: add --full, or to_text(full=True) in Python."
    decisive = [block for block in others if not (isinstance(block, Said) and block.role == "note")]
    columns = described_columns(taken) if taken else [_columns(document)]
    return replace(whole, blocks=[stated, counted_rows, *columns, *decisive, Said("note", more)])


def _blocks(document: DoctorDocument) -> Iterator[Block]:
    counts = document.counts
    yield answers.verdict(answer(document))
    if document.shape is None:
        yield from described_columns(document.column_facts or ())
        yield from _fixed(document)
        return
    yield Said(
        "finding",
        f"{counted(counts.rows, 'row')}, {counted(counts.prompts, 'prompt')}, "
        f"{counted(counts.candidates, 'candidate name')}, {counted(counts.judges, 'judge')}; "
        f"taken as {document.shape}",
    )
    if document.column_facts:
        yield from described_columns(document.column_facts)
    else:
        yield _columns(document)
    yield from table_facts.labels_left_out(None, document.unlabelled)
    yield from _dropped(document.dropped)
    yield _scores(document.judges)
    yield _labels(document.labels)
    for sentence in document.suspicious:
        yield Said("caveat", f"suspicious: {printable(sentence, longest=_LONGEST)}")
    if not document.suspicious:
        yield Said("good", "nothing suspicious")
    for sentence in document.proposed or ():
        yield Said("caveat", f"proposed: {printable(sentence, longest=_LONGEST)}")
    yield from _annotators(document.labels.annotators)
    for role, reading in (document.readings or {}).items():
        yield Said("caveat", f"{printable(role)} read as {printable(reading, longest=_LONGEST)}")
    yield Said("note", "; ".join(f"{what} {answer}" for what, answer in document.supports.items()))
    yield from _fixed(document)


def answer(document: DoctorDocument) -> answers.StatedVerdict:
    """Return whether the file can be audited as it is, and what to look at before."""
    counts = document.counts
    then = [Said("command", document.next_command)] if document.next_command else []
    what = f"{counted(counts.prompts, 'prompt')} and {counted(counts.rows, 'row')}"
    says = f"The file can be audited as it is: {what}, and nothing is suspicious."
    word: str = "ready to audit"
    state: answers.State = "good"
    if document.not_audited is not None:
        word, state = ("not as it is", "open") if document.next_command else ("no audit", "bad")
        says = f"It cannot be audited: {printable(document.not_audited, longest=_LONGEST)}."
    elif document.suspicious or document.proposed:
        seen = counted(len(document.suspicious) + len(document.proposed or ()), "finding")
        word, state, says = "look at it first", "open", f"The file can be audited: {what}; look at {seen} first."
    return answers.StatedVerdict(word, state, says, question="Can the file be audited?", then=then)


def _fixed(document: DoctorDocument) -> Iterator[Said]:
    if document.fixed is not None:
        yield Said("good", f"{printable(document.fixed)}: the table as it was understood")


def described_columns(facts: Sequence[ColumnFacts]) -> Iterator[Block]:
    """Describe the columns of a file: what each holds and what it is taken for."""
    columns = (
        Column("column", "name"),
        Column("kind", "words"),
        Column("missing"),
        Column("examples", "words", spare=1),
        Column("taken for", "words"),
    )
    telling = [fact for fact in facts if fact.taken not in _NOT_TAKEN]
    shown = (
        list(facts) if len(facts) <= _MOST_COLUMNS else [*telling, *(fact for fact in facts if fact not in telling)]
    )
    yield Table.of(columns, map(_facts, shown[:_MOST_COLUMNS]))
    if len(shown) > _MOST_COLUMNS:
        yield Said("note", f"and {counted(len(shown) - _MOST_COLUMNS, 'more column')}")


def _facts(facts: ColumnFacts) -> list[str]:
    examples = ", ".join(printable(example) for example in facts.examples)
    return [facts.name, printable(facts.kind), count(facts.missing), examples, facts.taken]


def _columns(document: DoctorDocument) -> Table:
    rows = list(document.columns.items())
    if document.strata:
        named, more = document.strata[:_MOST_STRATA], len(document.strata) - _MOST_STRATA
        rows.append(("strata", ", ".join([*named, *([f"{count(more)} more"] if more > 0 else [])])))
    return Table.of((Column("role", "name"), Column("column", "words")), rows)


def _dropped(dropped: Mapping[str, int]) -> Iterator[Said]:
    reasons = sorted(dropped.items(), key=lambda item: -item[1])
    rest = reasons[_MOST_REASONS:]
    if rest:
        reasons = [*reasons[:_MOST_REASONS], (f"{count(len(rest))} other reasons", sum(times for _, times in rest))]
    for reason, times in reasons:
        yield Said("caveat", f"an audit drops {counted(times, 'prompt')}: {printable(reason)}")


def _scores(judges: list[JudgeScores]) -> Table:
    columns = (
        Column("judge", "name"),
        Column("prompts", spare=1),
        Column("lowest score"),
        Column("highest score"),
        Column("distinct"),
        Column("tied pairs"),
        Column("tied at the top"),
    )
    return Table.of(columns, map(_judge, judges))


def _judge(judge: JudgeScores) -> list[str]:
    figures = [
        *(NOTHING if end is None else setting(end) for end in (judge.lowest, judge.highest)),
        count(judge.distinct),
        *(NOTHING if share is None else number(share, "share") for share in (judge.tie_rate, judge.top1_tie_rate)),
    ]
    return [judge.judge, count(judge.prompts), *figures]


def _labels(labels: LabelCoverage) -> Said:
    if labels.lowest is None or labels.highest is None:
        return Said("finding", "no oracle labels")
    words = f"; {table_facts.label_words(labels.words)}" if labels.words else ""
    return Said(
        "finding",
        f"labels {setting(labels.lowest)} to {setting(labels.highest)}, {count(labels.distinct)} distinct; "
        f"prompts labelled {count(labels.labelled_prompts)}, in part {count(labels.partly_labelled_prompts)}, "
        f"not at all {count(labels.unlabelled_prompts)}{words}",
    )


def _annotators(found: AnnotatorCounts | None) -> Iterator[Said]:
    """Yield what becomes of the labels of several annotators, and how to have it otherwise."""
    if found is None:
        return
    others = " or ".join(rule for rule in ("mean", "median", "majority") if rule != found.rule)
    said = (
        f"{counted(found.annotators, 'annotator')} gave {counted(found.labels, 'label')}; candidates with two labels "
        f"or more: {count(found.several_labels)}. An audit takes the {found.rule} ({found.kind}); --annotator-rule "
        f"{others} takes another."
    )
    if found.split:
        what = "tied between labels" if found.rule == "majority" else "with a median between two labels"
        said += f" Candidates {what}: {count(found.split)}; an audit takes the mean of these labels."
    yield Said("caveat", said)
