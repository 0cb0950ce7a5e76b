"""What a terminal shows of an audit at first: the verdict, three figures, what they rest on, and every warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.audited.settings import AuditSettings
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said
from bonwise.report.described.audited.annotators import agreement_of_annotators
from bonwise.report.described.audited.candidate_effects import preferences_at_equal_label
from bonwise.report.described.audited.cells import who_was_labelled
from bonwise.report.described.audited.data import counts_of, data, missing_labels
from bonwise.report.described.audited.judges import not_audited, summary
from bonwise.report.described.audited.settings import of_the_table
from bonwise.report.described.audited.verdict import gates, verdict_in_short, verdict_of_several
from bonwise.report.described.choice import best_of
from bonwise.report.numbers import count, counted, listed_counts

__all__ = ["in_short"]

_EVERYTHING = "All {metrics} metrics: add --full, or to_text(full=True) in Python."

_ROWS = 12
"""Judges of the table."""

_LINES = 3
"""Different counts of several judges that have a line of their own, and judges that are named in a line."""

_MOST_SAID = 3
"""Warnings of several judges that are written out."""

_REASONS = 5


def in_short(document: AuditDocument) -> Iterator[Block]:
    """Yield the short form: counts, dropped prompts and warnings stay, in one line each."""
    settings = document.settings
    yield from of_the_table(document)
    if document.several:
        yield from _several(document)
    else:
        for name, judge in document.judges.items():
            yield verdict_in_short(judge, settings)
            yield from _one(name, judge, settings)
    if document.annotators is not None:
        yield from _said(agreement_of_annotators(document.annotators))
    yield from gates(document)
    metrics = max((len(judge.metrics) for judge in document.judges.values()), default=0)
    if metrics:
        yield Said("note", _EVERYTHING.format(metrics=metrics))


def _one(name: str, judge: JudgeFound, settings: AuditSettings) -> Iterator[Said]:
    answer = judge.verdict.sentences[0].lower()
    for one in judge.suspicions or ():
        # Where the figures fail by themselves the answer does not say that there are few of them.
        if one.kind == "few pools" and one.sentence.partition(". ")[0].lower() not in answer:
            yield Said("caveat", one.sentence)
    yield from _said(data(judge, "", name, settings.reference))
    if judge.labelled_cells is not None:
        yield from _said(who_was_labelled(judge.labelled_cells, ""))
    if judge.candidate_effects is not None:
        yield from _said(preferences_at_equal_label(judge.candidate_effects, ""))
    for part in missing_labels(judge, settings.reference, ""):
        yield from (one for one in _said(part) if not one.text.endswith(":"))


def _said(part: Part) -> list[Said]:
    """Return the sentences of a part; its tables and details are left to the full form."""
    return [one for one in part.blocks if isinstance(one, Said)]


def _several(document: AuditDocument) -> Iterator[Block]:
    judges, settings = document.judges, document.settings
    yield verdict_of_several(document, in_short=True)
    table = replace(summary(document), at_a_glance=_ROWS)
    yield Part("Judges by recovery", [table, *best_of(document.choice, "judges", settings.reference)])
    yield Part("Data", [*_counts(judges), *_dropped(judges), *_warnings(judges, settings.reference)])
    yield from not_audited(document)


def _counts(judges: Mapping[str, JudgeFound]) -> Iterator[Said]:
    """Yield what judges were audited on: judges with the same counts share a line."""
    found: dict[str, list[str]] = {}
    for name, judge in judges.items():
        found.setdefault(counts_of(judge.data), []).append(name)
    if len(found) == 1:
        yield Said("finding", f"each judge: {next(iter(found))}")
    elif len(found) <= _LINES:
        yield from (Said("finding", f"{_whose(names)}: {told}") for told, names in found.items())
    else:
        prompts = [judge.data.prompts for judge in judges.values()]
        rows = [judge.data.rows for judge in judges.values()]
        of = f"{count(min(prompts))} to {count(max(prompts))} prompts, {count(min(rows))} to {count(max(rows))} rows"
        yield Said("finding", f"{count(len(judges))} judges on {of} each")


def _dropped(judges: Mapping[str, JudgeFound]) -> Iterator[Said]:
    """Yield how many prompts were dropped of the judges, and why."""
    dropped = {name: judge.data.dropped for name, judge in judges.items() if judge.data.dropped}
    if not dropped:
        return
    many = [len(some) for some in dropped.values()]
    each = (
        counted(many[0], "prompt") if min(many) == max(many) else f"{count(min(many))} to {count(max(many))} prompts"
    )
    reasons = Counter(printable(one.reason, longest=60) for some in dropped.values() for one in some).most_common()
    told = listed_counts(reasons[:_REASONS])
    more = ", ..." if len(reasons) > _REASONS else ""
    yield Said("caveat", f"dropped {each} of {_whose(list(dropped))}, in all: {told}{more}")


def _warnings(judges: Mapping[str, JudgeFound], reference: str | None) -> Iterator[Said]:
    """Yield what limits the figures of the judges, each warning once with whose it is; other remarks are counted."""
    found: dict[Said, list[str]] = {}
    for name, judge in judges.items():
        for one in _limits(judge, reference):
            found.setdefault(one, []).append(name)
    warnings = sorted((one for one in found if one.role == "caveat"), key=lambda one: -len(found[one]))
    # What is known of every judge, such as that a stated draw is not used, stands where there is no warning.
    shown = (warnings or [one for one in found if len(found[one]) == len(judges)])[:_MOST_SAID]
    for one in shown:
        yield Said(one.role, f"{_whose(found[one])}: {one.text}")
    more = len(found) - len(shown)
    if more:
        yield Said("note", f"{counted(more, 'more remark')} on single judges: add --full.")


def _limits(judge: JudgeFound, reference: str | None) -> Iterator[Said]:
    # What the figures describe says that labels are missing.
    suspected = [one for one in judge.suspicions or () if one.kind != "missing labels"]
    yield from (Said("caveat", one.sentence) for one in suspected)
    yield from (Said("caveat", one) for one in judge.verdict.opening[1:])
    if judge.labelled_cells is not None:
        yield from (one for one in _said(who_was_labelled(judge.labelled_cells, "")) if one.role == "caveat")
    if judge.candidate_effects is not None:
        yield from (Said("caveat", note) for note in judge.candidate_effects.notes)
    _, *others = _said(data(judge, "", "", reference))
    # Counts and drops are summed up over the judges.
    yield from (one for one in others if not one.text.startswith("dropped "))


def _whose(names: Sequence[str]) -> str:
    if len(names) > _LINES:
        return f"{count(len(names))} judges"
    return ", ".join(printable(name, longest=40) for name in names)
