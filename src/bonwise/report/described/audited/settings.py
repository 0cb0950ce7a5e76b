"""What was audited and how: the title, the facts at the head of a page, and the line below the title."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.settings import AuditSettings
from bonwise.documents.picks_made import PicksMade
from bonwise.printable import printable
from bonwise.report.blocks import Said, Table
from bonwise.report.described.labels_left_out import labels_left_out
from bonwise.report.described.table_facts import label_words, table_facts
from bonwise.report.numbers import count, counted, listed_counts, percent

__all__ = ["facts", "of_the_table", "title"]

_TARGETS = {
    "best-of-n": "picking the best of a prompt's candidates",
    "system": "comparing systems on averages",
}


def title(settings: AuditSettings) -> str:
    """Return what was audited, and against what."""
    what = "Audit of" if settings.picks is None else "Audit of the picks of"
    against = (
        "against oracle labels" if settings.reference is None else f"agreement with {printable(settings.reference)}"
    )
    return f"{what} {printable(settings.source)}, {against}"


def facts(document: AuditDocument) -> Table:
    """Return what was compared with what, what was left out, and how intervals were made."""
    settings = document.settings
    return Table.facts([*_matter(document), *_left_out(settings), *_picks(settings.picks), *_manner(settings)])


def of_the_table(document: AuditDocument) -> Iterator[Said]:
    """Yield what is to be known of the table, and is not a judge's own."""
    settings = document.settings
    yield Said("note", "; ".join(_notes(settings)))
    yield from labels_left_out(settings.labels_left_out)
    for name, role in (document.covariates or {}).items():
        yield Said("note", f"{printable(name)} {printable(role, longest=1000)}")


def _notes(settings: AuditSettings) -> Iterator[str]:
    yield f"{settings.shape} table"
    if settings.picks is not None:
        yield _manner_of_picks(settings.picks)
        if router := _router(settings.picks):
            yield f"routed by {router}"
        yield f"decided by {_tally(settings.picks.decided_by)}"
        if settings.picks.left_out:
            yield f"left out: {_tally(settings.picks.left_out)}"
    if settings.draws > 1:
        yield f"scores are {_means(settings)}"
    if settings.exclude:
        yield f"without {_listed(settings.exclude)}"
    if settings.control:
        yield f"control: {_listed(settings.control)}"
    if settings.keep_easy:
        yield f"kept although easy: {_listed(settings.keep_easy)}"
    yield from _notes_of_columns(settings)
    if settings.resamples is not None:
        yield f"{counted(settings.resamples, 'bootstrap resample')}, seed {settings.seed}"


def _notes_of_columns(settings: AuditSettings) -> Iterator[str]:
    if settings.judge_family:
        yield f"family of the judge: {_families(settings.judge_family)}"
    if settings.label_words:
        yield label_words(settings.label_words)
    for role, reading in (settings.readings or {}).items():
        yield f"{role} read as {printable(reading)}"


def _matter(document: AuditDocument) -> Iterator[tuple[str, str]]:
    settings = document.settings
    yield "scores", settings.source
    if document.judge is None:
        yield "judges", count(len(document.judges))
    else:
        yield "judge", document.judge
    reference = settings.reference
    yield "against", "oracle labels" if reference is None else f"agreement with {reference}, which is not an oracle"


def _left_out(settings: AuditSettings) -> Iterator[tuple[str, str]]:
    judge_scale = settings.judge_scale
    yield from table_facts(settings.shape, settings.exclude, settings.columns, settings.label_scale, judge_scale)
    if settings.control:
        yield "control", ", ".join(settings.control)
    if settings.keep_easy:
        yield "kept although easy", ", ".join(settings.keep_easy)
    if settings.pools is not None:
        yield "texts", settings.pools
    if settings.judge_family:
        yield "family of the judge", _families(settings.judge_family)
    if settings.label_words:
        yield "labels", label_words(settings.label_words).removeprefix("labels are ")
    for role, reading in (settings.readings or {}).items():
        yield f"{role} read as", reading
    if settings.draws > 1:
        yield "scores are", _means(settings)


def _picks(picks: PicksMade | None) -> Iterator[tuple[str, str]]:
    if picks is None:
        return
    yield "picks", _manner_of_picks(picks)
    if router := _router(picks):
        yield "routed by", router
    if picks.decided_by:
        yield "decided by", _tally(picks.decided_by)
    if picks.left_out:
        yield "left out", _tally(picks.left_out)


def _manner(settings: AuditSettings) -> Iterator[tuple[str, str]]:
    yield "decision", _TARGETS[settings.target]
    kind = "jackknife, Fieller and Clopper-Pearson"
    if settings.resamples is not None:
        kind = f"bootstrap of {counted(settings.resamples, 'resample')}, and Clopper-Pearson"
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt, {kind}"
    if settings.outcome_model is not None:
        yield "outcome model", settings.outcome_model
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _manner_of_picks(picks: PicksMade) -> str:
    return "as the seed drew them" if picks.as_picked else "in expectation where a seed decided"


def _router(picks: PicksMade) -> str:
    """Name the router of routed picks; earlier picks name the stronger judge alone."""
    if picks.strong is None:
        return ""
    to = f"stronger judge {printable(picks.strong)}"
    return to if picks.router is None else f"{printable(picks.router)}, {to}"


def _means(settings: AuditSettings) -> str:
    return f"means of up to {settings.draws} draws"


def _families(families: Mapping[str, str]) -> str:
    return ", ".join(
        f"{printable(judge)} {printable(family)}" if judge else printable(family)
        for judge, family in families.items()
    )


def _listed(names: list[str]) -> str:
    return ", ".join(printable(name) for name in names)


def _tally(counts: Mapping[str, int]) -> str:
    return listed_counts((printable(what), times) for what, times in counts.items())
